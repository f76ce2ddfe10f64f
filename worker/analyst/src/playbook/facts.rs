//! What an expression sees of a case: the alert, the results of each step, earlier cases, what clears it.
//!
//! Everything comes from a question of the engine; nothing is looked up here. Most expressions want little of it, so what
//! is large (the finding as it was sent, earlier cases, whole results) is read when it is first asked for, once per question.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};

use minijinja::Value;
use minijinja::value::{Enumerator, Object, Serde};
use nightshift_alert::Alert;
use nightshift_engine::{
    CallView, Evidence, EvidenceId, Exoneration, StepView, ToolSpec, acts_outward,
};
use nightshift_expression::scope::Scope;
use serde_json::{Value as Json, json};

use super::findings::FINDINGS;
use super::form::Playbook;
use super::vocabulary::LANGUAGE;
use super::whole::says_all;

/// The field of an alert that holds the finding as it was sent.
const RAW: &str = "raw";

/// Earlier cases as they look when nobody looked.
static NO_PAST: LazyLock<Json> = LazyLock::new(|| json!({"cases": [], "found": 0, "same_key": 0}));

/// The parts of a question that expressions may see.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen<'a> {
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
pub(super) struct Facts {
    /// `E0`: the alert; none where there is no case yet.
    source: Option<Arc<Alert>>,
    /// The same as JSON, but for the finding as it was sent.
    pub(super) fields: Json,
    /// All of it as JSON.
    alert: OnceLock<Json>,
    /// What the alert is about, in a word or two.
    pub(super) subject: String,
    /// The answered calls of each step of the playbook.
    pub(super) results: BTreeMap<String, Vec<CallResult>>,
    /// `E1`: earlier cases, where somebody looked.
    pub(super) past: Option<EvidenceId>,
    /// The records that count for this alert.
    pub(super) exonerations: Vec<Exoneration>,
    /// What each piece of evidence says.
    bodies: Bodies,
}

/// As a value it is the alert, each field turned when it is asked for.
impl Object for Facts {
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

/// Earlier cases as a value.
#[derive(Debug)]
struct Past(Arc<Facts>);

impl Object for Past {
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
struct Results {
    facts: Arc<Facts>,
    steps: BTreeMap<String, (Vec<CallView>, OnceLock<Value>)>,
}

impl Object for Results {
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

/// What pieces of evidence say, each read when it is first asked for.
#[derive(Debug, Default)]
struct Bodies(BTreeMap<EvidenceId, (Arc<Evidence>, OnceLock<Json>)>);

impl Bodies {
    fn get(&self, id: EvidenceId) -> Option<&Json> {
        let (evidence, body) = self.0.get(&id)?;
        Some(body.get_or_init(|| evidence.body.value()))
    }
}

impl Facts {
    /// Facts and scope for one question.
    pub(super) fn of(
        playbook: &Playbook,
        alert: &Arc<Alert>,
        seen: &Seen<'_>,
    ) -> (Arc<Self>, Scope) {
        let calls = seen.steps.iter().flat_map(|step| &step.calls);
        let evidence = calls.filter_map(|call| call.evidence.as_ref());
        let bodies = evidence
            .chain(seen.past)
            .map(|evidence| (evidence.id, (Arc::clone(evidence), OnceLock::new())));
        let bodies = Bodies(bodies.collect());
        let planned_by_us = seen.source == playbook.source();
        let (mut results, mut calls_of) = (BTreeMap::new(), BTreeMap::new());
        for step in &playbook.steps {
            let calls: Vec<&CallView> = if planned_by_us {
                own_calls(step.id.get_ref(), seen.steps)
            } else {
                calls_of_kinds(step.calls.iter().map(|call| call.tool.get_ref()), seen)
            };
            let answered = calls.iter().filter_map(|call| answered(call)).collect();
            results.insert(step.id.get_ref().clone(), answered);
            let calls = calls.into_iter().cloned().collect();
            calls_of.insert(step.id.get_ref().clone(), calls);
        }
        let facts = Arc::new(Self {
            source: Some(Arc::clone(alert)),
            fields: alert.told_in_short(),
            alert: OnceLock::new(),
            subject: alert.subject().unwrap_or_default().to_owned(),
            results,
            past: seen.past.map(|past| past.id),
            exonerations: seen.exonerations.to_vec(),
            bodies,
        });
        let mut scope = facts.scope(calls_of, seen);
        scope.set(
            "subject",
            Value::from(alert.subject().unwrap_or("the resource")),
        );
        name_lets(playbook, &mut scope);
        (facts, scope)
    }

    /// The scope of a case that knows nothing: what an expression may name, for checks before there is a case.
    pub(super) fn of_nothing(playbook: &Playbook) -> Scope {
        let results = playbook
            .steps
            .iter()
            .map(|step| (step.id.get_ref().clone(), Vec::new()))
            .collect();
        let facts = Arc::new(Self {
            source: None,
            fields: blank_alert(),
            alert: OnceLock::from(blank_alert()),
            subject: String::new(),
            results: BTreeMap::new(),
            past: None,
            exonerations: Vec::new(),
            bodies: Bodies::default(),
        });
        let mut scope = facts.scope(results, &Seen::default());
        scope.set("subject", Value::from(""));
        name_lets(playbook, &mut scope);
        scope
    }

    fn scope(self: &Arc<Self>, calls: BTreeMap<String, Vec<CallView>>, seen: &Seen<'_>) -> Scope {
        let facts = Arc::clone(self);
        let steps = calls.into_iter();
        let steps = steps.map(|(name, calls)| (name, (calls, OnceLock::new())));
        let results = Results {
            facts,
            steps: steps.collect(),
        };
        let mut scope = Scope::new(&LANGUAGE);
        scope.set("alert", Value::from_dyn_object(Arc::clone(self)));
        scope.set("results", Value::from_object(results));
        scope.set("past", Value::from_object(Past(Arc::clone(self))));
        scope.set("cleared", Value::from(seen.cleared));
        scope.set("exonerations", Value::from(Serde(seen.exonerations)));
        scope.set(FINDINGS, Value::from(Vec::<String>::new()));
        scope.set(FACTS, Value::from_dyn_object(Arc::clone(self)));
        scope
    }

    /// The alert itself; none where there is no case yet.
    pub(super) fn source(&self) -> Option<&Alert> {
        self.source.as_deref()
    }

    /// Whether what the alert concerns did this to others.
    pub(super) fn acts_outward(&self) -> bool {
        self.source().is_some_and(acts_outward)
    }

    /// The alert as JSON.
    pub(super) fn alert(&self) -> &Json {
        let told = || self.source.as_ref().map(|alert| alert.told());
        self.alert.get_or_init(|| told().unwrap_or_default())
    }

    /// The body of a piece of evidence.
    pub(super) fn body(&self, id: EvidenceId) -> Option<&Json> {
        if id == EvidenceId::ALERT {
            return Some(self.alert());
        }
        self.bodies.get(id)
    }

    /// Whether an answer says all that there is of what it was asked for.
    pub(super) fn says_all(&self, evidence: &Evidence) -> bool {
        let body = self.body(evidence.id);
        body.zip(self.source.as_deref())
            .is_some_and(|(body, alert)| says_all(evidence, body, alert))
    }

    fn past_cases(&self) -> &Json {
        self.past
            .and_then(|id| self.body(id))
            .filter(|past| past.get("cases").is_some_and(Json::is_array))
            .unwrap_or(&NO_PAST)
    }
}

/// An alert that says nothing, with every field that one has.
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

/// The variable that holds the facts; functions read it, expressions have no use for it.
pub(super) const FACTS: &str = "_facts";

fn name_lets(playbook: &Playbook, scope: &mut Scope) {
    let lets = playbook.lets();
    scope.define(
        lets.iter()
            .map(|(name, expression)| (name.as_str(), expression.get_ref().as_str())),
    );
}

fn own_calls<'a>(name: &str, steps: &'a [StepView]) -> Vec<&'a CallView> {
    steps
        .iter()
        .filter(|view| view.step.name == name)
        .flat_map(|view| &view.calls)
        .collect()
}

/// Where somebody else made the plan, a step of the playbook takes whatever its kinds of tools gave.
fn calls_of_kinds<'a, 'k>(
    kinds: impl Iterator<Item = &'k String>,
    seen: &Seen<'a>,
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
            || seen.tools.iter().any(|spec| {
                spec.name == call.call.tool && wanted.iter().any(|kind| spec.answers_to(kind))
            })
    };
    seen.steps
        .iter()
        .flat_map(|view| &view.calls)
        .filter(|call| means(call))
        .collect()
}

fn answered(call: &CallView) -> Option<CallResult> {
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

fn result_json(call: &CallView, bodies: &Bodies) -> Json {
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
