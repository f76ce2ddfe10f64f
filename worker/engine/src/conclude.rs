//! The conclusion of a case: an analyst proposes, code decides.
//!
//! Everything here is pure over the state. An analyst that lies, obeys the attacker or says nothing at all ends in the
//! same place: a report whose sentences are checked, whose verdict is proven, and whose severity only code can lower.

mod claims;
mod confidence;
mod coverage;
mod floor;
mod plain;
mod summary;
mod urgency;

pub use floor::OVERRIDES;

use std::sync::Arc;

use nightshift_alert::{Flag, Technique};

use crate::{Action, Conclusion, ConclusionDraft, Opened, State, fill};

/// Most actions that a conclusion advises.
const MOST_ACTIONS: usize = 6;
/// Most findings that a conclusion holds.
const MOST_FINDINGS: usize = 20;
/// Most lines of gaps and of what would decide.
const MOST_LINES: usize = 12;

/// The conclusion that the state leads to; none before the case is opened.
#[must_use]
pub fn conclusion(state: &State) -> Option<Conclusion> {
    let opened = Arc::clone(state.opened.as_ref()?);
    let draft = state.draft.clone().unwrap_or_else(|| plain::draft(state));
    let findings: Vec<_> = draft
        .findings
        .iter()
        .take(MOST_FINDINGS)
        .map(|finding| claims::check(finding, state))
        .collect();
    let manipulation = manipulated(state);
    let ruling = floor::rule(state, &opened.alert, &draft, &findings, manipulation);
    let coverage = coverage::of(state);
    let confidence = confidence::of(&ruling, &findings, state, &coverage);
    let urgency = urgency::of(&ruling, &opened.alert);
    let mut conclusion = Conclusion {
        verdict: ruling.verdict,
        leaning: ruling.leaning,
        reason: ruling.reason,
        confidence,
        assessed_severity: ruling.severity,
        urgency,
        summary: String::new(),
        meaning: draft.meaning.clone(),
        findings,
        gaps: lines(&draft.gaps, coverage::gaps(state)),
        would_decide: lines(&draft.would_decide, ruling.would_decide),
        actions: actions(state, &opened, &draft),
        exonerations: state.exonerations.clone(),
        techniques: techniques(&opened, &draft),
        overridden: ruling.overridden,
        manipulation,
        degraded: state.draft.is_none(),
        stopped_by: state.stopped_by(),
        failed: failed(state),
        coverage,
    };
    if !matches!(conclusion.verdict, crate::Verdict::Inconclusive) {
        conclusion.would_decide.clear();
    }
    conclusion.summary = summary::of(&conclusion);
    Some(conclusion)
}

/// Whether text in the alert or in a result talks to the analyst.
fn manipulated(state: &State) -> bool {
    state
        .evidence
        .values()
        .flat_map(|evidence| &evidence.flags)
        .any(|flag| matches!(flag, Flag::Instructions { .. }))
}

fn failed(state: &State) -> Option<String> {
    state
        .plan_error
        .as_ref()
        .map(|why| format!("no plan could be made: {why}"))
        .or_else(|| {
            state
                .draft_error
                .as_ref()
                .map(|why| format!("no conclusion could be drawn: {why}"))
        })
}

fn lines(first: &[String], then: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in first.iter().cloned().chain(then) {
        if !line.trim().is_empty() && !all.contains(&line) && all.len() < MOST_LINES {
            all.push(line);
        }
    }
    all
}

fn actions(state: &State, opened: &Opened, draft: &ConclusionDraft) -> Vec<Action> {
    let mut actions: Vec<Action> = Vec::new();
    for choice in &draft.actions {
        let filled = fill(&opened.actions, choice, &opened.alert, &state.indicators);
        if let Some(action) = filled.filter(|action| !actions.contains(action)) {
            actions.push(action);
        }
        if actions.len() == MOST_ACTIONS {
            break;
        }
    }
    actions
}

fn techniques(opened: &Opened, draft: &ConclusionDraft) -> Vec<Technique> {
    let mut all = opened.alert.techniques.clone();
    for technique in &draft.techniques {
        if !all.iter().any(|known| known.id == technique.id) {
            all.push(technique.clone());
        }
    }
    all
}
