use nightshift_alert::{IndicatorKind, Severity};
use nightshift_engine::conclusion::{Leaning, Verdict};
use nightshift_engine::tool::ToolError;
use serde_json::{Value, json};

use super::alerts::made_for;
use super::case_fixture::{
    ALL, DEFAULT, PlaybookCase, ToolAnswers, known_identity, logged, nothing, on_list, record,
};

const ALERT: &str = "guardduty-attack-sequence";

fn quiet(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    Ok(nothing(kind, arguments))
}

fn taken(kind: &str) -> Value {
    logged(
        kind,
        json!([{"at": "2026-03-02T02:31:00Z", "action": "GetObject", "principal": "arn:aws:iam::444455556666:user/claims-export",
            "source_ip": "203.0.113.77", "error": null, "resource": "arn:aws:s3:::larkspur-claims"}]),
    )
}

#[test]
fn data_taken_by_the_actor_is_a_true_positive_and_critical() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => Ok(taken(kind)),
        "identity_lookup" => Ok(known_identity("service", &["10.0.0.0/8"], arguments)),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, answers).run(made_for(ALERT));
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.assessed_severity),
        (Verdict::TruePositive, Severity::Critical)
    );
    insta::assert_snapshot!(ran.claims(), @"
    For [E15 E0] The actor came as far as GetObject on arn:aws:s3:::larkspur-claims by arn:aws:iam::444455556666:user/claims-export at 2026-03-02T02:31:00Z
    For [E0] One of the signals that the feed tied together: Discovery:S3/AnomalousBehavior
    For [E0] One of the signals that the feed tied together: GetObject called from an unusual ASN
    For [E0] One of the signals that the feed tied together: DeleteObject called by claims-export
    For [E0] The signals stand for several stages of an attack: Discovery, Exfiltration, Impact
    For [E0 E5] 203.0.113.77 is in none of the networks that claims-export works from (10.0.0.0/8)
    ");
    insta::assert_snapshot!(ran.actions().join(" "), @"deactivate-access-key deny-principal keep-object-versions review-key-activity rotate-secrets contact-owner");
}

#[test]
fn an_exercise_in_the_register_of_scanners_is_benign() {
    let scanner = || record("authorised_scanner", IndicatorKind::Ip, "203.0.113.77");
    let looked: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => {
            let mut seen = taken(kind);
            seen["rows"][0]["action"] = json!("ListBuckets");
            Ok(seen)
        }
        _ => quiet(kind, arguments),
    };
    let end = PlaybookCase::with(&ALL, looked)
        .clearing(scanner())
        .of_identity("claims-export")
        .run(made_for(ALERT))
        .conclusion;
    assert_eq!(end.verdict, Verdict::BenignTruePositive);
    let listed: ToolAnswers = |kind, arguments| match kind {
        "watchlist" => Ok(on_list("malicious", arguments)),
        _ => quiet(kind, arguments),
    };
    let end = PlaybookCase::with(&ALL, listed)
        .clearing(scanner())
        .of_identity("claims-export")
        .run(made_for(ALERT))
        .conclusion;
    assert!(!end.verdict.is_benign(), "a listed address is no exercise");
}

#[test]
fn from_the_usual_network_it_stays_open_and_leans_malicious() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "identity_lookup" => Ok(known_identity("service", &["203.0.113.0/24"], arguments)),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, answers).run(made_for(ALERT));
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.leaning),
        (Verdict::Inconclusive, Leaning::Malicious)
    );
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] One of the signals that the feed tied together: Discovery:S3/AnomalousBehavior
    For [E0] One of the signals that the feed tied together: GetObject called from an unusual ASN
    For [E0] One of the signals that the feed tied together: DeleteObject called by claims-export
    For [E0] The signals stand for several stages of an attack: Discovery, Exfiltration, Impact
    Against [E0 E5] 203.0.113.77 is in a network that claims-export works from
    ");
}

#[test]
fn without_registers_and_logs_it_leans_malicious() {
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(made_for(ALERT));
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.leaning),
        (Verdict::Inconclusive, Leaning::Malicious)
    );
    insta::assert_snapshot!(ran.would_decide(), @"
    The owner of claims-export: whether these calls were theirs, asked by another channel
    CloudTrail of AKIAEXAMPLE00000011, all regions: how far the actor came
    A record of an exercise or change that covers all of 203.0.113.77 at that time, with who approved it
    ");
}
