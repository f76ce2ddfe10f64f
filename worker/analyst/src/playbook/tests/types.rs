//! Tests which playbook the documented types of GuardDuty and the categories of Security Command Center get.
//!
//! <https://docs.aws.amazon.com/guardduty/latest/ug/guardduty_finding-types-active.html>

use nightshift_alert::{Alert, Detail, DetailKind, FindingClass};

use super::alerts::{dns, sample};
use super::case_fixture::{ALL, PlaybookCase, nothing};
use crate::playbook::PlaybookSet;

fn of_type(kind: &str) -> Alert {
    dns(kind, "a.example")
}

fn taken(alert: &Alert) -> String {
    PlaybookSet::shipped().find(alert).name.clone()
}

/// Types and categories, each with its playbook.
const TYPES: &[(&str, &str)] = &[
    (
        "Stealth:IAMUser/CloudTrailLoggingDisabled",
        "logging-disabled",
    ),
    (
        "TTPs/Defense Evasion/Stealth:IAMUser-CloudTrailLoggingDisabled",
        "logging-disabled",
    ),
    ("Defense Evasion: Log Sink Deleted", "logging-disabled"),
    ("Impair Defenses: Logging Disabled", "logging-disabled"),
    ("Stealth:S3/ServerAccessLoggingDisabled", "logging-disabled"),
    ("Policy:IAMUser/RootCredentialUsage", "root-use"),
    ("Policy:IAMUser/ShortTermRootCredentialUsage", "root-use"),
    ("Stealth:IAMUser/PasswordPolicyChange", "password-policy"),
    (
        "UnauthorizedAccess:EC2/MetadataDNSRebind",
        "metadata-dns-rebind",
    ),
    (
        "UnauthorizedAccess:Runtime/MetadataDNSRebind",
        "metadata-dns-rebind",
    ),
    ("Impact:S3/AnomalousBehavior.Delete", "data-destruction"),
    ("Impact:S3/ObjectDelete.Unusual", "data-destruction"),
    (
        "Impact: Deleted Google Cloud Backup and DR Backup",
        "data-destruction",
    ),
    (
        "Inhibit System Recovery: Deleted Google Cloud Backup and DR Host",
        "data-destruction",
    ),
    ("AttackSequence:S3/CompromisedData", "attack-sequence"),
    ("Impact:IAMUser/AnomalousModelInvocation", "ai-abuse"),
    ("Impact:IAMUser/CostHarvesting", "ai-abuse"),
    ("Impact:IAMUser/PromptInjection.Direct", "ai-abuse"),
    ("Discovery:RDS/TorIPCaller", "recon"),
    (
        "CredentialAccess:RDS/AnomalousBehavior.FailedLogin",
        "brute-force",
    ),
    (
        "Credential Access: External Member Added To Privileged Group",
        "iam-privilege-escalation",
    ),
    ("Behavior:EC2/NetworkPortUnusual", "command-and-control"),
    ("Behavior:EC2/TrafficVolumeUnusual", "command-and-control"),
    (
        "DefenseEvasion:EC2/UnusualDNSResolver",
        "command-and-control",
    ),
    (
        "DefenseEvasion:EC2/UnusualDoHActivity",
        "command-and-control",
    ),
    (
        "DefenseEvasion:EC2/UnusualDoTActivity",
        "command-and-control",
    ),
];

#[test]
fn threat_types_lead_to_their_playbooks() {
    let wrong: Vec<_> = TYPES
        .iter()
        .map(|(kind, playbook)| (*kind, *playbook, taken(&of_type(kind))))
        .filter(|(_, playbook, found)| found != playbook)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn operation_leads_to_its_playbook_whatever_the_type_says() {
    let with = |kind: &str, operation: &str| {
        let mut alert = of_type(kind);
        alert.details.push(Detail {
            kind: DetailKind::Operation,
            value: operation.to_owned(),
            about: None,
        });
        alert
    };
    let rows = [
        (
            "DefenseEvasion:IAMUser/AnomalousBehavior",
            "cloudtrail.amazonaws.com StopLogging",
            "logging-disabled",
        ),
        ("Unusual API call", "DeleteFlowLogs", "logging-disabled"),
        (
            "Unusual API call",
            "bedrock.amazonaws.com DeleteModelInvocationLoggingConfiguration",
            "logging-disabled",
        ),
        (
            "Unusual API call",
            "google.logging.v2.ConfigServiceV2.DeleteSink",
            "logging-disabled",
        ),
        (
            "Unusual API call",
            "iam:UpdateAccountPasswordPolicy",
            "password-policy",
        ),
        (
            "Unusual API call",
            "s3.amazonaws.com PutBucketVersioning",
            "data-destruction",
        ),
        ("Unusual API call", "DescribeTrails", "generic"),
    ];
    for (kind, operation, playbook) in rows {
        assert_eq!(taken(&with(kind, operation)), playbook, "{operation}");
    }
    // A sequence of several signals is more specific than its worst signal.
    let mut sequence = with("AttackSequence:IAM/CompromisedCredentials", "StopLogging");
    sequence.details.push(Detail {
        kind: DetailKind::Operation,
        value: "CreateAccessKey".to_owned(),
        about: None,
    });
    assert_eq!(taken(&sequence), "attack-sequence");
    // Without details, the action of the alert names the operation.
    let mut alert = of_type("Unusual API call");
    alert.action = Some("AWS_API_CALL StopLogging".to_owned());
    assert_eq!(taken(&alert), "logging-disabled");
}

#[test]
fn class_counts_more_than_a_title_and_less_than_a_type() {
    let mut alert = of_type("S3.8");
    alert.title = "S3 bucket should block public access".to_owned();
    assert_eq!(taken(&alert), "s3-exposure");
    for (class, playbook) in [
        (FindingClass::Posture, "posture"),
        (FindingClass::Vulnerability, "vulnerability"),
        (FindingClass::SensitiveData, "sensitive-data"),
        (FindingClass::Threat, "s3-exposure"),
    ] {
        alert.class = class;
        assert_eq!(taken(&alert), playbook);
    }
    alert.kind = "Policy:S3/BucketPublicAccessGranted".to_owned();
    alert.class = FindingClass::Posture;
    assert_eq!(taken(&alert), "s3-exposure");
}

#[test]
fn no_documented_guardduty_type_uses_the_generic_playbook() {
    let types = include_str!("guardduty_types.txt");
    let left: Vec<_> = types
        .lines()
        .filter(|kind| taken(&of_type(kind)) == "generic")
        .collect();
    assert!(left.is_empty(), "{left:#?}");
    assert!(types.lines().count() > 150);
}

#[test]
fn all_playbook_rules_evaluate_on_alerts_of_each_provider() {
    let samples = [
        "guardduty-finding",
        "scc-crypto-miner",
        "ocsf-impossible-travel",
    ];
    for playbook in PlaybookSet::shipped().iter() {
        let kind = playbook.matches.types.first();
        for name in samples {
            let mut alert = sample(name);
            match kind {
                Some(glob) => alert.kind = glob.get_ref().replace(['*', '?'], "x"),
                None => continue,
            }
            let ran =
                PlaybookCase::with(&ALL, |kind, arguments| Ok(nothing(kind, arguments))).run(alert);
            let gaps = ran.conclusion.gaps.join("\n");
            assert!(
                !gaps.contains("could not be evaluated"),
                "{}: {gaps}",
                playbook.name
            );
        }
    }
}
