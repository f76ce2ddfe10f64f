//! `decide(&state)`: everything that can be done now, and is neither started in this epoch nor finished.

use crate::fold::leans_benign;
use crate::{
    AnalystKind, CallState, Command, CommandId, Mode, Plan, Question, ReflectionMode, State, Step,
    StepStatus, conclusion,
};

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
    fresh(
        state,
        if plan.mode == Mode::Adaptive {
            adaptive(state)
        } else {
            work(state, plan)
        },
    )
}

/// The calls of the last action, the decision about it, or the end.
fn adaptive(state: &State) -> Vec<Command> {
    if state.decided {
        return ending(state);
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
        distinct(waiting.into_iter())
    }
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
    let parallel = state.opened.as_ref().map_or(1, |opened| {
        if opened.conduct.reflection == ReflectionMode::EveryStep {
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

/// The calls of a step that have no answer yet.
fn waiting_calls(state: &State, step: &Step) -> Vec<Command> {
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
        CommandId::mend(),
        CommandId::blanked(),
    ]
    .contains(id)
}

/// The rules that may clear, the conclude question, its second rounds, the end.
fn ending(state: &State) -> Vec<Command> {
    let ask = |id, question| vec![Command::Ask { id, question }];
    let exonerate = CommandId::exonerate();
    if !state.finished.contains(&exonerate) {
        return vec![Command::Exonerate { id: exonerate }];
    }
    let conclude = CommandId::conclude();
    if !state.finished.contains(&conclude) {
        return ask(conclude, Question::Conclude);
    }
    let mend = CommandId::mend();
    let may_ask_again = state.draft.is_some() && state.stopped_by().is_none();
    if may_ask_again && wants_mending(state) && !state.finished.contains(&mend) {
        return ask(mend, Question::Mend);
    }
    let blanked = CommandId::blanked();
    if may_ask_again && wants_blanking(state) && !state.finished.contains(&blanked) {
        return ask(blanked, Question::Blanked);
    }
    conclusion(state)
        .map(|conclusion| Command::Conclude(Box::new(conclusion)))
        .into_iter()
        .collect()
}

/// Claims that their evidence does not bear go back once; rules would only say them again.
fn wants_mending(state: &State) -> bool {
    let is_model = state
        .opened
        .as_ref()
        .is_some_and(|opened| opened.analyst == AnalystKind::Model);
    is_model && state.degraded.is_empty() && !crate::conclude::problems(state).is_empty()
}

/// A leaning towards benign is asked again without the actor's words, where the profile wants it.
fn wants_blanking(state: &State) -> bool {
    let is_wanted = state
        .opened
        .as_ref()
        .is_some_and(|opened| opened.conduct.counterfactual);
    is_wanted && state.draft.as_ref().is_some_and(leans_benign)
}
