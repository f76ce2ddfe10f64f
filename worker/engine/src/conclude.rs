//! The conclusion of a case: an analyst proposes, code decides.
//!
//! All functions here are pure over the state. Whether an analyst lies, obeys the attacker or gives no answer, the
//! report has checked sentences and a proven verdict, and only code can lower its severity.

mod claims;
mod confidence;
mod coverage;
mod floor;
mod given_up;
mod missing;
mod plain;
mod prose;
mod reason;
mod standing;
mod summary;
mod urgency;

pub use floor::OVERRIDES;
pub(crate) use floor::cleared;
pub use given_up::given_up;
pub(crate) use given_up::workers_lost;
pub use prose::Prose;

use std::cell::LazyCell;
use std::sync::Arc;

use nightshift_alert::{Flag, Technique};

use claims::Cited;
use floor::Ruling;
use standing::Standings;

use crate::catalogue::{Action, ActionChoice, ActionTemplate, Known, fill};
use crate::conclusion::{Conclusion, ConclusionDraft, Verdict};
use crate::event::Opened;
use crate::exoneration::Exoneration;
use crate::finding::{Finding, FindingDraft};
use crate::fold::leans_benign;
use crate::state::State;
use crate::verdict_policy::Ledger;

/// Maximum number of actions in a conclusion.
const MOST_ACTIONS: usize = 6;
/// Action that is advised when no other is left.
const ASK: &str = "contact-owner";
/// Failure text of a run without a conclusion; the analyst's error follows.
const NO_CONCLUSION: &str = "no conclusion could be drawn: ";
/// Maximum number of findings in a conclusion.
const MOST_FINDINGS: usize = 20;
/// Maximum number of lines in `gaps` and in `would_decide`.
const MOST_LINES: usize = 12;

/// Returns the conclusion that follows from the state, or `None` before the case is opened.
#[must_use]
pub fn conclusion(state: &State) -> Option<Conclusion> {
    drawn(state, checked(state))
}

/// Checks the claims of the analyst's conclusion against their evidence. Returns `None` before there is a conclusion.
pub(crate) fn checked(state: &State) -> Option<Vec<Finding>> {
    let draft = state.draft.as_ref()?;
    Some(check(&draft.findings, state))
}

fn check(drafts: &[FindingDraft], state: &State) -> Vec<Finding> {
    let cited = Cited::of(drafts, state);
    drafts
        .iter()
        .map(|finding| claims::check(finding, &cited))
        .collect()
}

/// Returns the conclusion, given the findings that [`checked`] returned.
pub(crate) fn drawn(state: &State, checked: Option<Vec<Finding>>) -> Option<Conclusion> {
    let opened = Arc::clone(state.opened.as_ref()?);
    let draft = state.draft.clone().unwrap_or_else(|| plain::draft(state));
    let mut findings = checked.unwrap_or_else(|| check(&draft.findings, state));
    findings.truncate(MOST_FINDINGS);
    let manipulation = manipulated(state) || state.turned;
    let ledger = Ledger::of(state)?;
    let ruling = floor::rule(
        state,
        &ledger,
        &opened.alert,
        &draft,
        &findings,
        manipulation,
    );
    let coverage = coverage::of(state);
    let confidence = confidence::of(&ruling, &findings, state, &coverage);
    let urgency = urgency::of(&ruling, &opened.alert, manipulation);
    let prose = Prose::under(state, ruling.verdict, manipulation);
    let mut conclusion = Conclusion {
        verdict: ruling.verdict,
        leaning: ruling.leaning,
        reason: ruling.reason,
        confidence,
        assessed_severity: ruling.severity,
        urgency,
        summary: String::new(),
        meaning: prose.text(&draft.meaning),
        findings,
        gaps: gaps(&prose, &draft, state, &ledger),
        would_decide: would_decide(&prose, &draft, &ruling),
        actions: actions(state, &ledger, &opened, &draft, ruling.verdict),
        exonerations: cited(&ledger, state),
        ledger: ledger.rows(),
        awaits_lookup: ledger.is_covered() && ledger.not_looked_up(state).is_some(),
        techniques: techniques(&opened, &draft),
        overridden: ruling.overridden,
        manipulation,
        degraded: state.draft.is_none() || !state.degraded.is_empty(),
        stopped_by: state.cut_by(),
        failed: failed(state),
        coverage,
    };
    if !matches!(conclusion.verdict, Verdict::Inconclusive) {
        conclusion.would_decide.clear();
    }
    conclusion.summary = if opened.alert.is_canary() {
        conclusion.says_nothing();
        "A canary of Nightshift's own: alerts get through to here, and there is nothing to do."
            .to_owned()
    } else if opened.alert.is_sample() {
        conclusion.says_nothing();
        "A generated sample: nothing happened, and there is nothing to do.".to_owned()
    } else {
        let held_up = ruling.held_up;
        let held_up = held_up.or_else(|| floor::lacks_answers(state, &ledger));
        summary::of(&conclusion, state, held_up.as_deref())
    };
    Some(conclusion)
}

/// Returns the records that a conclusion cites: those that cover the ledger, else those that cover a part of it.
fn cited(ledger: &Ledger<'_>, state: &State) -> Vec<Exoneration> {
    if ledger.is_covered() {
        ledger.used().into_iter().cloned().collect()
    } else {
        state.exonerations.clone()
    }
}

impl Conclusion {
    /// Removes actions, deciding evidence and meaning, which do not apply to something that did not happen.
    fn says_nothing(&mut self) {
        self.actions.clear();
        self.would_decide.clear();
        self.meaning.clear();
    }
}

/// Returns what is wrong with the claims of the analyst's conclusion, each with its claim.
pub(crate) fn problems(state: &State) -> Vec<String> {
    checked(state)
        .iter()
        .flatten()
        .filter_map(|finding| {
            let problem = finding.problem.as_ref()?;
            Some(format!("{:?}: {problem}", finding.claim))
        })
        .take(MOST_FINDINGS)
        .collect()
}

/// Returns why nothing may clear the alert of this state, in half a sentence, or `None` when a record does.
pub(crate) fn forbids_benign(state: &State) -> Option<String> {
    let alert = state.alert()?;
    let ledger = Ledger::of(state)?;
    let manipulation = manipulated(state) || state.turned;
    floor::obstacle(state, &ledger, alert, manipulation).map(|obstacle| obstacle.text)
}

/// Returns whether text in the alert or in a result addresses the analyst.
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
                .map(|why| format!("{NO_CONCLUSION}{why}"))
        })
}

/// Collects the gaps that the analyst names, those that keep the alert from being cleared, and those that the engine
/// knows of.
fn gaps(
    prose: &Prose<'_>,
    draft: &ConclusionDraft,
    state: &State,
    ledger: &Ledger<'_>,
) -> Vec<String> {
    let mut own = state
        .alert()
        .map_or_else(Vec::new, |alert| floor::gaps(state, ledger, alert, draft));
    own.extend(coverage::gaps(state, prose));
    lines(prose.lines(&draft.gaps), own)
}

/// Collects what the analyst and the rules name as deciding. For an alert that is held up, the rules come first, and
/// an analyst that leaned towards benign is left out, because it asks for records that exist.
fn would_decide(prose: &Prose<'_>, draft: &ConclusionDraft, ruling: &Ruling) -> Vec<String> {
    let own = ruling.would_decide.clone();
    match &ruling.held_up {
        None => lines(prose.lines(&draft.would_decide), own),
        Some(_) if leans_benign(draft) => lines(own, Vec::new()),
        Some(_) => lines(own, prose.lines(&draft.would_decide)),
    }
}

fn lines(first: Vec<String>, then: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in first.into_iter().chain(then) {
        if !line.trim().is_empty() && !all.contains(&line) && all.len() < MOST_LINES {
            all.push(line);
        }
    }
    all
}

/// Fills in the actions that the analyst chose. Actions for cleared alerts are left out unless the verdict clears.
/// When no action is left, the report advises to contact the owner.
fn actions(
    state: &State,
    ledger: &Ledger<'_>,
    opened: &Opened,
    draft: &ConclusionDraft,
    verdict: Verdict,
) -> Vec<Action> {
    let offered: Vec<Arc<ActionTemplate>> = opened
        .actions
        .iter()
        .filter(|action| verdict.is_benign() || !action.when_cleared)
        .cloned()
        .collect();
    let standings = LazyCell::new(|| Standings::of(state));
    let cleared = ledger.records(state);
    let known = Known {
        indicators: &state.indicators,
        cleared: &cleared,
        standing: &|value| standings.value(value),
    };
    let filled = |choice: &ActionChoice| fill(&offered, choice, &opened.alert, &known);
    let mut actions: Vec<Action> = Vec::new();
    let mut add = |choice: &ActionChoice| {
        if let Some(action) = filled(choice).filter(|action| !actions.contains(action)) {
            actions.push(action);
        }
        actions.len()
    };
    for choice in &draft.actions {
        if add(choice) == MOST_ACTIONS {
            break;
        }
    }
    if actions.is_empty() && !verdict.is_benign() {
        actions.extend(filled(&ask()));
    }
    actions
}

fn ask() -> ActionChoice {
    ActionChoice {
        id: ASK.to_owned(),
        indicators: Vec::new(),
    }
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
