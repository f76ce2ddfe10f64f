//! Builds the conclusion of a case, which an analyst proposes and code decides.
//!
//! All functions here are pure over the state. Whether an analyst lies, obeys the attacker or gives no answer, the
//! report has checked sentences and a proven verdict, and only code can lower its severity.

mod abandoned_case;
mod claims;
mod confidence;
mod coverage;
mod fallback;
mod next_steps;
mod prose;
mod reason;
mod reputation;
mod summary;
mod urgency;
mod verdict_rules;

pub use abandoned_case::conclude_abandoned;
pub(crate) use abandoned_case::workers_lost;
pub use prose::ProseFilter;
pub use summary::UNDECIDED;
pub use verdict_rules::OVERRIDES;
pub(crate) use verdict_rules::clearance;

use std::cell::LazyCell;
use std::sync::Arc;

use nightshift_alert::{ContentFlag, Technique};

use claims::CitedEvidence;
use reputation::Reputations;
use verdict_rules::PolicyOutcome;

use crate::catalogue::{Action, ActionChoice, ActionContext, ActionTemplate, fill_action};
use crate::conclusion::{Conclusion, ConclusionDraft, Verdict};
use crate::event::CaseSetup;
use crate::exoneration::Exoneration;
use crate::finding::{Finding, FindingDraft};
use crate::fold::leans_benign;
use crate::state::CaseState;
use crate::verdict_policy::Ledger;

/// Maximum number of actions in a conclusion.
const MAX_ACTIONS: usize = 6;
/// Action that is advised when no other is left.
const CONTACT_OWNER: &str = "contact-owner";
/// Failure text of a run without a conclusion; the analyst's error follows.
const NO_CONCLUSION: &str = "no conclusion could be drawn: ";
/// Maximum number of findings in a conclusion.
const MAX_FINDINGS: usize = 20;
/// Maximum number of lines in `gaps` and in `would_decide`.
const MAX_LINES: usize = 12;

/// Returns the conclusion that follows from the state, or `None` before the case is opened.
#[must_use]
pub fn draw_conclusion(state: &CaseState) -> Option<Conclusion> {
    draw_conclusion_with(state, checked_findings(state))
}

/// Checks the claims of the analyst's conclusion against their evidence. Returns `None` before there is a conclusion.
pub(crate) fn checked_findings(state: &CaseState) -> Option<Vec<Finding>> {
    let draft = state.draft.as_ref()?;
    Some(check_findings(&draft.findings, state))
}

fn check_findings(drafts: &[FindingDraft], state: &CaseState) -> Vec<Finding> {
    let cited = CitedEvidence::from_findings(drafts, state);
    drafts
        .iter()
        .map(|finding| claims::check_finding(finding, &cited))
        .collect()
}

/// Returns the conclusion, given the findings that [`checked_findings`] returned.
pub(crate) fn draw_conclusion_with(
    state: &CaseState,
    checked: Option<Vec<Finding>>,
) -> Option<Conclusion> {
    let opened = Arc::clone(state.setup.as_ref()?);
    let draft = state.draft.clone();
    let draft = draft.unwrap_or_else(|| fallback::fallback_draft(state));
    let mut findings = checked.unwrap_or_else(|| check_findings(&draft.findings, state));
    findings.truncate(MAX_FINDINGS);
    let manipulation = is_manipulated(state) || state.counterfactual_differs;
    let ledger = Ledger::from_state(state)?;
    let ruling = verdict_rules::apply_rules(
        state,
        &ledger,
        &opened.alert,
        &draft,
        &findings,
        manipulation,
    );
    let coverage = coverage::measure_coverage(state);
    let confidence = confidence::rate_confidence(&ruling, &findings, state, &coverage);
    let urgency = urgency::rate_urgency(&ruling, &opened.alert, manipulation);
    let prose = ProseFilter::for_verdict(state, ruling.verdict, manipulation);
    let mut conclusion = Conclusion {
        verdict: ruling.verdict,
        leaning: ruling.leaning,
        reason: ruling.reason,
        confidence,
        assessed_severity: ruling.severity,
        urgency,
        summary: String::new(),
        meaning: prose.filter_text(&draft.meaning),
        findings,
        gaps: collect_gaps(&prose, &draft, state, &ledger),
        would_decide: deciding_evidence(&prose, &draft, &ruling),
        actions: fill_actions(state, &ledger, &opened, &draft, ruling.verdict),
        exonerations: cited_records(&ledger, state),
        ledger: ledger.rows(),
        awaits_lookup: ledger.is_covered() && ledger.missing_lookup(state).is_some(),
        techniques: merge_techniques(&opened, &draft),
        overridden: ruling.overridden,
        manipulation,
        degraded: state.draft.is_none() || !state.degraded.is_empty(),
        stopped_by: state.cut_short_by(),
        failed: failure_reason(state),
        coverage,
    };
    if !matches!(conclusion.verdict, Verdict::Inconclusive) {
        conclusion.would_decide.clear();
    }
    conclusion.summary = if opened.alert.is_canary() {
        conclusion.clear_advice();
        "A canary of Nightshift's own: alerts get through to here, and there is nothing to do."
            .to_owned()
    } else if opened.alert.is_sample() {
        conclusion.clear_advice();
        "A generated sample: nothing happened, and there is nothing to do.".to_owned()
    } else {
        let held_up = ruling.hold_reason;
        let held_up = held_up.or_else(|| verdict_rules::missing_answer(state, &ledger));
        summary::write_summary(&conclusion, state, held_up.as_deref())
    };
    Some(conclusion)
}

/// Returns the records that a conclusion cites: those that cover the ledger, else those that cover a part of it.
fn cited_records(ledger: &Ledger<'_>, state: &CaseState) -> Vec<Exoneration> {
    if ledger.is_covered() {
        ledger.used_records().into_iter().cloned().collect()
    } else {
        state.exonerations.clone()
    }
}

impl Conclusion {
    /// Removes actions, deciding evidence and meaning, which do not apply to something that did not happen.
    fn clear_advice(&mut self) {
        self.actions.clear();
        self.would_decide.clear();
        self.meaning.clear();
    }
}

/// Returns what is wrong with the claims of the analyst's conclusion, each with its claim.
pub(crate) fn claim_problems(state: &CaseState) -> Vec<String> {
    checked_findings(state)
        .iter()
        .flatten()
        .filter_map(|finding| {
            let problem = finding.problem.as_ref()?;
            Some(format!("{:?}: {problem}", finding.claim))
        })
        .take(MAX_FINDINGS)
        .collect()
}

/// Returns why nothing may clear the alert of this state, in half a sentence, or `None` when a record does.
pub(crate) fn benign_blocker(state: &CaseState) -> Option<String> {
    let alert = state.alert()?;
    let ledger = Ledger::from_state(state)?;
    let manipulation = is_manipulated(state) || state.counterfactual_differs;
    verdict_rules::find_blocker(state, &ledger, alert, manipulation).map(|obstacle| obstacle.text)
}

/// Returns whether text in the alert or in a result addresses the analyst.
fn is_manipulated(state: &CaseState) -> bool {
    state
        .evidence
        .values()
        .flat_map(|evidence| &evidence.flags)
        .any(|flag| matches!(flag, ContentFlag::Instructions { .. }))
}

fn failure_reason(state: &CaseState) -> Option<String> {
    state
        .plan_error
        .as_ref()
        .map(|why| format!("no plan could be made: {why}"))
        .or_else(|| {
            state
                .draft_error
                .as_ref()
                .map(|why| format!("{NO_CONCLUSION}{why}"))
        })
}

/// Collects the gaps that the analyst names, those that keep the alert from being cleared, and those that the engine
/// knows of.
fn collect_gaps(
    prose: &ProseFilter<'_>,
    draft: &ConclusionDraft,
    state: &CaseState,
    ledger: &Ledger<'_>,
) -> Vec<String> {
    let mut own = state.alert().map_or_else(Vec::new, |alert| {
        verdict_rules::unanswered_gaps(state, ledger, alert, draft)
    });
    own.extend(coverage::coverage_gaps(state, prose));
    merge_lines(prose.filter_lines(&draft.gaps), own)
}

/// Collects what the analyst and the rules name as deciding. For an alert that is held up, the rules come first, and
/// an analyst that leaned towards benign is left out, because it asks for records that exist.
fn deciding_evidence(
    prose: &ProseFilter<'_>,
    draft: &ConclusionDraft,
    ruling: &PolicyOutcome,
) -> Vec<String> {
    let own = ruling.would_decide.clone();
    match &ruling.hold_reason {
        None => merge_lines(prose.filter_lines(&draft.would_decide), own),
        Some(_) if leans_benign(draft) => merge_lines(own, Vec::new()),
        Some(_) => merge_lines(own, prose.filter_lines(&draft.would_decide)),
    }
}

fn merge_lines(first: Vec<String>, then: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in first.into_iter().chain(then) {
        if !line.trim().is_empty() && !all.contains(&line) && all.len() < MAX_LINES {
            all.push(line);
        }
    }
    all
}

/// Fills in the actions that the analyst chose. Actions for cleared alerts are left out unless the verdict clears.
/// When no action is left, the report advises to contact the owner.
fn fill_actions(
    state: &CaseState,
    ledger: &Ledger<'_>,
    opened: &CaseSetup,
    draft: &ConclusionDraft,
    verdict: Verdict,
) -> Vec<Action> {
    let offered: Vec<Arc<ActionTemplate>> = opened
        .actions
        .iter()
        .filter(|action| verdict.is_benign() || !action.when_cleared)
        .cloned()
        .collect();
    let standings = LazyCell::new(|| Reputations::from_state(state));
    let cleared = ledger.records(state);
    let known = ActionContext {
        indicators: &state.indicators,
        clearing_records: &cleared,
        reputation: &|value| standings.reputation_of(value),
    };
    let filled = |choice: &ActionChoice| fill_action(&offered, choice, &opened.alert, &known);
    let mut actions: Vec<Action> = Vec::new();
    let mut add = |choice: &ActionChoice| {
        if let Some(action) = filled(choice).filter(|action| !actions.contains(action)) {
            actions.push(action);
        }
        actions.len()
    };
    for choice in &draft.actions {
        if add(choice) == MAX_ACTIONS {
            break;
        }
    }
    if actions.is_empty() && !verdict.is_benign() {
        actions.extend(filled(&contact_owner()));
    }
    actions
}

fn contact_owner() -> ActionChoice {
    ActionChoice {
        id: CONTACT_OWNER.to_owned(),
        indicators: Vec::new(),
    }
}

fn merge_techniques(opened: &CaseSetup, draft: &ConclusionDraft) -> Vec<Technique> {
    let mut all = opened.alert.techniques.clone();
    for technique in &draft.techniques {
        if !all.iter().any(|known| known.id == technique.id) {
            all.push(technique.clone());
        }
    }
    all
}
