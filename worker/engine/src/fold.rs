//! Implements `state = fold(events)`: the effect of each event on the state of a case.
//!
//! Nothing here can fail. An event that does not fit has no effect, so that a journal can always be read.

mod call;
mod decision;
mod plan;
mod turn;

use std::sync::Arc;

use crate::conclusion::{ConclusionDraft, Leaning, Verdict};
use crate::event::{CaseSetup, CommandId, CommandOutcome, Event, EventBody};
use crate::evidence::{Evidence, EvidenceId};
use crate::exoneration::RecordMismatch;
use crate::question::AskError;
use crate::state::{CaseState, InFlightCommand, StopCause};
use crate::verdict_policy::check_record;

/// Returns the state that these events lead to.
#[must_use]
pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> CaseState {
    let mut state = CaseState::default();
    for event in events {
        apply(&mut state, event);
    }
    state
}

/// Applies one more event to the state.
pub fn apply(state: &mut CaseState, event: &Event) {
    let since = state.last_at;
    state.last_at = Some(since.map_or(event.at, |last| last.max(event.at)));
    match &event.body {
        EventBody::Opened(opened) => apply_opened(state, opened, event),
        EventBody::Claimed { epoch } => apply_claimed(state, *epoch, since),
        EventBody::Started {
            id,
            attempt,
            reserved,
        } => apply_started(state, id, *attempt, *reserved),
        EventBody::Finished {
            id,
            outcome,
            cost,
            degraded,
            model,
            unanswered,
        } => {
            if state.finished.insert(id.clone()) {
                state.in_flight.remove(id);
                state.spent += *cost;
                if let Some(model) = model
                    && !state.models.contains(model)
                {
                    state.models.push(model.clone());
                }
                if let Some(error) = degraded {
                    note_refusal(state, error);
                    state.degraded.push(format!("{id}: {error}"));
                }
                state.unanswered.extend_from_slice(unanswered);
                apply_finished(state, id, outcome, event);
            }
        }
        EventBody::Withdrawn { id, cost, in_line } => {
            if state.in_flight.remove(id).is_some() {
                state.spent += *cost;
                state.model_wait_timed_out |= in_line;
            }
        }
        EventBody::TimeUp => {
            state
                .stop
                .get_or_insert(StopCause::Cap(crate::limits::BudgetCap::Minutes));
            charge_lost_commands(state);
        }
        EventBody::Cancelled { by } => state.stop = Some(StopCause::Cancelled(by.clone())),
        EventBody::Concluded(conclusion) => {
            state.in_flight.clear();
            plan::mark_rest_not_run(state);
            state.conclusion = Some(conclusion.as_ref().clone());
        }
    }
}

fn apply_opened(state: &mut CaseState, opened: &CaseSetup, event: &Event) {
    if state.setup.is_some() {
        return;
    }
    let alert = Evidence {
        id: EvidenceId::ALERT,
        step: None,
        tool: "alert".to_owned(),
        kind: "alert".to_owned(),
        arguments: serde_json::Map::new(),
        at: event.at,
        body: opened.alert.to_json_text(),
        rows: None,
        truncated: false,
        error: None,
        flags: opened.alert.flags.clone(),
    };
    state.evidence.insert(alert.id, Arc::new(alert));
    state.opened_at = Some(event.at);
    state.setup = Some(Arc::new(opened.clone()));
}

/// Marks commands that older epochs did not finish as lost: they stay charged and run again. The time of this epoch
/// begins with the latest event, so that a clock behind the previous worker's adds no time to the case.
fn apply_claimed(state: &mut CaseState, epoch: u64, since: Option<chrono::DateTime<chrono::Utc>>) {
    if let (Some(from), Some(until)) = (state.claimed_at, since) {
        state.active_before += (until - from).to_std().unwrap_or_default();
    }
    state.claimed_at = state.last_at;
    state.epoch = epoch;
    state.model_wait_timed_out = false;
    charge_lost_commands(state);
}

/// Marks running commands as lost. They stay charged and may be started again.
fn charge_lost_commands(state: &mut CaseState) {
    for (_, lost) in std::mem::take(&mut state.in_flight) {
        state.spent += lost.reserved;
    }
}

fn apply_started(
    state: &mut CaseState,
    id: &CommandId,
    attempt: u32,
    reserved: crate::limits::Cost,
) {
    if state.finished.contains(id) {
        return;
    }
    state.attempts.insert(id.clone(), attempt);
    let epoch = state.epoch;
    state
        .in_flight
        .insert(id.clone(), InFlightCommand { epoch, reserved });
    if id.0.starts_with("call:") || id.lookup_call().is_some() {
        call::assign_evidence_id(state, id);
    }
    if let Some(step) = step_of(id) {
        plan::mark_running(state, &step);
    }
}

fn apply_finished(state: &mut CaseState, id: &CommandId, outcome: &CommandOutcome, event: &Event) {
    match outcome {
        CommandOutcome::Planned(answer) => plan::apply_plan(state, answer),
        CommandOutcome::Turned(answer) => turn::apply_turn_answer(state, id, answer),
        CommandOutcome::Reflected(reflection) => plan::apply_reflection(state, reflection),
        CommandOutcome::Decided(decision) => decision::apply_decision(state, decision),
        CommandOutcome::Drafted(draft) => apply_draft(state, id, draft),
        CommandOutcome::Called(output) => call::apply_answer(state, id, Ok(output), event.at),
        CommandOutcome::CallFailed(error) => call::apply_answer(state, id, Err(error), event.at),
        CommandOutcome::Exonerated(facts) => {
            for fact in facts {
                apply_exoneration(state, fact.clone());
            }
        }
        CommandOutcome::AskFailed(error) => {
            note_refusal(state, error);
            apply_ask_failure(state, id, error);
        }
    }
}

/// Takes a conclusion. A second answer replaces the first; a counterfactual only shows whether the leaning changed.
fn apply_draft(state: &mut CaseState, id: &CommandId, draft: &ConclusionDraft) {
    if *id == CommandId::counterfactual() {
        let leant = state.draft.as_ref().is_some_and(leans_benign);
        state.counterfactual_differs = leant && !leans_benign(draft);
    } else {
        state.draft = Some(draft.clone());
    }
}

/// Returns whether a draft is benign or leans so.
pub(crate) fn leans_benign(draft: &ConclusionDraft) -> bool {
    draft.verdict.is_benign()
        || (draft.verdict == Verdict::Inconclusive && draft.leaning == Leaning::Benign)
}

/// Records that an analyst refused, or was not asked.
fn note_refusal(state: &mut CaseState, error: &AskError) {
    state.refused |= matches!(error, AskError::Refused { .. });
    state.day_budget_reached |= matches!(error, AskError::Budget { .. });
}

fn apply_ask_failure(state: &mut CaseState, id: &CommandId, error: &AskError) {
    let is_second = *id == CommandId::repair_claims() || *id == CommandId::counterfactual();
    if matches!(error, AskError::Budget { .. }) && !is_second {
        // A cap ends the case with what it has; the run has not failed.
        state.stopped_by_day_budget = true;
        if let Some(step) = step_of(id) {
            turn::fail_step(state, &step, &error.to_string());
        }
        return;
    }
    state.no_answer |= !is_second;
    if *id == CommandId::plan() {
        state.plan_error = Some(error.to_string());
    } else if *id == CommandId::conclude() {
        state.draft_error = Some(error.to_string());
    } else if is_second {
        // The first answer is kept.
    } else if let Some(step) = step_of(id) {
        turn::fail_step(state, &step, &error.to_string());
    } else if id.0.starts_with("decide:") {
        decision::apply_failure(state, error);
    } else {
        plan::apply_reflection_failure(state, error);
    }
}

/// Keeps a fact that clears a subject of this alert, and records why another one does not count.
fn apply_exoneration(state: &mut CaseState, fact: crate::exoneration::Exoneration) {
    let Some(alert) = state.alert().cloned() else {
        return;
    };
    match check_record(&fact, &alert) {
        Ok(()) if !state.exonerations.contains(&fact) => state.exonerations.push(fact),
        Ok(()) => {}
        Err(why) => {
            let entry: (crate::exoneration::Exoneration, RecordMismatch) = (fact, why);
            if !state.rejected_records.contains(&entry) {
                state.rejected_records.push(entry);
            }
        }
    }
}

/// Returns the step that a turn or a call belongs to.
pub(crate) fn step_of(id: &CommandId) -> Option<crate::plan::StepId> {
    let mut parts = id.0.split(':');
    let kind = parts.next()?;
    let step = parts.next()?;
    let is_step = (kind == "turn" || kind == "call") && parts.next().is_some();
    is_step.then(|| crate::plan::StepId(step.to_owned()))
}
