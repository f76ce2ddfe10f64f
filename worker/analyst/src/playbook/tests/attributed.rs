//! Tests that a record explains only what its own subject did in its own time.

use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, Indicator, IndicatorKind, IndicatorRole};
use nightshift_engine::conclusion::Verdict;
use nightshift_engine::exoneration::Exoneration;
use nightshift_engine::tool::ToolError;
use serde_json::{Value, json};

use super::alerts::{made_for, sample};
use super::case_fixture::{ALL, PlaybookCase, ToolAnswers, logged, nothing, record};

const TESTED: &str = "192.0.2.10";
const OTHER: &str = "203.0.113.9";

fn quiet(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    Ok(nothing(kind, arguments))
}

fn by(source: &str, kind: IndicatorKind) -> Indicator {
    Indicator::new(kind, source, IndicatorRole::Actor)
}

/// Returns an alert about a machine that two addresses probe.
fn probed() -> Alert {
    let mut alert = sample("guardduty-eventbridge-dns");
    "Recon:EC2/Portscan".clone_into(&mut alert.kind);
    alert.state.sample = false;
    alert
        .indicators
        .retain(|one| one.kind != IndicatorKind::Domain);
    let sources = [TESTED, OTHER].map(|source| by(source, IndicatorKind::Ip));
    alert.indicators.extend(sources);
    alert.indicators.sort();
    alert
}

fn host() -> Exoneration {
    let mut host = record("asset", IndicatorKind::Instance, "i-11111111");
    "i-11111111 is a front door".clone_into(&mut host.statement);
    host
}

fn scanner() -> Exoneration {
    record("authorised_scanner", IndicatorKind::Ip, TESTED)
}

#[test]
fn a_test_of_one_address_explains_no_sign_in_from_another() {
    let got_in: ToolAnswers = |kind, arguments| match kind {
        "log_search.json_lines" if arguments["ip"] != OTHER => quiet(kind, arguments),
        "log_search.json_lines" => Ok(logged(
            kind,
            json!([{"at": "2023-04-16T06:12:00Z", "action": "sign-in", "principal": "root", "source_ip": OTHER,
                "outcome": "success", "error": null}]),
        )),
        _ => quiet(kind, arguments),
    };
    let brute_force = || {
        let mut alert = probed();
        "UnauthorizedAccess:EC2/SSHBruteForce".clone_into(&mut alert.kind);
        alert
    };
    for alert in [probed(), brute_force()] {
        let world = PlaybookCase::with(&ALL, got_in).clearing(scanner());
        let ran = world.clearing(host()).run(alert.clone());
        assert_eq!(
            ran.conclusion.verdict,
            Verdict::TruePositive,
            "{}",
            alert.kind
        );
        let both = record("authorised_scanner", IndicatorKind::Ip, OTHER);
        let world = PlaybookCase::with(&ALL, got_in).clearing(scanner());
        let ran = world.clearing(both).run(alert);
        assert_eq!(ran.conclusion.verdict, Verdict::BenignTruePositive);
    }
}

#[test]
fn a_report_opens_with_the_record_that_clears() {
    let other = record("authorised_scanner", IndicatorKind::Ip, OTHER);
    let world = PlaybookCase::with(&ALL, quiet)
        .clearing(scanner())
        .clearing(other);
    let end = world.clearing(host()).run(probed()).conclusion;
    assert_eq!(end.verdict, Verdict::BenignTruePositive);
    assert_eq!(end.exonerations[0].kind, "authorised_scanner");
    insta::assert_snapshot!(end.summary, @r#"GuardDuty reports: "Drop Point domain name queried by EC2 instance i-99999999" by 192.0.2.10 and 203.0.113.9 on i-11111111; found: GeneratedFindingThreatName. It is allowed."#);
}

/// Returns the call that the alert is about.
fn look() -> Value {
    let mut look = audit_event("198.51.100.23", "2026-03-02T02:55:00Z");
    look["action"] = json!("ListUsers");
    look["read_only"] = json!(true);
    look
}

fn audit_event(source: &str, at: &str) -> Value {
    json!({"at": at, "action": "AuthorizeSecurityGroupIngress", "service": "ec2.amazonaws.com",
        "principal": "arn:aws:iam::444455556666:user/ci-deployer", "access_key": "AKIAEXAMPLE00000001", "source_ip": source,
        "outcome": "success", "error": null, "resource": null, "read_only": false})
}

fn in_the_night(mut record: Exoneration) -> Exoneration {
    let time = |text: &str| text.parse::<DateTime<Utc>>().ok();
    record.from = time("2026-03-02T01:00:00Z");
    record.until = time("2026-03-02T04:00:00Z");
    record
}

#[test]
fn a_record_explains_no_deed_after_its_end() {
    let within: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => {
            let row = audit_event("198.51.100.23", "2026-03-02T03:59:00Z");
            Ok(logged(kind, json!([look(), row])))
        }
        _ => quiet(kind, arguments),
    };
    let after: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => {
            let row = audit_event("198.51.100.23", "2026-03-02T22:00:00Z");
            Ok(logged(kind, json!([look(), row])))
        }
        _ => quiet(kind, arguments),
    };
    for kind in ["authorised_scanner", "change"] {
        for (answers, benign) in [(within, true), (after, false)] {
            let record = in_the_night(record(kind, IndicatorKind::Principal, "ci-deployer"));
            let world = PlaybookCase::with(&ALL, answers).clearing(record);
            let end = world.run(sample("securityhub-eventbridge-discovery"));
            assert_eq!(end.conclusion.verdict.is_benign(), benign, "{kind}");
        }
    }
}

#[test]
fn record_does_not_explain_hidden_repeats_beyond_its_window() {
    /// Returns many calls of one kind. The first is shown, and the last is at that time.
    fn repeated(kind: &str, arguments: &Value, last: &str) -> Result<Value, ToolError> {
        if kind != "log_search.cloudtrail" {
            return quiet(kind, arguments);
        }
        let first = "2026-03-02T02:55:00Z";
        let mut answer = logged(kind, json!([audit_event("198.51.100.23", first)]));
        answer["rows_matched"] = json!(400);
        answer["truncated"] = json!(true);
        answer["left_out"] = json!("repeats");
        answer["summary"] = json!({"first": first, "last": last});
        Ok(answer)
    }
    let within: ToolAnswers = |kind, arguments| repeated(kind, arguments, "2026-03-02T03:59:00Z");
    let after: ToolAnswers = |kind, arguments| repeated(kind, arguments, "2026-03-02T22:00:00Z");
    let test = || {
        record(
            "authorised_scanner",
            IndicatorKind::Principal,
            "ci-deployer",
        )
    };
    let user = || record("change", IndicatorKind::Principal, "ci-deployer");
    let key = record("change", IndicatorKind::AccessKey, "AKIAEXAMPLE00000001");
    for (answers, record, benign) in [
        (within, in_the_night(test()), true),
        (within, in_the_night(user()), true),
        (after, in_the_night(test()), false),
        (after, in_the_night(user()), false),
        (after, test(), true),
        (after, user(), true),
        // The step also searched for the key's owner, who may have another key.
        (within, key, false),
    ] {
        let told = format!("{} {:?}", record.subject, record.until);
        let world = PlaybookCase::with(&ALL, answers).clearing(record);
        let end = world.run(sample("securityhub-eventbridge-discovery"));
        assert_eq!(end.conclusion.verdict.is_benign(), benign, "{told}");
    }
}

#[test]
fn a_test_from_one_address_explains_no_deed_from_another() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => Ok(logged(
            kind,
            json!([audit_event(OTHER, "2026-03-02T02:55:00Z")]),
        )),
        _ => quiet(kind, arguments),
    };
    let of_identity = || record("identity", IndicatorKind::Principal, "ci-deployer");
    let tested = || record("authorised_scanner", IndicatorKind::Ip, "198.51.100.23");
    let mut alert = sample("securityhub-eventbridge-discovery");
    alert.indicators.push(by(OTHER, IndicatorKind::Ip));
    let world = PlaybookCase::with(&ALL, answers).clearing(of_identity());
    let end = world.clearing(tested()).run(alert.clone()).conclusion;
    assert_eq!(end.verdict, Verdict::Inconclusive);
    // The record is of the key itself.
    let key = record(
        "authorised_scanner",
        IndicatorKind::AccessKey,
        "AKIAEXAMPLE00000001",
    );
    let end = PlaybookCase::with(&ALL, answers)
        .clearing(key)
        .clearing(record(
            "authorised_scanner",
            IndicatorKind::Principal,
            "ci-deployer",
        ))
        .clearing(tested())
        .clearing(record("authorised_scanner", IndicatorKind::Ip, OTHER))
        .run(alert);
    assert_eq!(end.conclusion.verdict, Verdict::BenignTruePositive);
}

#[test]
fn user_named_like_a_recorded_bucket_is_not_the_bucket() {
    let named: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => {
            let mut user = audit_event("203.0.113.77", "2026-03-02T02:20:00Z");
            user["action"] = json!("CreateUser");
            user["service"] = json!("iam.amazonaws.com");
            user["resource"] = json!("larkspur-claims");
            Ok(logged(kind, json!([user])))
        }
        _ => quiet(kind, arguments),
    };
    let of_bucket: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => {
            let mut tagging = audit_event("203.0.113.77", "2026-03-02T02:20:00Z");
            tagging["action"] = json!("PutBucketTagging");
            tagging["service"] = json!("s3.amazonaws.com");
            tagging["resource"] = json!("arn:aws:s3:::larkspur-claims");
            Ok(logged(kind, json!([tagging])))
        }
        _ => quiet(kind, arguments),
    };
    for (answers, benign) in [(named, false), (of_bucket, true)] {
        let change = record("change", IndicatorKind::Bucket, "larkspur-claims");
        let world = PlaybookCase::with(&ALL, answers).clearing(change);
        let ran = world
            .of_identity("claims-export")
            .run(made_for("guardduty-s3-anonymous-access"));
        assert_eq!(ran.conclusion.verdict.is_benign(), benign);
        assert_ne!(ran.would_decide().contains("CreateUser"), benign);
    }
}

#[test]
fn a_test_explains_no_sign_in_after_its_end_however_that_ended() {
    fn row(at: &str, outcome: &str) -> Value {
        json!({"at": at, "principal": "root", "source_ip": TESTED, "outcome": outcome, "error": null})
    }
    let within: ToolAnswers = |kind, arguments| match kind {
        "log_search.json_lines" => Ok(logged(
            kind,
            json!([row("2023-04-16T06:30:00Z", "session opened")]),
        )),
        _ => quiet(kind, arguments),
    };
    let after: ToolAnswers = |kind, arguments| match kind {
        "log_search.json_lines" => Ok(logged(
            kind,
            json!([
                row("2023-04-16T06:30:00Z", "success"),
                row("2023-04-16T20:20:00Z", "session opened")
            ]),
        )),
        _ => quiet(kind, arguments),
    };
    for kind in ["Recon:EC2/Portscan", "UnauthorizedAccess:EC2/SSHBruteForce"] {
        for (answers, verdict) in [
            (within, Verdict::BenignTruePositive),
            (after, Verdict::Inconclusive),
        ] {
            let mut alert = probed();
            kind.clone_into(&mut alert.kind);
            alert.indicators.retain(|one| one.value != OTHER);
            let mut test = scanner();
            test.until = "2023-04-16T08:00:00Z".parse().ok();
            let ran = PlaybookCase::with(&ALL, answers).clearing(test).run(alert);
            assert_eq!(ran.conclusion.verdict, verdict, "{kind}");
            let told = ran
                .would_decide()
                .contains("How the sign-ins of 192.0.2.10 ended");
            assert_eq!(told, verdict == Verdict::Inconclusive);
        }
    }
}

#[test]
fn test_explains_its_own_login_under_another_address_form() {
    fn row(source: &Value) -> Value {
        json!({"at": "2023-04-16T06:12:00Z", "principal": "root", "source_ip": source, "outcome": "success", "error": null})
    }
    let untold: ToolAnswers = |kind, arguments| match kind {
        "log_search.json_lines" => Ok(logged(kind, json!([row(&Value::Null)]))),
        _ => quiet(kind, arguments),
    };
    let others: ToolAnswers = |kind, arguments| match kind {
        "log_search.json_lines" => Ok(logged(kind, json!([row(&json!(OTHER))]))),
        _ => quiet(kind, arguments),
    };
    for kind in ["Recon:EC2/Portscan", "UnauthorizedAccess:EC2/SSHBruteForce"] {
        for (answers, verdict) in [
            (untold, Verdict::BenignTruePositive),
            (others, Verdict::TruePositive),
        ] {
            let mut alert = probed();
            kind.clone_into(&mut alert.kind);
            alert.indicators.retain(|one| one.value != OTHER);
            let ran = PlaybookCase::with(&ALL, answers)
                .clearing(scanner())
                .run(alert);
            assert_eq!(ran.conclusion.verdict, verdict, "{kind}");
        }
        // Of two addresses, no test covers the second.
        let mut alert = probed();
        kind.clone_into(&mut alert.kind);
        let world = PlaybookCase::with(&ALL, untold).clearing(scanner());
        let ran = world.clearing(host()).run(alert);
        assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    }
}
