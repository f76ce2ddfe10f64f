//! Implements an analyst for commands that a person waits for. When its models are down, the case does not wait as in a
//! worker: the playbooks take over at once, and the report says so.

use std::sync::Arc;

use async_trait::async_trait;
use nightshift_engine::conclusion::ConclusionDraft;
use nightshift_engine::port::{Analyst, Answer, NoAnswer};
use nightshift_engine::question::{
    AskError, ConcludeQuestion, DecideQuestion, Decision, PlanAnswer, PlanQuestion,
    ReflectQuestion, Reflection, TurnAnswer, TurnQuestion,
};

/// An analyst that treats models that are down as giving no answer.
pub(super) struct NoWaitAnalyst(pub(super) Arc<dyn Analyst>);

fn unavailable(none: NoAnswer) -> NoAnswer {
    match none.error {
        AskError::Down { what } => NoAnswer {
            error: AskError::Unavailable {
                what: format!("the models are down: {what}"),
            },
            cost: none.cost,
        },
        AskError::NoTurn { what } => NoAnswer {
            error: AskError::Unavailable { what },
            cost: none.cost,
        },
        _ => none,
    }
}

#[async_trait]
impl Analyst for NoWaitAnalyst {
    async fn plan(&self, question: &PlanQuestion) -> Result<Answer<PlanAnswer>, NoAnswer> {
        self.0.plan(question).await.map_err(unavailable)
    }

    async fn turn(&self, question: &TurnQuestion) -> Result<Answer<TurnAnswer>, NoAnswer> {
        self.0.turn(question).await.map_err(unavailable)
    }

    async fn decide(&self, question: &DecideQuestion) -> Result<Answer<Decision>, NoAnswer> {
        self.0.decide(question).await.map_err(unavailable)
    }

    async fn reflect(&self, question: &ReflectQuestion) -> Result<Answer<Reflection>, NoAnswer> {
        self.0.reflect(question).await.map_err(unavailable)
    }

    async fn conclude(
        &self,
        question: &ConcludeQuestion,
    ) -> Result<Answer<ConclusionDraft>, NoAnswer> {
        self.0.conclude(question).await.map_err(unavailable)
    }
}
