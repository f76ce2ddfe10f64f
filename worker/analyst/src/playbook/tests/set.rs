use std::sync::Arc;

use nightshift_engine::port::Analyst;

use super::alerts::{dns, sample};
use super::case_fixture::{ALL, PlaybookCase, nothing};
use crate::playbook::{PlaybookAnalyst, PlaybookLoadError, PlaybookSet};

const MINE: &str = r#"
name = "mine"
version = 7
title = "Mine"
meaning = "m"
objective = "o"
[match]
types = ["Trojan:EC2/DropPoint!*"]
[otherwise]
would_decide = ["a look"]
actions = ["page-me"]
[[action]]
id = "page-me"
text = "Page me"
"#;

#[test]
fn closest_glob_wins_and_generic_playbook_takes_the_rest() {
    let set = PlaybookSet::shipped();
    let of = |kind: &str| set.find(&dns(kind, "a.example")).name.clone();
    assert_eq!(of("CryptoCurrency:Runtime/BitcoinTool.B"), "crypto-mining");
    assert_eq!(
        of("TTPs/Command and Control/CryptoCurrency:EC2-BitcoinTool.B!DNS"),
        "crypto-mining"
    );
    assert_eq!(
        of("Execution: Cryptocurrency Mining YARA Rule"),
        "crypto-mining"
    );
    assert_eq!(
        of("UnauthorizedAccess:IAMUser/InstanceCredentialExfiltration.InsideAWS"),
        "instance-credential-exfiltration"
    );
    assert_eq!(
        of("unauthorizedaccess:ec2/maliciousipcaller.custom"),
        "command-and-control"
    );
    assert_eq!(
        of("Trojan:EC2/DGADomainRequest.B!DNS"),
        "command-and-control"
    );
    assert_eq!(of("Malware: Bad Domain"), "command-and-control");
    assert_eq!(of("Recon:IAMUser/UserPermissions"), "iam-discovery");
    assert_eq!(of("PenTest:IAMUser/KaliLinux"), "iam-discovery");
    assert_eq!(of("Recon:EC2/PortProbeUnprotectedPort"), "recon");
    assert_eq!(
        of("UnauthorizedAccess:IAMUser/ConsoleLoginSuccess.B"),
        "impossible-travel"
    );
    assert_eq!(of("CustomApi:IAMUser/OddCall"), "generic");
    let mut titled = dns("Recon:EC2/X", "a.example");
    "Impossible travel, impossible sign-in and impossible travel".clone_into(&mut titled.title);
    assert_eq!(set.find(&titled).name, "recon");
    assert_eq!(
        set.find(&sample("ocsf-impossible-travel")).name,
        "impossible-travel"
    );
}

/// Finding types of the vendors, each with its playbook.
const WANTED: &[(&str, &str)] = &[
    (
        "iam-privilege-escalation",
        "PrivilegeEscalation:IAMUser/AnomalousBehavior",
    ),
    (
        "iam-privilege-escalation",
        "Persistence:IAMUser/AnomalousBehavior",
    ),
    (
        "iam-privilege-escalation",
        "TTPs/Persistence/Persistence:IAMUser-AnomalousBehavior",
    ),
    (
        "iam-privilege-escalation",
        "Persistence: IAM Anomalous Grant",
    ),
    (
        "iam-privilege-escalation",
        "Privilege Escalation: Dormant Service Account Granted Sensitive Role",
    ),
    (
        "iam-privilege-escalation",
        "Persistence: Service Account Key Created",
    ),
    ("iam-discovery", "Discovery:IAMUser/AnomalousBehavior"),
    (
        "iam-discovery",
        "CredentialAccess:IAMUser/AnomalousBehavior",
    ),
    (
        "iam-discovery",
        "UnauthorizedAccess:IAMUser/MaliciousIPCaller",
    ),
    (
        "iam-discovery",
        "UnauthorizedAccess:IAMUser/MaliciousIPCaller.Custom",
    ),
    (
        "iam-discovery",
        "TTPs/UnauthorizedAccess:IAMUser-MaliciousIPCaller.Custom",
    ),
    ("iam-discovery", "UnauthorizedAccess:IAMUser/TorIPCaller"),
    ("impossible-travel", "Persistence: New Geography"),
    ("s3-exposure", "Policy:S3/BucketAnonymousAccessGranted"),
    ("s3-exposure", "Exfiltration:S3/AnomalousBehavior"),
    ("data-destruction", "Impact:S3/AnomalousBehavior.Delete"),
    ("s3-exposure", "Discovery:S3/TorIPCaller"),
    ("logging-disabled", "Stealth:S3/ServerAccessLoggingDisabled"),
    (
        "s3-exposure",
        "UnauthorizedAccess:S3/MaliciousIPCaller.Custom",
    ),
    ("s3-exposure", "UnauthorizedAccess:S3/TorIPCaller"),
    (
        "s3-exposure",
        "Effects/Data Exposure/Policy:S3-BucketAnonymousAccessGranted",
    ),
    ("brute-force", "UnauthorizedAccess:EC2/SSHBruteForce"),
    ("brute-force", "UnauthorizedAccess:EC2/RDPBruteForce"),
    ("brute-force", "Impact:EC2/WinRMBruteForce"),
    ("brute-force", "Brute Force: SSH"),
    (
        "brute-force",
        "CredentialAccess:RDS/AnomalousBehavior.SuccessfulBruteForce",
    ),
    (
        "brute-force",
        "CredentialAccess:RDS/TorIPCaller.FailedLogin",
    ),
    ("recon", "Discovery:RDS/MaliciousIPCaller"),
    ("recon", "Impact:EC2/PortSweep"),
    (
        "kubernetes-access",
        "CredentialAccess:Kubernetes/SuccessfulAnonymousAccess",
    ),
    ("kubernetes-access", "Discovery:Kubernetes/TorIPCaller"),
    (
        "kubernetes-access",
        "PrivilegeEscalation:Kubernetes/PrivilegedContainer",
    ),
    (
        "kubernetes-access",
        "Persistence:Kubernetes/ContainerWithSensitiveMount",
    ),
    (
        "kubernetes-access",
        "Policy:Kubernetes/AnonymousAccessGranted",
    ),
    (
        "kubernetes-access",
        "Discovery: Can get sensitive Kubernetes object check",
    ),
    (
        "kubernetes-access",
        "Privilege Escalation: Launch of privileged Kubernetes container",
    ),
    (
        "kubernetes-access",
        "Privilege Escalation: Effectively Anonymous Users Granted GKE Cluster Access",
    ),
    (
        "kubernetes-access",
        "Initial Access: Anonymous GKE Resource Created from the Internet",
    ),
    (
        "kubernetes-access",
        "Persistence: Service Account Created in sensitive namespace",
    ),
    ("runtime-malware", "Execution:Runtime/ReverseShell"),
    ("runtime-malware", "Execution:EC2/MaliciousFile"),
    ("runtime-malware", "Execution:Kubernetes/MaliciousFile"),
    ("runtime-malware", "Execution:Kubernetes/SuspiciousFile"),
    ("runtime-malware", "Execution:EC2/SuspiciousFile"),
    ("runtime-malware", "Execution:ECS/SuspiciousFile"),
    ("runtime-malware", "Execution:Container/SuspiciousFile"),
    ("runtime-malware", "Impact:Runtime/SuspiciousProcess"),
    (
        "runtime-malware",
        "PrivilegeEscalation:Runtime/RuncContainerEscape",
    ),
    (
        "runtime-malware",
        "DefenseEvasion:Runtime/FilelessExecution",
    ),
    ("runtime-malware", "Object:S3/MaliciousFile"),
    ("runtime-malware", "Added Binary Executed"),
    (
        "runtime-malware",
        "Execution: Added Malicious Binary Executed",
    ),
    (
        "runtime-malware",
        "Execution: Kubernetes Attack Tool Execution",
    ),
    ("runtime-malware", "Malware: Malicious file on disk (YARA)"),
    (
        "runtime-malware",
        "Privilege Escalation: Fileless Execution in /dev/shm",
    ),
    ("outward-abuse", "Backdoor:EC2/DenialOfService.Dns"),
    (
        "outward-abuse",
        "Backdoor:EC2/DenialOfService.UdpOnTcpPorts",
    ),
    ("outward-abuse", "Backdoor:EC2/Spambot"),
    ("outward-abuse", "Malware: Outgoing DoS"),
    ("command-and-control", "Malware: Bad IP"),
    (
        "command-and-control",
        "Impact:Runtime/SuspiciousDomainRequest.Reputation",
    ),
    (
        "command-and-control",
        "Impact:Runtime/MaliciousDomainRequest.Reputation",
    ),
    ("command-and-control", "Trojan:Runtime/DropPoint"),
    ("command-and-control", "UnauthorizedAccess:EC2/TorRelay"),
    ("crypto-mining", "Malware: Cryptomining Bad Domain"),
    ("crypto-mining", "Impact:Runtime/CryptoMinerExecuted"),
    (
        "crypto-mining",
        "Impact: Suspicious Kubernetes Container Names - Cryptocurrency Mining",
    ),
    ("attack-sequence", "AttackSequence:S3/CompromisedData"),
    ("attack-sequence", "AttackSequence:EKS/CompromisedCluster"),
    (
        "attack-sequence",
        "AttackSequence:IAM/CompromisedCredentials",
    ),
];

#[test]
fn the_closest_glob_wins_between_neighbours() {
    let set = PlaybookSet::shipped();
    let wrong: Vec<_> = WANTED
        .iter()
        .map(|(name, kind)| (*name, kind, set.find(&dns(kind, "a.example")).name.clone()))
        .filter(|(name, _, found)| name != found)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn directory_playbook_is_added_and_may_replace_a_shipped_one() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("mine.toml"), MINE).unwrap();
    std::fs::write(
        dir.path().join("other.toml"),
        MINE.replace("\"mine\"", "\"generic\""),
    )
    .unwrap();
    std::fs::write(dir.path().join("notes.md"), "no playbook").unwrap();
    let set = PlaybookSet::load(Some(dir.path())).unwrap();
    assert_eq!(
        set.find(&dns("Trojan:EC2/DropPoint!DNS", "a.example"))
            .source(),
        "playbook mine 7"
    );
    assert_eq!(
        set.find(&dns("Something:Else", "a.example")).source(),
        "playbook generic 7"
    );
    assert_eq!(
        set.iter().count(),
        PlaybookSet::shipped().iter().count() + 1
    );
    assert!(set.catalogue().iter().any(|action| action.id == "page-me"));
}

#[test]
fn all_problems_of_all_files_are_told_at_once() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.toml"), MINE.replace("title", "titel")).unwrap();
    std::fs::write(
        dir.path().join("b.toml"),
        MINE.replace("page-me\"]", "page-you\"]"),
    )
    .unwrap();
    let Err(PlaybookLoadError::Wrong(problems)) = PlaybookSet::load(Some(dir.path())) else {
        panic!("both are wrong");
    };
    let lines: Vec<_> = problems
        .iter()
        .map(|one| format!("{}: {}", one.line, one.message))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    4: unknown field `titel`, expected one of `name`, `version`, `title`, `owner`, `meaning`, `match`, `objective`, `let`, `step`, `finding`, `benign_when`, `verdict`, `otherwise`, `action`; did you mean `title`?
    11: unknown action `page-you`
    "#);
    assert!(matches!(
        PlaybookSet::load(Some(&dir.path().join("gone"))),
        Err(PlaybookLoadError::Unreadable { .. })
    ));
}

#[test]
fn foreign_plan_is_concluded_from_its_tool_results() {
    let analyst = PlaybookAnalyst::new(Arc::new(PlaybookSet::shipped()));
    let mut question = PlaybookCase::with(&ALL, |kind, arguments| Ok(nothing(kind, arguments)))
        .run(dns("CryptoCurrency:EC2/BitcoinTool.B!DNS", "a.example"))
        .state
        .conclude_question()
        .unwrap();
    question.source = "model main".into();
    for view in &mut question.steps {
        view.step.name = format!("model-{}", view.step.id);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let draft = runtime.block_on(analyst.conclude(&question)).unwrap().value;
    let claims: Vec<_> = draft
        .findings
        .iter()
        .map(|finding| finding.claim.as_str())
        .collect();
    assert!(claims.contains(&"No change record covers it"), "{claims:?}");
}
