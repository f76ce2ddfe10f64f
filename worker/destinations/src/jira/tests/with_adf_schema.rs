//! Validates all documents against Atlassian's JSON schema. `tests/services` fetches the schema and announces its
//! path. Without the schema the test prints that and ends, and `tests/run` counts it as skipped.

use nightshift_render::line::Line;
use serde_json::Value;

use super::super::page;
use super::*;
use crate::fixture;
use crate::inert;

#[expect(
    clippy::disallowed_methods,
    reason = "tests are told here where the schema is"
)]
fn offered() -> Option<String> {
    let found = std::env::var("NIGHTSHIFT_TEST_ADF_SCHEMA").ok();
    if found.is_none() {
        eprintln!(
            "skipped: NIGHTSHIFT_TEST_ADF_SCHEMA is not set; tests/services fetches it and tells"
        );
    }
    found
}

#[test]
fn every_document_is_one_by_atlassians_own_schema() {
    let Some(path) = offered() else { return };
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let check = |document: &Value| {
        let problems: Vec<String> = validator
            .iter_errors(document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(problems.is_empty(), "{problems:?} in {document}");
    };
    let said = vec![
        "[x](https://evil.com) \u{202e}👾 <b>".to_owned(),
        String::new(),
    ];
    let mut reports = inert::reports(&said);
    reports.extend([
        fixture::true_positive(),
        fixture::overridden(),
        fixture::benign(),
        fixture::failed(),
        inert::longest(),
    ]);
    for language in Language::ALL {
        let config = JiraConfig {
            language,
            ..config("https://example.atlassian.net")
        };
        let to = to(config);
        for report in &reports {
            let issue = to.preview(&DeliveryPayload::new(report.clone()));
            check(&issue["fields"]["description"]);
            check(&to.preview(&inert::later(report))["body"]);
        }
    }
    check(&page::closing(
        &Line::from_static("Closed."),
        "nightshift:k3f9:closed",
    ));
    // The schema refuses what Jira refuses, so the check is real.
    let empty = json!({ "type": "text", "text": "" });
    let wrong = json!({ "version": 1, "type": "doc", "content": [{ "type": "paragraph", "content": [empty] }] });
    assert!(!validator.is_valid(&wrong));
}
