use nightshift_alert::{Indicator, IndicatorKind, IndicatorRole};
use nightshift_engine::conclusion::{Conclusion, Leaning, Verdict, VerdictReason};
use nightshift_engine::plan::StepOutcome;
use nightshift_engine::tool::ToolError;
use serde_json::{Value, json};

use super::alerts::sample;
use super::case_fixture::{
    ALL, DEFAULT, PlaybookCase, ToolAnswers, all_the_time, logged, nothing, on_list, record,
};

const ALERT: &str = "guardduty-eventbridge-credential-exfiltration";

fn quiet(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    Ok(nothing(kind, arguments))
}

fn own_egress(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    if kind == "watchlist" {
        return Ok(
            json!({"indicator": "203.0.113.42", "listed": true, "lists_searched": ["egress"], "entries_searched": 4,
            "matches": [{"list": "egress", "meaning": "own", "entry": "203.0.113.0/24", "note": "Amsterdam"}]}),
        );
    }
    quiet(kind, arguments)
}

fn trail(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    if kind != "log_search.cloudtrail" {
        return quiet(kind, arguments);
    }
    let row = |at: &str, action: &str, error: Option<&str>| {
        json!({"at": at, "action": action, "principal": "prod-payments-worker",
        "access_key": "ASIAEXAMPLEKEY000001", "source_ip": "203.0.113.42", "region": "eu-west-1", "error": error, "resource": null})
    };
    Ok(
        json!({"source": "cloudtrail", "searched": all_the_time(), "rows_scanned": 900, "rows_matched": 3, "truncated": false,
        "rows": [row("2026-03-02T02:29:51Z", "ListBuckets", None), row("2026-03-02T02:31:00Z", "GetSecretValue", None),
            row("2026-03-02T02:31:09Z", "CreateUser", Some("AccessDenied"))],
        "summary": {"actions": {"ListBuckets": 1, "GetSecretValue": 1, "CreateUser": 1}, "errors": 1}}),
    )
}

#[test]
fn use_from_outside_with_a_deed_is_a_true_positive() {
    let ran = PlaybookCase::with(&ALL, trail).run(sample(ALERT));
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    assert_eq!(ran.step("way_in").outcome, Some(StepOutcome::Unmet));
    insta::assert_snapshot!(ran.claims(), @"
    For [E13] The credentials were used from 203.0.113.42 to call GetSecretValue at 2026-03-02T02:31:00Z
    For [E0] The alert reports AWS_API_CALL ListBuckets with the credentials of prod-payments-worker from 203.0.113.42
    For [E13] CloudTrail shows ListBuckets from 203.0.113.42 at 2026-03-02T02:29:51Z
    For [E13] CloudTrail shows CreateUser from 203.0.113.42 at 2026-03-02T02:31:09Z (AccessDenied)
    For [E4 E0] The asset register does not know 203.0.113.42, and no watch list holds it as ours
    ");
    insta::assert_snapshot!(ran.actions().join(" "), @"revoke-role-sessions review-key-activity isolate-instance snapshot-disk require-imdsv2 rotate-secrets");
}

/// Adds records of the role and of the organisation's egress, so that the credentials of the role stay in its network.
fn recorded(world: PlaybookCase) -> PlaybookCase {
    let mut egress = record("asset", IndicatorKind::Ip, "203.0.113.42");
    egress.detection_wrong = true;
    world.clearing(egress).of_identity("prod-payments-worker")
}

#[test]
fn our_own_egress_makes_the_detection_wrong() {
    let logged: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => Ok(logged(kind, json!([call("ListBuckets", "203.0.113.42")]))),
        _ => own_egress(kind, arguments),
    };
    let end = recorded(PlaybookCase::with(&ALL, logged))
        .run(sample(ALERT))
        .conclusion;
    assert_eq!(
        (end.verdict, end.reason),
        (Verdict::FalsePositive, VerdictReason::WrongDetectionLogic)
    );
    insta::assert_snapshot!(end.actions[0].text, @"To hear no more of it while it is approved, suppress this type in GuardDuty for prod-payments-worker, 203.0.113.42 only.");
}

#[test]
fn a_deed_from_our_own_egress_is_not_explained_by_it() {
    let both: super::case_fixture::ToolAnswers = |kind, arguments| match kind {
        "watchlist" => own_egress(kind, arguments),
        _ => trail(kind, arguments),
    };
    let end = PlaybookCase::with(&ALL, both).run(sample(ALERT)).conclusion;
    assert_eq!(
        (end.verdict, end.leaning),
        (Verdict::Inconclusive, Leaning::Malicious)
    );
}

#[test]
fn an_authorised_test_is_benign() {
    let scanner = record("authorised_scanner", IndicatorKind::Ip, "203.0.113.42");
    let end = PlaybookCase::with(&ALL, trail)
        .clearing(scanner)
        .of_identity("prod-payments-worker")
        .run(sample(ALERT))
        .conclusion;
    assert_eq!(
        (end.verdict, end.reason),
        (
            Verdict::BenignTruePositive,
            VerdictReason::AuthorisedActivity
        )
    );
}

#[test]
fn without_logs_it_stays_open_and_says_what_would_decide() {
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(sample(ALERT));
    let end = &ran.conclusion;
    assert_eq!(
        (end.verdict, end.leaning, end.reason),
        (
            Verdict::Inconclusive,
            Leaning::Malicious,
            VerdictReason::MissingData
        )
    );
    insta::assert_snapshot!(ran.claims(), @"For [E0] The alert reports AWS_API_CALL ListBuckets with the credentials of prod-payments-worker from 203.0.113.42");
    insta::assert_snapshot!(ran.would_decide(), @"
    Whose address 203.0.113.42 is: a record in the asset register
    CloudTrail for ASIAEXAMPLEKEY000001: which calls came from there, and whether they changed or read anything
    The owner of prod-payments-worker: whether somebody copied the credentials for debugging
    ");
    insta::assert_snapshot!(end.coverage.missing.join("\n"), @r#"
    Asset register not read: no [[tool]] of kind asset_lookup is configured
    Register of authorised scanners not read: no [[tool]] of kind authorised_scanners is configured
    Change records not read: no [[tool]] of kind change_lookup is configured
    CloudTrail not searched: no [[tool]] of kind log_search.cloudtrail is configured
    VPC flow logs not searched: no [[tool]] of kind log_search.vpc_flow is configured
    "#);
}

/// Returns the conclusion of a case from the organisation's own egress with this answer of the log.
fn behind_our_egress(log: ToolAnswers) -> Conclusion {
    LOG.set(Some(log));
    let both: ToolAnswers = |kind, arguments| match (kind, LOG.get()) {
        ("watchlist", _) => own_egress(kind, arguments),
        ("log_search.cloudtrail", Some(log)) => log(kind, arguments),
        _ => quiet(kind, arguments),
    };
    let world = recorded(PlaybookCase::with(&ALL, both));
    world.run(sample(ALERT)).conclusion
}

thread_local! {
    static LOG: std::cell::Cell<Option<ToolAnswers>> = const { std::cell::Cell::new(None) };
}

fn call(action: &str, source: &str) -> Value {
    json!({"at": "2026-03-02T02:29:51Z", "action": action, "principal": "prod-payments-worker", "outcome": "success",
        "access_key": "ASIAEXAMPLEKEY000001", "source_ip": source, "region": "eu-west-1", "error": null, "resource": null})
}

#[test]
fn g06_f24_failed_or_cut_log_shows_no_action_and_clears_nothing() {
    let failed: ToolAnswers = |_, _| Err(ToolError::Timeout { secs: 30 });
    // Many harmless calls closer to the alert hide the mutating call.
    let cut: ToolAnswers = |kind, _| {
        let mut answer = logged(
            kind,
            json!(vec![call("GetCallerIdentity", "203.0.113.42"); 200]),
        );
        answer["rows_matched"] = json!(251);
        answer["truncated"] = json!(true);
        Ok(answer)
    };
    let ends_before: ToolAnswers = |kind, arguments| {
        let mut answer = quiet(kind, arguments)?;
        answer["searched"] = json!({"records_in_time": 4, "records_until": "2026-03-01T00:00:00Z"});
        Ok(answer)
    };
    for log in [failed, cut, ends_before] {
        let end = behind_our_egress(log);
        assert_eq!(end.verdict, Verdict::Inconclusive, "{:?}", end.exonerations);
    }
    let whole: ToolAnswers = |kind, _| {
        let mut answer = logged(kind, json!([call("GetCallerIdentity", "203.0.113.42")]));
        answer["searched"] = json!({"records_in_time": 4, "records_from": "2026-03-01T21:00:00Z", "records_until": "2026-03-02T03:00:00Z"});
        Ok(answer)
    };
    assert_eq!(behind_our_egress(whole).verdict, Verdict::FalsePositive);
}

#[test]
fn a_thief_at_another_address_is_no_use_of_our_own_egress() {
    let elsewhere: ToolAnswers = |kind, _| {
        let rows = [
            call("ListBuckets", "203.0.113.42"),
            call("ListBuckets", "203.0.113.43"),
            call("CreateUser", "198.51.100.99"),
        ];
        Ok(logged(kind, json!(rows)))
    };
    let end = behind_our_egress(elsewhere);
    assert_eq!(end.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(end.findings[0].claim, @"The credentials were used from 198.51.100.99 to call CreateUser at 2026-03-02T02:29:51Z");
    let inside: ToolAnswers = |kind, _| {
        let rows = [
            call("GetObject", "10.0.0.9"),
            call("GetObject", "203.0.113.43"),
        ];
        Ok(logged(kind, json!(rows)))
    };
    assert_eq!(
        behind_our_egress(inside).verdict,
        Verdict::FalsePositive,
        "from within the instance's network and our own range nothing left"
    );
}

#[test]
fn secret_use_from_other_private_network_or_service_is_a_leak() {
    for (action, source) in [
        ("GetSecretValue", "172.31.9.9"),
        ("CreateUser", "172.31.9.9"),
        ("CreateUser", "cloudformation.amazonaws.com"),
    ] {
        AUDIT_EVENT.set((action, source));
        let log: ToolAnswers = |kind, _| {
            let (action, source) = AUDIT_EVENT.get();
            let mut audit_event = call(action, source);
            audit_event["service"] = json!("iam.amazonaws.com");
            Ok(logged(
                kind,
                json!([call("ListBuckets", "203.0.113.42"), audit_event]),
            ))
        };
        let end = behind_our_egress(log);
        assert_eq!(
            (end.verdict, end.leaning),
            (Verdict::Inconclusive, Leaning::Malicious),
            "{action} {source}"
        );
    }
    let through_a_service: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" if !arguments["access_key"].is_null() => Ok(logged(
            kind,
            json!([call("DescribeStacks", "cloudformation.amazonaws.com")]),
        )),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, through_a_service).run(sample(ALERT));
    assert!(!ran.claims().contains("own addresses"), "{}", ran.claims());
}

thread_local! {
    static AUDIT_EVENT: std::cell::Cell<(&'static str, &'static str)> = const { std::cell::Cell::new(("", "")) };
}

#[test]
fn use_at_second_address_counts_when_alert_names_a_third() {
    let mut alert = sample(ALERT);
    for one in &mut alert.indicators {
        if one.value == "203.0.113.42" {
            "203.0.113.99".clone_into(&mut one.value);
        }
    }
    let ran = PlaybookCase::with(&ALL, trail).run(alert);
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    let claims = ran.claims();
    assert!(
        claims.contains("The credentials were used from 203.0.113.42 to call GetSecretValue"),
        "{claims}"
    );
    assert!(!claims.contains("Against [E13] CloudTrail"), "{claims}");
}

#[test]
fn g06_trail_without_the_alert_call_is_unrelated_to_it() {
    let ran = PlaybookCase::with(&ALL, own_egress).run(sample(ALERT));
    assert_eq!(ran.conclusion.verdict, Verdict::Inconclusive);
    let claims = ran.claims();
    assert!(!claims.contains("show no call"), "{claims}");
}

#[test]
fn one_own_address_among_callers_does_not_explain_another() {
    let moved: ToolAnswers = |kind, arguments| match kind {
        "watchlist" if arguments["indicator"] == "203.0.113.9" => {
            Ok(on_list("malicious", arguments))
        }
        "log_search.cloudtrail" => Ok(logged(
            kind,
            json!([
                call("ListBuckets", "203.0.113.42"),
                call("ListBuckets", "203.0.113.9")
            ]),
        )),
        _ => own_egress(kind, arguments),
    };
    let mut alert = sample(ALERT);
    let second = Indicator::new(IndicatorKind::Ip, "203.0.113.9", IndicatorRole::Actor);
    alert.indicators.push(second);
    let ran = PlaybookCase::with(&ALL, moved).run(alert);
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    let claims = ran.claims();
    assert!(!claims.contains("Against"), "{claims}");
}

#[test]
fn calls_from_own_egress_alone_prove_no_foreign_use() {
    let ours: ToolAnswers = |kind, arguments| match kind {
        "watchlist" if arguments["indicator"] == "203.0.113.9" => quiet(kind, arguments),
        "log_search.cloudtrail" => Ok(logged(kind, json!([call("ListBuckets", "203.0.113.42")]))),
        _ => own_egress(kind, arguments),
    };
    let mut alert = sample(ALERT);
    let second = Indicator::new(IndicatorKind::Ip, "203.0.113.9", IndicatorRole::Actor);
    alert.indicators.push(second);
    let ran = PlaybookCase::with(&ALL, ours).run(alert);
    assert_eq!(ran.conclusion.verdict, Verdict::Inconclusive);
}

#[test]
fn calls_from_own_interface_are_no_foreign_use() {
    LOG.set(Some(|kind, _| {
        let rows = [
            call("ListBuckets", "203.0.113.42"),
            call("GetSecretValue", "10.20.8.12"),
        ];
        Ok(logged(kind, json!(rows)))
    }));
    let both: ToolAnswers = |kind, arguments| match (kind, LOG.get()) {
        ("watchlist", _) => own_egress(kind, arguments),
        ("log_search.cloudtrail", Some(log)) => log(kind, arguments),
        _ => quiet(kind, arguments),
    };
    let verdict = |addresses: &[&str]| {
        let mut alert = sample(ALERT);
        alert.addresses = addresses.iter().map(|one| (*one).to_owned()).collect();
        let world = recorded(PlaybookCase::with(&ALL, both));
        world.run(alert).conclusion.verdict
    };
    assert_eq!(verdict(&["10.20.8.12"]), Verdict::FalsePositive);
    assert_eq!(verdict(&[]), Verdict::Inconclusive);
}
