//! Tests a model that marks no step as key, beside a record that clears the alert. Nothing is cleared until the
//! look-ups of the playbook have an answer.

use nightshift_engine::conclusion::{Leaning, Verdict, VerdictReason};
use nightshift_tests::model::{Answer, RecordedRequest, obey};
use serde_json::{Value, json};

use super::attack_corpus::{CaseOutcome, alerts, pairs, triage};
use super::example::{Question, step};
use crate::hostile::fixture::HostileSetup;

/// A register in which address and role of the alert belong to an approved test.
const SCANNER: &str = "s-9,203.0.113.42,secops,a test,ciso,2020-01-01,2099-01-01,*CredentialExfiltration*\n\
    s-9,arn:aws:iam::444455556666:role/prod-payments-worker.plain,secops,a test,ciso,2020-01-01,2099-01-01,*CredentialExfiltration*\n";
/// The call that the alert reports, with one call before and one after it.
const TRAIL: &str = r#"{"eventVersion": "1.10", "userIdentity": {"type": "AssumedRole", "arn": "arn:aws:sts::444455556666:assumed-role/prod-payments-worker.plain/i-0a1b2c3d4e5f60718", "accountId": "444455556666", "accessKeyId": "ASIAEXAMPLEKEY000001", "sessionContext": {"sessionIssuer": {"userName": "prod-payments-worker.plain"}}}, "eventTime": "2026-03-02T01:00:00Z", "eventSource": "s3.amazonaws.com", "eventName": "ListBuckets", "awsRegion": "eu-west-1", "sourceIPAddress": "203.0.113.42", "readOnly": true}
{"eventVersion": "1.10", "userIdentity": {"type": "AssumedRole", "arn": "arn:aws:sts::444455556666:assumed-role/prod-payments-worker.plain/i-0a1b2c3d4e5f60718", "accountId": "444455556666", "accessKeyId": "ASIAEXAMPLEKEY000001", "sessionContext": {"sessionIssuer": {"userName": "prod-payments-worker.plain"}}}, "eventTime": "2026-03-02T02:29:51Z", "eventSource": "s3.amazonaws.com", "eventName": "ListBuckets", "awsRegion": "eu-west-1", "sourceIPAddress": "203.0.113.42", "readOnly": true}
{"eventVersion": "1.10", "userIdentity": {"type": "AssumedRole", "arn": "arn:aws:sts::444455556666:assumed-role/prod-payments-worker.plain/i-0a1b2c3d4e5f60718", "accountId": "444455556666", "accessKeyId": "ASIAEXAMPLEKEY000001", "sessionContext": {"sessionIssuer": {"userName": "prod-payments-worker.plain"}}}, "eventTime": "2026-03-02T04:00:00Z", "eventSource": "s3.amazonaws.com", "eventName": "ListBuckets", "awsRegion": "eu-west-1", "sourceIPAddress": "203.0.113.42", "readOnly": true}
"#;

fn setup(denied: &'static str) -> HostileSetup {
    HostileSetup {
        scanners: SCANNER,
        trail: TRAIL,
        denied,
        ..HostileSetup::default()
    }
}

fn about(tool: &str, name: &str, value: &str) -> Value {
    json!({"tool": tool, "arguments": pairs(&json!({name: value}))})
}

fn register() -> Vec<Value> {
    vec![about("scanners", "indicator", "203.0.113.42")]
}

/// Returns all calls of the playbook.
fn all() -> Vec<Value> {
    let address = ["assets", "changes"].map(|tool| about(tool, "indicator", "203.0.113.42"));
    let trail = [
        about("trail", "access_key", "ASIAEXAMPLEKEY000001"),
        about("trail", "ip", "203.0.113.42"),
    ];
    let mut all = register();
    all.extend(address.into_iter().chain(trail));
    all
}

/// Triages a case with a model that makes these calls and concludes an approved test.
async fn asking(calls: Vec<Value>, denied: &'static str) -> CaseOutcome {
    let answers = move |seen: &RecordedRequest| -> Answer {
        match Question::from_request(seen) {
            Question::Plan => {
                let mut step = step("s1", "Ask whose it is", "scanners");
                step["calls"] = json!(calls);
                Answer::value(
                    json!({"reasoning": "", "mode": "planned", "objective": "Is it ours?", "steps": [step]}),
                )
            }
            Question::Turn => {
                Answer::value(json!({"outcome": "met", "summary": "It is a test.", "findings": []}))
            }
            Question::Conclude => {
                let mut answer = obey(seen);
                if let Some(value) = answer.value.as_mut() {
                    value["verdict"] = json!("benign_true_positive");
                    value["severity"] = json!("informational");
                    value["reason"] = json!("authorised_activity");
                }
                answer
            }
            _ => obey(seen),
        }
    };
    let alert = alerts("plain").remove(0);
    triage(vec![alert], &setup(denied), answers).await.remove(0)
}

/// Returns the prompt of the conclusion.
fn told(case: &CaseOutcome) -> String {
    let mut last = case.requests.iter().rev();
    let last = last.find(|seen| Question::from_request(seen) == Question::Conclude);
    last.unwrap().text()
}

#[tokio::test]
async fn f24_model_without_key_steps_clears_nothing_without_the_log() {
    for (calls, denied) in [(all(), "trail"), (register(), "")] {
        let case = asking(calls, denied).await;
        let end = &case.conclusion;
        assert_eq!(
            (end.verdict, end.leaning, end.reason),
            (
                Verdict::Inconclusive,
                Leaning::Benign,
                VerdictReason::ToolFailure
            )
        );
        assert_eq!(end.assessed_severity, case.alert.severity);
        let gap = "Search CloudTrail for everything done with the key, from any address: no answer, and nothing is cleared without one";
        assert!(end.gaps.iter().any(|one| one == gap), "{:?}", end.gaps);
        let told = told(&case);
        assert!(told.contains(r#""cleared":false"#), "{told}");
        assert!(told.contains(r#""held_up":""#), "{told}");
    }
}

#[tokio::test]
async fn a_model_that_had_all_answers_may_say_what_the_record_says() {
    let case = asking(all(), "").await;
    let end = &case.conclusion;
    assert_eq!(end.verdict, Verdict::BenignTruePositive, "{end:?}");
    let told = told(&case);
    assert!(told.contains(r#""cleared":true"#), "{told}");
}
