//! `state = fold(events)`: the effect of each event on the state of a case.
//!
//! Nothing here can fail. An event that does not fit has no effect, so that a journal can always be read.

mod call;
mod decision;
mod plan;
mod turn;

use std::sync::Arc;

use crate::conclusion::{ConclusionDraft, Leaning, Verdict};
use crate::event::{CommandId, Event, EventBody, Opened, Outcome};
use crate::evidence::{Evidence, EvidenceId};
use crate::exoneration::NotCleared;
use crate::question::AskError;
use crate::state::{InFlight, State, Stop};
use crate::verdict_policy::check;

/// Returns the state that these events lead to.
#[must_use]
pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> State {
    let mut state = State::default();
    for event in events {
        apply(&mut state, event);
    }
    state
}

/// Applies one more event to the state.
pub fn apply(state: &mut State, event: &Event) {
    let since = state.last_at;
    state.last_at = Some(since.map_or(event.at, |last| last.max(event.at)));
    match &event.body {
        EventBody::Opened(opened) => opened_now(state, opened, event),
        EventBody::Claimed { epoch } => claimed(state, *epoch, since),
        EventBody::Started {
            id,
            attempt,
            reserved,
        } => started(state, id, *attempt, *reserved),
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
                    kept_back(state, error);
                    state.degraded.push(format!("{id}: {error}"));
                }
                state.unanswered.extend_from_slice(unanswered);
                finished(state, id, outcome, event);
            }
        }
        EventBody::Withdrawn { id, cost, in_line } => {
            if state.in_flight.remove(id).is_some() {
                state.spent += *cost;
                state.had_no_turn |= in_line;
            }
        }
        EventBody::TimeUp => {
            state
                .stop
                .get_or_insert(Stop::Cap(crate::limits::Cap::Minutes));
            lose(state);
        }
        EventBody::Cancelled { by } => state.stop = Some(Stop::Cancelled(by.clone())),
        EventBody::Concluded(conclusion) => {
            state.in_flight.clear();
            plan::leave_the_rest(state);
            state.conclusion = Some(conclusion.as_ref().clone());
        }
    }
}

fn opened_now(state: &mut State, opened: &Opened, event: &Event) {
    if state.opened.is_some() {
        return;
    }
    let alert = Evidence {
        id: EvidenceId::ALERT,
        step: None,
        tool: "alert".to_owned(),
        kind: "alert".to_owned(),
        arguments: serde_json::Map::new(),
        at: event.at,
        body: opened.alert.told_text(),
        rows: None,
        truncated: false,
        error: None,
        flags: opened.alert.flags.clone(),
    };
    state.evidence.insert(alert.id, Arc::new(alert));
    state.opened_at = Some(event.at);
    state.opened = Some(Arc::new(opened.clone()));
}

/// Marks commands that older epochs did not finish as lost: they stay charged and run again. The time of this epoch
/// begins with the latest event, so that a clock behind the previous worker's adds no time to the case.
fn claimed(state: &mut State, epoch: u64, since: Option<chrono::DateTime<chrono::Utc>>) {
    if let (Some(from), Some(until)) = (state.claimed_at, since) {
        state.active_before += (until - from).to_std().unwrap_or_default();
    }
    state.claimed_at = state.last_at;
    state.epoch = epoch;
    state.had_no_turn = false;
    lose(state);
}

/// Marks running commands as lost. They stay charged and may be started again.
fn lose(state: &mut State) {
    for (_, lost) in std::mem::take(&mut state.in_flight) {
        state.spent += lost.reserved;
    }
}

fn started(state: &mut State, id: &CommandId, attempt: u32, reserved: crate::limits::Cost) {
    if state.finished.contains(id) {
        return;
    }
    state.attempts.insert(id.clone(), attempt);
    let epoch = state.epoch;
    state
        .in_flight
        .insert(id.clone(), InFlight { epoch, reserved });
    if id.0.starts_with("call:") || id.looked_up().is_some() {
        call::number(state, id);
    }
    if let Some(step) = step_of(id) {
        plan::running(state, &step);
    }
}

fn finished(state: &mut State, id: &CommandId, outcome: &Outcome, event: &Event) {
    match outcome {
        Outcome::Planned(answer) => plan::accept(state, answer),
        Outcome::Turned(answer) => turn::answered(state, id, answer),
        Outcome::Reflected(reflection) => plan::reflected(state, reflection),
        Outcome::Decided(decision) => decision::take(state, decision),
        Outcome::Drafted(draft) => drafted(state, id, draft),
        Outcome::Called(output) => call::answered(state, id, Ok(output), event.at),
        Outcome::CallFailed(error) => call::answered(state, id, Err(error), event.at),
        Outcome::Exonerated(facts) => {
            for fact in facts {
                exonerated(state, fact.clone());
            }
        }
        Outcome::AskFailed(error) => {
            kept_back(state, error);
            ask_failed(state, id, error);
        }
    }
}

/// Takes a conclusion. A second answer replaces the first; a counterfactual only shows whether the leaning changed.
fn drafted(state: &mut State, id: &CommandId, draft: &ConclusionDraft) {
    if *id == CommandId::blanked() {
        let leant = state.draft.as_ref().is_some_and(leans_benign);
        state.turned = leant && !leans_benign(draft);
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
fn kept_back(state: &mut State, error: &AskError) {
    state.refused |= matches!(error, AskError::Refused { .. });
    state.day_spent |= matches!(error, AskError::Budget { .. });
}

fn ask_failed(state: &mut State, id: &CommandId, error: &AskError) {
    let is_second = *id == CommandId::mend() || *id == CommandId::blanked();
    if matches!(error, AskError::Budget { .. }) && !is_second {
        // A cap ends the case with what it has; the run has not failed.
        state.day_stopped = true;
        if let Some(step) = step_of(id) {
            turn::failed(state, &step, &error.to_string());
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
        turn::failed(state, &step, &error.to_string());
    } else if id.0.starts_with("decide:") {
        decision::failed(state, error);
    } else {
        plan::reflection_failed(state, error);
    }
}

/// Keeps a fact that clears a subject of this alert, and records why another one does not count.
fn exonerated(state: &mut State, fact: crate::exoneration::Exoneration) {
    let Some(alert) = state.alert().cloned() else {
        return;
    };
    match check(&fact, &alert) {
        Ok(()) if !state.exonerations.contains(&fact) => state.exonerations.push(fact),
        Ok(()) => {}
        Err(why) => {
            let entry: (crate::exoneration::Exoneration, NotCleared) = (fact, why);
            if !state.not_cleared.contains(&entry) {
                state.not_cleared.push(entry);
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
