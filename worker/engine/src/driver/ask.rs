//! Questions to the analyst, and to the fallback analyst when there is no answer.
//!
//! Retries and one repair are up to the analyst, so an error here is final. Once the fallback analyst has taken over
//! it keeps the case, so that one plan is not run by two analysts.

use super::{Came, Ports};
use crate::allowance::Allowance;
use crate::command::Question;
use crate::event::Outcome;
use crate::measure::Measure;
use crate::port::{Analyst, Answer, NoAnswer};
use crate::question::AskError;
use crate::state::State;
use crate::strategy::History;

pub(super) async fn ask(
    ports: &Ports,
    state: &State,
    allowance: &Allowance,
    question: &Question,
) -> Came {
    let came = match (&ports.fallback, state.degraded.is_empty()) {
        (Some(lesser), false) => finished(
            put(lesser.as_ref(), state, allowance, question, History::Full).await,
            None,
        ),
        (lesser, _) => {
            let first = put(
                ports.analyst.as_ref(),
                state,
                allowance,
                question,
                state.history(),
            )
            .await;
            match (given_up(first, state), lesser) {
                (Err(none), _)
                    if matches!(none.error, AskError::Down { .. } | AskError::NoTurn { .. }) =>
                {
                    Came::Withdrawn {
                        cost: none.cost,
                        in_line: matches!(none.error, AskError::NoTurn { .. }),
                    }
                }
                (Err(none), Some(lesser)) => {
                    let second =
                        put(lesser.as_ref(), state, allowance, question, History::Full).await;
                    match second {
                        Ok(mut answer) => {
                            answer.cost += none.cost;
                            finished(Ok(answer), Some(none.error))
                        }
                        Err(_) => finished(Err(none), None),
                    }
                }
                (first, _) => finished(first, None),
            }
        }
    };
    if *question == Question::Reflect
        && let Came::Finished { outcome, .. } = &came
    {
        ports.meter.count(&Measure::Reflection {
            result: reflection_result(outcome),
        });
    }
    came
}

/// Makes a missed slot a final error once the case's active time is used up, or the case would wait for ever.
fn given_up(
    first: Result<Answer<Outcome>, NoAnswer>,
    state: &State,
) -> Result<Answer<Outcome>, NoAnswer> {
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

fn finished(answer: Result<Answer<Outcome>, NoAnswer>, degraded: Option<AskError>) -> Came {
    match answer {
        Ok(answer) => Came::Finished {
            outcome: Box::new(answer.value),
            cost: answer.cost,
            degraded,
            model: answer.model,
            unanswered: Vec::new(),
        },
        Err(none) => Came::Finished {
            outcome: Box::new(Outcome::AskFailed(none.error)),
            cost: none.cost,
            degraded,
            model: None,
            unanswered: Vec::new(),
        },
    }
}

fn reflection_result(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Reflected(reflection) if reflection.achieved => "achieved",
        Outcome::Reflected(reflection) if reflection.plan_updates.is_empty() => "unchanged",
        Outcome::Reflected(_) => "changed",
        _ => "failed",
    }
}

/// Asks one analyst one question.
async fn put(
    analyst: &dyn Analyst,
    state: &State,
    allowance: &Allowance,
    question: &Question,
    history: History,
) -> Result<Answer<Outcome>, NoAnswer> {
    let nothing = || {
        NoAnswer::from(AskError::Unavailable {
            what: "the case has nothing to ask about".to_owned(),
        })
    };
    match question {
        Question::Plan => {
            let mut question = state.plan_question().ok_or_else(nothing)?;
            question.setting.allowance = allowance.clone();
            Ok(analyst.plan(&question).await?.map(Outcome::Planned))
        }
        Question::Turn { step, turn } => {
            let mut question = state
                .turn_question(step, *turn, history)
                .ok_or_else(nothing)?;
            question.setting.allowance = allowance.clone();
            Ok(analyst.turn(&question).await?.map(Outcome::Turned))
        }
        Question::Decide => {
            let mut question = state.decide_question().ok_or_else(nothing)?;
            question.setting.allowance = allowance.clone();
            Ok(analyst.decide(&question).await?.map(Outcome::Decided))
        }
        Question::Reflect => {
            let mut question = state.reflect_question(history).ok_or_else(nothing)?;
            question.setting.allowance = allowance.clone();
            Ok(analyst.reflect(&question).await?.map(Outcome::Reflected))
        }
        Question::Conclude | Question::Mend | Question::Blanked => {
            let question = match question {
                Question::Mend => state.mend_question(),
                Question::Blanked => state.blanked_question(),
                _ => state.conclude_question(),
            };
            let mut question = question.ok_or_else(nothing)?;
            question.setting.allowance = allowance.clone();
            let answer = analyst.conclude(&question).await?;
            Ok(answer.map(|draft| Outcome::Drafted(Box::new(draft))))
        }
    }
}
