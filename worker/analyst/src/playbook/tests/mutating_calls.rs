//! Tests that no record of an identity or resource clears an alert when a log shows mutating calls, in every
//! playbook.

use std::collections::BTreeSet;

use nightshift_alert::{Alert, Detail, DetailKind, Indicator, IndicatorKind, IndicatorRole};
use nightshift_engine::conclusion::{Leaning, Verdict};
use nightshift_engine::tool::ToolError;
use serde_json::{Value, json};

use super::alerts::sample;
use super::case_fixture::{
    ALL, PlaybookCase, PlaybookRun, ToolAnswers, logged, nothing, on_list, record,
};
use crate::playbook::PlaybookSet;

const SOURCE: &str = "198.51.100.23";
const HOST: &str = "i-0a1b2c3d4e5f60718";

/// Finding types, one for each playbook that searches an audit log.
const KINDS: [&str; 18] = [
    "Stealth:IAMUser/CloudTrailLoggingDisabled",
    "Stealth:IAMUser/PasswordPolicyChange",
    "Policy:IAMUser/RootCredentialUsage",
    "UnauthorizedAccess:EC2/MetadataDNSRebind",
    "Impact:S3/AnomalousBehavior.Delete",
    "Impact:IAMUser/CostHarvesting",
    "CustomApi:IAMUser/OddCall",
    "UnauthorizedAccess:EC2/MaliciousIPCaller.Custom",
    "CryptoCurrency:EC2/BitcoinTool.B",
    "Execution:Runtime/NewBinaryExecuted",
    "UnauthorizedAccess:IAMUser/ConsoleLoginSuccess.B",
    "Policy:S3/BucketPublicAccessGranted",
    "Discovery:IAMUser/AnomalousBehavior",
    "PrivilegeEscalation:IAMUser/AnomalousBehavior",
    "Discovery:Kubernetes/MaliciousIPCaller.Custom",
    "AttackSequence:IAM/CompromisedCredentials",
    "UnauthorizedAccess:IAMUser/InstanceCredentialExfiltration.OutsideAWS",
    COMMAND,
];

/// The type of an alert that shows a technique by its command alone.
const COMMAND: &str = "CustomEdr:Host/Command";

/// Returns an alert with a user, a key, an address and a machine, so that each playbook has something to look up.
fn alert(kind: &str) -> Alert {
    let mut alert = sample("securityhub-eventbridge-discovery");
    kind.clone_into(&mut alert.kind);
    let host = Indicator::new(IndicatorKind::Instance, HOST, IndicatorRole::Target);
    alert.indicators.push(host);
    alert.indicators.sort();
    if kind == COMMAND {
        alert.details = vec![Detail {
            kind: DetailKind::CommandLine,
            value: "net user helper /add".to_owned(),
            about: None,
        }];
    }
    alert
}

fn call(action: &str, read_only: Value) -> Value {
    json!({"at": "2026-03-02T02:55:00Z", "action": action, "service": "iam.amazonaws.com",
        "principal": "arn:aws:iam::444455556666:user/ci-deployer", "access_key": "AKIAEXAMPLE00000001", "source_ip": SOURCE,
        "outcome": "success", "error": null, "resource": null, "read_only": read_only})
}

fn audited(kind: &str, arguments: &Value, call: Value) -> Result<Value, ToolError> {
    match kind {
        "log_search.cloudtrail" => Ok(logged(kind, json!([call]))),
        _ => Ok(nothing(kind, arguments)),
    }
}

fn cleared(kind: &str, answers: ToolAnswers) -> PlaybookRun {
    ruled(kind, answers, false)
}

/// Runs the case with records that can also say that the detection is wrong.
fn ruled(kind: &str, answers: ToolAnswers, detection_wrong: bool) -> PlaybookRun {
    let mut known = record("identity", IndicatorKind::Principal, "ci-deployer");
    let mut host = record("asset", IndicatorKind::Instance, HOST);
    known.detection_wrong = detection_wrong;
    host.detection_wrong = detection_wrong;
    let mut caller = record("asset", IndicatorKind::Ip, SOURCE);
    caller.detection_wrong = detection_wrong;
    let world = PlaybookCase::with(&ALL, answers).clearing(known);
    world.clearing(host).clearing(caller).run(alert(kind))
}

/// Returns the playbooks that search an audit log unconditionally.
fn that_search() -> BTreeSet<String> {
    let shipped = PlaybookSet::shipped();
    let searching = shipped.iter().filter(|playbook| {
        let mut steps = playbook.steps.iter().filter(|step| step.when.is_none());
        steps.any(|step| {
            let mut calls = step.calls.iter().map(|call| call.tool.get_ref().as_str());
            calls.any(|tool| ["log_search.cloudtrail", "log_search.gcp_audit"].contains(&tool))
        })
    });
    searching.map(|playbook| playbook.name.clone()).collect()
}

#[test]
fn no_playbook_clears_in_spite_of_a_call_that_changed_something() {
    let wrote: ToolAnswers = |kind, arguments| {
        audited(
            kind,
            arguments,
            call("SomethingThatIsNewTomorrow", json!(false)),
        )
    };
    let untold: ToolAnswers = |kind, arguments| {
        audited(
            kind,
            arguments,
            call("SomethingThatIsNewTomorrow", Value::Null),
        )
    };
    let read: ToolAnswers =
        |kind, arguments| audited(kind, arguments, call("SomethingThatIsNew", json!(true)));
    let read_by_name: ToolAnswers =
        |kind, arguments| audited(kind, arguments, call("ListUsers", Value::Null));
    let shipped = PlaybookSet::shipped();
    let mut seen = BTreeSet::new();
    for kind in KINDS {
        let playbook = shipped.find(&alert(kind)).name.clone();
        for answers in [read, read_by_name] {
            let end = cleared(kind, answers).conclusion;
            assert_eq!(end.verdict, Verdict::BenignTruePositive, "{playbook}");
        }
        for (answers, wrong) in [(wrote, false), (untold, false), (wrote, true)] {
            let ran = ruled(kind, answers, wrong);
            assert!(!ran.conclusion.verdict.is_benign(), "{playbook}");
            assert_ne!(ran.conclusion.leaning, Leaning::Benign, "{playbook}");
            let told = ran.claims() + &ran.would_decide();
            assert!(
                told.contains("SomethingThatIsNewTomorrow"),
                "{playbook}: {told}"
            );
        }
        seen.insert(playbook);
    }
    assert_eq!(seen, that_search());
}

#[test]
fn cut_or_unreadable_log_clears_nothing_in_any_playbook() {
    let away: ToolAnswers = |kind, arguments| match kind {
        "log_search.cloudtrail" => Err(ToolError::Timeout { secs: 30 }),
        _ => Ok(nothing(kind, arguments)),
    };
    let cut: ToolAnswers = |kind, arguments| {
        let mut answer = audited(kind, arguments, call("ListUsers", json!(true)))?;
        if kind == "log_search.cloudtrail" {
            answer["truncated"] = json!(true);
            answer["left_out"] = json!("others");
        }
        Ok(answer)
    };
    let changing = |kind: &str, answers: ToolAnswers| {
        PlaybookCase::with(&ALL, answers)
            .clearing(record("change", IndicatorKind::Principal, "ci-deployer"))
            .clearing(record("change", IndicatorKind::Instance, HOST))
            .clearing(record("asset", IndicatorKind::Ip, SOURCE))
            .run(alert(kind))
    };
    // A record of who may sign in clears sign-ins, as long as no answer was cut.
    for kind in KINDS.into_iter().filter(|kind| !kind.contains("Login")) {
        for answers in [away, cut] {
            for ran in [cleared(kind, answers), changing(kind, answers)] {
                assert_eq!(ran.conclusion.verdict, Verdict::Inconclusive, "{kind}");
            }
        }
        let read: ToolAnswers =
            |kind, arguments| audited(kind, arguments, call("ListUsers", json!(true)));
        let end = changing(kind, read).conclusion;
        assert_eq!(end.verdict, Verdict::BenignTruePositive, "{kind}");
    }
}

#[test]
fn the_next_key_of_an_identity_is_in_the_same_hands() {
    let next_key: ToolAnswers = |kind, arguments| {
        let mut audit_event = call("CreateUser", json!(false));
        audit_event["access_key"] = json!("AKIAEXAMPLE00000009");
        let look = call("ListUsers", json!(true));
        match kind {
            "log_search.cloudtrail" if arguments["access_key"].is_null() => {
                Ok(logged(kind, json!([look, audit_event])))
            }
            _ => audited(kind, arguments, look),
        }
    };
    for kind in [
        "Discovery:IAMUser/AnomalousBehavior",
        "Policy:S3/BucketPublicAccessGranted",
    ] {
        let ran = cleared(kind, next_key);
        assert!(!ran.conclusion.verdict.is_benign(), "{kind}");
        assert!(!ran.claims().contains("Nothing was changed"));
    }
}

#[test]
fn password_test_explains_no_foreign_command_on_the_host() {
    let commanded: ToolAnswers = |kind, arguments| match kind {
        "log_search.json_lines" => {
            let row = json!({"at": "2026-03-02T02:50:00Z", "action": "sign-in", "principal": "root", "source_ip": SOURCE,
                "outcome": "success", "error": null});
            Ok(logged(kind, json!([row])))
        }
        _ => {
            let mut command = call("SendCommand", json!(false));
            command["source_ip"] = json!("203.0.113.9");
            audited(kind, arguments, command)
        }
    };
    let looked: ToolAnswers =
        |kind, arguments| audited(kind, arguments, call("ListUsers", json!(true)));
    for (answers, benign) in [(commanded, false), (looked, true)] {
        let tested = record("authorised_scanner", IndicatorKind::Ip, SOURCE);
        let world = PlaybookCase::with(&ALL, answers).clearing(tested);
        let world = world.of_identity("ci-deployer");
        let end = world.run(alert("UnauthorizedAccess:EC2/SSHBruteForce"));
        assert_eq!(end.conclusion.verdict.is_benign(), benign);
        assert_eq!(end.would_decide().contains("SendCommand"), !benign);
    }
}

#[test]
fn whoever_names_a_bad_address_did_not_call_from_there() {
    fn blocked(kind: &str, arguments: &Value, source: &str) -> Result<Value, ToolError> {
        match kind {
            "watchlist" if arguments["indicator"] == SOURCE => Ok(on_list("malicious", arguments)),
            "log_search.cloudtrail" if arguments["ip"] == SOURCE => {
                let mut entry = call("CreateNetworkAclEntry", json!(false));
                entry["source_ip"] = json!(source);
                Ok(logged(kind, json!([entry])))
            }
            _ => Ok(nothing(kind, arguments)),
        }
    }
    let from_ours: ToolAnswers = |kind, arguments| blocked(kind, arguments, "192.0.2.50");
    let from_there: ToolAnswers = |kind, arguments| blocked(kind, arguments, SOURCE);
    for kind in [
        "UnauthorizedAccess:EC2/MaliciousIPCaller.Custom",
        "CustomApi:IAMUser/OddCall",
        "UnauthorizedAccess:IAMUser/ConsoleLoginSuccess.B",
    ] {
        for (answers, malicious) in [(from_ours, false), (from_there, true)] {
            let mut alert = alert(kind);
            alert.count = 1;
            let ran = PlaybookCase::with(&ALL, answers).run(alert);
            let is_malicious = ran.conclusion.verdict == Verdict::TruePositive;
            assert_eq!(is_malicious, malicious, "{kind}: {}", ran.claims());
            let told = format!("CreateNetworkAclEntry from {SOURCE}");
            assert!(malicious || !ran.claims().contains(&told), "{kind}");
        }
    }
}

#[test]
fn what_reads_secrets_is_a_deed_though_it_only_reads() {
    for secret in [
        "GetSecretValue",
        "GetParameter",
        "GetParametersByPath",
        "google.cloud.secretmanager.v1.SecretManagerService.AccessSecretVersion",
    ] {
        SECRET.set(secret);
        let answers: ToolAnswers =
            |kind, arguments| audited(kind, arguments, call(SECRET.get(), json!(true)));
        let ran = cleared("Discovery:IAMUser/AnomalousBehavior", answers);
        assert!(!ran.conclusion.verdict.is_benign(), "{secret}");
    }
}

thread_local! {
    static SECRET: std::cell::Cell<&'static str> = const { std::cell::Cell::new("") };
}
