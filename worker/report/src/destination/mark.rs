//! The keys that tickets carry, so that nothing is told twice: one for the case, by which its ticket is found, and one for
//! what is told, by which a comment is known that was made already. Nothing in them comes from an alert.

use nightshift_pipeline::{DeliveryError, Report};

use super::case_id;

/// What begins every key.
const OURS: &str = "nightshift";

/// `nightshift-k3f9-x2mq-7d1w`: the label by which the ticket of a case is found.
pub(super) fn label(report: &Report) -> Result<String, DeliveryError> {
    Ok(format!("{OURS}-{}", case_id(report)?))
}

/// `nightshift:k3f9-x2mq-7d1w:1:concluded:true_positive:none:critical`: what this report says. Another revision, or one
/// that says something else, has another.
pub(super) fn told(report: &Report) -> Result<String, DeliveryError> {
    Ok(format!(
        "{OURS}:{}:{}:{}:{}:{}:{}",
        case_id(report)?,
        report.revision,
        report.status.as_str(),
        report.verdict.as_str(),
        report.leaning.as_str(),
        report.assessed_severity.as_str(),
    ))
}

/// `nightshift:k3f9-x2mq-7d1w:closed`: that people are done with it.
pub(super) fn closed(report: &Report) -> Result<String, DeliveryError> {
    Ok(format!("{OURS}:{}:closed", case_id(report)?))
}

#[cfg(test)]
mod tests {
    use nightshift_engine::Verdict;

    use super::*;
    use crate::fixture;

    #[test]
    fn what_says_something_else_has_another_key_and_none_is_within_another() {
        let mut report = fixture::true_positive();
        let mut keys = vec![told(&report).unwrap(), closed(&report).unwrap()];
        report.revision = 11;
        keys.push(told(&report).unwrap());
        report.verdict = Verdict::FalsePositive;
        keys.push(told(&report).unwrap());
        insta::assert_snapshot!(keys.join("\n"), @"
        nightshift:k3f9-x2mq-7d1w:1:concluded:true_positive:none:critical
        nightshift:k3f9-x2mq-7d1w:closed
        nightshift:k3f9-x2mq-7d1w:11:concluded:true_positive:none:critical
        nightshift:k3f9-x2mq-7d1w:11:concluded:false_positive:none:critical
        ");
        for (at, one) in keys.iter().enumerate() {
            let within = keys.iter().filter(|other| other.contains(one.as_str()));
            assert_eq!(within.count(), 1, "{at}: {one}");
        }
        report.case_id = "x\"y".into();
        assert!(label(&report).is_err());
    }
}
