//! Provides a fixture around the model analyst: the sample alert, tools that answer from a table, and the real engine.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, IndicatorKind as K, ReadOptions, read_message};
use nightshift_engine::conclusion::Conclusion;
use nightshift_engine::driver::{CaseEnd, DriverPorts, drive};
use nightshift_engine::event::{AnalystKind, CaseSetup, Event, EventBody, JOURNAL_VERSION};
use nightshift_engine::evidence_read;
use nightshift_engine::fold::fold;
use nightshift_engine::limits::{Cost, TriageLimits};
use nightshift_engine::port::{
    Clock, ExonerationResult, Exonerator, Journal, JournalError, NoMeter, Toolbox,
};
use nightshift_engine::question::ConcludeQuestion;
use nightshift_engine::state::CaseState;
use nightshift_engine::strategy::TriageOptions;
use nightshift_engine::tool::{
    Argument, ArgumentKind, CallContext, Reach, ToolCall, ToolError, ToolOutput, ToolSpec,
};
use serde_json::{Value, json};

use super::scripted::ScriptedChatModel;
use crate::model::{ModelAnalyst, ModelSettings, PerQuestion};
use crate::playbook::{PlaybookSet, catalogue};
use nightshift_llm::chat::{ChatModel, ChatRequest};

/// Key of all cases here.
pub(in crate::model) const KEY: &str = "0f1e2d3c4b5a6978";

/// Returns the first alert of a sample.
pub(in crate::model) fn sample(name: &str) -> Alert {
    let path = format!(
        "{}/../../tests/fixtures/alerts/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    read_message(&bytes, &ReadOptions::default())
        .unwrap()
        .alerts
        .remove(0)
}

fn argument(name: &str, description: &str, kind: ArgumentKind, required: bool) -> Argument {
    Argument {
        name: name.to_owned(),
        description: description.to_owned(),
        kind,
        required,
    }
}

fn spec(name: &str, kind: &str, description: &str, arguments: Vec<Argument>) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        kind: kind.to_owned(),
        description: description.to_owned(),
        arguments,
        reach: Reach::Internal,
        trust: Vec::new(),
        needs: None,
        families: Vec::new(),
    }
}

fn logs(name: &str, kind: &str, description: &str) -> ToolSpec {
    let of = |types: &[K]| ArgumentKind::Indicator {
        types: types.to_vec(),
    };
    let arguments = vec![
        argument("ip", "only records that name this ip", of(&[K::Ip]), false),
        argument(
            "principal",
            "only records that name this principal",
            of(&[K::Principal, K::Email]),
            false,
        ),
        argument(
            "instance",
            "only records that name this instance",
            of(&[K::Instance]),
            false,
        ),
        argument(
            "action",
            "only this action; `*` stands for anything",
            ArgumentKind::Text { max_chars: 200 },
            false,
        ),
        argument(
            "since",
            "start; a day before the first event if left out",
            ArgumentKind::Time,
            false,
        ),
        argument(
            "limit",
            "how many rows to show; 50 if left out",
            ArgumentKind::Number { min: 1, max: 200 },
            false,
        ),
    ];
    spec(name, kind, description, arguments)
}

/// Returns tools with the descriptions of the shipped ones.
pub(in crate::model) fn tools() -> Vec<ToolSpec> {
    let of = |types: &[K]| ArgumentKind::Indicator {
        types: types.to_vec(),
    };
    vec![
        spec(
            "past_cases",
            "past_cases",
            "Finds earlier cases that share the finding or a value with this one.",
            vec![],
        ),
        spec(
            "watchlist",
            "watchlist",
            "Says whether a value stands on a watch list, and what that list means.",
            vec![argument(
                "indicator",
                "the value to look for",
                of(&[K::Ip, K::Domain, K::Url, K::Hash, K::Wallet]),
                true,
            )],
        ),
        spec(
            "asset_lookup",
            "asset_lookup",
            "Looks a resource up in the register of assets: owner, purpose, environment, approvals.",
            vec![argument(
                "indicator",
                "the resource",
                of(&[K::Ip, K::Domain, K::Instance, K::Arn, K::Bucket]),
                true,
            )],
        ),
        logs(
            "audit_logs",
            "log_search.gcp_audit",
            "Searches Cloud Audit Logs.",
        ),
        logs(
            "system_logs",
            "log_search.json_lines",
            "Searches system and application logs of instances.",
        ),
        evidence_read::tool_spec(),
    ]
}

pub(in crate::model) fn opened(alert: Alert) -> CaseSetup {
    CaseSetup {
        version: JOURNAL_VERSION,
        case_id: "case-1".into(),
        revision: 1,
        actions: catalogue()
            .into_iter()
            .filter(|action| action.provider.is_none_or(|cloud| cloud == alert.provider))
            .collect::<Vec<_>>()
            .into(),
        alert: Arc::new(alert),
        profile: "default".into(),
        analyst: AnalystKind::Model,
        models: vec!["fake/model".into()],
        limits: TriageLimits::default(),
        reserve: Cost {
            model_calls: 1,
            ..Cost::default()
        },
        tools: tools().into(),
        options: TriageOptions::default(),
        delimiter: KEY.into(),
        pseudonym_key: "of this case".into(),
        prompts_hash: String::new(),
        previous_run: None,
    }
}

type AnswerToolCall = dyn Fn(&ToolCall) -> Result<Value, ToolError> + Send + Sync;

struct AnsweringToolbox(Box<AnswerToolCall>);

#[async_trait]
impl Toolbox for AnsweringToolbox {
    fn specs(&self) -> Vec<ToolSpec> {
        tools()
    }

    async fn call(&self, call: &ToolCall, _: &CallContext) -> Result<ToolOutput, ToolError> {
        let mut body = (self.0)(call)?;
        let flags = nightshift_alert::text::clean_json(
            &mut body,
            &nightshift_alert::text::JsonBounds::default(),
        );
        let rows = ["matches", "rows", "cases", "assets"]
            .iter()
            .find_map(|key| body.get(key).and_then(Value::as_array))
            .map(|rows| rows.len() as u64);
        let mut output = ToolOutput::from_body(body);
        output.rows = rows;
        output.flags = flags;
        Ok(output)
    }
}

struct ModelCaseJournal(Mutex<Vec<Event>>);

#[async_trait]
impl Journal for ModelCaseJournal {
    async fn append(&self, events: &[Event]) -> Result<(), JournalError> {
        self.0.lock().unwrap().extend_from_slice(events);
        Ok(())
    }
    async fn conclude(&self, events: &[Event], _: &CaseState) -> Result<(), JournalError> {
        self.append(events).await
    }
}

struct ModelCaseClock;

impl Clock for ModelCaseClock {
    fn now(&self) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH
    }
}

struct NoExonerations;

impl Exonerator for NoExonerations {
    fn exonerate(&self, _: &ConcludeQuestion) -> ExonerationResult {
        ExonerationResult::default()
    }
}

/// Answers calls: the pool is on a watch list, and nothing else is found.
pub(in crate::model) fn usual(call: &ToolCall) -> Result<Value, ToolError> {
    let asked = call.arguments.get("indicator").and_then(Value::as_str);
    Ok(match (call.tool.as_str(), asked) {
        ("watchlist", Some("pool.minexmr.com")) => {
            json!({"indicator": "pool.minexmr.com", "listed": true,
            "matches": [{"list": "mining-pools", "meaning": "mining_pool", "entry": "minexmr.com", "note": null}],
            "lists_searched": ["mining-pools"], "entries_searched": 60})
        }
        ("watchlist", asked) => json!({"indicator": asked, "listed": false, "matches": [],
            "lists_searched": ["mining-pools"], "entries_searched": 60}),
        ("past_cases", _) => {
            json!({"cases": [], "found": 0, "same_key": 0, "searched": {"since": null, "limit": 20}})
        }
        ("asset_lookup", asked) => json!({"indicator": asked, "found": 0, "assets": [],
            "searched": {"register": "assets.csv", "records": 12}}),
        ("system_logs", _) => {
            json!({"source": "json_lines", "rows_scanned": 900, "rows_matched": 1,
            "rows": [{"at": "2025-11-08T05:15:30Z", "action": "sshd", "principal": "deploy",
                "source_ip": "185.220.101.42", "outcome": "accepted password"}]})
        }
        _ => {
            json!({"source": "gcp_audit", "rows_scanned": 400, "rows_matched": 0, "rows": [], "note": "0 rows"})
        }
    })
}

/// A case that ran to its end.
pub(in crate::model) struct ModelRun {
    pub(in crate::model) state: CaseState,
    pub(in crate::model) conclusion: Conclusion,
    pub(in crate::model) requests: Vec<ChatRequest>,
}

/// A case before its run.
pub(in crate::model) struct ModelCase {
    pub(in crate::model) opened: CaseSetup,
    pub(in crate::model) settings: ModelSettings,
    pub(in crate::model) playbooks: Option<Arc<PlaybookSet>>,
    pub(in crate::model) answers: Box<AnswerToolCall>,
}

impl ModelCase {
    pub(in crate::model) fn from_alert(alert: Alert) -> Self {
        Self {
            opened: opened(alert),
            settings: ModelSettings::default(),
            playbooks: None,
            answers: Box::new(usual),
        }
    }

    /// Returns the crypto-miner case.
    pub(in crate::model) fn miner() -> Self {
        Self::from_alert(sample("scc-crypto-miner"))
    }

    pub(in crate::model) fn events(&self) -> Vec<Event> {
        vec![
            Event::new(
                DateTime::UNIX_EPOCH,
                EventBody::Opened(Box::new(self.opened.clone())),
            ),
            Event::new(DateTime::UNIX_EPOCH, EventBody::Claimed { epoch: 1 }),
        ]
    }

    pub(in crate::model) fn run(self, model: ScriptedChatModel) -> ModelRun {
        let events = self.events();
        let model = Arc::new(model);
        let analyst = analyst(model.clone(), self.settings, self.playbooks);
        let journal = Arc::new(ModelCaseJournal(Mutex::new(events.clone())));
        let ports = DriverPorts {
            analyst: Arc::new(analyst),
            fallback: None,
            toolbox: Arc::new(AnsweringToolbox(self.answers)),
            exonerator: Arc::new(NoExonerations),
            journal: journal.clone(),
            clock: Arc::new(ModelCaseClock),
            meter: Arc::new(NoMeter),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let release = tokio_util::sync::CancellationToken::new();
        let end = runtime.block_on(drive(&ports, fold(&events), &release));
        let journal = journal.0.lock().unwrap().clone();
        match end {
            Ok(CaseEnd::Concluded(state)) => {
                let written: Vec<Event> = journal
                    .iter()
                    .map(|event| {
                        serde_json::from_value(serde_json::to_value(event).unwrap()).unwrap()
                    })
                    .collect();
                assert_eq!(
                    fold(&written),
                    *state,
                    "the journal replays to the same state"
                );
                ModelRun {
                    conclusion: state.conclusion.clone().unwrap(),
                    state: *state,
                    requests: model.requests(),
                }
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Returns the analyst with one model for every question.
pub(in crate::model) fn analyst(
    model: Arc<ScriptedChatModel>,
    settings: ModelSettings,
    playbooks: Option<Arc<PlaybookSet>>,
) -> ModelAnalyst {
    let model: Arc<dyn ChatModel> = model;
    ModelAnalyst::new(PerQuestion::same_for_all(model), settings, playbooks)
}
