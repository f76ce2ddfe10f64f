//! Tests cases whose day budget runs out while they run.

use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;

use super::scripted::*;
use super::*;
use crate::conclusion::{ConclusionDraft, Verdict, VerdictReason};
use crate::driver::{CaseEnd, DriverPorts, drive};
use crate::fold::fold;
use crate::limits::BudgetCap;
use crate::port::{Analyst, Answer, NoAnswer};
use crate::question::{
    AskError, ConcludeQuestion, DecideQuestion, Decision, PlanAnswer, PlanQuestion,
    ReflectQuestion, Reflection, TurnAnswer, TurnQuestion,
};
use crate::state::CaseState;

/// Scripted analyst whose questions are paid for until the budget is empty.
pub(super) struct PayingAnalyst {
    pub(super) script: Arc<ScriptedAnalyst>,
    pub(super) left: AtomicU32,
}

impl PayingAnalyst {
    async fn ask<T>(
        &self,
        question: impl Future<Output = Result<Answer<T>, NoAnswer>>,
    ) -> Result<Answer<T>, NoAnswer> {
        let take = |left: u32| left.checked_sub(1);
        let order = Ordering::Relaxed;
        if self.left.fetch_update(order, order, take).is_err() {
            return Err(AskError::Budget {
                what: "the day's budget of 5 USD is spent".into(),
            }
            .into());
        }
        match question.await {
            Ok(mut answer) => {
                answer.cost.usd = 0.25;
                Ok(answer)
            }
            Err(mut none) => {
                none.cost.usd = 0.25;
                Err(none)
            }
        }
    }
}

#[async_trait]
impl Analyst for PayingAnalyst {
    async fn plan(&self, question: &PlanQuestion) -> Result<Answer<PlanAnswer>, NoAnswer> {
        self.ask(self.script.plan(question)).await
    }
    async fn turn(&self, question: &TurnQuestion) -> Result<Answer<TurnAnswer>, NoAnswer> {
        self.ask(self.script.turn(question)).await
    }
    async fn decide(&self, question: &DecideQuestion) -> Result<Answer<Decision>, NoAnswer> {
        self.ask(self.script.decide(question)).await
    }
    async fn reflect(&self, question: &ReflectQuestion) -> Result<Answer<Reflection>, NoAnswer> {
        self.ask(self.script.reflect(question)).await
    }
    async fn conclude(
        &self,
        question: &ConcludeQuestion,
    ) -> Result<Answer<ConclusionDraft>, NoAnswer> {
        self.ask(self.script.conclude(question)).await
    }
}

/// Runs a case with budget for `questions` questions and an optional fallback analyst that costs nothing.
async fn spend(questions: u32, lesser: Option<ScriptedAnalyst>) -> CaseState {
    let run = ScriptedRun::new(one_step(Verdict::TruePositive));
    let ports = DriverPorts {
        analyst: Arc::new(PayingAnalyst {
            script: Arc::clone(&run.script),
            left: AtomicU32::new(questions),
        }),
        fallback: lesser.map(|script| Arc::new(script) as Arc<dyn Analyst>),
        ..run.ports()
    };
    let end = drive(&ports, fold(&run.opening()), &CancellationToken::new()).await;
    let CaseEnd::Concluded(state) = end.unwrap() else {
        panic!("no report")
    };
    let journal = run.journal.0.lock().unwrap().clone();
    let opening = run.opening();
    let again = fold(opening.iter().chain(&journal));
    assert_eq!(again, *state, "a replay tells the same");
    *state
}

#[tokio::test(start_paused = true)]
async fn a26_without_a_lesser_analyst_the_case_ends_with_what_it_has() {
    for questions in 0..4 {
        let state = spend(questions, None).await;
        let conclusion = state.conclusion.as_ref().unwrap();
        assert!(state.day_budget_reached, "{questions}");
        assert_eq!(
            conclusion.stopped_by,
            Some(BudgetCap::DayUsd),
            "{questions}"
        );
        assert_eq!(
            conclusion.reason,
            VerdictReason::BudgetExhausted,
            "{questions}"
        );
        assert_eq!(conclusion.failed, None, "a cap is no failure");
        assert_eq!(
            conclusion.assessed_severity,
            nightshift_alert::Severity::High
        );
        assert!((state.spent.usd - 0.25 * f64::from(questions)).abs() < 1e-9);
    }
    let state = spend(4, None).await;
    assert_eq!(state.conclusion.unwrap().stopped_by, None);
    assert!(!state.day_budget_reached);
}

#[tokio::test(start_paused = true)]
async fn a26_the_lesser_analyst_takes_over_and_the_report_says_why() {
    for questions in 0..4 {
        let state = spend(questions, Some(one_step(Verdict::TruePositive))).await;
        let conclusion = state.conclusion.as_ref().unwrap();
        assert!(
            state.day_budget_reached && conclusion.degraded,
            "{questions}"
        );
        assert_eq!(conclusion.stopped_by, None, "{questions}");
        let told = |gap: &String| gap.contains("the day's budget of 5 USD is spent");
        assert!(conclusion.gaps.iter().any(told), "{:?}", conclusion.gaps);
    }
}
