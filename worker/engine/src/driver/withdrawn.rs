//! Tests cases whose models are temporarily down. They wait, and later continue from the same state.

use async_trait::async_trait;

use super::scripted::*;
use super::*;
use crate::conclusion::{ConclusionDraft, Verdict};
use crate::driver::{CaseEnd, DriverPorts, drive};
use crate::event::{Event, EventBody};
use crate::fold::fold;
use crate::limits::{BudgetCap, Cost};
use crate::port::{Analyst, Answer, NoAnswer};
use crate::question::{
    AskError, ConcludeQuestion, DecideQuestion, Decision, PlanAnswer, PlanQuestion,
    ReflectQuestion, Reflection, TurnAnswer, TurnQuestion,
};

/// Analyst that fails with this error at the plan question and at the conclude question.
struct FailingAnalyst(fn(String) -> AskError);

impl FailingAnalyst {
    fn none<T>(&self) -> Result<Answer<T>, NoAnswer> {
        Err((self.0)("503".into()).into())
    }
}

#[async_trait]
impl Analyst for FailingAnalyst {
    async fn plan(&self, _: &PlanQuestion) -> Result<Answer<PlanAnswer>, NoAnswer> {
        self.none()
    }
    async fn turn(&self, _: &TurnQuestion) -> Result<Answer<TurnAnswer>, NoAnswer> {
        unreachable!()
    }
    async fn decide(&self, _: &DecideQuestion) -> Result<Answer<Decision>, NoAnswer> {
        unreachable!()
    }
    async fn reflect(&self, _: &ReflectQuestion) -> Result<Answer<Reflection>, NoAnswer> {
        unreachable!()
    }
    async fn conclude(&self, _: &ConcludeQuestion) -> Result<Answer<ConclusionDraft>, NoAnswer> {
        self.none()
    }
}

fn down() -> FailingAnalyst {
    FailingAnalyst(|what| AskError::Down { what })
}

fn no_turn() -> FailingAnalyst {
    FailingAnalyst(|what| AskError::NoTurn { what })
}

/// Returns a run that reserves 0.1 USD per question.
fn run() -> ScriptedRun {
    let mut run = ScriptedRun::new(one_step(Verdict::TruePositive));
    run.opened.reserve = Cost {
        usd: 0.1,
        ..Cost::default()
    };
    run
}

fn with(says: FailingAnalyst, run: &ScriptedRun) -> DriverPorts {
    DriverPorts {
        analyst: Arc::new(says),
        fallback: Some(Arc::new(one_step(Verdict::TruePositive))),
        ..run.ports()
    }
}

#[tokio::test(start_paused = true)]
async fn f21_unavailable_models_release_the_case_without_charge() {
    for (says, in_line) in [(down(), false), (no_turn(), true)] {
        let run = run();
        let ports = with(says, &run);
        let end = drive(&ports, fold(&run.opening()), &CancellationToken::new())
            .await
            .unwrap();
        let CaseEnd::Released(state) = end else {
            panic!("{end:?}")
        };
        assert!(
            state.charged().usd.abs() < 1e-9,
            "nothing is charged for a question nobody heard"
        );
        assert_eq!(state.model_wait_timed_out, in_line);
        let mut events = run.opening();
        events.extend(run.journal.0.lock().unwrap().iter().cloned());
        events.push(Event::new(
            crate::fixture::at(200),
            EventBody::Claimed { epoch: 2 },
        ));
        assert!(
            !fold(&events).model_wait_timed_out,
            "of this worker nothing is said"
        );
        let up = run.ports();
        let end = drive(&up, fold(&events), &CancellationToken::new())
            .await
            .unwrap();
        assert!(
            matches!(end, CaseEnd::Concluded(_)),
            "and it goes on when they are back"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn queued_case_stops_waiting_after_its_whole_active_time() {
    let run = run();
    let ports = with(no_turn(), &run);
    let mut events = run.opening();
    events.push(Event::new(crate::fixture::at(101), EventBody::TimeUp));
    let end = drive(&ports, fold(&events), &CancellationToken::new()).await;
    let CaseEnd::Concluded(state) = end.unwrap() else {
        panic!("it would stand there for ever")
    };
    let conclusion = state.conclusion.as_ref().unwrap();
    assert_eq!(conclusion.stopped_by, Some(BudgetCap::Minutes));
    assert_eq!(conclusion.failed, None, "the lesser analyst concluded");
    assert_eq!(state.degraded, ["conclude: no answer: 503"]);
}
