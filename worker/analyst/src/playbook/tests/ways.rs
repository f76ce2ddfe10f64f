//! Tests that the guarantees of a playbook hold under every strategy.

use nightshift_alert::{Alert, Indicator, IndicatorKind, IndicatorRole};
use nightshift_engine::conclusion::{Verdict, VerdictReason};
use nightshift_engine::strategy::Strategy;
use nightshift_engine::tool::ToolError;
use serde_json::{Value, json};

use super::alerts::sample;
use super::case_fixture::{ALL, PlaybookCase, PlaybookRun, ToolAnswers, nothing, record};

const WAYS: [Strategy; 3] = [Strategy::Planned, Strategy::Adaptive, Strategy::Direct];

const SOURCE: &str = "192.0.2.10";

fn scan() -> Alert {
    let mut alert = sample("guardduty-eventbridge-dns");
    "Recon:EC2/Portscan".clone_into(&mut alert.kind);
    alert.state.sample = false;
    let is_domain = |one: &Indicator| one.kind == IndicatorKind::Domain;
    alert.indicators.retain(|one| !is_domain(one));
    let source = Indicator::new(IndicatorKind::Ip, SOURCE, IndicatorRole::Actor);
    alert.indicators.push(source);
    alert.indicators.sort();
    alert
}

/// Answers for the scanner from the register, and otherwise with nothing.
fn known_scanner(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    let mut body = nothing(kind, arguments);
    if kind == "authorised_scanners" {
        body["found"] = json!(1);
        body["scanners"] = json!([{"id": "SCAN-1", "subject": "192.0.2.0/28", "owner": "secops", "approved_by": "ciso", "valid_at_event": true}]);
    }
    Ok(body)
}

fn cleared(kinds: &[&'static str], answers: ToolAnswers, way: Strategy) -> PlaybookRun {
    let scanner = record("authorised_scanner", IndicatorKind::Ip, SOURCE);
    let world = PlaybookCase::with(kinds, answers).clearing(scanner).by(way);
    world.run(scan())
}

#[test]
fn nothing_is_cleared_where_a_key_step_had_no_answer() {
    let unread: ToolAnswers = |kind, arguments| match kind {
        "change_lookup" => Err(ToolError::Unavailable {
            what: "the file is away".to_owned(),
        }),
        _ => known_scanner(kind, arguments),
    };
    for way in WAYS {
        let read = cleared(&ALL, known_scanner, way).conclusion;
        assert_eq!(read.verdict, Verdict::BenignTruePositive, "{way:?}");
        let conclusion = cleared(&ALL, unread, way).conclusion;
        assert_eq!(
            (conclusion.verdict, conclusion.reason),
            (Verdict::Inconclusive, VerdictReason::ToolFailure),
            "{way:?}"
        );
        let told = conclusion
            .gaps
            .iter()
            .any(|gap| gap.contains("approved test"));
        assert!(told, "{way:?}: {:?}", conclusion.gaps);
    }
}

#[test]
fn what_is_not_configured_is_missing_from_the_coverage() {
    let without: Vec<_> = ALL
        .into_iter()
        .filter(|kind| !["change_lookup", "log_search.vpc_flow"].contains(kind))
        .collect();
    let [planned, adaptive, direct] =
        WAYS.map(|way| cleared(&without, known_scanner, way).conclusion);
    assert!(planned.coverage.read < planned.coverage.wanted);
    for other in [adaptive, direct] {
        assert_eq!(other.coverage, planned.coverage);
        assert_eq!(other.confidence, planned.confidence);
    }
}

#[test]
fn steps_whose_condition_holds_are_made() {
    let let_through: ToolAnswers = |kind, arguments| {
        let mut body = nothing(kind, arguments);
        if kind == "log_search.vpc_flow" {
            body["rows"] = json!([{"at": "2023-04-16T06:12:00Z", "source_ip": SOURCE, "destination_ip": "192.168.0.1", "destination_port": 22, "outcome": "ACCEPT"}]);
        }
        Ok(body)
    };
    for way in WAYS {
        let ran = PlaybookCase::with(&ALL, let_through).by(way).run(scan());
        let about_the_target = ran.state.evidence.values().filter(|evidence| {
            evidence.kind == "log_search.vpc_flow" && evidence.arguments.contains_key("instance")
        });
        assert_eq!(about_the_target.count(), 1, "{way:?}");
    }
}
