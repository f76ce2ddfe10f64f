//! Alerts of endpoints and identities as a feed of one's own has them: for each technique an attack, and a twin of the same
//! type and title that does no harm.

use std::collections::BTreeMap;

use nightshift_alert::feed::{FIELDS, GenericFeed};
use nightshift_alert::{Alert, DetailKind, IndicatorKind, ReadOptions, read};
use nightshift_engine::{Leaning, ToolError, Verdict};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::alerts::made_for;
use super::drive::{DEFAULT, Ran, World, nothing, verdict_beside};
use crate::playbook::Playbooks;

#[derive(Deserialize)]
struct Pair {
    technique: String,
    rule: String,
    attack: Map<String, Value>,
    twin: Map<String, Value>,
}

fn pairs() -> Vec<Pair> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/endpoint/alerts.json"
    );
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// A feed whose findings name our fields as we do.
fn feed() -> GenericFeed {
    let words = FIELDS.iter().map(|(name, _)| *name);
    let details = DetailKind::ALL.iter().map(|kind| kind.as_str());
    let fields: BTreeMap<String, String> = words
        .chain(details)
        .map(|name| (name.to_owned(), format!("/{name}")))
        .collect();
    GenericFeed {
        name: "edr".to_owned(),
        matches: "/rule".to_owned(),
        fields,
        ..GenericFeed::default()
    }
}

fn alert(rule: &str, fields: &Map<String, Value>) -> Alert {
    let mut message = json!({"rule": rule, "id": "e-1", "type": rule, "title": rule, "severity": "medium",
        "created": "2026-11-25T10:00:00Z"});
    message.as_object_mut().unwrap().extend(fields.clone());
    let options = ReadOptions {
        generic: vec![feed()],
        ..ReadOptions::default()
    };
    let batch = read(message.to_string().as_bytes(), &options).unwrap();
    batch.alerts.into_iter().next().unwrap()
}

fn quiet(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    Ok(nothing(kind, arguments))
}

fn ran(rule: &str, fields: &Map<String, Value>) -> Ran {
    World::with(&DEFAULT, quiet).run(alert(rule, fields))
}

fn leans(ran: &Ran) -> bool {
    ran.conclusion.verdict == Verdict::TruePositive || ran.conclusion.leaning == Leaning::Malicious
}

#[test]
fn attack_is_told_with_technique_quote_and_action() {
    let mut faults = Vec::new();
    for pair in pairs() {
        let ran = ran(&pair.rule, &pair.attack);
        let end = &ran.conclusion;
        let quoted = end.findings.iter().any(|finding| {
            finding.supported && finding.evidence.iter().all(|quote| quote.path.is_some())
        });
        let named = end.techniques.iter().any(|one| one.id == pair.technique);
        if !leans(&ran) || !quoted || !named || ran.actions().is_empty() {
            let techniques: Vec<_> = end.techniques.iter().map(|one| &one.id).collect();
            faults.push(format!(
                "{} {}: {:?} {:?} {techniques:?}\n{}",
                pair.technique,
                pair.rule,
                end.verdict,
                end.leaning,
                ran.claims()
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn harmless_twin_of_an_attack_leans_nowhere() {
    let mut faults = Vec::new();
    for pair in pairs() {
        let ran = ran(&pair.rule, &pair.twin);
        if leans(&ran) {
            faults.push(format!(
                "{} {}\n{}",
                pair.technique,
                pair.rule,
                ran.claims()
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What the report of each of these attacks says first, and what it advises.
fn told(pairs: &[Pair]) -> String {
    let mut told = String::new();
    for pair in pairs {
        let ran = ran(&pair.rule, &pair.attack);
        let end = &ran.conclusion;
        let first = end.findings.first().map_or("", |one| one.claim.as_str());
        let verdict = match end.verdict {
            Verdict::TruePositive => "true positive",
            _ => "leaning malicious",
        };
        told += &format!(
            "{} ({verdict}): {first}\n    {}\n",
            pair.technique,
            ran.actions().join(" ")
        );
    }
    told
}

#[test]
fn attacks_on_secrets_and_protection_read_well() {
    insta::assert_snapshot!(told(&pairs()[..11]), @"");
}

#[test]
fn attacks_that_stay_and_move_on_read_well() {
    insta::assert_snapshot!(told(&pairs()[11..22]), @"");
}

#[test]
fn attacks_over_the_network_read_well() {
    insta::assert_snapshot!(told(&pairs()[22..]), @"");
}

/// The pair of this technique.
fn pair(technique: &str) -> Pair {
    let found = pairs().into_iter().find(|one| one.technique == technique);
    found.unwrap()
}

#[test]
fn claim_of_an_alert_clears_nothing_and_is_told() {
    let dump = pair("T1003.001");
    let end = ran(&dump.rule, &dump.attack).conclusion;
    assert_eq!(end.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(end.gaps.join("\n"), @"Whether it is true what the alert says of itself (maintenance window MW-118): no register confirms it");

    let mut cron = pair("T1053.005");
    cron.attack
        .insert("claim".to_owned(), json!("approved in CHG-1"));
    let ran = ran(&cron.rule, &cron.attack);
    assert_eq!(ran.conclusion.leaning, Leaning::Malicious);
    insta::assert_snapshot!(ran.would_decide(), @"
    Who made the task (Security event 4698), and what its program does
    A register (change, asset, authorised scanner) that confirms what the alert says of itself: approved in CHG-1
    ");
}

#[test]
fn only_a_test_or_a_change_clears_the_act_itself() {
    let dump = pair("T1003.001");
    let verdict = |kind: &str, subject_type, subject: &str| {
        verdict_beside(alert(&dump.rule, &dump.attack), kind, subject_type, subject)
    };
    let host = IndicatorKind::Instance;
    assert_eq!(
        verdict("change", host, "ws-0142"),
        Verdict::BenignTruePositive
    );
    assert_ne!(
        verdict("asset", host, "ws-0142"),
        Verdict::BenignTruePositive
    );
}

#[test]
fn title_and_type_choose_no_playbook_over_typed_fields() {
    let set = Playbooks::shipped();
    let dump = pair("T1003.001").attack;
    for rule in [
        "Malware on a disk",
        "Impossible travel",
        "Brute Force: SSH",
        "x",
    ] {
        assert_eq!(
            set.find(&alert(rule, &dump)).name,
            "known-technique",
            "{rule}"
        );
    }
    let mut known = made_for("guardduty-runtime-reverse-shell");
    known.details = alert("x", &dump).details;
    assert_eq!(set.find(&known).name, "runtime-malware");
    "Something new".clone_into(&mut known.kind);
    "A malicious file".clone_into(&mut known.title);
    assert_eq!(set.find(&known).name, "known-technique");
}
