//! Defines the facts of a case: the alert, the results of each step, earlier cases, and the records that clear the
//! alert.
//!
//! Everything comes from a question of the engine; nothing is looked up here. Most expressions read little of it. Large
//! parts (the finding as it was sent, earlier cases, whole results) are therefore parsed at their first use, once per
//! question. [`functions`] has the functions of playbooks that read the facts.

pub(super) mod answers;
mod attribution;
mod fields;
pub(super) mod functions;
pub(super) mod step_answers;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};

use minijinja::value::{Enumerator, Object, Serde};
use minijinja::{Error, ErrorKind, State, Value};
use nightshift_alert::Alert;
use nightshift_engine::evidence::{Evidence, EvidenceId};
use nightshift_engine::exoneration::Exoneration;
use nightshift_engine::outbound::is_outbound;
use nightshift_engine::question::{CallView, StepView};
use nightshift_engine::tool::ToolSpec;
use serde_json::{Value as Json, json};

use super::playbook_file::Playbook;
use answers::is_complete;

/// The variable that holds the facts for functions. Expressions do not use it.
pub(super) const FACTS: &str = "_facts";

/// The variable that holds the ids of the findings that were made.
pub(super) const FINDINGS: &str = "findings";

/// Maximum number of entries that one function returns.
const MAX_ENTRIES: usize = 256;

/// The field of an alert that holds the finding as it was sent.
const RAW: &str = "raw";

/// The value of `past` when earlier cases were not looked up.
static NO_PAST: LazyLock<Json> = LazyLock::new(|| json!({"cases": [], "found": 0, "same_key": 0}));

/// The parts of a question that expressions may see.
#[derive(Debug, Clone, Default)]
pub(super) struct QuestionParts<'a> {
    pub(super) past: Option<&'a Arc<Evidence>>,
    pub(super) steps: &'a [StepView],
    pub(super) tools: &'a [ToolSpec],
    pub(super) source: &'a str,
    pub(super) exonerations: &'a [Exoneration],
    pub(super) cleared: bool,
}

/// One call of a step with its result.
#[derive(Debug, Clone)]
pub(super) struct CallResult {
    pub(super) tool: String,
    pub(super) kind: String,
    pub(super) arguments: Json,
    pub(super) output: Arc<Evidence>,
}

/// The facts of a case, as the functions of expressions read them.
#[derive(Debug)]
pub(super) struct CaseFacts {
    /// The alert (`E0`), or `None` before there is a case.
    source: Option<Arc<Alert>>,
    /// The alert as JSON, without the finding as it was sent.
    pub(super) fields: Json,
    /// The whole alert as JSON.
    alert: OnceLock<Json>,
    /// The subject of the alert in a word or two.
    pub(super) subject: String,
    /// The answered calls of each step of the playbook.
    pub(super) results: BTreeMap<String, Vec<CallResult>>,
    /// The earlier cases (`E1`), or `None` when they were not looked up.
    pub(super) past: Option<EvidenceId>,
    /// The records that count for this alert.
    pub(super) exonerations: Vec<Exoneration>,
    /// The bodies of the evidence.
    bodies: EvidenceBodies,
}

/// The facts used as a value are the alert, each field converted at its first use.
impl Object for CaseFacts {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let name = key.as_str()?;
        let of = if name == RAW {
            self.alert()
        } else {
            &self.fields
        };
        Some(Value::from(Serde(of.get(name)?)))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let fields = self.fields.as_object().into_iter().flatten();
        Enumerator::Values(fields.map(|(name, _)| Value::from(name.as_str())).collect())
    }
}

/// The earlier cases as a value.
#[derive(Debug)]
struct PastCases(Arc<CaseFacts>);

impl Object for PastCases {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let field = self.0.past_cases().get(key.as_str()?)?;
        Some(Value::from(Serde(field)))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let fields = self.0.past_cases().as_object().into_iter().flatten();
        Enumerator::Values(fields.map(|(name, _)| Value::from(name.as_str())).collect())
    }
}

/// The calls of each step as a value.
#[derive(Debug)]
struct StepResults {
    facts: Arc<CaseFacts>,
    steps: BTreeMap<String, (Vec<CallView>, OnceLock<Value>)>,
}

impl Object for StepResults {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let (calls, list) = self.steps.get(key.as_str()?)?;
        let json = |call| result_json(call, &self.facts.bodies);
        let list =
            list.get_or_init(|| Value::from(Serde(calls.iter().map(json).collect::<Vec<_>>())));
        Some(list.clone())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(
            self.steps
                .keys()
                .map(|name| Value::from(name.as_str()))
                .collect(),
        )
    }
}

/// The bodies of evidence, each parsed at its first use.
#[derive(Debug, Default)]
struct EvidenceBodies(BTreeMap<EvidenceId, (Arc<Evidence>, OnceLock<Json>)>);

impl EvidenceBodies {
    fn get(&self, id: EvidenceId) -> Option<&Json> {
        let (evidence, body) = self.0.get(&id)?;
        Some(body.get_or_init(|| evidence.body.value()))
    }
}

impl CaseFacts {
    /// Collects the facts for one question, and the calls of each step as the variable `results`.
    pub(super) fn from_question(
        playbook: &Playbook,
        alert: &Arc<Alert>,
        parts: &QuestionParts<'_>,
    ) -> (Arc<Self>, Value) {
        let calls = parts.steps.iter().flat_map(|step| &step.calls);
        let evidence = calls.filter_map(|call| call.evidence.as_ref());
        let bodies = evidence
            .chain(parts.past)
            .map(|evidence| (evidence.id, (Arc::clone(evidence), OnceLock::new())));
        let bodies = EvidenceBodies(bodies.collect());
        let planned_by_us = parts.source == playbook.source();
        let (mut results, mut calls_of) = (BTreeMap::new(), BTreeMap::new());
        for step in &playbook.steps {
            let calls: Vec<&CallView> = if planned_by_us {
                own_calls(step.id.get_ref(), parts.steps)
            } else {
                calls_of_kinds(step.calls.iter().map(|call| call.tool.get_ref()), parts)
            };
            let answered = calls
                .iter()
                .filter_map(|call| answered_call(call))
                .collect();
            results.insert(step.id.get_ref().clone(), answered);
            let calls = calls.into_iter().cloned().collect();
            calls_of.insert(step.id.get_ref().clone(), calls);
        }
        let facts = Arc::new(Self {
            source: Some(Arc::clone(alert)),
            fields: alert.to_json_without_raw(),
            alert: OnceLock::new(),
            subject: alert.subject().unwrap_or_default().to_owned(),
            results,
            past: parts.past.map(|past| past.id),
            exonerations: parts.exonerations.to_vec(),
            bodies,
        });
        let results = facts.results_value(calls_of);
        (facts, results)
    }

    /// Returns empty facts, for checks before there is a case.
    pub(super) fn blank(playbook: &Playbook) -> (Arc<Self>, Value) {
        let ids = playbook.steps.iter().map(|step| step.id.get_ref().clone());
        let facts = Arc::new(Self {
            source: None,
            fields: blank_alert(),
            alert: OnceLock::from(blank_alert()),
            subject: String::new(),
            results: BTreeMap::new(),
            past: None,
            exonerations: Vec::new(),
            bodies: EvidenceBodies::default(),
        });
        let results = facts.results_value(ids.map(|id| (id, Vec::new())).collect());
        (facts, results)
    }

    fn results_value(self: &Arc<Self>, calls: BTreeMap<String, Vec<CallView>>) -> Value {
        let steps = calls.into_iter();
        let steps = steps.map(|(name, calls)| (name, (calls, OnceLock::new())));
        Value::from_object(StepResults {
            facts: Arc::clone(self),
            steps: steps.collect(),
        })
    }

    /// Returns the earlier cases as the variable `past`.
    pub(super) fn past_value(self: &Arc<Self>) -> Value {
        Value::from_object(PastCases(Arc::clone(self)))
    }

    /// Returns the alert, or `None` before there is a case.
    pub(super) fn source(&self) -> Option<&Alert> {
        self.source.as_deref()
    }

    /// Returns whether the alert's subject acted against others.
    pub(super) fn acts_outward(&self) -> bool {
        self.source().is_some_and(is_outbound)
    }

    /// Returns the alert as JSON.
    pub(super) fn alert(&self) -> &Json {
        let told = || self.source.as_ref().map(|alert| alert.to_json());
        self.alert.get_or_init(|| told().unwrap_or_default())
    }

    /// Returns the body of a piece of evidence.
    pub(super) fn body(&self, id: EvidenceId) -> Option<&Json> {
        if id == EvidenceId::ALERT {
            return Some(self.alert());
        }
        self.bodies.get(id)
    }

    /// Returns whether an answer is complete for what was asked.
    pub(super) fn is_complete(&self, evidence: &Evidence) -> bool {
        let body = self.body(evidence.id);
        body.zip(self.source.as_deref())
            .is_some_and(|(body, alert)| is_complete(evidence, body, alert))
    }

    fn past_cases(&self) -> &Json {
        self.past
            .and_then(|id| self.body(id))
            .filter(|past| past.get("cases").is_some_and(Json::is_array))
            .unwrap_or(&NO_PAST)
    }
}

/// Returns an empty alert that has every field of an alert.
pub(super) fn blank_alert() -> Json {
    json!({
        "key": {"product": "", "id": "", "account": ""},
        "content": "", "feed": "", "type": "", "title": "", "description": "",
        "severity": "low", "severity_sent": "", "provider": "aws",
        "account": null, "account_name": null, "region": null, "class": "threat", "class_sent": null,
        "action": null, "outcome": null,
        "resources": [{"type": "", "id": "", "name": null, "tags": {}}],
        "indicators": [], "principals": [], "addresses": [], "callers": [], "direction": null, "unreadable": [], "unseen": false,
        "details": [], "remediation": null, "finding_id": null, "techniques": [],
        "times": {"first_seen": null, "last_seen": null, "created": null, "updated": null},
        "count": 1,
        "state": {"archived": false, "inactive": false, "resolved": false, "suppressed": false, "passed": false,
            "sample": false},
        "flags": [], "raw": {},
    })
}

/// Reads the facts that the scope of an expression holds.
fn with_facts<T>(state: &State<'_, '_>, read: impl FnOnce(&CaseFacts) -> T) -> Result<T, Error> {
    let value = state.lookup(FACTS).unwrap_or_default();
    match value.downcast_object_ref::<CaseFacts>() {
        Some(facts) => Ok(read(facts)),
        None => Err(Error::new(
            ErrorKind::InvalidOperation,
            "function needs the facts of a case",
        )),
    }
}

fn own_calls<'a>(name: &str, steps: &'a [StepView]) -> Vec<&'a CallView> {
    steps
        .iter()
        .filter(|view| view.step.name == name)
        .flat_map(|view| &view.calls)
        .collect()
}

/// Returns the calls of these kinds of tools. When another analyst made the plan, they take the place of a step of the
/// playbook.
fn calls_of_kinds<'a, 'k>(
    kinds: impl Iterator<Item = &'k String>,
    parts: &QuestionParts<'a>,
) -> Vec<&'a CallView> {
    let wanted: Vec<&String> = kinds.collect();
    let means = |call: &CallView| {
        let by_kind = call.evidence.as_ref().is_some_and(|evidence| {
            wanted.iter().any(|kind| {
                evidence.kind == **kind
                    || evidence
                        .kind
                        .strip_prefix(kind.as_str())
                        .is_some_and(|rest| rest.starts_with('.'))
            })
        });
        by_kind
            || parts.tools.iter().any(|spec| {
                spec.name == call.call.tool && wanted.iter().any(|kind| spec.matches_request(kind))
            })
    };
    parts
        .steps
        .iter()
        .flat_map(|view| &view.calls)
        .filter(|call| means(call))
        .collect()
}

fn answered_call(call: &CallView) -> Option<CallResult> {
    let evidence = call.evidence.as_ref()?;
    if evidence.error.is_some() || call.refused.is_some() {
        return None;
    }
    Some(CallResult {
        tool: evidence.tool.clone(),
        kind: evidence.kind.clone(),
        arguments: Json::Object(call.call.arguments.clone()),
        output: Arc::clone(evidence),
    })
}

fn result_json(call: &CallView, bodies: &EvidenceBodies) -> Json {
    let evidence = call.evidence.as_deref();
    let error = call
        .refused
        .as_ref()
        .or_else(|| evidence.and_then(|evidence| evidence.error.as_ref()))
        .map(ToString::to_string);
    json!({
        "tool": call.call.tool,
        "kind": evidence.map(|evidence| evidence.kind.as_str()),
        "args": call.call.arguments,
        "output": evidence.and_then(|evidence| bodies.get(evidence.id)),
        "rows": evidence.and_then(|evidence| evidence.rows),
        "evidence": evidence.map(|evidence| evidence.id.to_string()),
        "error": error,
    })
}
