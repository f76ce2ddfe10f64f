use nightshift_alert::{Indicator, IndicatorKind, IndicatorRole};
use nightshift_engine::conclusion::{Leaning, Verdict};
use nightshift_engine::tool::ToolError;
use serde_json::{Value, json};

use super::alerts::made_for;
use super::case_fixture::{
    ALL, DEFAULT, PlaybookCase, ToolAnswers, known_asset, known_identity, logged, nothing, record,
};

const OPENED: &str = "guardduty-s3-anonymous-access";
const TAKEN: &str = "guardduty-s3-exfiltration";

fn quiet(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    Ok(nothing(kind, arguments))
}

fn bucket(data: &str, open: bool) -> Value {
    json!({"id": "larkspur-claims", "name": "larkspur-claims", "type": "bucket", "owner": "claims team", "environment": "prod",
        "data": data, "internet_facing": open, "purpose": if open { "public website" } else { "claims" }})
}

fn call(action: &str, principal: &str, ip: &str) -> Value {
    json!({"at": "2026-03-02T02:31:00Z", "action": action, "principal": principal, "source_ip": ip, "error": null,
        "resource": "arn:aws:s3:::larkspur-claims"})
}

#[test]
fn customer_data_that_strangers_read_is_a_true_positive() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "asset_lookup" => Ok(known_asset(bucket("customer claims", false), arguments)),
        "log_search.cloudtrail" if arguments["resource"] == "larkspur-claims" => Ok(logged(
            kind,
            json!([
                call("PutBucketPolicy", "claims-export", "203.0.113.77"),
                call("GetObject", "AWSAccount", "192.0.2.140")
            ]),
        )),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, answers).run(made_for(OPENED));
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] The feed has the effective permission of larkspur-claims as PUBLIC: anybody on the internet can reach it
    For [E15 E0] 192.0.2.140 did GetObject on larkspur-claims without signing in, at 2026-03-02T02:31:00Z
    For [E15 E0] Who may reach larkspur-claims was changed: PutBucketPolicy by claims-export at 2026-03-02T02:31:00Z
    For [E2 E0] larkspur-claims holds data that is not for everybody: customer claims
    For [E3 E0] The identity register does not know claims-export
    For [E0] The alert reports AWS_API_CALL PutBucketPolicy by claims-export from 203.0.113.77, once
    For [E12] No change record covers it
    ");
    insta::assert_snapshot!(ran.actions().join(" "), @"block-bucket-public-access deactivate-access-key review-bucket-access review-key-activity contact-owner");
}

#[test]
fn objects_taken_from_an_unusual_network_are_a_true_positive() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "identity_lookup" => Ok(known_identity("service", &["10.0.0.0/8"], arguments)),
        "log_search.cloudtrail" => Ok(logged(
            kind,
            json!([
                call("GetObject", "claims-export", "203.0.113.77"),
                call("DeleteObjects", "claims-export", "203.0.113.77")
            ]),
        )),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, answers).run(made_for(TAKEN));
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(ran.claims(), @"
    For [E15 E0] Objects were taken: GetObject of arn:aws:s3:::larkspur-claims from 203.0.113.77 at 2026-03-02T02:31:00Z
    For [E15 E0] Data was put at risk: DeleteObjects on arn:aws:s3:::larkspur-claims from 203.0.113.77 at 2026-03-02T02:31:00Z
    For [E0 E3] 203.0.113.77 is in none of the networks that claims-export works from (10.0.0.0/8)
    For [E0] The alert reports AWS_API_CALL GetObject by claims-export from 203.0.113.77, 214 times
    For [E12] No change record covers it
    ");
}

#[test]
fn a_publication_in_the_change_register_is_benign() {
    let logged: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => Ok(logged(
            kind,
            json!([call("PutBucketPolicy", "claims-export", "203.0.113.77")]),
        )),
        _ => quiet(kind, arguments),
    };
    // A trail without the call of the alert is of another account or region.
    for (answers, verdict) in [
        (logged, Verdict::BenignTruePositive),
        (quiet, Verdict::Inconclusive),
    ] {
        let change = record("change", IndicatorKind::Bucket, "larkspur-claims");
        let world = PlaybookCase::with(&ALL, answers).clearing(change);
        let world = world.of_identity("claims-export");
        let end = world.run(made_for(OPENED)).conclusion;
        assert_eq!(end.verdict, verdict);
    }
}

#[test]
fn a_website_without_a_record_that_allows_it_leans_benign() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "asset_lookup" => Ok(known_asset(bucket("", true), arguments)),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, answers).run(made_for(OPENED));
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.leaning),
        (Verdict::Inconclusive, Leaning::None),
        "whoever opened it is in no register"
    );
    let known: ToolAnswers = |kind, arguments| match kind {
        "asset_lookup" => Ok(known_asset(bucket("", true), arguments)),
        "identity_lookup" => Ok(known_identity("ci", &["203.0.113.0/24"], arguments)),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, known).run(made_for(OPENED));
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.leaning),
        (Verdict::Inconclusive, Leaning::Benign)
    );
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] The feed has the effective permission of larkspur-claims as PUBLIC: anybody on the internet can reach it
    For [E0] The alert reports AWS_API_CALL PutBucketPolicy by claims-export from 203.0.113.77, once
    Against [E2 E0] The register has larkspur-claims as meant to be reached from outside (public website)
    Against [E0 E3] 203.0.113.77 is in a network that claims-export works from
    For [E12] No change record covers it
    ");
    insta::assert_snapshot!(ran.would_decide(), @"An approved record that larkspur-claims is used like this: its line in the asset register with expected findings, or a change");
}

#[test]
fn a_website_beside_a_bucket_that_nobody_knows_leans_nowhere() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "asset_lookup" if arguments["indicator"] == "larkspur-claims" => {
            Ok(known_asset(bucket("", true), arguments))
        }
        _ => quiet(kind, arguments),
    };
    let mut alert = made_for(OPENED);
    alert
        .indicators
        .retain(|one| one.kind == IndicatorKind::Bucket);
    let alone = PlaybookCase::with(&ALL, answers).run(alert.clone());
    assert_eq!(alone.conclusion.leaning, Leaning::Benign);
    let payroll = Indicator::new(
        IndicatorKind::Bucket,
        "larkspur-payroll",
        IndicatorRole::Target,
    );
    alert.indicators.push(payroll);
    let both = PlaybookCase::with(&ALL, answers).run(alert);
    assert_ne!(both.conclusion.leaning, Leaning::Benign);
}

#[test]
fn without_registers_and_logs_it_stays_open() {
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(made_for(TAKEN));
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.leaning),
        (Verdict::Inconclusive, Leaning::None)
    );
    insta::assert_snapshot!(ran.would_decide(), @"
    What larkspur-claims holds, and whether it is meant to face the internet: a line in the asset register
    CloudTrail with data events of larkspur-claims: who read from it since 2026-03-02T02:11:04Z
    Whether claims-export works with this bucket: its line in the identity register, or its owner
    A change that covers 2026-03-02T02:11:04Z, with who approved it
    ");
}

#[test]
fn what_the_key_deleted_counts_from_wherever_it_was_used() {
    let inside: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" if !arguments["access_key"].is_null() => {
            let mut audit_event = call("DeleteObjects", "claims-export", "10.20.1.1");
            audit_event["access_key"] = arguments["access_key"].clone();
            Ok(logged(kind, json!([audit_event])))
        }
        _ => quiet(kind, arguments),
    };
    let of_identity = record("identity", IndicatorKind::Principal, "claims-export");
    let world = PlaybookCase::with(&ALL, inside).clearing(of_identity);
    let ran = world.run(made_for(TAKEN));
    assert!(!ran.conclusion.verdict.is_benign());
    let claims = ran.claims();
    assert!(
        claims.contains("DeleteObjects on arn:aws:s3:::larkspur-claims from 10.20.1.1"),
        "{claims}"
    );
}

#[test]
fn what_the_key_reads_at_its_usual_place_was_not_taken() {
    fn read_bucket(kind: &str, arguments: &Value, source: &str) -> Result<Value, ToolError> {
        match kind {
            "identity_lookup" => Ok(known_identity("service", &["192.0.2.0/24"], arguments)),
            "log_search.cloudtrail" if !arguments["access_key"].is_null() => {
                let mut entry = call("GetObject", "claims-export", source);
                entry["read_only"] = json!(true);
                Ok(logged(kind, json!([entry])))
            }
            _ => quiet(kind, arguments),
        }
    }
    let private: ToolAnswers = |kind, arguments| read_bucket(kind, arguments, "10.20.1.1");
    let usual: ToolAnswers = |kind, arguments| read_bucket(kind, arguments, "192.0.2.7");
    let same: ToolAnswers = |kind, arguments| read_bucket(kind, arguments, "203.0.113.77");
    let other: ToolAnswers = |kind, arguments| read_bucket(kind, arguments, "198.51.100.9");
    for (answers, taken) in [
        (private, false),
        (usual, false),
        (same, true),
        (other, true),
    ] {
        let ran = PlaybookCase::with(&ALL, answers).run(made_for(OPENED));
        let claims = ran.claims();
        assert_eq!(claims.contains("Objects were taken"), taken, "{claims}");
        let is_malicious = ran.conclusion.verdict == Verdict::TruePositive;
        assert_eq!(is_malicious, taken, "{claims}");
    }
}
