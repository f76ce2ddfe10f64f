//! Asks the analyst, and the fallback analyst when there is no answer.
//!
//! Retries and one repair are up to the analyst, so an error here is final. Once the fallback analyst has taken over it
//! keeps the case, so that one plan is not run by two analysts.

use super::{CommandResult, DriverPorts};
use crate::case_budget::CaseBudget;
use crate::command::Question;
use crate::event::CommandOutcome;
use crate::measurement::Measurement;
use crate::port::{Analyst, Answer, NoAnswer};
use crate::question::AskError;
use crate::state::CaseState;
use crate::strategy::History;

pub(super) async fn ask_with_fallback(
    ports: &DriverPorts,
    state: &CaseState,
    allowance: &CaseBudget,
    question: &Question,
) -> CommandResult {
    let came = match (&ports.fallback, state.degraded.is_empty()) {
        (Some(lesser), false) => finished_result(
            ask_analyst(lesser.as_ref(), state, allowance, question, History::Full).await,
            None,
        ),
        (lesser, _) => {
            let first = ask_analyst(
                ports.analyst.as_ref(),
                state,
                allowance,
                question,
                state.history(),
            )
            .await;
            match (stop_waiting(first, state), lesser) {
                (Err(none), _)
                    if matches!(none.error, AskError::Down { .. } | AskError::NoTurn { .. }) =>
                {
                    CommandResult::Withdrawn {
                        cost: none.cost,
                        in_line: matches!(none.error, AskError::NoTurn { .. }),
                    }
                }
                (Err(none), Some(lesser)) => {
                    let second =
                        ask_analyst(lesser.as_ref(), state, allowance, question, History::Full)
                            .await;
                    match second {
                        Ok(mut answer) => {
                            answer.cost += none.cost;
                            finished_result(Ok(answer), Some(none.error))
                        }
                        Err(_) => finished_result(Err(none), None),
                    }
                }
                (first, _) => finished_result(first, None),
            }
        }
    };
    if *question == Question::Reflect
        && let CommandResult::Finished { outcome, .. } = &came
    {
        ports.meter.count(&Measurement::Reflection {
            result: reflection_result(outcome),
        });
    }
    came
}

/// Makes a missed slot a final error once the case's active time is used up, or the case would wait indefinitely.
fn stop_waiting(
    first: Result<Answer<CommandOutcome>, NoAnswer>,
    state: &CaseState,
) -> Result<Answer<CommandOutcome>, NoAnswer> {
    first.map_err(|mut none| {
        if let AskError::NoTurn { what } = &none.error
            && state.stop.is_some()
        {
            let what = what.clone();
            none.error = AskError::Unavailable { what };
        }
        none
    })
}

fn finished_result(
    answer: Result<Answer<CommandOutcome>, NoAnswer>,
    degraded: Option<AskError>,
) -> CommandResult {
    match answer {
        Ok(answer) => CommandResult::Finished {
            outcome: Box::new(answer.value),
            cost: answer.cost,
            degraded,
            model: answer.model,
            unanswered: Vec::new(),
        },
        Err(none) => CommandResult::Finished {
            outcome: Box::new(CommandOutcome::AskFailed(none.error)),
            cost: none.cost,
            degraded,
            model: None,
            unanswered: Vec::new(),
        },
    }
}

fn reflection_result(outcome: &CommandOutcome) -> &'static str {
    match outcome {
        CommandOutcome::Reflected(reflection) if reflection.achieved => "achieved",
        CommandOutcome::Reflected(reflection) if reflection.plan_updates.is_empty() => "unchanged",
        CommandOutcome::Reflected(_) => "changed",
        _ => "failed",
    }
}

/// Asks one analyst one question.
async fn ask_analyst(
    analyst: &dyn Analyst,
    state: &CaseState,
    allowance: &CaseBudget,
    question: &Question,
    history: History,
) -> Result<Answer<CommandOutcome>, NoAnswer> {
    let nothing = || {
        NoAnswer::from(AskError::Unavailable {
            what: "the case has nothing to ask about".to_owned(),
        })
    };
    match question {
        Question::Plan => {
            let mut question = state.plan_question().ok_or_else(nothing)?;
            question.context.budget = allowance.clone();
            Ok(analyst.plan(&question).await?.map(CommandOutcome::Planned))
        }
        Question::Turn { step, turn } => {
            let mut question = state
                .turn_question(step, *turn, history)
                .ok_or_else(nothing)?;
            question.context.budget = allowance.clone();
            Ok(analyst.turn(&question).await?.map(CommandOutcome::Turned))
        }
        Question::Decide => {
            let mut question = state.decide_question().ok_or_else(nothing)?;
            question.context.budget = allowance.clone();
            Ok(analyst
                .decide(&question)
                .await?
                .map(CommandOutcome::Decided))
        }
        Question::Reflect => {
            let mut question = state.reflect_question(history).ok_or_else(nothing)?;
            question.context.budget = allowance.clone();
            Ok(analyst
                .reflect(&question)
                .await?
                .map(CommandOutcome::Reflected))
        }
        Question::Conclude | Question::RepairClaims | Question::Counterfactual => {
            let question = match question {
                Question::RepairClaims => state.repair_question(),
                Question::Counterfactual => state.counterfactual_question(),
                _ => state.conclude_question(),
            };
            let mut question = question.ok_or_else(nothing)?;
            question.context.budget = allowance.clone();
            let answer = analyst.conclude(&question).await?;
            Ok(answer.map(|draft| CommandOutcome::Drafted(Box::new(draft))))
        }
    }
}
