//! Measures the number of questions in the crypto-miner case, in total and in sequence. They are counted on paused
//! time, where every answer takes a second and nothing else takes any. The limits are those of section 8 of the design.

use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use serde_json::json;
use tokio::time::Instant;

use super::scripted::*;
use super::*;
use crate::conclusion::{ConclusionDraft, Verdict};
use crate::driver::{CaseEnd, DriverPorts, drive};
use crate::event::AnalystKind;
use crate::fold::fold;
use crate::plan::{PlanUpdate, StepDraft, StepOutcome};
use crate::port::{Analyst, Answer, NoAnswer};
use crate::question::{
    ConcludeQuestion, DecideQuestion, Decision, PlanAnswer, PlanQuestion, ReflectQuestion,
    Reflection, TurnAnswer, TurnQuestion,
};
use crate::tool::ToolCall;

const LATENCY: Duration = Duration::from_secs(1);

/// Analyst whose answers take time.
struct SlowAnalyst {
    script: Arc<ScriptedAnalyst>,
    asked: AtomicU32,
}

impl SlowAnalyst {
    async fn think(&self) {
        self.asked.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(LATENCY).await;
    }
}

#[async_trait]
impl Analyst for SlowAnalyst {
    async fn plan(&self, question: &PlanQuestion) -> Result<Answer<PlanAnswer>, NoAnswer> {
        self.think().await;
        self.script.plan(question).await
    }
    async fn turn(&self, question: &TurnQuestion) -> Result<Answer<TurnAnswer>, NoAnswer> {
        self.think().await;
        self.script.turn(question).await
    }
    async fn decide(&self, question: &DecideQuestion) -> Result<Answer<Decision>, NoAnswer> {
        self.think().await;
        self.script.decide(question).await
    }
    async fn reflect(&self, question: &ReflectQuestion) -> Result<Answer<Reflection>, NoAnswer> {
        self.think().await;
        self.script.reflect(question).await
    }
    async fn conclude(
        &self,
        question: &ConcludeQuestion,
    ) -> Result<Answer<ConclusionDraft>, NoAnswer> {
        self.think().await;
        self.script.conclude(question).await
    }
}

/// Returns the call of the `number`th step; no two are equal.
fn call(number: usize) -> ToolCall {
    lookup(json!({"indicator": "198.51.100.7", "limit": number}))
}

fn asks_each(numbers: std::ops::RangeInclusive<usize>) -> impl Iterator<Item = TurnAnswer> {
    numbers.map(|number| asks(vec![call(number)]))
}

fn steps() -> Vec<StepDraft> {
    ["reputation", "audit-logs", "similar-alerts"]
        .map(|id| step(id, &[]))
        .into()
}

/// Returns the number of questions in total and in sequence.
async fn count(script: ScriptedAnalyst) -> (u32, u32) {
    let mut run = ScriptedRun::new(script);
    run.opened.analyst = AnalystKind::Model;
    let slow = Arc::new(SlowAnalyst {
        script: run.script.clone(),
        asked: AtomicU32::new(0),
    });
    let ports = DriverPorts {
        analyst: slow.clone(),
        ..run.ports()
    };
    let began = Instant::now();
    let state = fold(&run.opening());
    let end = drive(&ports, state, &CancellationToken::new())
        .await
        .unwrap();
    let CaseEnd::Concluded(state) = end else {
        panic!("{end:?}")
    };
    let verdict = state.conclusion.unwrap().verdict;
    assert_eq!(verdict, Verdict::TruePositive);
    let path = began.elapsed().as_secs_f64() / LATENCY.as_secs_f64();
    (slow.asked.load(Ordering::SeqCst), path.round() as u32)
}

#[tokio::test(start_paused = true)]
async fn three_independent_steps_take_eight_questions_four_in_a_row() {
    let results = (0..3).map(|_| result(StepOutcome::Met));
    let script = ScriptedAnalyst {
        plan: plan(steps()),
        turns: list(asks_each(1..=3).chain(results)),
        drafts: list([draft(Verdict::TruePositive)]),
        ..ScriptedAnalyst::default()
    };
    assert_eq!(count(script).await, (8, 4));
}

#[tokio::test(start_paused = true)]
async fn a_plan_with_its_calls_takes_five_questions_three_in_a_row() {
    let mut steps = steps();
    for (index, step) in steps.iter_mut().enumerate() {
        step.calls = vec![call(index + 1)];
    }
    let script = ScriptedAnalyst {
        plan: plan(steps),
        turns: list((0..3).map(|_| result(StepOutcome::Met))),
        drafts: list([draft(Verdict::TruePositive)]),
        ..ScriptedAnalyst::default()
    };
    assert_eq!(count(script).await, (5, 3));
}

#[tokio::test(start_paused = true)]
async fn r1_reflection_adding_a_fourth_step_takes_eleven_questions() {
    let first = [StepOutcome::Met, StepOutcome::Unmet, StepOutcome::Met].map(result);
    let then = [asks(vec![call(4)]), result(StepOutcome::Met)];
    let script = ScriptedAnalyst {
        plan: plan(steps()),
        turns: list(asks_each(1..=3).chain(first).chain(then)),
        reflections: list([Reflection {
            achieved: false,
            insights: vec!["the audit logs know nothing of it".into()],
            plan_updates: vec![PlanUpdate::AddStep {
                step: step("system-logs", &[]),
                reason: "the audit logs know nothing of it".into(),
            }],
        }]),
        drafts: list([draft(Verdict::TruePositive)]),
        ..ScriptedAnalyst::default()
    };
    assert_eq!(count(script).await, (11, 7));
}
