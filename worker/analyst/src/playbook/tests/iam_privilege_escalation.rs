use nightshift_alert::{IndicatorKind, Severity};
use nightshift_engine::conclusion::{Leaning, Verdict};
use nightshift_engine::tool::ToolError;
use serde_json::{Value, json};

use super::alerts::made_for;
use super::case_fixture::{
    ALL, DEFAULT, PlaybookCase, ToolAnswers, known_identity, logged, nothing, record,
};

const AWS: &str = "guardduty-iam-privilege-escalation";

fn quiet(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    Ok(nothing(kind, arguments))
}

fn call(action: &str, resource: &str, error: Option<&str>) -> Value {
    json!({"at": "2026-03-02T02:31:00Z", "action": action, "principal": "arn:aws:iam::444455556666:user/j.ortega",
        "access_key": "AKIAEXAMPLE00000007", "source_ip": "198.51.100.140", "error": error, "resource": resource})
}

#[test]
fn rights_raised_from_an_unusual_network_are_a_true_positive() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "identity_lookup" if arguments["principal"] == "j.ortega" => {
            Ok(known_identity("human", &["10.0.0.0/8"], arguments))
        }
        "log_search.cloudtrail" if arguments["principal"] == "backup-svc" => Ok(logged(
            kind,
            json!([{"at": "2026-03-02T02:50:00Z", "action": "GetSecretValue", "principal": "backup-svc", "error": null}]),
        )),
        "log_search.cloudtrail" => Ok(logged(
            kind,
            json!([
                call("CreateRole", "x", Some("AccessDenied")),
                call("CreateUser", "backup-svc", None),
                call("AttachUserPolicy", "backup-svc", None)
            ]),
        )),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, answers).run(made_for(AWS));
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.assessed_severity),
        (Verdict::TruePositive, Severity::High)
    );
    insta::assert_snapshot!(ran.claims(), @"
    For [E16 E0] Rights were raised: AttachUserPolicy on backup-svc by arn:aws:iam::444455556666:user/j.ortega at 2026-03-02T02:31:00Z
    For [E16 E0] A way back in was made: CreateUser on backup-svc by arn:aws:iam::444455556666:user/j.ortega at 2026-03-02T02:31:00Z
    For [E4 E0] The identity register does not know backup-svc, who is named in the grant
    For [E18 E0] The new rights are in use: GetSecretValue by backup-svc at 2026-03-02T02:50:00Z
    For [E0 E2] 198.51.100.140 is in none of the networks that j.ortega works from (10.0.0.0/8)
    For [E16] CreateRole was tried and refused (AccessDenied) at 2026-03-02T02:31:00Z
    For [E10] No change record covers it
    ");
    insta::assert_snapshot!(ran.actions().join(" "), @"deactivate-access-key deny-principal revoke-grant review-iam-changes review-key-activity contact-owner");
}

#[test]
fn ownership_for_a_stranger_is_a_true_positive() {
    let ran = PlaybookCase::with(&ALL, quiet).run(made_for("scc-iam-anomalous-grant"));
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] The alert tells of a grant of roles/owner, a role with power over others, to user:maint.helper.77@gmail.com
    For [E3 E0] The identity register does not know maint.helper.77@gmail.com, who is named in the grant
    For [E2 E0] The identity register does not know etl@larkspur-data.iam.gserviceaccount.com
    For [E0] The alert reports SetIamPolicy by etl@larkspur-data.iam.gserviceaccount.com from 198.51.100.140, once
    For [E8] No change record covers it
    ");
}

#[test]
fn an_approved_change_makes_it_benign() {
    let change = record("change", IndicatorKind::Principal, "j.ortega");
    let answers: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => Ok(logged(
            kind,
            json!([call("AttachUserPolicy", "backup-svc", None)]),
        )),
        _ => quiet(kind, arguments),
    };
    let end = PlaybookCase::with(&ALL, answers)
        .clearing(change)
        .run(made_for(AWS))
        .conclusion;
    assert_eq!(end.verdict, Verdict::BenignTruePositive);
}

#[test]
fn a_change_does_not_explain_that_logging_was_stopped() {
    let change = record("change", IndicatorKind::Principal, "j.ortega");
    let answers: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => Ok(logged(kind, json!([call("StopLogging", "trail", None)]))),
        _ => quiet(kind, arguments),
    };
    let end = PlaybookCase::with(&ALL, answers)
        .clearing(change)
        .run(made_for(AWS))
        .conclusion;
    assert_eq!(
        (end.verdict, end.leaning),
        (Verdict::Inconclusive, Leaning::Malicious)
    );
}

#[test]
fn a_deployment_that_raised_nothing_leans_benign() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "identity_lookup" => Ok(known_identity("ci", &["198.51.100.0/24"], arguments)),
        "log_search.cloudtrail" => Ok(logged(kind, json!([call("GetUser", "x", None)]))),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, answers).run(made_for(AWS));
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.leaning),
        (Verdict::Inconclusive, Leaning::Benign)
    );
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] The alert reports AWS_API_CALL AttachUserPolicy by j.ortega from 198.51.100.140, 3 times
    Against [E0 E2] 198.51.100.140 is in a network that j.ortega works from
    Against [E2] j.ortega is a machine identity (ci) of platform: deployments hand out rights
    Against [E16] The audit log shows no call that is known to raise rights or to make a key, user or role (1 call)
    For [E10] No change record covers it
    ");
}

#[test]
fn without_registers_and_logs_it_stays_open() {
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(made_for(AWS));
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.leaning),
        (Verdict::Inconclusive, Leaning::None)
    );
    insta::assert_snapshot!(ran.would_decide(), @"
    CloudTrail or Cloud Audit Logs of AKIAEXAMPLE00000007: which rights, keys or users were made
    Who j.ortega is and from which networks it works: a line in the identity register
    A change or access request that covers 2026-03-02T02:11:04Z, with who approved it
    The owner of j.ortega: whether this was theirs
    ");
}
