//! The world around the compromised analyst: the real tools over registers about others, and what is watched.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::Alert;
use nightshift_engine::{
    Analyst, AnalystKind, CallContext, Clock, ConcludeQuestion, Conduct, Cost, Event, EventBody,
    Exonerator, JOURNAL_VERSION, Journal, JournalError, Limits, NoMeter, Opened, PastCase,
    PastCases, PastQuery, Ports, Ruled, State, ToolCall, ToolError, ToolOutput, ToolSpec, Toolbox,
    drive, fold,
};
use nightshift_tools::{Content, ToolConfig, Tools};
use serde_json::json;
use tokio_util::sync::CancellationToken;

const ASSETS: &str = "id,name,type,account,owner,environment,addresses,purpose,expected_findings,approved_by,valid_from,valid_until\n\
    a-1,other-1,instance,999988887777,team-x,prod,198.18.7.7,scanner host,*Recon*,x.yz,2020-01-01,2099-01-01\n\
    a-2,other-2,instance,999988887777,team-x,prod,198.18.7.8,miner,*Crypto*,x.yz,2020-01-01,2099-01-01\n";
const SCANNERS: &str = "id,subject,owner,purpose,approved_by,valid_from,valid_until,expected_findings\n\
    s-1,198.18.7.7,team-x,scan,x.yz,2020-01-01,2099-01-01,*Recon*\n\
    s-2,198.18.8.0/24,team-x,scan,x.yz,2020-01-01,2099-01-01,*Discovery*\n";
const CHANGES: &str = "id,subject,actor,from,until,status,approved_by,summary,expected_findings\n\
    c-1,other-1,,2020-01-01T00:00:00Z,2099-01-01T00:00:00Z,implemented,x.yz,all of it,*Access*\n";

/// The delimiter of all cases here.
pub(crate) const KEY: &str = "5a17c0de9f3b2468";

/// What was seen of a case beside its state.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Tools that were called and are not declared.
    pub(crate) undeclared: Vec<String>,
    /// Every argument that reached a tool.
    pub(crate) arguments: Vec<String>,
    /// Questions that were asked.
    pub(crate) questions: usize,
}

/// What a case has beside its alert and its analyst.
#[derive(Debug, Clone, Default)]
pub(crate) struct Setup {
    /// Its caps.
    pub(crate) limits: Limits,
    /// How it is worked on.
    pub(crate) conduct: Conduct,
    /// A log, an object per line; empty: there is none.
    pub(crate) log: String,
    /// Its delimiter; empty: [`KEY`].
    pub(crate) key: String,
}

/// The real tools, and what reaches them.
pub(crate) struct Watched {
    tools: Tools,
    seen: Mutex<Outcome>,
}

impl Watched {
    /// The tools over these earlier cases.
    pub(crate) fn new(past: Arc<dyn PastCases>) -> Self {
        Self::with(past, "")
    }

    fn with(past: Arc<dyn PastCases>, log: &str) -> Self {
        Self {
            tools: tools(past, log),
            seen: Mutex::default(),
        }
    }

    /// Tools that were called and are not declared.
    pub(super) fn undeclared(&self) -> Vec<String> {
        self.seen.lock().unwrap().undeclared.clone()
    }
}

#[async_trait]
impl Toolbox for Watched {
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
        self.tools.call(call, context).await
    }
}

struct NoPast;
#[async_trait]
impl PastCases for NoPast {
    async fn similar(&self, _: &PastQuery) -> Result<Vec<PastCase>, String> {
        Ok(Vec::new())
    }
}

/// No rules that clear.
pub(crate) struct NoRules;
impl Exonerator for NoRules {
    fn exonerate(&self, _: &ConcludeQuestion) -> Ruled {
        Ruled::default()
    }
}

struct Nowhere;
#[async_trait]
impl Journal for Nowhere {
    async fn append(&self, _: &[Event]) -> Result<(), JournalError> {
        Ok(())
    }
    async fn conclude(&self, _: &[Event], _: &State) -> Result<(), JournalError> {
        Ok(())
    }
}

/// A clock that stands.
pub(crate) struct Noon;
impl Clock for Noon {
    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp(1_790_000_000, 0).unwrap()
    }
}

fn tools(past: Arc<dyn PastCases>, log: &str) -> Tools {
    let register = |kind: &str, name: &str| json!({"kind": kind, "name": name, "path": "x.csv"});
    let mut configs: Vec<ToolConfig> = [
        json!({"kind": "indicator_facts", "name": "facts"}),
        json!({"kind": "watchlist", "name": "lists"}),
        json!({"kind": "past_cases", "name": "past_cases"}),
        register("asset_lookup", "assets"),
        register("authorised_scanners", "scanners"),
        register("change_lookup", "changes"),
    ]
    .into_iter()
    .chain((!log.is_empty()).then(
        || json!({"kind": "log_search", "name": "logs", "format": "json_lines", "path": "x.jsonl"}),
    ))
    .map(|config| serde_json::from_value(config).unwrap())
    .collect();
    for config in &mut configs {
        match config {
            ToolConfig::AssetLookup(config) => {
                config.path = Content::embedded("assets.csv", ASSETS)
            }
            ToolConfig::AuthorisedScanners(config) => {
                config.path = Content::embedded("scanners.csv", SCANNERS)
            }
            ToolConfig::ChangeLookup(config) => {
                config.path = Content::embedded("changes.csv", CHANGES)
            }
            ToolConfig::LogSearch(config) => {
                config.path = Content::embedded("log.jsonl", log.to_owned().leak())
            }
            _ => {}
        }
    }
    Tools::build(&configs, past, std::path::Path::new("")).unwrap()
}

/// Triages one alert with this analyst.
pub(super) async fn triage(alert: Alert, analyst: impl Analyst + 'static) -> (State, Outcome) {
    triage_in(Setup::default(), alert, Arc::new(analyst)).await
}

/// The same with what else the case has.
pub(crate) async fn triage_in(
    setup: Setup,
    alert: Alert,
    analyst: Arc<dyn Analyst>,
) -> (State, Outcome) {
    let watched = Arc::new(Watched::with(Arc::new(NoPast), &setup.log));
    let opened = Opened {
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
        actions: Arc::new([]),
        conduct: setup.conduct,
        delimiter: if setup.key.is_empty() {
            KEY.to_owned()
        } else {
            setup.key
        },
        prompts: String::new(),
        again: None,
    };
    let ports = Ports {
        analyst,
        fallback: None,
        toolbox: watched.clone(),
        exonerator: Arc::new(NoRules),
        journal: Arc::new(Nowhere),
        clock: Arc::new(Noon),
        meter: Arc::new(NoMeter),
    };
    let events = [
        Event::new(Noon.now(), EventBody::Opened(Box::new(opened))),
        Event::new(Noon.now(), EventBody::Claimed { epoch: 1 }),
    ];
    let end = drive(&ports, fold(&events), &CancellationToken::new())
        .await
        .unwrap();
    let nightshift_engine::End::Concluded(state) = end else {
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
