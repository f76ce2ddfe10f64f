//! Implements an analyst that is asked only while the day budget has room.

use std::sync::Arc;

use async_trait::async_trait;
use nightshift_engine::conclusion::ConclusionDraft;
use nightshift_engine::limits::Cost;
use nightshift_engine::port::{Analyst, Answer, NoAnswer};
use nightshift_engine::question::{
    ConcludeQuestion, DecideQuestion, Decision, PlanAnswer, PlanQuestion, ReflectQuestion,
    Reflection, TurnAnswer, TurnQuestion,
};

use super::CaseSpend;

/// The analyst of one case, limited by the day budget.
pub(crate) struct BudgetedAnalyst {
    analyst: Arc<dyn Analyst>,
    case_spend: Arc<CaseSpend>,
    reserve: Cost,
}

impl BudgetedAnalyst {
    /// Limits this analyst by the day budget. Each question reserves `reserve`, and its cost counts towards the case.
    pub(crate) fn new(
        analyst: Arc<dyn Analyst>,
        case_spend: Arc<CaseSpend>,
        reserve: Cost,
    ) -> Self {
        Self {
            analyst,
            case_spend,
            reserve,
        }
    }

    async fn ask<T>(
        &self,
        question: impl Future<Output = Result<Answer<T>, NoAnswer>>,
    ) -> Result<Answer<T>, NoAnswer> {
        let permit = self.case_spend.reserve(self.reserve.usd).await?;
        let answer = question.await;
        permit.settle(match &answer {
            Ok(answer) => answer.cost,
            Err(none) => none.cost,
        });
        answer
    }
}

#[async_trait]
impl Analyst for BudgetedAnalyst {
    async fn plan(&self, question: &PlanQuestion) -> Result<Answer<PlanAnswer>, NoAnswer> {
        self.ask(self.analyst.plan(question)).await
    }

    async fn turn(&self, question: &TurnQuestion) -> Result<Answer<TurnAnswer>, NoAnswer> {
        self.ask(self.analyst.turn(question)).await
    }

    async fn decide(&self, question: &DecideQuestion) -> Result<Answer<Decision>, NoAnswer> {
        self.ask(self.analyst.decide(question)).await
    }

    async fn reflect(&self, question: &ReflectQuestion) -> Result<Answer<Reflection>, NoAnswer> {
        self.ask(self.analyst.reflect(question)).await
    }

    async fn conclude(
        &self,
        question: &ConcludeQuestion,
    ) -> Result<Answer<ConclusionDraft>, NoAnswer> {
        self.ask(self.analyst.conclude(question)).await
    }
}
