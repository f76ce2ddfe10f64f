//! `decide(&state)`: everything that can be done now, and is neither started in this epoch nor finished.

use crate::{CallState, Command, CommandId, Plan, Question, State, Step, StepStatus, conclusion};

/// What to do next. Empty while everything that can be done runs, and at the end.
#[must_use]
pub fn decide(state: &State) -> Vec<Command> {
    if state.opened.is_none() || state.is_over() {
        return Vec::new();
    }
    let past = CommandId::past_cases();
    if !state.finished.contains(&past) && state.stop.is_none() {
        let call = crate::ToolCall::new("past_cases", serde_json::Map::new());
        return fresh(state, vec![Command::Call { id: past, call }]);
    }
    if state.stopped_by().is_some() {
        // What was charged for and still runs may come back cheaper, and must be in before the end; only the end of
        // the active time waits for nothing.
        let waits = state.stop.is_none() && state.in_flight.keys().any(|id| !is_ending(id));
        return if waits {
            Vec::new()
        } else {
            fresh(state, ending(state))
        };
    }
    let Some(plan) = &state.plan else {
        return fresh(
            state,
            if state.plan_error.is_some() {
                ending(state)
            } else {
                vec![Command::Ask {
                    id: CommandId::plan(),
                    question: Question::Plan,
                }]
            },
        );
    };
    fresh(state, work(state, plan))
}

/// Leaves out what runs or has ended.
fn fresh(state: &State, commands: Vec<Command>) -> Vec<Command> {
    commands
        .into_iter()
        .filter(|command| {
            command
                .id()
                .is_none_or(|id| !state.finished.contains(id) && !state.in_flight.contains_key(id))
        })
        .collect()
}

fn work(state: &State, plan: &Plan) -> Vec<Command> {
    let running: Vec<_> = state.steps_with(StepStatus::Running).collect();
    if !running.is_empty() {
        return distinct(running.iter().flat_map(|step| step_work(state, step)));
    }
    if state.wave > state.reflected {
        return vec![Command::Ask {
            id: CommandId::reflect(state.reflections + 1),
            question: Question::Reflect,
        }];
    }
    let parallel = state
        .opened
        .as_ref()
        .map_or(1, |opened| opened.limits.parallel.max(1));
    let wave: Vec<_> = plan
        .steps
        .iter()
        .filter(|step| plan.is_ready(step))
        .take(parallel)
        .collect();
    if wave.is_empty() {
        ending(state)
    } else {
        distinct(wave.into_iter().flat_map(|step| step_work(state, step)))
    }
}

/// The same call of two steps is made once.
fn distinct(commands: impl Iterator<Item = Command>) -> Vec<Command> {
    let mut seen = std::collections::BTreeSet::new();
    commands
        .filter(|command| match command {
            Command::Call { call, .. } => seen.insert(call.identity()),
            _ => true,
        })
        .collect()
}

/// The calls of a step that wait, or its next turn.
fn step_work(state: &State, step: &Step) -> Vec<Command> {
    let Some(work) = state.work.get(&step.id) else {
        return Vec::new();
    };
    let waiting: Vec<_> = work
        .turns
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
        .collect();
    if !waiting.is_empty() {
        return waiting;
    }
    let turn = u32::try_from(work.turns.len()).unwrap_or(u32::MAX);
    vec![Command::Ask {
        id: CommandId::turn(&step.id, turn),
        question: Question::Turn {
            step: step.id.clone(),
            turn,
        },
    }]
}

fn is_ending(id: &CommandId) -> bool {
    *id == CommandId::exonerate() || *id == CommandId::conclude()
}

/// The rules that may clear, the conclude question, the end.
fn ending(state: &State) -> Vec<Command> {
    let exonerate = CommandId::exonerate();
    if !state.finished.contains(&exonerate) {
        return vec![Command::Exonerate { id: exonerate }];
    }
    let conclude = CommandId::conclude();
    if !state.finished.contains(&conclude) {
        return vec![Command::Ask {
            id: conclude,
            question: Question::Conclude,
        }];
    }
    conclusion(state)
        .map(|conclusion| Command::Conclude(Box::new(conclusion)))
        .into_iter()
        .collect()
}
