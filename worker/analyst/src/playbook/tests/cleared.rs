//! Tests that a record clears an alert only if the log of the activity is complete.

use nightshift_alert::IndicatorKind;
use nightshift_engine::conclusion::Verdict;
use nightshift_engine::exoneration::Exoneration;
use nightshift_engine::tool::ToolError;
use serde_json::{Value, json};

use super::alerts::{made_for, sample};
use super::case_fixture::{ALL, PlaybookCase, PlaybookRun, ToolAnswers, logged, nothing, record};

pub(super) const LOOKS: &str = "securityhub-eventbridge-discovery";
const STOLEN: &str = "guardduty-eventbridge-credential-exfiltration";

fn call(action: &str) -> Value {
    json!({"at": "2026-03-02T02:55:00Z", "action": action, "principal": "arn:aws:iam::444455556666:user/ci-deployer",
        "outcome": "success", "source_ip": "198.51.100.23", "error": null, "resource": null, "read_only": true})
}

fn log(answer: impl FnOnce(&mut Value)) -> Value {
    let mut log = logged("log_search.cloudtrail", json!(vec![call("ListRoles"); 200]));
    answer(&mut log);
    log
}

/// Returns an answer that hides rows: others, or only repetitions of the shown ones.
fn cut(left_out: &str) -> Value {
    log(|log| {
        log["rows_matched"] = json!(260);
        log["truncated"] = json!(true);
        log["left_out"] = json!(left_out);
    })
}

fn run(name: &str, cleared_by: Exoneration, answers: ToolAnswers) -> PlaybookRun {
    let mut alert = sample(name);
    alert.times = sample(LOOKS).times;
    PlaybookCase::with(&ALL, answers)
        .clearing(cleared_by)
        .of_identity("prod-payments-worker")
        .run(alert)
}

fn known_record() -> Exoneration {
    record("identity", IndicatorKind::Principal, "ci-deployer")
}

fn egress() -> Exoneration {
    let mut egress = record("asset", IndicatorKind::Ip, "203.0.113.42");
    egress.detection_wrong = true;
    egress
}

#[test]
fn g06_a_log_that_was_cut_shows_no_deed_that_it_lacks() {
    let others: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => Ok(cut("others")),
        _ => Ok(nothing(kind, arguments)),
    };
    for (alert, record) in [(LOOKS, known_record()), (STOLEN, egress())] {
        let end = run(alert, record, others).conclusion;
        assert_eq!(end.verdict, Verdict::Inconclusive, "{alert}");
    }
    let ran = run(LOOKS, known_record(), others);
    insta::assert_snapshot!(ran.would_decide(), @"All of the audit log of AKIAEXAMPLE00000001 around the alert: what was read of it was cut, failed, or is of another time, account or region");
}

#[test]
fn busy_key_is_cleared_where_omitted_rows_repeat_shown_ones() {
    let repeats: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => Ok(cut("repeats")),
        _ => Ok(nothing(kind, arguments)),
    };
    let end = run(LOOKS, known_record(), repeats).conclusion;
    assert_eq!(end.verdict, Verdict::BenignTruePositive);
    let end = run(STOLEN, egress(), repeats).conclusion;
    assert_eq!(end.verdict, Verdict::FalsePositive);
}

#[test]
fn g06_log_without_the_alert_or_unreadable_clears_nothing() {
    let ends_before: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => Ok(log(|log| {
            log["searched"] =
                json!({"records_in_time": 4, "records_until": "2026-03-01T00:00:00Z"});
        })),
        _ => Ok(nothing(kind, arguments)),
    };
    let failed: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => Err(ToolError::Timeout { secs: 30 }),
        _ => Ok(nothing(kind, arguments)),
    };
    for answers in [ends_before, failed] {
        let end = run(LOOKS, known_record(), answers).conclusion;
        assert_eq!(end.verdict, Verdict::Inconclusive);
    }
}

/// Returns an empty answer of a log that has records of this time.
fn of_time(from: &str, until: &str) -> Value {
    log(|log| {
        log["searched"] =
            json!({"records_in_time": 4, "records_from": from, "records_until": until});
    })
}

#[test]
fn g06_log_without_alert_time_or_own_call_clears_nothing() {
    let begins_after: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => Ok(of_time("2026-03-02T05:00:00Z", "2026-03-02T09:00:00Z")),
        _ => Ok(nothing(kind, arguments)),
    };
    let ends_within: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => Ok(of_time("2026-03-01T00:00:00Z", "2026-03-02T02:53:00Z")),
        _ => Ok(nothing(kind, arguments)),
    };
    let of_another: ToolAnswers = |kind, arguments| Ok(nothing(kind, arguments));
    for answers in [begins_after, ends_within, of_another] {
        let end = run(LOOKS, known_record(), answers).conclusion;
        assert_eq!(end.verdict, Verdict::Inconclusive);
    }
    let covers: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => Ok(of_time("2026-03-01T00:00:00Z", "2026-03-02T09:00:00Z")),
        _ => Ok(nothing(kind, arguments)),
    };
    let end = run(LOOKS, known_record(), covers).conclusion;
    assert_eq!(end.verdict, Verdict::BenignTruePositive);
}

#[test]
fn g06_of_an_alert_that_names_no_cloud_every_audit_log_is_asked() {
    let audit_event: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => Ok(logged(kind, json!([call("CreateUser")]))),
        _ => Ok(nothing(kind, arguments)),
    };
    let mut alert = sample(LOOKS);
    alert.provider = nightshift_alert::CloudProvider::Other;
    let aws: Vec<_> = ALL
        .into_iter()
        .filter(|kind| !kind.contains("gcp"))
        .collect();
    for kinds in [&ALL[..], &aws] {
        let world = PlaybookCase::with(kinds, audit_event).clearing(known_record());
        let ran = world.run(alert.clone());
        assert!(!ran.conclusion.verdict.is_benign());
        assert!(ran.claims().contains("CreateUser"), "{}", ran.claims());
        assert!(ran.conclusion.coverage.missing.is_empty());
    }
}

#[test]
fn a_site_without_such_a_log_is_cleared_by_its_registers() {
    let quiet: ToolAnswers = |kind, arguments| Ok(nothing(kind, arguments));
    let kinds: Vec<_> = ALL
        .into_iter()
        .filter(|kind| !kind.starts_with("log_search"))
        .collect();
    let end = PlaybookCase::with(&kinds, quiet)
        .clearing(known_record())
        .run(sample(LOOKS))
        .conclusion;
    assert_eq!(end.verdict, Verdict::BenignTruePositive);
}

#[test]
fn g06_the_last_row_of_the_last_search_is_seen() {
    let two_keys: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" if arguments["access_key"] == "AKIAEXAMPLE00000002" => {
            let mut rows = vec![call("ListRoles"); 199];
            rows.push(call("CreateAccessKey"));
            Ok(logged(kind, json!(rows)))
        }
        "log_search.cloudtrail" => Ok(log(|_| {})),
        _ => Ok(nothing(kind, arguments)),
    };
    let mut alert = sample(LOOKS);
    let second = nightshift_alert::Indicator::new(
        IndicatorKind::AccessKey,
        "AKIAEXAMPLE00000002",
        nightshift_alert::IndicatorRole::Related,
    );
    alert.indicators.push(second);
    let ran = PlaybookCase::with(&ALL, two_keys)
        .clearing(known_record())
        .run(alert);
    assert!(!ran.conclusion.verdict.is_benign());
    assert!(ran.claims().contains("CreateAccessKey"), "{}", ran.claims());
}

#[test]
fn g06_identity_record_clears_no_call_that_changed_other_things() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => {
            let mut audit_event = call("SomethingThatIsNewTomorrow");
            audit_event["read_only"] = json!(false);
            Ok(logged(kind, json!([call("ListRoles"), audit_event])))
        }
        _ => Ok(nothing(kind, arguments)),
    };
    let read: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => Ok(logged(kind, json!([call("ListRoles")]))),
        _ => Ok(nothing(kind, arguments)),
    };
    for (alert, who, kind) in [
        ("guardduty-iam-privilege-escalation", "j.ortega", None),
        ("guardduty-attack-sequence", "claims-export", None),
        (
            "guardduty-s3-exfiltration",
            "claims-export",
            Some("Discovery:S3/AnomalousBehavior"),
        ),
    ] {
        let mut alert = made_for(alert);
        alert.times = sample(LOOKS).times;
        if let Some(kind) = kind {
            kind.clone_into(&mut alert.kind);
        }
        let record = || record("identity", IndicatorKind::Principal, who);
        let world = PlaybookCase::with(&ALL, answers).clearing(record());
        let ran = world.run(alert.clone());
        assert!(!ran.conclusion.verdict.is_benign(), "{}", alert.kind);
        let claims = ran.claims();
        assert!(!claims.contains("Nothing was changed"), "{claims}");
        assert!(!claims.contains("shows no call"), "{claims}");
        let decide = ran.would_decide();
        assert!(
            decide.contains("Whether SomethingThatIsNewTomorrow by"),
            "{decide}"
        );
        let end = PlaybookCase::with(&ALL, read).clearing(record()).run(alert);
        let end = end.conclusion;
        assert_eq!(end.verdict, Verdict::BenignTruePositive);
    }
}
