//! Writes the journals of `tests/fixtures/journals` that the program cannot make without a model. They were written
//! once and are never rewritten: every later version must fold them. The tests are in `verify::tests`.

use std::collections::VecDeque;
use std::sync::Mutex;

use async_trait::async_trait;

use super::scripted::*;
use super::*;
use crate::conclusion::{ConclusionDraft, Verdict};
use crate::driver::{DriverPorts, drive};
use crate::event::{Event, EventBody};
use crate::fixture::at;
use crate::fold::fold;
use crate::plan::{StepDraft, StepOutcome};
use crate::port::{Analyst, Answer, NoAnswer, Toolbox};
use crate::question::{
    AskError, ConcludeQuestion, DecideQuestion, Decision, Judgement, PlanAnswer, PlanQuestion,
    ReflectQuestion, Reflection, TurnAnswer, TurnQuestion,
};
use crate::strategy::Strategy;
use crate::tool::{CallContext, ToolCall, ToolError, ToolOutput, ToolSpec};

fn write(name: &str, events: &[Event]) {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/journals/v1"
    );
    let lines: Vec<String> = events
        .iter()
        .map(|event| serde_json::to_string(event).unwrap() + "\n")
        .collect();
    std::fs::write(format!("{folder}/{name}.jsonl"), lines.concat()).unwrap();
}

fn journal(run: &ScriptedRun) -> Vec<Event> {
    run.journal.0.lock().unwrap().clone()
}

fn decision(judged: bool, next: Option<StepDraft>) -> Decision {
    Decision {
        source: String::new(),
        objective: "find out who it is".into(),
        reasoning: "its address says most".into(),
        judgement: judged.then(|| Judgement {
            outcome: StepOutcome::Met,
            summary: "it is listed".into(),
            findings: Vec::new(),
        }),
        next,
    }
}

#[tokio::test]
#[ignore = "writes a fixture"]
async fn adaptive() {
    let mut first = step("a", &[]);
    first.calls = vec![address()];
    let mut run = ScriptedRun::new(ScriptedAnalyst {
        decisions: list([decision(false, Some(first)), decision(true, None)]),
        drafts: list([draft(Verdict::TruePositive)]),
        ..ScriptedAnalyst::default()
    });
    run.opened.options.strategy = Strategy::Adaptive;
    run.conclusion().await;
    write("adaptive", &journal(&run));
}

/// Toolbox that answers no look-up.
struct UnavailableToolbox;

#[async_trait]
impl Toolbox for UnavailableToolbox {
    fn specs(&self) -> Vec<ToolSpec> {
        crate::fixture::tools()
    }
    async fn call(&self, call: &ToolCall, _: &CallContext) -> Result<ToolOutput, ToolError> {
        Err(ToolError::Unavailable {
            what: format!("{} is away", call.tool),
        })
    }
}

#[tokio::test]
#[ignore = "writes a fixture"]
async fn failed_tool() {
    let mut key = step("a", &[]);
    key.key = true;
    let run = ScriptedRun::new(ScriptedAnalyst {
        plan: plan(vec![key]),
        turns: list([asks(vec![address()]), result(StepOutcome::Failed)]),
        reflections: list([Reflection::default()]),
        drafts: list([draft(Verdict::FalsePositive)]),
        ..ScriptedAnalyst::default()
    });
    let opening = run.opening();
    run.journal.append(&opening).await.unwrap();
    let ports = DriverPorts {
        toolbox: Arc::new(UnavailableToolbox),
        ..run.ports()
    };
    drive(&ports, fold(&opening), &CancellationToken::new())
        .await
        .unwrap();
    write("failed_tool", &journal(&run));
}

/// Analyst that is down at the first plan question and then follows its script.
struct FailsOnceAnalyst(Mutex<VecDeque<()>>, ScriptedAnalyst);

#[async_trait]
impl Analyst for FailsOnceAnalyst {
    async fn plan(&self, question: &PlanQuestion) -> Result<Answer<PlanAnswer>, NoAnswer> {
        if self.0.lock().unwrap().pop_front().is_some() {
            return Err(AskError::Down { what: "503".into() }.into());
        }
        self.1.plan(question).await
    }
    async fn turn(&self, question: &TurnQuestion) -> Result<Answer<TurnAnswer>, NoAnswer> {
        self.1.turn(question).await
    }
    async fn decide(&self, question: &DecideQuestion) -> Result<Answer<Decision>, NoAnswer> {
        self.1.decide(question).await
    }
    async fn reflect(&self, question: &ReflectQuestion) -> Result<Answer<Reflection>, NoAnswer> {
        self.1.reflect(question).await
    }
    async fn conclude(
        &self,
        question: &ConcludeQuestion,
    ) -> Result<Answer<ConclusionDraft>, NoAnswer> {
        self.1.conclude(question).await
    }
}

#[tokio::test]
#[ignore = "writes a fixture"]
async fn withdrawn() {
    let run = ScriptedRun::new(ScriptedAnalyst::default());
    let ports = DriverPorts {
        analyst: Arc::new(FailsOnceAnalyst(
            list([()]),
            one_step(Verdict::TruePositive),
        )),
        ..run.ports()
    };
    run.journal.append(&run.opening()).await.unwrap();
    for epoch in 2..=3 {
        drive(&ports, fold(&journal(&run)), &CancellationToken::new())
            .await
            .unwrap();
        if epoch == 2 {
            let claimed = Event::new(at(102), EventBody::Claimed { epoch });
            run.journal.append(&[claimed]).await.unwrap();
        }
    }
    write("withdrawn", &journal(&run));
}
