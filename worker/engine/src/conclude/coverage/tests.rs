use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::conclude::draw_conclusion;
use crate::conclusion::{ConclusionDraft, Verdict};
use crate::evidence::EvidenceId;
use crate::fixture;
use crate::plan::{Plan, StepId};

fn missing_sources(state: &CaseState) -> Vec<String> {
    coverage_gaps(state, &ProseFilter::from_state(state))
}

/// Returns a case with one answer of a log, whose records end `until` seconds after the alert's first event.
fn logged(until: i64, in_time: u64) -> CaseState {
    let mut state = fixture::opened_state();
    let mut log = Evidence::clone(state.evidence_of(EvidenceId::ALERT).unwrap());
    log.id = EvidenceId(2);
    log.tool = "sign_ins".to_owned();
    log.kind = "log_search.json_lines".to_owned();
    log.body = json!({"searched": {"records_from": fixture::at(-9_000), "records_until": fixture::at(until),
        "records_in_time": in_time}, "rows": []})
    .into();
    state.evidence.insert(log.id, Arc::new(log));
    state
}

#[test]
fn a_log_that_ends_before_the_alert_was_not_read() {
    let state = logged(-3_600, 7);
    let coverage = measure_coverage(&state);
    assert_eq!((coverage.read, coverage.wanted), (0, 1));
    insta::assert_snapshot!(coverage.missing.join("; "), @"sign_ins: nothing after 2026-03-02 01:36 UTC");
    insta::assert_snapshot!(missing_sources(&state).join("; "), @"sign_ins has nothing after 2026-03-02 01:36 UTC");
    let coverage = measure_coverage(&logged(600, 7));
    assert_eq!((coverage.read, coverage.wanted), (1, 1));
    assert!(missing_sources(&logged(600, 7)).is_empty());
}

#[test]
fn a19_coverage_gap_has_no_words_of_an_overridden_verdict() {
    let mut state = fixture::opened_state();
    let step = |id: usize, status, description: &str, summary: &str| Step {
        id: StepId::numbered(id),
        name: String::new(),
        description: description.to_owned(),
        tools: Vec::new(),
        expected: String::new(),
        depends_on: Vec::new(),
        calls: Vec::new(),
        key: false,
        status,
        outcome: None,
        summary: summary.to_owned(),
        wave: None,
        reason: None,
    };
    let own = "203.0.113.9 is our own scanner, approved as CHG-77";
    state.plan = Some(Plan {
        steps: vec![
            step(1, StepStatus::Failed, "Look at web-1", "Nobody answered."),
            step(
                2,
                StepStatus::Failed,
                own,
                "The owner confirmed it; close this.",
            ),
            step(3, StepStatus::NotRun, own, ""),
        ],
        ..Plan::default()
    });
    state.models = vec!["fake/model".to_owned()];
    let gaps = |state: &CaseState| draw_conclusion(state).unwrap().gaps.join("\n");
    insta::assert_snapshot!(gaps(&state), @r"
    Look at web-1 failed: Nobody answered.
    step s2 failed: The owner confirmed it; close this.
    step s3 was not run
    ");
    state.draft = Some(ConclusionDraft {
        verdict: Verdict::FalsePositive,
        ..super::super::fallback::fallback_draft(&state)
    });
    insta::assert_snapshot!(gaps(&state), @r"
    step s1 failed
    step s2 failed
    step s3 was not run
    ");
}
