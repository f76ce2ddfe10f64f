//! Tests over findings as vendors send them: which playbook they get, and what the report says and advises.

use nightshift_alert::{Detail, DetailKind, Direction, IndicatorKind};
use nightshift_engine::conclusion::{Leaning, Verdict};
use nightshift_engine::tool::ToolError;
use serde_json::Value;

use super::alerts::{dns, vendor};
use super::case_fixture::{DEFAULT, PlaybookCase, PlaybookRun, nothing};
use crate::playbook::PlaybookSet;

fn quiet(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    Ok(nothing(kind, arguments))
}

fn ran(name: &str) -> PlaybookRun {
    PlaybookCase::with(&DEFAULT, quiet).run(vendor(name))
}

fn techniques(ran: &PlaybookRun) -> Vec<&str> {
    let all = ran.conclusion.techniques.iter();
    all.map(|one| one.id.as_str()).collect()
}

#[test]
fn refusal_of_a_named_caller_leans_nowhere() {
    let named = ran("guardduty-kubernetes-denied");
    let end = &named.conclusion;
    assert_eq!(
        (end.verdict, end.leaning),
        (Verdict::Inconclusive, Leaning::None)
    );
    assert!(named.claims().contains("took the credential of eve"));
    assert!(named.actions().contains(&"rotate-cluster-credentials"));

    let mut nameless = vendor("guardduty-kubernetes-denied");
    for one in &mut nameless.indicators {
        if one.kind == IndicatorKind::Principal {
            one.value = "system:anonymous".to_owned();
        }
    }
    let end = PlaybookCase::with(&DEFAULT, quiet).run(nameless).conclusion;
    assert_eq!(end.leaning, Leaning::Benign);
}

#[test]
fn call_to_a_cluster_has_the_technique_of_what_it_did() {
    for (name, technique) in [
        ("guardduty-kubernetes-exec", "T1609"),
        ("guardduty-kubernetes-default-admin", "T1098.006"),
        ("guardduty-kubernetes-denied", "T1552.007"),
    ] {
        assert_eq!(techniques(&ran(name)), [technique], "{name}");
    }
}

#[test]
fn access_log_of_a_bucket_that_went_off_is_logging_disabled() {
    let ran = ran("guardduty-s3-logging");
    assert_eq!(techniques(&ran), ["T1562.008"]);
    assert_eq!(ran.conclusion.leaning, Leaning::Malicious);
    let actions = ran.actions();
    assert_eq!(
        actions.get(..2),
        Some(&["check-bucket-logging", "start-bucket-logging"][..])
    );
    assert!(!actions.contains(&"start-logging"));
}

#[test]
fn block_of_an_account_is_asked_about_as_the_account() {
    let mut alert = vendor("guardduty-s3-logging");
    "Policy:S3/AccountBlockPublicAccessDisabled".clone_into(&mut alert.kind);
    alert
        .indicators
        .retain(|one| one.kind != IndicatorKind::Bucket);
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(alert);
    assert!(ran.actions().contains(&"block-account-public-access"));
    let asked = ran.would_decide();
    assert!(
        asked.contains("Which buckets of 111122223333 are public now"),
        "{asked}"
    );
    assert!(!asked.contains("What alice holds"), "{asked}");
}

#[test]
fn check_that_asks_for_a_look_does_not_fail() {
    for name in ["ocsf-check-warning", "ocsf-check-manual"] {
        let ran = ran(name);
        assert_eq!(ran.conclusion.verdict, Verdict::Inconclusive, "{name}");
        assert!(ran.claims().contains("needs a look by hand"), "{name}");
    }
}

#[test]
fn process_of_an_attacker_counts_in_every_playbook() {
    for (name, technique) in [
        ("guardduty-eks-sequence", "T1496"),
        ("scc-reverse-shell", "T1059.004"),
    ] {
        let ran = ran(name);
        assert_eq!(ran.conclusion.leaning, Leaning::Malicious, "{name}");
        assert!(techniques(&ran).contains(&technique), "{name}");
    }
}

#[test]
fn network_alert_named_malware_is_contact_with_a_far_end() {
    let set = PlaybookSet::shipped();
    let of = |title: &str| {
        let mut alert = dns("custom", "a.example");
        title.clone_into(&mut alert.title);
        set.find(&alert).name.clone()
    };
    assert_eq!(
        of("ET MALWARE Observed Malicious SSL Cert (AsyncRAT)"),
        "command-and-control"
    );
    assert_eq!(of("Malware on a disk"), "runtime-malware");
}

#[test]
fn data_in_queries_is_exfiltration() {
    let alert = dns("Trojan:EC2/DNSDataExfiltration", "mzxw6ytboi4d.bad.example");
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(alert);
    assert!(techniques(&ran).contains(&"T1048"));
    assert!(!techniques(&ran).contains(&"T1568.002"));
}

#[test]
fn group_of_the_domain_is_no_role_of_a_cloud() {
    let mut alert = dns("User added to Domain Admins", "a.example");
    alert.direction = None::<Direction>;
    alert.indicators.clear();
    alert.action = None;
    alert.details = vec![
        (DetailKind::Group, "Domain Admins"),
        (DetailKind::Operation, "Add member"),
    ]
    .into_iter()
    .map(|(kind, value)| Detail {
        kind,
        value: value.to_owned(),
        about: None,
    })
    .collect();
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(alert);
    assert_eq!(techniques(&ran), ["T1098.007"]);
}
