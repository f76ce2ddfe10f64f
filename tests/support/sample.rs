//! Provides alerts of the fixtures with other ids, each of which is another finding.

use std::io;

use serde_json::Value;

use crate::repository_root;

/// Returns the sample `tests/fixtures/alerts/NAME.json` as a finding with this id.
pub fn sample_finding(sample: &str, id: &str) -> io::Result<Value> {
    let path = repository_root().join(format!("tests/fixtures/alerts/{sample}.json"));
    let mut finding: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    if let Some(name) = finding.pointer_mut("/finding/name") {
        *name = format!("organizations/1/sources/2/findings/{id}").into();
        return Ok(finding);
    }
    let arn = format!("arn:aws:guardduty:eu-west-1:444455556666:detector/d/finding/{id}");
    let fields = finding
        .as_object_mut()
        .ok_or_else(|| io::Error::other(format!("{sample} is no finding")))?;
    fields.insert("Id".to_owned(), id.into());
    fields.insert("Arn".to_owned(), arn.into());
    Ok(finding)
}
