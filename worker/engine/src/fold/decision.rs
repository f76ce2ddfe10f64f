//! Folds decisions of an adaptive case: each judges the last action and may take the next one.

use super::{plan, turn};
use crate::plan::{StepId, StepOutcome};
use crate::question::{AskError, Decision};
use crate::state::CaseState;

pub(super) fn apply_decision(state: &mut CaseState, decision: &Decision) {
    state.decisions += 1;
    if let Some(plan) = &mut state.plan {
        if plan.objective.is_empty() {
            plan.objective.clone_from(&decision.objective);
        }
        if plan.source.is_empty() {
            plan.source.clone_from(&decision.source);
        }
    }
    if let Some(open) = open_step(state) {
        match &decision.judgement {
            Some(judgement) => {
                if let Some(work) = state.work.get_mut(&open) {
                    work.findings.clone_from(&judgement.findings);
                }
                turn::end_step(state, &open, judgement.outcome, &judgement.summary);
            }
            None => turn::end_step(state, &open, StepOutcome::Unmet, "it was not judged"),
        }
    }
    let most = state.setup.as_ref().map_or(0, |opened| opened.limits.steps);
    match &decision.next {
        Some(next) if state.decisions <= most => {
            if let Err(why) = plan::add_step(state, next, &decision.reasoning) {
                let told = format!("{:?} was not taken up: {why}", next.description);
                // An analyst that repeats a call after this notice has nothing left to ask.
                if state.insights.contains(&told) {
                    state.decided = true;
                } else {
                    state.insights.push(told);
                }
            }
        }
        _ => state.decided = true,
    }
}

/// Records that there is no decision. The case concludes from what it has.
pub(super) fn apply_failure(state: &mut CaseState, error: &AskError) {
    if let Some(open) = open_step(state) {
        turn::end_step(state, &open, StepOutcome::Failed, &error.to_string());
    }
    state.insights.push(format!("no decision: {error}"));
    state.decided = true;
}

/// Returns the action that is not judged yet.
fn open_step(state: &CaseState) -> Option<StepId> {
    state
        .steps()
        .iter()
        .rev()
        .find(|step| !step.status.is_terminal())
        .map(|step| step.id.clone())
}
