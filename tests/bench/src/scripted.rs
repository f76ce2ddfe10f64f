//! Provides a case of a fixed shape: an analyst and tools with constant answers, and a journal in memory. Only the
//! engine between them is left to measure.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, IndicatorKind};
use nightshift_engine::conclusion::{ConclusionDraft, Leaning, Verdict, VerdictReason};
use nightshift_engine::event::{AnalystKind, CaseSetup, Event, JOURNAL_VERSION};
use nightshift_engine::evidence::EvidenceId;
use nightshift_engine::finding::{FindingDraft, FindingStance, QuoteDraft};
use nightshift_engine::limits::{Cost, TriageLimits};
use nightshift_engine::plan::{PlanMode, StepDraft, StepOutcome};
use nightshift_engine::port::{
    Analyst, Answer, Clock, ExonerationResult, Exonerator, Journal, JournalError, NoAnswer, Toolbox,
};
use nightshift_engine::question::{
    AskError, ConcludeQuestion, DecideQuestion, Decision, PlanAnswer, PlanQuestion,
    ReflectQuestion, Reflection, TurnAnswer, TurnQuestion,
};
use nightshift_engine::state::CaseState;
use nightshift_engine::strategy::TriageOptions;
use nightshift_engine::tool::{
    Argument, ArgumentKind, CallContext, Reach, ToolCall, ToolError, ToolOutput, ToolSpec,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// Number of steps of a case: the maximum.
pub(crate) const STEPS: usize = 20;
/// Number of rows that each call finds, about as many as a report can show.
const ROWS: usize = 20;

/// Returns the event that opens a case of this shape.
pub(crate) fn opened(alert: Alert) -> CaseSetup {
    CaseSetup {
        version: JOURNAL_VERSION,
        case_id: "k3f9-x2mq-7d1w".to_owned(),
        revision: 1,
        alert: Arc::new(alert),
        profile: "default".to_owned(),
        analyst: AnalystKind::Playbook,
        models: Vec::new(),
        limits: TriageLimits {
            first_plan_steps: STEPS,
            steps: STEPS,
            ..TriageLimits::default()
        },
        reserve: Cost::default(),
        tools: ScriptedToolbox.specs().into(),
        actions: Arc::new([]),
        options: TriageOptions::default(),
        delimiter: String::new(),
        pseudonym_key: String::new(),
        prompts_hash: String::new(),
        previous_run: None,
    }
}

/// An analyst that plans all steps with one call each. The second half waits for the first.
pub(crate) struct ScriptedAnalyst;

#[async_trait]
impl Analyst for ScriptedAnalyst {
    async fn plan(&self, _: &PlanQuestion) -> Result<Answer<PlanAnswer>, NoAnswer> {
        Ok(Answer::free(PlanAnswer {
            mode: PlanMode::Planned,
            objective: "find out whether the host really mines".to_owned(),
            steps: (0..STEPS).map(step).collect(),
            source: String::new(),
            not_covered: Vec::new(),
            conditional: false,
        }))
    }

    async fn turn(&self, _: &TurnQuestion) -> Result<Answer<TurnAnswer>, NoAnswer> {
        Ok(Answer::free(TurnAnswer::Result {
            outcome: StepOutcome::Met,
            summary: format!("{ROWS} rows, and the address is listed."),
            findings: vec![finding()],
        }))
    }

    async fn decide(&self, _: &DecideQuestion) -> Result<Answer<Decision>, NoAnswer> {
        Err(NoAnswer::from(AskError::Unavailable {
            what: "the scripted case is planned".to_owned(),
        }))
    }

    async fn reflect(&self, _: &ReflectQuestion) -> Result<Answer<Reflection>, NoAnswer> {
        Ok(Answer::free(Reflection::default()))
    }

    async fn conclude(&self, _: &ConcludeQuestion) -> Result<Answer<ConclusionDraft>, NoAnswer> {
        Ok(Answer::free(ConclusionDraft {
            verdict: Verdict::TruePositive,
            leaning: Leaning::None,
            reason: VerdictReason::SuspiciousActivity,
            assessed_severity: nightshift_alert::Severity::Critical,
            findings: vec![finding()],
            gaps: Vec::new(),
            not_covered: Vec::new(),
            would_decide: Vec::new(),
            actions: Vec::new(),
            meaning: String::new(),
            techniques: Vec::new(),
        }))
    }
}

fn step(index: usize) -> StepDraft {
    let arguments = json!({"indicator": "185.220.101.42", "limit": index + 1});
    StepDraft {
        id: format!("look{index}"),
        description: format!("Look the address up in list {index}"),
        tools: vec!["lookup".to_owned()],
        expected: "that it is listed".to_owned(),
        depends_on: index
            .checked_sub(STEPS / 2)
            .map(|earlier| format!("look{earlier}"))
            .into_iter()
            .collect(),
        calls: vec![ToolCall::new("lookup", object(arguments))],
        key: false,
    }
}

fn finding() -> FindingDraft {
    FindingDraft {
        claim: "the address is listed".to_owned(),
        quotes: vec![QuoteDraft {
            evidence: EvidenceId(2),
            quote: "listed: true".to_owned(),
        }],
        stance: FindingStance::For,
    }
}

fn object(value: Value) -> serde_json::Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => serde_json::Map::new(),
    }
}

/// Tools that find the same rows for every call.
pub(crate) struct ScriptedToolbox;

#[async_trait]
impl Toolbox for ScriptedToolbox {
    fn specs(&self) -> Vec<ToolSpec> {
        let argument = |name: &str, kind, required| Argument {
            name: name.to_owned(),
            description: String::new(),
            kind,
            required,
        };
        let spec = |name: &str, arguments| ToolSpec {
            name: name.to_owned(),
            kind: name.to_owned(),
            description: String::new(),
            arguments,
            reach: Reach::Internal,
            trust: Vec::new(),
            needs: None,
            families: Vec::new(),
        };
        let types = vec![IndicatorKind::Ip];
        vec![
            spec("past_cases", Vec::new()),
            spec(
                "lookup",
                vec![
                    argument("indicator", ArgumentKind::Indicator { types }, true),
                    argument("limit", ArgumentKind::Number { min: 1, max: 99 }, false),
                ],
            ),
        ]
    }

    async fn call(&self, call: &ToolCall, _: &CallContext) -> Result<ToolOutput, ToolError> {
        let row = |number| {
            json!({
                "number": number, "at": "2026-03-02T02:41:12Z", "action": "ACCEPT",
                "from": "10.20.31.7", "to": "185.220.101.42", "port": 4444, "bytes": 91_234,
            })
        };
        let rows: Vec<Value> = (0..ROWS).map(row).collect();
        let mut output =
            ToolOutput::from_body(json!({"asked": call.arguments, "listed": true, "rows": rows}));
        output.rows = u64::try_from(ROWS).ok();
        Ok(output)
    }
}

/// Rules that clear nothing.
pub(crate) struct NoExonerations;

impl Exonerator for NoExonerations {
    fn exonerate(&self, _: &ConcludeQuestion) -> ExonerationResult {
        ExonerationResult::default()
    }
}

#[derive(Default)]
pub(crate) struct InMemoryJournal(Mutex<Vec<Event>>);

impl InMemoryJournal {
    /// Returns all events.
    pub(crate) fn events(&self) -> Vec<Event> {
        let events = self.0.lock();
        events.clone()
    }
}

#[async_trait]
impl Journal for InMemoryJournal {
    async fn append(&self, events: &[Event]) -> Result<(), JournalError> {
        let mut all = self.0.lock();
        all.extend_from_slice(events);
        Ok(())
    }

    async fn conclude(&self, events: &[Event], _: &CaseState) -> Result<(), JournalError> {
        self.append(events).await
    }
}

/// A clock that stands still.
pub(crate) struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp(1_772_419_000, 0).unwrap_or_default()
    }
}
