//! Tests state, severity and outcome of findings.

use super::*;
use crate::{DetailKind, Outcome};

fn state(fields: Value) -> FeedState {
    one_of(&with(fields)).state
}

#[test]
fn check_that_passed_is_told_by_any_of_its_results() {
    let passed = FeedState {
        passed: true,
        ..FeedState::default()
    };
    let checked = |class: u64, fields: Value| {
        let mut finding = with(fields);
        finding["class_uid"] = json!(class);
        finding["evidences"] = Value::Null;
        one_of(&finding).state
    };
    for (class, fields) in [
        (2004, json!({"status_code": "PASS", "status": "New"})),
        (2004, json!({"status_code": "passed"})),
        (2003, json!({"status_code": "PASS"})),
        (2003, json!({"compliance": {"status": "Pass"}})),
        (2003, json!({"compliance": {"status": "PASSED"}})),
        (2003, json!({"compliance": {"status_id": 1}})),
        (
            2003,
            json!({"compliance": {"status_id": "1", "status": "Pass"}}),
        ),
        (2003, json!({"compliance": {"status_code": "PASSED"}})),
        (
            2003,
            json!({"compliance": {"status": "Unknown"}, "status_code": "PASS"}),
        ),
        (2003, json!({"status": "Pass"})),
        (2002, json!({"status_code": "PASS"})),
    ] {
        assert_eq!(checked(class, fields.clone()), passed, "{fields}");
    }
    for fields in [
        json!({"status_code": "FAIL"}),
        json!({"status_code": "MANUAL"}),
        json!({"compliance": {"status_id": 3, "status": "Fail"}, "status_code": "PASS"}),
        json!({"compliance": {"status_id": 2, "status": "Warning"}}),
    ] {
        assert_eq!(
            checked(2003, fields.clone()),
            FeedState::default(),
            "{fields}"
        );
    }
    // A finding with malware never passes a check.
    let found = json!({"status_code": "PASS", "malware": [{"name": "EICAR"}]});
    assert_eq!(checked(2004, found), FeedState::default());
}

#[test]
fn closed_and_muted_findings_are_told() {
    assert!(state(json!({"status_id": 4})).resolved);
    assert!(state(json!({"status": "Resolved", "status_id": 99})).resolved);
    assert!(state(json!({"activity_id": 3})).resolved);
    assert!(state(json!({"activity_name": "Close"})).resolved);
    assert!(state(json!({"status_id": 99, "status": "Closed"})).resolved);
    assert!(state(json!({"status_id": 3})).suppressed);
    assert!(state(json!({"status": "Suppressed"})).suppressed);
    assert!(state(json!({"unmapped": {"muted": true}})).suppressed);
    assert!(state(json!({"status_id": 5})).archived);
    assert!(state(json!({"status": "Archived"})).archived);
    assert_eq!(
        state(json!({"status": "In Progress", "status_id": 2})),
        FeedState::default()
    );
}

#[test]
fn severity_is_the_number_then_the_word_then_the_vendor_s() {
    let severity = |fields: Value| {
        let alert = one_of(&with(fields));
        (alert.severity, alert.severity_sent)
    };
    let sent = |severity, word: &str| (severity, word.to_owned());
    assert_eq!(
        severity(
            json!({"severity_id": 2, "severity": "Low", "vendor_attributes": {"severity_id": 5}})
        ),
        sent(Severity::Low, "Low")
    );
    assert_eq!(
        severity(json!({"severity_id": 6})),
        sent(Severity::Critical, "6")
    );
    assert_eq!(
        severity(json!({"severity_id": 99, "severity": "Critical"})),
        sent(Severity::Critical, "Critical")
    );
    assert_eq!(
        severity(json!({"severity_id": null, "severity": "Fatal"})),
        sent(Severity::Critical, "Fatal")
    );
    assert_eq!(
        severity(json!({"severity_id": 0, "vendor_attributes": {"severity": "High"}})),
        sent(Severity::High, "High")
    );
    assert_eq!(
        severity(json!({"severity_id": 0, "severity": "Unknown"})),
        sent(Severity::Medium, "0")
    );
}

#[test]
fn severity_of_guardduty_stays_where_it_was_lowered() {
    let severity = |now: u8, given: u8| {
        one_of(&with(
            json!({"severity_id": now, "vendor_attributes": {"severity_id": given},
            "metadata": {"product": {"name": "GuardDuty", "vendor_name": "AWS"}}}),
        ))
        .severity
    };
    assert_eq!(severity(2, 5), Severity::Critical);
    assert_eq!(severity(5, 2), Severity::Critical);
}

#[test]
fn outcome_of_a_finding_is_no_state_of_the_work_on_it() {
    let outcome = |fields: Value| one_of(&with(fields)).outcome;
    let call =
        |error: Value| json!({"api": {"operation": "GetObject", "response": {"error": error}}});
    let denied = || call(json!("AccessDenied"));
    assert_eq!(
        outcome(json!({"status_id": 2, "status": "In Progress"})),
        None
    );
    assert_eq!(
        outcome(json!({"disposition_id": 2})),
        Some(Outcome::Blocked)
    );
    assert_eq!(
        outcome(json!({"disposition": "Quarantined"})),
        Some(Outcome::Blocked)
    );
    assert_eq!(
        outcome(json!({"evidences": [denied(), denied()]})),
        Some(Outcome::Denied)
    );
    assert_eq!(
        outcome(json!({"evidences": [denied(), call(json!("Throttling"))]})),
        Some(Outcome::Failed)
    );
    assert_eq!(
        outcome(json!({"evidences": [denied(), call(Value::Null)]})),
        None,
        "one got in"
    );
}

#[test]
fn verdicts_in_favour_are_claims() {
    let told = |fields: Value| details(&one_of(&with(fields)));
    let benign = json!({"verdict": "Benign", "verdict_id": 5, "evidences": []});
    assert_eq!(told(benign), "claim judged Benign by the product");
    let true_positive = json!({"verdict": "True Positive", "verdict_id": 2, "evidences": []});
    assert_eq!(
        told(true_positive),
        "trait judged True Positive by the product"
    );
}

#[test]
fn vendors_verdict_is_no_order_to_the_analyst() {
    for verdict in ["True Positive", "False Positive", "Benign"] {
        let alert = one_of(&with(json!({"verdict": verdict, "evidences": []})));
        assert!(alert.flags.is_empty(), "{verdict}: {:?}", alert.flags);
    }
}

#[test]
fn check_that_came_to_no_result_says_which() {
    let results = |fields: Value| {
        let mut finding = with(fields);
        finding["class_uid"] = json!(2003);
        let alert = one_of(&finding);
        alert
            .details_of(DetailKind::CheckResult)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(results(json!({"status_code": "MANUAL"})), ["MANUAL"]);
    assert_eq!(
        results(json!({"compliance": {"status_id": 2, "status": "Warning"}})),
        ["Warning"]
    );
    assert!(results(json!({"status_code": "FAIL"})).is_empty());
}

#[test]
fn results_of_single_checks_decide_where_the_control_has_none() {
    let of = |checks: Value| {
        let finding = with(json!({"class_uid": 2003, "evidences": null,
            "compliance": {"control": "C1", "checks": checks}}));
        one_of(&finding).state.passed
    };
    assert!(of(
        json!([{"uid": "1.4", "status": "Pass", "status_id": 1}])
    ));
    assert!(of(json!([{"status_id": 1}, {"status": "PASSED"}])));
    assert!(!of(
        json!([{"status_id": 1}, {"status_id": 3, "status": "Fail"}])
    ));
    assert!(!of(json!([{"uid": "1.4"}])));
    let worded = with(
        json!({"class_uid": 2003, "evidences": null, "status_code": "COMPLIANT",
        "compliance": {"control": "1.4"}}),
    );
    assert!(one_of(&worded).state.passed);
}

#[test]
fn result_of_a_check_is_no_threat_for_its_techniques_or_data() {
    let of = |fields: Value| {
        let mut finding = with(json!({"status_code": "PASS", "evidences": null}));
        let map = finding.as_object_mut().unwrap();
        map.extend(fields.as_object().unwrap().clone());
        let alert = one_of(&finding);
        (alert.class, alert.state.passed)
    };
    let check = (FindingClass::Posture, true);
    let attacks = json!([{"technique": {"uid": "T1078", "name": "Valid Accounts"}}]);
    assert_eq!(of(json!({"attacks": attacks})), check);
    assert_eq!(of(json!({"evidences": [{"data": {"x": 1}}]})), check);
    assert_eq!(of(json!({"actor": {"user": {"name": "N/A"}}})), check);
    // Whoever acted makes it a detection.
    let threat = (FindingClass::Threat, false);
    assert_eq!(of(json!({"actor": {"user": {"name": "eve"}}})), threat);
    assert_eq!(
        of(json!({"evidences": [{"src_endpoint": {"ip": "198.51.100.9"}}]})),
        threat
    );
}

#[test]
fn check_without_a_result_is_not_told_as_failed() {
    let finding =
        with(json!({"class_uid": 2003, "evidences": null, "compliance": {"control": "C1"}}));
    let alert = one_of(&finding);
    let results: Vec<&str> = alert.details_of(DetailKind::CheckResult).collect();
    assert_eq!(results, ["no result was sent"]);
    insta::assert_snapshot!(alert.what_happened(), @r#"web-1.corp.example.com needs a look by hand for control C1: "Beacon"."#);
    let failed = with(
        json!({"class_uid": 2003, "evidences": null, "status_code": "FAIL",
        "compliance": {"control": "C1"}}),
    );
    let failed = one_of(&failed);
    assert_eq!(failed.details_of(DetailKind::CheckResult).count(), 0);
    insta::assert_snapshot!(failed.what_happened(), @r#"web-1.corp.example.com fails control C1: "Beacon"."#);
}
