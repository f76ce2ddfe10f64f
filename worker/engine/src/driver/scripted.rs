//! Provides a scripted analyst and its toolbox, for the tests of the engine.

use std::collections::VecDeque;
use std::sync::Mutex;

use async_trait::async_trait;
use serde_json::json;

use super::*;
use crate::conclusion::{Conclusion, ConclusionDraft, Leaning, Verdict, VerdictReason};
use crate::driver::{CaseEnd, DriverPorts, drive};
use crate::event::{CaseSetup, Event, EventBody};
use crate::evidence::EvidenceId;
use crate::exoneration::Exoneration;
use crate::finding::{FindingDraft, FindingStance, QuoteDraft};
use crate::fixture::{at, tools};
use crate::fold::fold;
use crate::limits::TriageLimits;
use crate::plan::{PlanMode, StepDraft, StepOutcome};
use crate::port::{
    Analyst, Answer, Clock, ExonerationResult, Exonerator, Journal, JournalError, NoAnswer,
    NoMeter, Toolbox,
};
use crate::question::{
    AskError, ConcludeQuestion, DecideQuestion, Decision, PlanAnswer, PlanQuestion,
    ReflectQuestion, Reflection, TurnAnswer, TurnQuestion,
};
use crate::state::CaseState;
use crate::tool::{CallContext, ToolCall, ToolError, ToolOutput, ToolSpec};

/// Analyst that answers from lists; with an empty list it is unavailable.
#[derive(Default)]
pub(super) struct ScriptedAnalyst {
    pub(super) plan: Mutex<VecDeque<PlanAnswer>>,
    pub(super) turns: Mutex<VecDeque<TurnAnswer>>,
    pub(super) decisions: Mutex<VecDeque<Decision>>,
    pub(super) reflections: Mutex<VecDeque<Reflection>>,
    pub(super) drafts: Mutex<VecDeque<ConclusionDraft>>,
    pub(super) seen: Mutex<Vec<String>>,
}

pub(super) fn next<T>(list: &Mutex<VecDeque<T>>) -> Result<Answer<T>, NoAnswer> {
    list.lock()
        .unwrap()
        .pop_front()
        .map(Answer::free)
        .ok_or_else(|| {
            NoAnswer::from(AskError::Unavailable {
                what: "the script has ended".into(),
            })
        })
}

#[async_trait]
impl Analyst for ScriptedAnalyst {
    async fn plan(&self, _: &PlanQuestion) -> Result<Answer<PlanAnswer>, NoAnswer> {
        next(&self.plan)
    }
    async fn turn(&self, question: &TurnQuestion) -> Result<Answer<TurnAnswer>, NoAnswer> {
        self.seen.lock().unwrap().push(format!(
            "{}:{} of {:?} alert {}",
            question.step.step.id, question.turn, question.objective, question.alert.kind
        ));
        next(&self.turns)
    }
    async fn decide(&self, question: &DecideQuestion) -> Result<Answer<Decision>, NoAnswer> {
        self.seen.lock().unwrap().push(format!(
            "decide after {} of {:?}",
            question.steps.len(),
            question.objective
        ));
        next(&self.decisions)
    }
    async fn reflect(&self, question: &ReflectQuestion) -> Result<Answer<Reflection>, NoAnswer> {
        self.seen
            .lock()
            .unwrap()
            .push(format!("reflect on {:?}", question.objective));
        next(&self.reflections)
    }
    async fn conclude(&self, _: &ConcludeQuestion) -> Result<Answer<ConclusionDraft>, NoAnswer> {
        next(&self.drafts)
    }
}

/// Toolbox that answers every look-up with the requested row, and counts calls.
#[derive(Default)]
pub(super) struct ScriptedToolbox {
    pub(super) calls: Mutex<Vec<String>>,
    pub(super) facts: Vec<Exoneration>,
}

#[async_trait]
impl Toolbox for ScriptedToolbox {
    fn specs(&self) -> Vec<ToolSpec> {
        tools()
    }
    async fn call(&self, call: &ToolCall, _: &CallContext) -> Result<ToolOutput, ToolError> {
        self.calls.lock().unwrap().push(call.identity());
        let mut output =
            ToolOutput::from_body(json!({"asked": call.arguments, "listed": true, "number": 7}));
        output.exonerations.clone_from(&self.facts);
        Ok(output)
    }
}

pub(super) struct NoExonerations;
impl Exonerator for NoExonerations {
    fn exonerate(&self, _: &ConcludeQuestion) -> ExonerationResult {
        ExonerationResult::default()
    }
}

#[derive(Default)]
pub(super) struct InMemoryJournal(pub(super) Mutex<Vec<Event>>);

#[async_trait]
impl Journal for InMemoryJournal {
    async fn append(&self, events: &[Event]) -> Result<(), JournalError> {
        self.0.lock().unwrap().extend_from_slice(events);
        Ok(())
    }
    async fn conclude(&self, events: &[Event], _: &CaseState) -> Result<(), JournalError> {
        self.append(events).await
    }
}

pub(super) struct FixedClock;
impl Clock for FixedClock {
    fn now(&self) -> DateTime<Utc> {
        at(101)
    }
}

pub(super) struct ScriptedRun {
    pub(super) script: Arc<ScriptedAnalyst>,
    pub(super) shelf: Arc<ScriptedToolbox>,
    pub(super) journal: Arc<InMemoryJournal>,
    pub(super) fallback: Option<Arc<ScriptedAnalyst>>,
    pub(super) opened: CaseSetup,
}

impl ScriptedRun {
    pub(super) fn new(script: ScriptedAnalyst) -> Self {
        Self {
            script: Arc::new(script),
            shelf: Arc::default(),
            journal: Arc::default(),
            fallback: None,
            opened: crate::fixture::opened(TriageLimits::default()),
        }
    }

    pub(super) fn ports(&self) -> DriverPorts {
        DriverPorts {
            analyst: self.script.clone(),
            fallback: self.fallback.clone().map(|one| one as Arc<dyn Analyst>),
            toolbox: self.shelf.clone(),
            exonerator: Arc::new(NoExonerations),
            journal: self.journal.clone(),
            clock: Arc::new(FixedClock),
            meter: Arc::new(NoMeter),
        }
    }

    pub(super) fn opening(&self) -> Vec<Event> {
        vec![
            Event::new(at(100), EventBody::Opened(Box::new(self.opened.clone()))),
            Event::new(at(100), EventBody::Claimed { epoch: 1 }),
        ]
    }

    pub(super) async fn with(&self, limits: TriageLimits) -> CaseState {
        let ports = self.ports();
        let mut events = self.opening();
        if let EventBody::Opened(opened) = &mut events[0].body {
            opened.limits = limits;
        }
        self.journal.append(&events).await.unwrap();
        let release = CancellationToken::new();
        let end = drive(&ports, fold(&events), &release).await.unwrap();
        let journal = self.journal.0.lock().unwrap().clone();
        match end {
            CaseEnd::Concluded(state) => {
                assert_eq!(
                    fold(&journal),
                    *state,
                    "the journal replays to the same state"
                );
                *state
            }
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn state(&self) -> CaseState {
        self.with(TriageLimits::default()).await
    }

    pub(super) async fn conclusion(&self) -> Conclusion {
        self.state().await.conclusion.unwrap()
    }
}

pub(super) fn step(id: &str, depends_on: &[&str]) -> StepDraft {
    StepDraft {
        id: id.into(),
        description: format!("look into {id}"),
        tools: Vec::new(),
        expected: String::new(),
        depends_on: depends_on.iter().map(ToString::to_string).collect(),
        calls: Vec::new(),
        key: false,
    }
}

pub(super) fn plan(steps: Vec<StepDraft>) -> Mutex<VecDeque<PlanAnswer>> {
    Mutex::new(VecDeque::from([PlanAnswer {
        mode: PlanMode::Planned,
        objective: "was it a brute force".into(),
        steps,
        source: String::new(),
        not_covered: Vec::new(),
        conditional: false,
    }]))
}

pub(super) fn lookup(arguments: serde_json::Value) -> ToolCall {
    ToolCall::new("lookup", arguments.as_object().cloned().unwrap())
}

pub(super) fn asks(calls: Vec<ToolCall>) -> TurnAnswer {
    TurnAnswer::calls(calls)
}

pub(super) fn result(outcome: StepOutcome) -> TurnAnswer {
    TurnAnswer::Result {
        outcome,
        summary: "seen".into(),
        findings: Vec::new(),
    }
}

pub(super) fn draft(verdict: Verdict) -> ConclusionDraft {
    ConclusionDraft {
        verdict,
        leaning: Leaning::None,
        reason: VerdictReason::SuspiciousActivity,
        assessed_severity: nightshift_alert::Severity::Low,
        findings: vec![FindingDraft {
            claim: "the address is listed".into(),
            quotes: vec![QuoteDraft {
                evidence: EvidenceId(2),
                quote: "listed: true".into(),
            }],
            stance: FindingStance::For,
        }],
        gaps: Vec::new(),
        not_covered: Vec::new(),
        would_decide: Vec::new(),
        actions: Vec::new(),
        meaning: String::new(),
        techniques: Vec::new(),
    }
}

pub(super) fn list<T>(items: impl IntoIterator<Item = T>) -> Mutex<VecDeque<T>> {
    Mutex::new(items.into_iter().collect())
}

pub(super) fn address() -> ToolCall {
    lookup(json!({"indicator": "198.51.100.7"}))
}

pub(super) fn one_step(verdict: Verdict) -> ScriptedAnalyst {
    ScriptedAnalyst {
        plan: plan(vec![step("a", &[])]),
        turns: list([asks(vec![address()]), result(StepOutcome::Met)]),
        drafts: list([draft(verdict)]),
        ..ScriptedAnalyst::default()
    }
}

pub(super) fn scanner(subject: &str) -> Exoneration {
    Exoneration {
        kind: "authorised_scanner".into(),
        subject_type: nightshift_alert::IndicatorKind::Ip,
        subject: subject.into(),
        from: Some(at(-100)),
        until: Some(at(1000)),
        covers: vec!["*SSHBruteForce".into()],
        approved_by: "secops".into(),
        reference: "SCAN-1".into(),
        statement: "it is the authorised scanner SCAN-1".into(),
        detection_wrong: false,
        scope: crate::exoneration::RecordScope::default(),
        slack_mins: 0,
        extent: crate::exoneration::RecordExtent::default(),
        evidence: None,
    }
}
