//! Folds turns: the calls of an answer are checked, or the step takes its result.

use crate::event::{AnalystKind, CommandId};
use crate::evidence::EvidenceId;
use crate::plan::{StepId, StepOutcome, StepStatus};
use crate::question::TurnAnswer;
use crate::state::{CallRecord, CallState, CaseState, StepTurn};
use crate::tool::{ToolCall, ToolError, ToolSpec};
use crate::{arguments, dead_end, evidence_read};

use super::step_of;

pub(super) fn apply_turn_answer(state: &mut CaseState, id: &CommandId, answer: &TurnAnswer) {
    let Some(step) = step_of(id) else {
        return;
    };
    let is_running = state
        .plan
        .as_ref()
        .and_then(|plan| plan.step(&step))
        .is_some_and(|step| step.status == StepStatus::Running);
    if !is_running {
        return;
    }
    match answer {
        TurnAnswer::Calls { calls, .. } if calls.is_empty() => {
            fail_step(state, &step, "the analyst gave neither a call nor a result");
        }
        TurnAnswer::Calls { calls, memo } => {
            add_calls(state, &step, calls);
            let work = state.work.get_mut(&step);
            if let Some(turn) = work.and_then(|work| work.turns.last_mut()) {
                turn.memo.clone_from(memo);
            }
            fail_if_exhausted(state, &step);
        }
        TurnAnswer::Result {
            outcome,
            summary,
            findings,
        } => {
            if let Some(work) = state.work.get_mut(&step) {
                work.findings.clone_from(findings);
            }
            end_step(state, &step, *outcome, summary);
        }
    }
}

/// Checks calls and lists them as the step's next turn. Refused calls get an answer too.
pub(super) fn add_calls(state: &mut CaseState, step: &StepId, calls: &[ToolCall]) {
    let Some(opened) = state.setup.clone() else {
        return;
    };
    let mut turn = StepTurn::default();
    let mut strikes = 0;
    for (index, call) in calls.iter().enumerate() {
        let result = if index < opened.limits.calls_per_turn {
            arguments::check_call(call, &opened.tools, state)
                .and_then(|spec| known_evidence(state, step, call, spec))
        } else {
            Err(ToolError::Argument {
                argument: "calls".to_owned(),
                problem: format!("are at most {} in one turn", opened.limits.calls_per_turn),
            })
        };
        let state_of_call = match result {
            Ok(answered) => answered.map_or(CallState::Waiting, CallState::Answered),
            Err(error) => {
                strikes += 1;
                CallState::Refused(error)
            }
        };
        turn.calls.push(CallRecord {
            call: call.clone(),
            state: state_of_call,
        });
    }
    let work = state.work.entry(step.clone()).or_default();
    work.strikes += strikes;
    work.turns.push(turn);
}

/// Returns the evidence that answers a call without a tool: that of the same call before, or what `evidence_read`
/// requests.
fn known_evidence(
    state: &CaseState,
    step: &StepId,
    call: &ToolCall,
    spec: &ToolSpec,
) -> Result<Option<EvidenceId>, ToolError> {
    if spec.kind == evidence_read::TOOL_NAME {
        return evidence_read::requested_evidence(call, state).map(Some);
    }
    reject_dead_end(state, step, call)?;
    Ok(state.evidence_by_call.get(&call.identity()).copied())
}

/// Refuses calls of added steps that follow a trail on which three sources found nothing.
fn reject_dead_end(state: &CaseState, step: &StepId, call: &ToolCall) -> Result<(), ToolError> {
    let is_model = state
        .setup
        .as_ref()
        .is_some_and(|opened| opened.analyst == AnalystKind::Model);
    let was_planned = state
        .plan
        .as_ref()
        .is_none_or(|plan| plan.step(step).is_some_and(|step| step.reason.is_none()));
    if !is_model || was_planned || state.evidence_by_call.contains_key(&call.identity()) {
        return Ok(());
    }
    match dead_end::dead_end_value(call, state) {
        Some(value) => Err(ToolError::NotAllowed {
            what: format!("three sources had nothing on {value}; this trail is given up"),
        }),
        None => Ok(()),
    }
}

/// Settles equal calls of two steps: one is made, and the others take its evidence.
pub(super) fn settle_repeated_calls(state: &mut CaseState) {
    let answers = &state.evidence_by_call;
    let in_flight = &state.in_flight;
    for (step, work) in &mut state.work {
        for (turn, calls) in work.turns.iter_mut().enumerate() {
            for (index, record) in calls.calls.iter_mut().enumerate() {
                if record.state != CallState::Waiting {
                    continue;
                }
                let number = u32::try_from(turn).unwrap_or(u32::MAX);
                let runs = in_flight.contains_key(&CommandId::call(step, number, index));
                if !runs && let Some(id) = answers.get(&record.call.identity()) {
                    record.state = CallState::Answered(*id);
                }
            }
        }
    }
}

/// Fails a step whose calls keep being refused or whose turns are used up.
fn fail_if_exhausted(state: &mut CaseState, step: &StepId) {
    let Some(opened) = state.setup.clone() else {
        return;
    };
    let Some(work) = state.work.get(step) else {
        return;
    };
    let turns = work.turns.len().saturating_sub(1);
    if turns >= usize::try_from(opened.limits.turns).unwrap_or(usize::MAX) {
        fail_step(state, step, &format!("{turns} turns brought no result"));
    } else if work.strikes >= opened.limits.strikes {
        let strikes = work.strikes;
        fail_step(state, step, &format!("{strikes} calls were refused"));
    }
}

pub(super) fn fail_step(state: &mut CaseState, step: &StepId, why: &str) {
    end_step(state, step, StepOutcome::Failed, why);
}

pub(super) fn end_step(state: &mut CaseState, step: &StepId, outcome: StepOutcome, summary: &str) {
    let Some(step) = state.plan.as_mut().and_then(|plan| plan.step_mut(step)) else {
        return;
    };
    if step.status.is_terminal() {
        return;
    }
    if let Some(work) = state.work.get_mut(&step.id) {
        work.ended_at = state.last_at;
    }
    step.outcome = Some(outcome);
    step.status = if outcome == StepOutcome::Failed {
        StepStatus::Failed
    } else {
        StepStatus::Done
    };
    summary.clone_into(&mut step.summary);
    super::plan::schedule_reflection(state);
}
