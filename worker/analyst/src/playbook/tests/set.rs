use std::sync::Arc;

use nightshift_engine::Analyst;

use super::alerts::{dns, sample};
use super::drive::{ALL, World, nothing};
use crate::playbook::{PlaybookAnalyst, PlaybookErrors, Playbooks};

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
fn the_closest_glob_wins_and_the_generic_playbook_takes_the_rest() {
    let set = Playbooks::shipped();
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
        of("unauthorizedaccess:iamuser/maliciousipcaller.custom"),
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
    assert_eq!(of("UnauthorizedAccess:EC2/SSHBruteForce"), "recon");
    assert_eq!(
        of("UnauthorizedAccess:IAMUser/ConsoleLoginSuccess.B"),
        "impossible-travel"
    );
    assert_eq!(of("Policy:S3/BucketAnonymousAccessGranted"), "generic");
    let mut titled = dns("Recon:EC2/X", "a.example");
    "Impossible travel, impossible sign-in and impossible travel".clone_into(&mut titled.title);
    assert_eq!(set.find(&titled).name, "recon");
    assert_eq!(
        set.find(&sample("ocsf-impossible-travel")).name,
        "impossible-travel"
    );
}

#[test]
fn a_playbook_of_the_directory_is_added_and_may_replace_a_shipped_one() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("mine.toml"), MINE).unwrap();
    std::fs::write(
        dir.path().join("other.toml"),
        MINE.replace("\"mine\"", "\"generic\""),
    )
    .unwrap();
    std::fs::write(dir.path().join("notes.md"), "no playbook").unwrap();
    let set = Playbooks::load(Some(dir.path())).unwrap();
    assert_eq!(
        set.find(&dns("Trojan:EC2/DropPoint!DNS", "a.example"))
            .source(),
        "playbook mine 7"
    );
    assert_eq!(
        set.find(&dns("Something:Else", "a.example")).source(),
        "playbook generic 7"
    );
    assert_eq!(set.iter().count(), Playbooks::shipped().iter().count() + 1);
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
    let Err(PlaybookErrors::Wrong(problems)) = Playbooks::load(Some(dir.path())) else {
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
        Playbooks::load(Some(&dir.path().join("gone"))),
        Err(PlaybookErrors::Unreadable { .. })
    ));
}

#[test]
fn a_plan_of_somebody_else_is_concluded_from_what_its_tools_gave() {
    let analyst = PlaybookAnalyst::new(Arc::new(Playbooks::shipped()));
    let mut question = World::with(&ALL, |kind, arguments| Ok(nothing(kind, arguments)))
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
    assert!(
        claims
            .iter()
            .any(|claim| claim.starts_with("No value of the alert is on a watch list")),
        "{claims:?}"
    );
    assert!(claims.contains(&"No change record covers it"), "{claims:?}");
}
