//! Provides the fixture around the compromised analyst: the real tools over registers about others, and a record of
//! their calls.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::Alert;
use nightshift_analyst::playbook::{PlaybookAnalyst, PlaybookSet};
use nightshift_engine::driver::{DriverPorts, drive};
use nightshift_engine::event::{AnalystKind, CaseSetup, Event, EventBody, JOURNAL_VERSION};
use nightshift_engine::fold::fold;
use nightshift_engine::limits::{Cost, TriageLimits};
use nightshift_engine::port::{Analyst, Clock, Journal, JournalError, NoMeter, PastCases, Toolbox};
use nightshift_engine::state::CaseState;
use nightshift_engine::strategy::TriageOptions;
use nightshift_engine::tool::{CallContext, ToolCall, ToolError, ToolOutput, ToolSpec};
use nightshift_tools::ConfiguredToolbox;
use tokio_util::sync::CancellationToken;

use super::registers;

/// The prompt delimiter of all cases here.
pub(crate) const KEY: &str = "5a17c0de9f3b2468";

/// Observations of a case besides its state.
#[derive(Debug, Default)]
pub(crate) struct ObservedCalls {
    /// Undeclared tools that were called.
    pub(crate) undeclared: Vec<String>,
    /// Every argument that reached a tool.
    pub(crate) arguments: Vec<String>,
    /// The number of questions asked.
    pub(crate) questions: usize,
}

/// The settings of a case besides its alert and its analyst.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostileSetup {
    pub(crate) limits: TriageLimits,
    pub(crate) conduct: TriageOptions,
    /// A log with one object per line; empty for none.
    pub(crate) log: String,
    /// Further rows of the register of authorised scanners.
    pub(crate) scanners: &'static str,
    /// A CloudTrail log with one object per line; empty for none.
    pub(crate) trail: &'static str,
    /// The name of a tool that denies access.
    pub(crate) denied: &'static str,
    /// The prompt delimiter; empty for [`KEY`].
    pub(crate) key: String,
}

/// The real tools, with a record of their calls.
pub(crate) struct RecordingToolbox {
    tools: ConfiguredToolbox,
    denied: &'static str,
    seen: Mutex<ObservedCalls>,
}

impl RecordingToolbox {
    /// Creates the tools over these past cases.
    pub(crate) fn new(past: Arc<dyn PastCases>) -> Self {
        Self::with(past, &HostileSetup::default())
    }

    fn with(past: Arc<dyn PastCases>, setup: &HostileSetup) -> Self {
        Self {
            tools: registers::tools(past, setup),
            denied: setup.denied,
            seen: Mutex::default(),
        }
    }

    /// Returns the undeclared tools that were called.
    pub(super) fn undeclared(&self) -> Vec<String> {
        self.seen.lock().unwrap().undeclared.clone()
    }
}

#[async_trait]
impl Toolbox for RecordingToolbox {
    fn specs(&self) -> Vec<ToolSpec> {
        self.tools.specs()
    }
    async fn call(&self, call: &ToolCall, context: &CallContext) -> Result<ToolOutput, ToolError> {
        {
            let mut seen = self.seen.lock().unwrap();
            if !self.specs().iter().any(|spec| spec.name == call.tool) {
                seen.undeclared.push(call.tool.clone());
            }
            seen.arguments
                .extend(call.arguments.values().map(ToString::to_string));
        }
        if call.tool == self.denied {
            let what = "AccessDenied".to_owned();
            return Err(ToolError::Denied { what });
        }
        self.tools.call(call, context).await
    }
}

struct NullJournal;
#[async_trait]
impl Journal for NullJournal {
    async fn append(&self, _: &[Event]) -> Result<(), JournalError> {
        Ok(())
    }
    async fn conclude(&self, _: &[Event], _: &CaseState) -> Result<(), JournalError> {
        Ok(())
    }
}

/// A clock that stands still.
pub(crate) struct NoonClock;
impl Clock for NoonClock {
    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp(1_790_000_000, 0).unwrap()
    }
}

/// Triages one alert with this analyst.
pub(super) async fn triage(
    alert: Alert,
    analyst: impl Analyst + 'static,
) -> (CaseState, ObservedCalls) {
    triage_in(HostileSetup::default(), alert, Arc::new(analyst)).await
}

/// Triages one alert with this analyst and this setup.
pub(crate) async fn triage_in(
    setup: HostileSetup,
    alert: Alert,
    analyst: Arc<dyn Analyst>,
) -> (CaseState, ObservedCalls) {
    let watched = Arc::new(RecordingToolbox::with(
        Arc::new(registers::FakePastCases),
        &setup,
    ));
    let playbooks = Arc::new(PlaybookSet::shipped());
    let opened = CaseSetup {
        version: JOURNAL_VERSION,
        case_id: "case".into(),
        revision: 1,
        alert: Arc::new(alert),
        profile: "default".into(),
        analyst: AnalystKind::Model,
        models: vec!["taken/over".into()],
        limits: setup.limits,
        reserve: Cost {
            model_calls: 1,
            ..Cost::default()
        },
        tools: watched.specs().into(),
        actions: playbooks.catalogue().into(),
        options: setup.conduct,
        delimiter: if setup.key.is_empty() {
            KEY.to_owned()
        } else {
            setup.key
        },
        pseudonym_key: String::new(),
        prompts_hash: String::new(),
        previous_run: None,
    };
    let ports = DriverPorts {
        analyst,
        fallback: None,
        toolbox: watched.clone(),
        exonerator: Arc::new(PlaybookAnalyst::new(playbooks)),
        journal: Arc::new(NullJournal),
        clock: Arc::new(NoonClock),
        meter: Arc::new(NoMeter),
    };
    let events = [
        Event::new(NoonClock.now(), EventBody::Opened(Box::new(opened))),
        Event::new(NoonClock.now(), EventBody::Claimed { epoch: 1 }),
    ];
    let end = drive(&ports, fold(&events), &CancellationToken::new())
        .await
        .unwrap();
    let nightshift_engine::driver::CaseEnd::Concluded(state) = end else {
        panic!("the case did not end in a report: {end:?}")
    };
    let mut seen = std::mem::take(&mut *watched.seen.lock().unwrap());
    seen.questions = state
        .finished
        .iter()
        .filter(|id| !id.0.starts_with("call:"))
        .count();
    (*state, seen)
}
