//! Runs a case through the engine, with tools that answer as the test says.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use ipnet::IpNet;
use nightshift_alert::{Alert, IndicatorKind, IndicatorRole};
use nightshift_engine::conclusion::{Conclusion, Verdict};
use nightshift_engine::driver::{CaseEnd, DriverPorts, drive};
use nightshift_engine::event::{AnalystKind, CaseSetup, Event, EventBody, JOURNAL_VERSION};
use nightshift_engine::exoneration::{Exoneration, ListedValues, RecordExtent, RecordScope};
use nightshift_engine::fold::fold;
use nightshift_engine::limits::{Cost, TriageLimits};
use nightshift_engine::plan::Step;
use nightshift_engine::port::{Analyst, Clock, Journal, JournalError, NoMeter, Toolbox};
use nightshift_engine::state::CaseState;
use nightshift_engine::strategy::{Strategy, TriageOptions};
use nightshift_engine::tool::{
    Argument, ArgumentKind, CallContext, Reach, ToolCall, ToolError, ToolOutput, ToolSpec,
};
use serde_json::{Value, json};

use crate::playbook::{PlaybookAnalyst, PlaybookSet};

/// A function from a tool's kind and arguments to its answer.
pub(in crate::playbook) type ToolAnswers = fn(&str, &Value) -> Result<Value, ToolError>;

/// A case that ran to its end.
pub(in crate::playbook) struct PlaybookRun {
    pub(in crate::playbook) state: CaseState,
    pub(in crate::playbook) conclusion: Conclusion,
}

impl PlaybookRun {
    /// Returns the findings, one per line: the stance, whether evidence bears it, the evidence, and the claim.
    pub(super) fn claims(&self) -> String {
        let lines: Vec<_> = self
            .conclusion
            .findings
            .iter()
            .map(|finding| {
                let mut ids: Vec<_> = finding.evidence.iter().map(|q| q.id.to_string()).collect();
                ids.dedup();
                let problem = finding.problem.as_deref().unwrap_or_default();
                format!(
                    "{:?} [{}] {}{problem}",
                    finding.stance,
                    ids.join(" "),
                    finding.claim
                )
            })
            .collect();
        lines.join("\n")
    }

    pub(super) fn steps(&self) -> String {
        let line = |step: &Step| format!("{} {:?}: {}", step.name, step.outcome, step.summary);
        let lines: Vec<_> = self.state.steps().iter().map(line).collect();
        lines.join("\n")
    }

    pub(super) fn step(&self, name: &str) -> &Step {
        let found = self.state.steps().iter().find(|step| step.name == name);
        found.unwrap_or_else(|| panic!("no step {name} in\n{}", self.steps()))
    }

    pub(super) fn actions(&self) -> Vec<&str> {
        let actions = &self.conclusion.actions;
        actions.iter().map(|one| one.id.as_str()).collect()
    }

    /// Returns the advised actions as the reader sees them.
    pub(super) fn advised(&self) -> String {
        let actions = self.conclusion.actions.iter();
        let texts: Vec<_> = actions.map(|one| one.text.as_str()).collect();
        texts.join("\n")
    }

    pub(super) fn would_decide(&self) -> String {
        self.conclusion.would_decide.join("\n")
    }
}

fn argument(name: &str, kind: ArgumentKind, required: bool) -> Argument {
    Argument {
        name: name.to_owned(),
        description: String::new(),
        kind,
        required,
    }
}

/// Returns a tool of this kind, as the tools crate declares it. `watchlist#2` is another tool of its kind.
pub(in crate::playbook) fn spec(kind: &str) -> ToolSpec {
    use IndicatorKind as K;
    let of = |types: &[K]| ArgumentKind::Indicator {
        types: types.to_vec(),
    };
    let one = |types: &[K]| vec![argument("indicator", of(types), true)];
    let name = kind.replace(['.', '#'], "_");
    let kind = kind.split('#').next().unwrap();
    let arguments = match kind {
        "indicator_facts" => one(&[K::Ip, K::Domain, K::Url, K::Email, K::Hash]),
        "watchlist" => one(&[
            K::Ip,
            K::Domain,
            K::Url,
            K::Hash,
            K::Email,
            K::Principal,
            K::AccessKey,
            K::Wallet,
            K::Image,
        ]),
        "asset_lookup" => one(&[
            K::Ip,
            K::Domain,
            K::Instance,
            K::Arn,
            K::Bucket,
            K::Cluster,
            K::Container,
            K::Function,
            K::Database,
        ]),
        "identity_lookup" => vec![argument(
            "principal",
            of(&[K::Principal, K::AccessKey, K::Email]),
            true,
        )],
        "change_lookup" => one(&IndicatorKind::ALL),
        "authorised_scanners" => one(&[K::Ip, K::Domain, K::Principal, K::AccessKey]),
        "past_cases" => Vec::new(),
        _ => vec![
            argument("ip", of(&[K::Ip]), false),
            argument("principal", of(&[K::Principal, K::Email]), false),
            argument("access_key", of(&[K::AccessKey]), false),
            argument("instance", of(&[K::Instance]), false),
            argument("resource", of(&[K::Arn, K::Bucket, K::Instance]), false),
            argument("action", ArgumentKind::Text { max_chars: 200 }, false),
            argument("since", ArgumentKind::Time, false),
            argument("until", ArgumentKind::Time, false),
            argument("limit", ArgumentKind::Number { min: 1, max: 200 }, false),
        ],
    };
    ToolSpec {
        name,
        kind: kind.to_owned(),
        description: String::new(),
        arguments,
        reach: Reach::Internal,
        trust: Vec::new(),
        needs: None,
        families: Vec::new(),
    }
}

/// The tools that need no configuration.
pub(in crate::playbook) const DEFAULT: [&str; 3] = ["indicator_facts", "watchlist", "past_cases"];

/// All built-in tools.
pub(in crate::playbook) const ALL: [&str; 11] = [
    "indicator_facts",
    "watchlist",
    "past_cases",
    "asset_lookup",
    "identity_lookup",
    "change_lookup",
    "authorised_scanners",
    "log_search.cloudtrail",
    "log_search.vpc_flow",
    "log_search.gcp_audit",
    "log_search.json_lines",
];

/// Returns the coverage of a log that has records of all years.
pub(super) fn all_the_time() -> Value {
    json!({"records_in_time": 40, "records_from": "2000-01-01T00:00:00Z", "records_until": "2100-01-01T00:00:00Z"})
}

/// Returns an answer without matches, in the shape of the tool.
pub(in crate::playbook) fn nothing(kind: &str, arguments: &Value) -> Value {
    let asked = &arguments["indicator"];
    let searched = json!({"register": "r.csv", "records": 3});
    match kind {
        "indicator_facts" => {
            json!({"indicator": asked, "type": "ip", "public": true, "class": "public"})
        }
        "watchlist" => {
            json!({"indicator": asked, "listed": false, "matches": [], "lists_searched": ["mining-pools", "threats"],
                "threat_lists_searched": ["threats"], "entries_searched": 60})
        }
        "asset_lookup" => {
            json!({"indicator": asked, "found": 0, "assets": [], "searched": searched})
        }
        "identity_lookup" => {
            json!({"principal": arguments["principal"], "found": 0, "identities": [], "searched": searched})
        }
        "change_lookup" => {
            json!({"indicator": asked, "found": 0, "changes": [], "searched": searched})
        }
        "authorised_scanners" => {
            json!({"indicator": asked, "found": 0, "scanners": [], "searched": searched})
        }
        _ => {
            json!({"source": kind, "searched": all_the_time(), "rows_scanned": 100, "rows_matched": 0, "rows": [],
                "truncated": false, "note": "0 rows", "summary": {"actions": {}, "errors": 0}})
        }
    }
}

fn rows(body: &Value) -> Option<u64> {
    [
        "matches",
        "assets",
        "identities",
        "changes",
        "scanners",
        "rows",
    ]
    .iter()
    .find_map(|key| body.get(key).and_then(Value::as_array))
    .map(|list| list.len() as u64)
}

/// Adds to each identity the acting addresses that are not usual for it, as `identity_lookup` does.
fn tell_unusual(body: &mut Value, alert: &Alert) {
    let rows = body.get_mut("identities").and_then(Value::as_array_mut);
    for row in rows.into_iter().flatten().filter_map(Value::as_object_mut) {
        let usual = row.get("usual_networks").cloned().unwrap_or_default();
        let networks: Vec<IpNet> = serde_json::from_value(usual).unwrap_or_default();
        let strange = |ip: IpAddr| !networks.iter().any(|network| network.contains(&ip));
        let acting = alert
            .with_role(IndicatorRole::Actor)
            .map(|one| one.value.as_str());
        let outside: Vec<&str> = acting
            .filter(|value| !networks.is_empty() && value.parse().is_ok_and(strange))
            .collect();
        row.insert("outside_usual_networks".to_owned(), json!(outside));
    }
}

/// Tools that answer from a function. Those of a register also return exonerations.
struct RegisterToolbox {
    specs: Vec<ToolSpec>,
    answers: ToolAnswers,
    past: Value,
    given: Vec<Exoneration>,
}

#[async_trait]
impl Toolbox for RegisterToolbox {
    fn specs(&self) -> Vec<ToolSpec> {
        self.specs.clone()
    }

    async fn call(&self, call: &ToolCall, context: &CallContext) -> Result<ToolOutput, ToolError> {
        let spec = self
            .specs
            .iter()
            .find(|spec| spec.name == call.tool)
            .unwrap();
        let arguments = Value::Object(call.arguments.clone());
        let mut body = if spec.kind == "past_cases" {
            let found = self.past.as_array().map_or(0, Vec::len);
            json!({"cases": self.past, "found": found, "same_key": 0})
        } else {
            (self.answers)(&spec.kind, &arguments)?
        };
        tell_unusual(&mut body, &context.alert);
        let mut output = ToolOutput::from_body(body);
        output.rows = rows(&output.body);
        let is_asked = |one: &&Exoneration| {
            let of_register = [
                ("asset", "asset_lookup"),
                ("identity", "identity_lookup"),
                ("change", "change_lookup"),
                ("authorised_scanner", "authorised_scanners"),
            ];
            of_register.contains(&(one.kind.as_str(), spec.kind.as_str()))
                && call
                    .arguments
                    .values()
                    .any(|value| *value == one.subject.as_str())
        };
        output.exonerations = self.given.iter().filter(is_asked).cloned().collect();
        Ok(output)
    }
}

struct PlaybookCaseJournal(Mutex<Vec<Event>>);

#[async_trait]
impl Journal for PlaybookCaseJournal {
    async fn append(&self, events: &[Event]) -> Result<(), JournalError> {
        self.0.lock().unwrap().extend_from_slice(events);
        Ok(())
    }
    async fn conclude(&self, events: &[Event], _: &CaseState) -> Result<(), JournalError> {
        self.append(events).await
    }
}

struct PlaybookCaseClock;

impl Clock for PlaybookCaseClock {
    fn now(&self) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH
    }
}

/// The tools, records and analyst around an alert.
pub(in crate::playbook) struct PlaybookCase {
    pub(super) playbooks: PlaybookSet,
    pub(super) kinds: Vec<&'static str>,
    pub(super) past: Value,
    pub(super) given: Vec<Exoneration>,
    pub(super) answers: ToolAnswers,
    pub(super) conduct: TriageOptions,
    /// The analyst to use instead of the playbooks, if any.
    pub(super) other: Option<Arc<dyn Analyst>>,
}

impl PlaybookCase {
    /// Returns a fixture with the shipped playbooks and these kinds of tools.
    pub(in crate::playbook) fn with(kinds: &[&'static str], answers: ToolAnswers) -> Self {
        Self {
            playbooks: PlaybookSet::shipped(),
            kinds: kinds.to_vec(),
            past: json!([]),
            given: Vec::new(),
            answers,
            conduct: TriageOptions::default(),
            other: None,
        }
    }

    /// Sets the strategy.
    pub(super) fn by(mut self, strategy: Strategy) -> Self {
        self.conduct.strategy = strategy;
        self
    }

    /// Adds a record of a register.
    pub(super) fn clearing(mut self, one: Exoneration) -> Self {
        self.given.push(one);
        self
    }

    /// Adds a record of the acting identity.
    pub(super) fn of_identity(self, principal: &str) -> Self {
        self.clearing(record("identity", IndicatorKind::Principal, principal))
    }

    pub(in crate::playbook) fn run(self, alert: Alert) -> PlaybookRun {
        let specs: Vec<_> = self.kinds.iter().map(|kind| spec(kind)).collect();
        let opened = CaseSetup {
            version: JOURNAL_VERSION,
            case_id: "case".into(),
            revision: 1,
            alert: Arc::new(alert),
            profile: "default".into(),
            analyst: if self.other.is_some() {
                AnalystKind::Model
            } else {
                AnalystKind::Playbook
            },
            models: Vec::new(),
            limits: TriageLimits::default(),
            reserve: Cost::default(),
            tools: specs.clone().into(),
            options: self.conduct,
            delimiter: String::new(),
            pseudonym_key: String::new(),
            prompts_hash: String::new(),
            previous_run: None,
            actions: self.playbooks.catalogue().into(),
        };
        let events = vec![
            Event::new(DateTime::UNIX_EPOCH, EventBody::Opened(Box::new(opened))),
            Event::new(DateTime::UNIX_EPOCH, EventBody::Claimed { epoch: 1 }),
        ];
        let analyst = Arc::new(PlaybookAnalyst::new(Arc::new(self.playbooks)));
        let ports = DriverPorts {
            fallback: None,
            analyst: self.other.unwrap_or_else(|| analyst.clone()),
            exonerator: analyst,
            toolbox: Arc::new(RegisterToolbox {
                specs,
                answers: self.answers,
                past: self.past,
                given: self.given,
            }),
            journal: Arc::new(PlaybookCaseJournal(Mutex::default())),
            clock: Arc::new(PlaybookCaseClock),
            meter: Arc::new(NoMeter),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let end = runtime.block_on(drive(
            &ports,
            fold(&events),
            &tokio_util::sync::CancellationToken::new(),
        ));
        match end {
            Ok(CaseEnd::Concluded(state)) => PlaybookRun {
                conclusion: state.conclusion.clone().unwrap(),
                state: *state,
            },
            other => panic!("{other:?}"),
        }
    }
}

/// Returns an answer of `log_search` with these rows.
pub(super) fn logged(kind: &str, rows: Value) -> Value {
    let mut answer = nothing(kind, &Value::Null);
    answer["rows_matched"] = json!(rows.as_array().map_or(0, Vec::len));
    answer["rows"] = rows;
    answer
}

/// Returns an answer of `watchlist` that has the value on a list.
pub(super) fn on_list(meaning: &str, arguments: &Value) -> Value {
    let asked = &arguments["indicator"];
    json!({"indicator": asked, "listed": true, "lists_searched": ["threats"], "entries_searched": 9,
        "matches": [{"list": "threats", "meaning": meaning, "entry": asked, "note": null}]})
}

/// Returns an answer of `identity_lookup` that knows the identity asked for.
pub(super) fn known_identity(kind: &str, networks: &[&str], arguments: &Value) -> Value {
    let principal = &arguments["principal"];
    json!({"principal": principal, "found": 1, "searched": {"register": "i.csv", "records": 5},
        "identities": [{"principal": principal, "kind": kind, "owner": "platform", "mfa": false, "usual_networks": networks,
            "status": "active", "expected_findings": [], "approved_by": "a.b"}]})
}

/// Returns an answer of `asset_lookup` with one asset.
pub(super) fn known_asset(asset: Value, arguments: &Value) -> Value {
    json!({"indicator": arguments["indicator"], "found": 1, "assets": [asset], "searched": {"register": "a.csv", "records": 3}})
}

/// Returns a record of a register that clears `subject`, and all that belongs to it, for all finding types in any
/// account.
pub(super) fn record(kind: &str, subject_type: IndicatorKind, subject: &str) -> Exoneration {
    Exoneration {
        kind: kind.to_owned(),
        subject_type,
        subject: subject.to_owned(),
        from: None,
        until: None,
        covers: vec!["*".to_owned()],
        approved_by: "m.lopez".to_owned(),
        reference: "R-7".to_owned(),
        statement: "it is allowed".to_owned(),
        detection_wrong: false,
        scope: RecordScope {
            account: Some("*".to_owned()),
            ..RecordScope::default()
        },
        slack_mins: 0,
        extent: RecordExtent {
            keys: ListedValues::Any,
            networks: ListedValues::Any,
            targets: ListedValues::Any,
            processes: ListedValues::Any,
            hashes: ListedValues::Any,
            ..RecordExtent::default()
        },
        evidence: None,
    }
}

/// Returns the verdict on an alert that no tool knows anything about, with such a record.
pub(super) fn verdict_beside(
    alert: Alert,
    kind: &str,
    subject_type: IndicatorKind,
    subject: &str,
) -> Verdict {
    PlaybookCase::with(&ALL, |kind, arguments| Ok(nothing(kind, arguments)))
        .clearing(record(kind, subject_type, subject))
        .run(alert)
        .conclusion
        .verdict
}
