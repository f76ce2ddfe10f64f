//! Implements `decide(&state)`, which returns the commands that can run now and are neither started in this epoch nor
//! finished.

use std::collections::BTreeSet;

use crate::command::{Command, Question};
use crate::conclude;
use crate::event::{AnalystKind, CommandId};
use crate::finding::Finding;
use crate::fold::leans_benign;
use crate::plan::{Plan, PlanMode, Step, StepStatus};
use crate::state::{CallState, CaseState};
use crate::strategy::ReflectionMode;
use crate::verdict_policy::lookup;

/// Returns the next commands. The list is empty while all possible commands run, and at the end.
#[must_use]
pub fn decide(state: &CaseState) -> Vec<Command> {
    if state.setup.is_none() || state.is_over() {
        return Vec::new();
    }
    let past = CommandId::past_cases();
    if !state.finished.contains(&past) && state.stop.is_none() {
        let call = crate::tool::ToolCall::new("past_cases", serde_json::Map::new());
        return not_started(state, vec![Command::Call { id: past, call }]);
    }
    if state.stopped_by().is_some() {
        // A running command may come back cheaper than it was charged, so its result must be in before the end. Only
        // the end of the active time waits for nothing.
        let waits = state.stop.is_none() && state.in_flight.keys().any(|id| !is_ending(id));
        return if waits {
            Vec::new()
        } else {
            not_started(state, ending_commands(state))
        };
    }
    let Some(plan) = &state.plan else {
        return not_started(
            state,
            if state.plan_error.is_some() {
                ending_commands(state)
            } else {
                vec![Command::Ask {
                    id: CommandId::plan(),
                    question: Question::Plan,
                }]
            },
        );
    };
    not_started(
        state,
        if plan.mode == PlanMode::Adaptive {
            decide_adaptive(state)
        } else {
            decide_planned(state, plan)
        },
    )
}

/// Returns the calls of the last action, the decision about it, or the end.
fn decide_adaptive(state: &CaseState) -> Vec<Command> {
    if state.decided {
        return ending_commands(state);
    }
    let open = state
        .steps()
        .iter()
        .rev()
        .find(|step| !step.status.is_terminal());
    let waiting = open.map_or_else(Vec::new, |step| waiting_calls(state, step));
    if waiting.is_empty() {
        vec![Command::Ask {
            id: CommandId::decide(state.decisions + 1),
            question: Question::Decide,
        }]
    } else {
        deduplicate_calls(state, waiting)
    }
}

/// Removes commands that run or have ended.
fn not_started(state: &CaseState, commands: Vec<Command>) -> Vec<Command> {
    commands
        .into_iter()
        .filter(|command| {
            command
                .id()
                .is_none_or(|id| !state.finished.contains(id) && !state.in_flight.contains_key(id))
        })
        .collect()
}

fn decide_planned(state: &CaseState, plan: &Plan) -> Vec<Command> {
    let running: Vec<_> = state.steps_with(StepStatus::Running).collect();
    if !running.is_empty() {
        let commands = running.iter().flat_map(|step| step_commands(state, step));
        return within_budget(state, deduplicate_calls(state, commands.collect()));
    }
    if state.wave > state.reflected_waves {
        return vec![Command::Ask {
            id: CommandId::reflect(state.reflections + 1),
            question: Question::Reflect,
        }];
    }
    let parallel = state.setup.as_ref().map_or(1, |opened| {
        if opened.options.reflection == ReflectionMode::EveryStep {
            1
        } else {
            opened.limits.parallel.max(1)
        }
    });
    let wave: Vec<_> = plan
        .steps
        .iter()
        .filter(|step| plan.is_ready(step))
        .take(parallel)
        .collect();
    if wave.is_empty() {
        ending_commands(state)
    } else {
        let commands = wave.into_iter().flat_map(|step| step_commands(state, step));
        within_budget(state, deduplicate_calls(state, commands.collect()))
    }
}

/// Keeps one of equal calls of two steps: the one that was started, even if it was lost since.
fn deduplicate_calls(state: &CaseState, mut commands: Vec<Command>) -> Vec<Command> {
    let has_number = |id: &CommandId| state.evidence_ids.contains_key(id);
    let mut seen: BTreeSet<String> = commands
        .iter()
        .filter_map(|command| match command {
            Command::Call { id, call } if has_number(id) => Some(call.identity()),
            _ => None,
        })
        .collect();
    commands.retain(|command| match command {
        Command::Call { id, call } => has_number(id) || seen.insert(call.identity()),
        _ => true,
    });
    commands
}

/// Removes questions that do not fit the caps beside those that run and those before them.
fn within_budget(state: &CaseState, mut commands: Vec<Command>) -> Vec<Command> {
    let Some(opened) = &state.setup else {
        return Vec::new();
    };
    let mut charged = state.charged();
    commands.retain(|command| match command {
        Command::Ask { id, .. } if !state.in_flight.contains_key(id) => {
            let has_room = opened.limits.cap_reached(charged, opened.reserve).is_none();
            charged += opened.reserve;
            has_room
        }
        _ => true,
    });
    commands
}

/// Returns the waiting calls of a step, or its next turn.
fn step_commands(state: &CaseState, step: &Step) -> Vec<Command> {
    let waiting = waiting_calls(state, step);
    if !waiting.is_empty() {
        return waiting;
    }
    let turns = state.work.get(&step.id).map_or(0, |work| work.turns.len());
    let turn = u32::try_from(turns).unwrap_or(u32::MAX);
    vec![Command::Ask {
        id: CommandId::turn(&step.id, turn),
        question: Question::Turn {
            step: step.id.clone(),
            turn,
        },
    }]
}

/// Returns the calls of a step that have no answer yet.
fn waiting_calls(state: &CaseState, step: &Step) -> Vec<Command> {
    let turns = state.work.get(&step.id).map_or(&[][..], |work| &work.turns);
    turns
        .iter()
        .enumerate()
        .flat_map(|(turn, calls)| {
            let turn = u32::try_from(turn).unwrap_or(u32::MAX);
            calls
                .calls
                .iter()
                .enumerate()
                .filter(|(_, record)| record.state == CallState::Waiting)
                .map(move |(index, record)| Command::Call {
                    id: CommandId::call(&step.id, turn, index),
                    call: record.call.clone(),
                })
        })
        .collect()
}

fn is_ending(id: &CommandId) -> bool {
    [
        CommandId::exonerate(),
        CommandId::conclude(),
        CommandId::repair_claims(),
        CommandId::counterfactual(),
    ]
    .contains(id)
}

/// Returns the commands of the end: exoneration rules, conclude question and its second rounds, closing.
fn ending_commands(state: &CaseState) -> Vec<Command> {
    let ask = |id, question| vec![Command::Ask { id, question }];
    let lookups = lookup_commands(state);
    if !lookups.is_empty() {
        return lookups;
    }
    let exonerate = CommandId::exonerate();
    if !state.finished.contains(&exonerate) {
        return vec![Command::Exonerate { id: exonerate }];
    }
    let conclude = CommandId::conclude();
    if !state.finished.contains(&conclude) && may_conclude(state, &conclude) {
        return ask(conclude, Question::Conclude);
    }
    let mend = CommandId::repair_claims();
    let may_ask_again = state.draft.is_some() && state.stopped_by().is_none();
    let claims = conclude::checked_findings(state);
    if may_ask_again
        && !state.finished.contains(&mend)
        && needs_claim_repair(state, claims.as_deref())
    {
        return ask(mend, Question::RepairClaims);
    }
    let blanked = CommandId::counterfactual();
    if may_ask_again && needs_counterfactual(state) && !state.finished.contains(&blanked) {
        return ask(blanked, Question::Counterfactual);
    }
    conclude::draw_conclusion_with(state, claims)
        .map(|conclusion| Command::Conclude(Box::new(conclusion)))
        .into_iter()
        .collect()
}

/// Returns the look-ups that the ledger demands before the conclusion, or none once the work was stopped.
fn lookup_commands(state: &CaseState) -> Vec<Command> {
    if state.stop.is_some() || state.finished.contains(&CommandId::conclude()) {
        return Vec::new();
    }
    let calls = lookup::required_calls(state).into_iter();
    calls
        .map(|call| Command::Call {
            id: CommandId::lookup(&call),
            call,
        })
        .collect()
}

/// Returns whether the conclude question may be asked. The first attempt ignores the caps. A lost one is repeated only
/// while they have room, or a worker that crashes on it each time would spend indefinitely.
fn may_conclude(state: &CaseState, id: &CommandId) -> bool {
    let has_room = || {
        state.setup.as_ref().is_some_and(|opened| {
            let nothing = crate::limits::Cost::default();
            opened
                .limits
                .cap_reached(state.charged(), nothing)
                .is_none()
        })
    };
    state.in_flight.contains_key(id) || !state.attempts.contains_key(id) || has_room()
}

/// Returns whether unsupported claims go back to the analyst. This happens once; rules would only repeat them.
fn needs_claim_repair(state: &CaseState, claims: Option<&[Finding]>) -> bool {
    let is_model = state
        .setup
        .as_ref()
        .is_some_and(|opened| opened.analyst == AnalystKind::Model);
    is_model
        && state.degraded.is_empty()
        && claims
            .into_iter()
            .flatten()
            .any(|finding| finding.problem.is_some())
}

/// Returns whether a benign leaning is checked again without the actor's words, as the profile demands.
fn needs_counterfactual(state: &CaseState) -> bool {
    let is_wanted = state
        .setup
        .as_ref()
        .is_some_and(|opened| opened.options.counterfactual);
    is_wanted && state.draft.as_ref().is_some_and(leans_benign)
}

#[cfg(test)]
mod tests;
