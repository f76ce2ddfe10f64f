use std::sync::Arc;

use nightshift_alert::Indicator;
use serde_json::json;

use super::*;
use crate::{
    ConclusionDraft, Exoneration, Leaning, Reason, ToolSpec, TrustedPath, Verdict, fixture,
};

const KEY: &str = "ASIAEXAMPLEKEY000001";

/// A log tool and a register, as the tools crate declares them.
fn tools() -> Vec<ToolSpec> {
    let tool = |kind: &str, path: &str, trust| ToolSpec {
        name: kind.to_owned(),
        kind: kind.to_owned(),
        trust: vec![TrustedPath {
            path: path.to_owned(),
            trust,
        }],
        ..fixture::tools().remove(0)
    };
    vec![
        tool(
            "log_search.cloudtrail",
            "/rows/*/source_ip",
            Trust::Platform,
        ),
        tool("identity_lookup", "/identities", Trust::Register),
        tool("watchlist", "/matches", Trust::Register),
        tool("wiki", "", Trust::External),
    ]
}

/// A case of an alert about a key, its actor cleared, with these answers of tools.
fn case(answers: &[(&str, Value)]) -> State {
    let mut opened = fixture::opened(crate::Limits::default());
    let mut alert = Alert::clone(&opened.alert);
    alert
        .indicators
        .push(Indicator::new(IndicatorKind::AccessKey, KEY, Role::Target));
    opened.alert = Arc::new(alert);
    opened.tools = tools().into();
    let mut state = fixture::opened_state();
    state.opened = Some(Arc::new(opened));
    state.exonerations = vec![Exoneration {
        kind: "identity".to_owned(),
        subject_type: IndicatorKind::Ip,
        subject: "198.51.100.7".to_owned(),
        from: None,
        until: None,
        covers: vec!["*".to_owned()],
        approved_by: "g.brandt".to_owned(),
        reference: "ci-drift".to_owned(),
        statement: "it is ours".to_owned(),
        detection_wrong: false,
        evidence: None,
    }];
    for (number, (kind, body)) in (2..).zip(answers) {
        let mut evidence = Evidence::clone(state.evidence_of(EvidenceId::ALERT).unwrap());
        evidence.id = EvidenceId(number);
        (*kind).clone_into(&mut evidence.tool);
        (*kind).clone_into(&mut evidence.kind);
        evidence.body = body.clone().into();
        state.evidence.insert(evidence.id, Arc::new(evidence));
    }
    state
}

fn row(action: &str, source: &str) -> Value {
    json!({"at": "2026-03-02T02:41:12Z", "action": action, "source_ip": source, "access_key": KEY,
        "principal": "ci-drift", "outcome": "success", "error": null, "read_only": action != "CreateUser"})
}

fn found(rows: &[Value], others: &[(&str, Value)]) -> Option<String> {
    let mut answers = vec![("log_search.cloudtrail", json!({"rows": rows}))];
    answers.extend_from_slice(others);
    let state = case(&answers);
    let alert = Arc::clone(state.alert().unwrap());
    of(&state, &alert).map(|call| call.would_decide())
}

#[test]
fn a_deed_of_the_same_key_from_an_address_that_no_record_covers_is_found() {
    let rows = [
        row("ListUsers", "198.51.100.7"),
        row("GetObject", "203.0.113.42"),
        row("CreateUser", "203.0.113.42"),
    ];
    insta::assert_snapshot!(found(&rows, &[]).unwrap(), @"Whose 203.0.113.42 is, and whether CreateUser from there at 2026-03-02T02:41:12Z was allowed [E2]: a record that covers the address");
}

#[test]
fn addresses_of_the_alert_of_registers_and_of_the_cloud_are_accounted_for() {
    let identities = json!({"principal": "203.0.113.42", "identities": [{"usual_networks": ["198.51.100.16/28", "0.0.0.0/0"]}]});
    let lists = json!({"indicator": "203.0.113.42", "matches": [{"meaning": "own", "entry": "192.0.2.64/27"},
        {"meaning": "malicious", "entry": "203.0.113.42"}]});
    let registers = [("identity_lookup", identities), ("watchlist", lists)];
    let rows = [
        row("ListUsers", "198.51.100.7"),
        row("ListUsers", "198.51.100.20"),
        row("ListUsers", "192.0.2.70"),
        row("ListUsers", "10.0.0.9"),
        row("ListUsers", "cloudformation.amazonaws.com"),
    ];
    assert_eq!(found(&rows, &registers), None);
    let elsewhere = [row("ListUsers", "203.0.113.42")];
    assert!(
        found(&elsewhere, &registers).is_some(),
        "a list of bad ones, a network of everything and the question itself account for nothing"
    );
}

#[test]
fn what_failed_what_others_did_and_what_anybody_may_write_is_no_use_of_the_key() {
    let mut failed = row("CreateUser", "203.0.113.42");
    failed["error"] = json!("AccessDenied");
    failed["outcome"] = json!("failure");
    let mut other = row("CreateUser", "203.0.113.42");
    other["access_key"] = json!("AKIAOTHER");
    let written = json!({"rows": [row("CreateUser", "203.0.113.42")]});
    assert_eq!(found(&[failed, other], &[("wiki", written)]), None);
}

#[test]
fn no_analyst_clears_an_alert_whose_key_was_used_elsewhere() {
    let mut state = case(&[(
        "log_search.cloudtrail",
        json!({"rows": [row("CreateUser", "203.0.113.42")]}),
    )]);
    assert!(!state.conclude_question().unwrap().cleared);
    state.draft = Some(ConclusionDraft {
        verdict: Verdict::FalsePositive,
        ..crate::conclude::plain::draft(&state)
    });
    let end = crate::conclude::conclusion(&state).unwrap();
    assert_eq!(
        (end.verdict, end.leaning, end.reason),
        (Verdict::Inconclusive, Leaning::None, Reason::NotExonerated)
    );
    assert!(end.summary.contains("was also used from 203.0.113.42"));
}
