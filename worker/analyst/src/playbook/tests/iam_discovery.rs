use nightshift_alert::{Alert, Indicator, IndicatorKind, IndicatorRole, ReadOptions};
use nightshift_engine::conclusion::{Leaning, Verdict};
use nightshift_engine::plan::StepOutcome;
use nightshift_engine::tool::ToolError;
use serde_json::{Value, json};

use super::alerts::sample;
use super::case_fixture::{ALL, DEFAULT, PlaybookCase, ToolAnswers, all_the_time, nothing, record};

const ALERT: &str = "securityhub-eventbridge-discovery";

fn register(networks: &[&str], arguments: &Value) -> Value {
    json!({"principal": arguments["principal"], "found": 1, "searched": {"register": "i.csv", "records": 5},
        "identities": [{"principal": "ci-deployer", "kind": "ci", "owner": "platform", "mfa": false, "usual_networks": networks,
            "status": "active", "expected_findings": [], "approved_by": "a.b"}]})
}

fn trail(actions: &[&str]) -> Value {
    let rows: Vec<_> = actions
        .iter()
        .map(|action| json!({"at": "2026-03-02T02:55:00Z", "action": action, "principal": "arn:aws:iam::444455556666:user/ci-deployer",
            "access_key": "AKIAEXAMPLE00000001", "source_ip": "198.51.100.23", "error": null, "resource": null,
            "read_only": action.starts_with("List") || action.starts_with("Get")}))
        .collect();
    let counts: serde_json::Map<_, _> = actions
        .iter()
        .map(|action| ((*action).to_owned(), json!(1)))
        .collect();
    json!({"source": "cloudtrail", "searched": all_the_time(), "rows_scanned": 70, "rows_matched": rows.len(), "rows": rows, "truncated": false,
        "summary": {"actions": counts, "errors": 0}})
}

fn quiet(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    Ok(nothing(kind, arguments))
}

#[test]
fn a_new_key_from_an_unusual_network_is_a_true_positive() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "identity_lookup" => Ok(register(&["10.0.0.0/8"], arguments)),
        "log_search.cloudtrail" => Ok(trail(&["ListUsers", "ListRoles", "CreateAccessKey"])),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, answers).run(sample(ALERT));
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(ran.claims(), @"
    For [E15 E0] It did: CreateAccessKey by arn:aws:iam::444455556666:user/ci-deployer at 2026-03-02T02:55:00Z
    For [E0] The alert reports AWS_API_CALL by ci-deployer from 198.51.100.23, 6 times
    For [E15 E0] The audit log shows 3 calls by AKIAEXAMPLE00000001: CreateAccessKey, ListRoles, ListUsers
    For [E0 E2] 198.51.100.23 is in none of the networks that ci-deployer works from (10.0.0.0/8)
    Against [E2 E0] ci-deployer is a machine identity (ci) of platform; new tools make it look around
    Against [E4] No value of the alert is on a watch list as bad (3 looked up)
    ");
    insta::assert_snapshot!(ran.advised(), @"
    Deactivate access key AKIAEXAMPLE00000001 of user ci-deployer.
    Stop user ci-deployer altogether by attaching AWSDenyAll.
    List what access key AKIAEXAMPLE00000001 did.
    List what ci-deployer did in CloudTrail around the alert.
    Ask the owner of ci-deployer whether this was planned.
    ");
    let first = ran.conclusion.actions[0].command.as_deref();
    insta::assert_snapshot!(first.unwrap_or_default(), @"aws iam update-access-key --access-key-id AKIAEXAMPLE00000001 --user-name ci-deployer --status Inactive");
}

/// Returns the same finding about the session of a role.
fn of_a_role(name: &str) -> Alert {
    let path = format!(
        "{}/../../tests/fixtures/alerts/{ALERT}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(path).unwrap();
    let text = text
        .replace("AKIAEXAMPLE00000001", "ASIAEXAMPLE00000001")
        .replace("AIDAEXAMPLE0001", "AROAEXAMPLE0001:build-4711")
        .replace("\"IAMUser\"", "\"AssumedRole\"")
        .replace("ci-deployer", name);
    let batch = nightshift_alert::read_message(text.as_bytes(), &ReadOptions::default());
    batch.unwrap().alerts.remove(0)
}

#[test]
fn a_role_is_stopped_as_a_role_and_no_user_of_its_name() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "identity_lookup" => Ok(register(&["10.0.0.0/8"], arguments)),
        "log_search.cloudtrail" => Ok(trail(&["ListUsers", "CreateAccessKey"])),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, answers).run(of_a_role("ci-deployer"));
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(ran.advised(), @"
    Revoke the sessions of role ci-deployer.
    Stop role ci-deployer altogether by attaching AWSDenyAll.
    List what access key ASIAEXAMPLE00000001 did.
    List what ci-deployer did in CloudTrail around the alert.
    Ask the owner of ci-deployer whether this was planned.
    ");
    let looked_up = ran.conclusion.actions[3].command.as_deref();
    insta::assert_snapshot!(looked_up.unwrap_or_default(), @"aws cloudtrail lookup-events --region eu-west-1 --lookup-attributes AttributeKey=Username,AttributeValue=build-4711 --max-results 50");
    let ran = PlaybookCase::with(&ALL, answers).run(of_a_role("AWSReservedSSO_Admin_0abc"));
    insta::assert_snapshot!(ran.conclusion.actions[0].text, @"Disable build-4711 in IAM Identity Center and delete its sessions there: AWSReservedSSO_Admin_0abc is a role that only Identity Center can change.");
}

#[test]
fn looking_only_from_the_usual_network_leans_benign() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "identity_lookup" => Ok(register(&["198.51.100.0/24"], arguments)),
        "log_search.cloudtrail" => Ok(trail(&["ListUsers", "ListRoles"])),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, answers).run(sample(ALERT));
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.leaning),
        (Verdict::Inconclusive, Leaning::Benign)
    );
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] The alert reports AWS_API_CALL by ci-deployer from 198.51.100.23, 6 times
    For [E15 E0] The audit log shows 2 calls by AKIAEXAMPLE00000001: ListRoles, ListUsers
    Against [E0 E2] 198.51.100.23 is in a network that ci-deployer works from
    Against [E2 E0] ci-deployer is a machine identity (ci) of platform; new tools make it look around
    Against [E15 E16 E0] Nothing was changed: in the audit log each call of AKIAEXAMPLE00000001 (2) and ci-deployer (2) only read
    Against [E4] No value of the alert is on a watch list as bad (3 looked up)
    ");
    assert_eq!(ran.step("address_trail").outcome, Some(StepOutcome::Unmet));
    insta::assert_snapshot!(ran.step("address_trail").summary, @"No other identity in 2 rows.");
    insta::assert_snapshot!(ran.would_decide(), @"An approved record that ci-deployer does this: its line in the identity register with expected findings, or a change");
}

#[test]
fn an_authorised_scanner_is_benign() {
    let scanner = record("authorised_scanner", IndicatorKind::Ip, "198.51.100.23");
    let looked: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => Ok(trail(&["ListUsers"])),
        _ => quiet(kind, arguments),
    };
    let end = PlaybookCase::with(&ALL, looked)
        .clearing(scanner)
        .of_identity("ci-deployer")
        .run(sample(ALERT))
        .conclusion;
    assert_eq!(end.verdict, Verdict::BenignTruePositive);
}

#[test]
fn what_an_identity_may_do_is_hidden_from_its_own_address_alone() {
    let identity = record("identity", IndicatorKind::Principal, "ci-deployer");
    let looked: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => Ok(trail(&["ListUsers"])),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, looked)
        .clearing(identity)
        .run(sample(ALERT));
    assert_eq!(ran.conclusion.verdict, Verdict::BenignTruePositive);
    insta::assert_snapshot!(ran.advised(), @"
    Nothing to do: what happened is approved.
    To hear no more of it while it is approved, suppress this type in GuardDuty for ci-deployer, 198.51.100.23 only.
    ");
}

#[test]
fn without_registers_and_logs_it_stays_open() {
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(sample(ALERT));
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.leaning),
        (Verdict::Inconclusive, Leaning::None)
    );
    assert!(ran.state.steps().len() >= 3);
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] The alert reports AWS_API_CALL by ci-deployer from 198.51.100.23, 6 times
    Against [E2] No value of the alert is on a watch list as bad (3 looked up)
    ");
    insta::assert_snapshot!(ran.would_decide(), @r#"
    Who ci-deployer is and from which networks it works: a line in the identity register
    CloudTrail or Cloud Audit Logs of AKIAEXAMPLE00000001: whether anything was made or read
    Whose address 198.51.100.23 is: a watch list of our networks, or the asset register
    The owner: whether a new tool, an audit or a person did this
    "#);
}

#[test]
fn a_record_for_looking_clears_nobody_who_then_made_a_key() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "identity_lookup" => Ok(register(&["198.51.100.0/24"], arguments)),
        "log_search.cloudtrail" => Ok(trail(&["ListUsers", "CreateAccessKey"])),
        _ => quiet(kind, arguments),
    };
    let end = PlaybookCase::with(&ALL, answers)
        .clearing(record("identity", IndicatorKind::Principal, "ci-deployer"))
        .run(sample(ALERT))
        .conclusion;
    assert_eq!(
        (end.verdict, end.leaning),
        (Verdict::Inconclusive, Leaning::Malicious)
    );
}

#[test]
fn g06_mutating_call_of_any_name_is_not_cleared_or_skipped() {
    for action in [
        "DeleteUser",
        "CreateSAMLProvider",
        "BatchGetSecretValue",
        "CreateFleet",
        "DeleteBucket",
        "PutMetricAlarm",
        "SomethingThatIsNewTomorrow",
    ] {
        AUDIT_EVENT.set(action);
        let answers: ToolAnswers = |kind, arguments| match kind {
            "identity_lookup" => Ok(register(&["198.51.100.0/24"], arguments)),
            "log_search.cloudtrail" => Ok(trail(&["ListUsers", AUDIT_EVENT.get()])),
            _ => quiet(kind, arguments),
        };
        let ran = PlaybookCase::with(&ALL, answers)
            .clearing(record("identity", IndicatorKind::Principal, "ci-deployer"))
            .run(sample(ALERT));
        assert_eq!(ran.conclusion.verdict, Verdict::Inconclusive, "{action}");
        assert_ne!(ran.conclusion.leaning, Leaning::Benign, "{action}");
        let claims = ran.claims();
        assert!(claims.contains(&format!("It did: {action} by")), "{claims}");
        assert!(!claims.contains("only read"), "{claims}");
        assert!(!claims.contains("shows no call"), "{claims}");
        let decide = ran.would_decide();
        let asks = format!("Whether {action} by ci-deployer was meant");
        assert!(decide.contains(&asks), "{decide}");
        assert!(!decide.contains("that covers Discovery"), "{decide}");
    }
}

thread_local! {
    static AUDIT_EVENT: std::cell::Cell<&'static str> = const { std::cell::Cell::new("") };
}

#[test]
fn login_is_no_mutation_and_unmarked_log_claims_no_reads() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "identity_lookup" => Ok(register(&["198.51.100.0/24"], arguments)),
        "log_search.cloudtrail" => Ok(trail(&["ListUsers", "ConsoleLogin"])),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, answers)
        .clearing(record("identity", IndicatorKind::Principal, "ci-deployer"))
        .run(sample(ALERT));
    assert_eq!(ran.conclusion.verdict, Verdict::BenignTruePositive);
    let claims = ran.claims();
    assert!(
        claims.contains("The audit log shows no call that is known to make a key, user, policy or machine, or to read a secret (2 calls of AKIAEXAMPLE00000001)"),
        "{claims}"
    );
}

#[test]
fn change_explains_its_effects_but_only_a_test_a_new_user() {
    for (kind, action, verdict) in [
        ("change", "CreateStack", Verdict::BenignTruePositive),
        ("change", "CreateUser", Verdict::Inconclusive),
        (
            "authorised_scanner",
            "CreateUser",
            Verdict::BenignTruePositive,
        ),
        ("identity", "CreateStack", Verdict::Inconclusive),
    ] {
        AUDIT_EVENT.set(action);
        let answers: ToolAnswers = |kind, arguments| match kind {
            "identity_lookup" => Ok(register(&["198.51.100.0/24"], arguments)),
            "log_search.cloudtrail" => Ok(trail(&["ListUsers", AUDIT_EVENT.get()])),
            _ => quiet(kind, arguments),
        };
        let ran = PlaybookCase::with(&ALL, answers)
            .clearing(record(kind, IndicatorKind::Principal, "ci-deployer"))
            .run(sample(ALERT));
        assert_eq!(ran.conclusion.verdict, verdict, "{kind} {action}");
    }
}

#[test]
fn g06_change_clears_nothing_where_the_audit_log_was_cut() {
    let cut: ToolAnswers = |kind, arguments| {
        let mut answer = match kind {
            "identity_lookup" => register(&["198.51.100.0/24"], arguments),
            "log_search.cloudtrail" => trail(&["ListUsers", "CreateStack"]),
            _ => quiet(kind, arguments)?,
        };
        if kind == "log_search.cloudtrail" {
            answer["truncated"] = json!(true);
            answer["left_out"] = json!("others");
        }
        Ok(answer)
    };
    let ran = PlaybookCase::with(&ALL, cut)
        .clearing(record("change", IndicatorKind::Principal, "ci-deployer"))
        .run(sample(ALERT));
    assert_eq!(ran.conclusion.verdict, Verdict::Inconclusive);
}

#[test]
fn every_address_is_checked_against_usual_networks() {
    let usual: ToolAnswers = |kind, arguments| match kind {
        "identity_lookup" => Ok(register(&["198.51.100.0/24"], arguments)),
        "log_search.cloudtrail" => Ok(trail(&["ListUsers"])),
        _ => Ok(nothing(kind, arguments)),
    };
    let mut alert = sample(ALERT);
    let second = Indicator::new(IndicatorKind::Ip, "203.0.113.9", IndicatorRole::Actor);
    alert.indicators.push(second);
    let ran = PlaybookCase::with(&ALL, usual).run(alert);
    assert_eq!(ran.conclusion.leaning, Leaning::Malicious);
    let claims = ran.claims();
    assert!(
        claims.contains("203.0.113.9 is in none of the networks"),
        "{claims}"
    );
    assert!(!claims.contains("in a network that"), "{claims}");
}

#[test]
fn actions_of_others_behind_same_address_are_not_attributed() {
    let shared: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" if arguments["ip"].is_null() => Ok(trail(&["ListUsers"])),
        "log_search.cloudtrail" => {
            let mut answer = trail(&["ListUsers", "CreateUser"]);
            answer["rows"][1]["principal"] =
                json!("arn:aws:sts::444455556666:assumed-role/ci-deployer-admin/ana");
            answer["rows"][1]["access_key"] = json!("ASIAEXAMPLE00000009");
            Ok(answer)
        }
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, shared).run(sample(ALERT));
    assert_eq!(ran.conclusion.verdict, Verdict::Inconclusive);
    let claims = ran.claims();
    assert!(!claims.contains("It did:"), "{claims}");
}

#[test]
fn only_a_type_that_says_so_is_told_as_looking_around() {
    let techniques = |kind: &str| {
        let mut alert = sample(ALERT);
        kind.clone_into(&mut alert.kind);
        alert.techniques.clear();
        let ran = PlaybookCase::with(&DEFAULT, quiet).run(alert);
        let claims = ran.claims();
        assert!(
            claims.contains("The alert reports AWS_API_CALL"),
            "{claims}"
        );
        let techniques = ran.conclusion.techniques.into_iter();
        techniques.map(|one| one.id).collect::<Vec<_>>().join(" ")
    };
    for kind in [
        "Discovery:IAMUser/AnomalousBehavior",
        "Recon:IAMUser/MaliciousIPCaller",
    ] {
        assert_eq!(techniques(kind), "T1087 T1580", "{kind}");
    }
    for kind in [
        "Impact:IAMUser/AnomalousBehavior",
        "Exfiltration:IAMUser/AnomalousBehavior",
        "UnauthorizedAccess:IAMUser/MaliciousIPCaller",
    ] {
        assert_eq!(techniques(kind), "", "{kind}");
    }
}
