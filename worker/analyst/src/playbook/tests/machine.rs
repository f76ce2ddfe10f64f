//! Tests the playbooks that distinguish acts of a machine from acts against it.

use nightshift_alert::IndicatorKind;
use nightshift_engine::conclusion::{Leaning, Verdict};
use serde_json::{Value, json};

use super::alerts::made_for;
use super::case_fixture::{ALL, PlaybookCase, ToolAnswers, logged, nothing, record};

const HOST: &str = "i-0c4e9a71d2b36f580";

fn signed_in() -> Value {
    json!({"at": "2026-03-02T02:20:00Z", "action": "sshd", "principal": "root", "source_ip": "203.0.113.201",
        "outcome": "success", "error": null})
}

/// Returns a write by a session of a role that is named like the machine.
fn session(role: &str, source: &str) -> Value {
    json!({"at": "2026-03-02T02:20:00Z", "action": "SendCommand", "service": "ssm.amazonaws.com",
        "principal": format!("arn:aws:sts::444455556666:assumed-role/{role}/{HOST}"), "access_key": "ASIAEXAMPLE00000077",
        "source_ip": source, "outcome": "success", "error": null, "resource": null, "read_only": false})
}

fn audited(kind: &str, arguments: &Value, row: Value) -> Value {
    match kind {
        "log_search.cloudtrail" => logged(kind, json!([row])),
        "log_search.json_lines" => logged(kind, json!([signed_in()])),
        _ => nothing(kind, arguments),
    }
}

#[test]
fn a_session_that_is_called_like_the_machine_is_not_the_machine() {
    let strangers: ToolAnswers =
        |kind, arguments| Ok(audited(kind, arguments, session("Admin", "198.51.100.200")));
    let like_its_role: ToolAnswers = |kind, arguments| {
        let row = session("jump-admin", "198.51.100.200");
        Ok(audited(kind, arguments, row))
    };
    let at_home: ToolAnswers =
        |kind, arguments| Ok(audited(kind, arguments, session("web", "10.20.40.8")));
    let through_egress: ToolAnswers =
        |kind, arguments| Ok(audited(kind, arguments, session("jump", "198.51.100.7")));
    for finding in [
        "CryptoCurrency:EC2/BitcoinTool.B",
        "Execution:Runtime/NewBinaryExecuted",
    ] {
        for (answers, benign) in [
            (strangers, false),
            (like_its_role, false),
            (at_home, true),
            (through_egress, true),
        ] {
            let mut alert = made_for("guardduty-ssh-brute-force");
            finding.clone_into(&mut alert.kind);
            let asset = record("asset", IndicatorKind::Instance, HOST);
            let caller = record("asset", IndicatorKind::Ip, "203.0.113.201");
            let world = PlaybookCase::with(&ALL, answers).clearing(asset);
            let ran = world.clearing(caller).run(alert);
            let verdict = ran.conclusion.verdict;
            assert_eq!(verdict == Verdict::BenignTruePositive, benign, "{finding}");
            let told = ran.would_decide().contains("SendCommand");
            assert_ne!(told, benign, "{finding}");
        }
    }
}

#[test]
fn test_login_explains_its_session_but_no_command_of_strangers() {
    let at_home: ToolAnswers =
        |kind, arguments| Ok(audited(kind, arguments, session("web", "10.20.40.8")));
    let through_egress: ToolAnswers =
        |kind, arguments| Ok(audited(kind, arguments, session("jump", "198.51.100.7")));
    let started: ToolAnswers = |kind, arguments| {
        let mut row = session("ci", "198.51.100.7");
        row["action"] = json!("StartInstances");
        Ok(audited(kind, arguments, row))
    };
    let strangers: ToolAnswers =
        |kind, arguments| Ok(audited(kind, arguments, session("Admin", "198.51.100.200")));
    let of_source: ToolAnswers =
        |kind, arguments| Ok(audited(kind, arguments, session("Admin", "203.0.113.201")));
    for (answers, verdict) in [
        (at_home, Verdict::BenignTruePositive),
        (through_egress, Verdict::BenignTruePositive),
        (started, Verdict::BenignTruePositive),
        (of_source, Verdict::BenignTruePositive),
        (strangers, Verdict::Inconclusive),
    ] {
        let test = record("authorised_scanner", IndicatorKind::Ip, "203.0.113.201");
        let world = PlaybookCase::with(&ALL, answers).clearing(test);
        let ran = world.run(made_for("guardduty-ssh-brute-force"));
        assert_eq!(ran.conclusion.verdict, verdict);
        let told = ran.would_decide().contains("Whether SendCommand was meant");
        assert_eq!(told, verdict == Verdict::Inconclusive);
        assert!(!ran.would_decide().contains("the log says success"));
        // No record clears it, because the person who got in is a stranger.
        let ran = PlaybookCase::with(&ALL, answers).run(made_for("guardduty-ssh-brute-force"));
        assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    }
}

#[test]
fn what_holds_a_test_up_is_named_beside_a_session_of_it() {
    fn with_session(kind: &str, arguments: &Value) -> Value {
        let flow = json!({"at": "2026-03-02T02:21:00Z", "source_ip": "203.0.113.201", "destination_ip": "10.20.40.8",
            "destination_port": 22, "outcome": "accepted", "bytes": 200_000});
        match kind {
            "log_search.vpc_flow" if arguments["instance"].is_null() => logged(kind, json!([flow])),
            "log_search.vpc_flow" => nothing(kind, arguments),
            _ => audited(kind, arguments, session("Admin", "198.51.100.200")),
        }
    }
    let signed: ToolAnswers = |kind, arguments| Ok(with_session(kind, arguments));
    let unclear: ToolAnswers = |kind, arguments| {
        let mut row = signed_in();
        row["outcome"] = json!("session opened");
        row["source_ip"] = json!("203.0.113.202");
        match kind {
            "log_search.json_lines" => Ok(logged(kind, json!([row]))),
            _ => Ok(with_session(kind, arguments)),
        }
    };
    let decide = |answers: ToolAnswers| {
        let test = record("authorised_scanner", IndicatorKind::Ip, "203.0.113.201");
        let world = PlaybookCase::with(&ALL, answers).clearing(test);
        let ran = world.run(made_for("guardduty-ssh-brute-force"));
        assert_eq!(ran.conclusion.leaning, Leaning::Malicious);
        ran.would_decide()
    };
    insta::assert_snapshot!(decide(signed), @"Whether SendCommand was meant: what clears the alert does not speak of it");
    insta::assert_snapshot!(decide(unclear), @"
    Whether SendCommand was meant: what clears the alert does not speak of it
    How the sign-ins of 203.0.113.201 ended: the log says session opened
    ");
}
