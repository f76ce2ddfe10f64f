//! Which steps were answered whole: only they say that something is not there.
//!
//! A search that failed, that was cut, or whose log does not hold the alert's time holds no deed either. A rule that clears for
//! what was not found asks `whole(step)`, or where a register clears `not partial(step)`, whoever made the plan: what counts
//! are the calls that the playbook itself makes.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use minijinja::value::Object;
use minijinja::{State, Value};
use nightshift_alert::{Alert, IndicatorKind, Role};
use nightshift_engine::{CallView, Evidence, Searched, StepView, ToolCall, ToolSpec};
use nightshift_expression::scope::Scope;
use serde_json::Value as Json;

use super::calls::{Known, about};
use super::facts::Facts;
use super::form::Playbook;
use super::turn::failure;

/// The variable that holds what is known of steps that have ended, for the functions below.
const ENDED: &str = "_ended";

/// How many rows a search may give; what is left out for it is told as cut.
const LIMIT: &str = "limit";

/// A case whose work has ended: which steps were answered whole, and which in part or not at all, told when it is first asked
/// for.
#[derive(Debug)]
pub(super) struct Ended {
    playbook: Arc<Playbook>,
    steps: Vec<StepView>,
    tools: Arc<[ToolSpec]>,
    facts: Arc<Facts>,
    /// What the calls are filled in from.
    scope: Scope,
    told: OnceLock<Told>,
}

/// What the playbook would have asked, by the names of its steps.
#[derive(Debug, Default)]
struct Told {
    /// Every call was answered, and nothing was left out but repeats.
    whole: Vec<String>,
    /// They ask something and were not answered whole.
    partial: Vec<String>,
    /// What each did not get to know.
    unasked: BTreeMap<String, Vec<String>>,
}

impl Object for Ended {}

impl Ended {
    /// Has the scope know it.
    pub(super) fn tell(
        playbook: &Arc<Playbook>,
        steps: &[StepView],
        tools: &Arc<[ToolSpec]>,
        facts: &Arc<Facts>,
        scope: &mut Scope,
    ) {
        let ended = Self {
            playbook: Arc::clone(playbook),
            steps: steps.to_vec(),
            tools: Arc::clone(tools),
            facts: Arc::clone(facts),
            scope: scope.clone(),
            told: OnceLock::new(),
        };
        scope.set(ENDED, Value::from_object(ended));
    }

    fn told(&self) -> &Told {
        self.told.get_or_init(|| {
            let alert = self.facts.source();
            alert.map_or_else(Told::default, |alert| self.look(alert))
        })
    }

    fn look(&self, alert: &Alert) -> Told {
        let known = Known::after(alert, &self.tools, &self.scope);
        let mut told = Told::default();
        for form in &self.playbook.steps {
            let calls = known.calls(form);
            let asks_nothing = calls
                .as_ref()
                .is_ok_and(|calls| calls.make.is_empty() && calls.left_out.is_empty());
            if asks_nothing {
                continue;
            }
            let name = form.id.get_ref();
            if let Ok(calls) = &calls {
                let silent = calls.make.iter().filter(|call| self.is_silent(call));
                let values = silent.map(about).chain(calls.left_out.iter().cloned());
                told.unasked.insert(name.clone(), values.collect());
            }
            let calls = calls.ok().filter(|calls| calls.left_out.is_empty());
            let made = calls.map_or_else(Vec::new, |calls| calls.make);
            if !made.is_empty() && made.iter().all(|call| self.is_answered(call)) {
                told.whole.push(name.clone());
            } else if !made.iter().any(|call| self.is_answered(call))
                || !made
                    .iter()
                    .all(|call| self.is_answered(call) || self.is_of_else(call))
            {
                told.partial.push(name.clone());
            }
        }
        told
    }

    fn is_silent(&self, call: &ToolCall) -> bool {
        answers(&self.steps, call).next().is_none()
    }

    fn is_answered(&self, call: &ToolCall) -> bool {
        answers(&self.steps, call).any(|answer| self.facts.says_all(answer))
    }

    /// A log of whatever application, without a record of that time, is perhaps of something else.
    fn is_of_else(&self, call: &ToolCall) -> bool {
        answers(&self.steps, call).any(|answer| {
            let is_none = |pointer: &str| {
                let body = self.facts.body(answer.id);
                body.and_then(|body| body.pointer(pointer)) == Some(&0.into())
            };
            // What it holds of no known time is of this.
            answer.kind == "log_search.json_lines"
                && is_none("/searched/records_in_time")
                && answer.rows.unwrap_or_default() == 0
        })
    }
}

/// What `read` finds in what is known of the steps; none before the work has ended.
fn told<T>(state: &State<'_, '_>, read: impl FnOnce(&Told) -> T) -> Option<T> {
    let ended = state.lookup(ENDED)?;
    ended
        .downcast_object_ref::<Ended>()
        .map(|ended| read(ended.told()))
}

/// `whole(step)`: whether every call that the step makes was answered, and nothing was left out but repeats. Known once
/// the work has ended; before that, no.
pub(super) fn whole(state: &State<'_, '_>, step: &str) -> bool {
    told(state, |told| told.whole.iter().any(|one| one == step)).unwrap_or(false)
}

/// `partial(step)`: whether the step has a call to make, and was not answered whole; no where no configured tool could make
/// one. Known once the work has ended; before that, yes.
pub(super) fn partial(state: &State<'_, '_>, step: &str) -> bool {
    told(state, |told| told.partial.iter().any(|one| one == step)).unwrap_or(true)
}

/// `unasked(step)`: what the calls of the step would have been about that were left out, beyond its limit, or gave no answer.
pub(super) fn unasked(state: &State<'_, '_>, step: &str) -> Value {
    let of = told(state, |told| told.unasked.get(step).cloned()).flatten();
    Value::from(of.unwrap_or_default())
}

/// The answers to this very call, with whatever limit.
fn answers<'a>(steps: &'a [StepView], wanted: &'a ToolCall) -> impl Iterator<Item = &'a Evidence> {
    let same = |view: &&CallView| {
        view.call.tool == wanted.tool
            && unlimited(&view.call).eq(unlimited(wanted))
            && failure(view).is_none()
    };
    let calls = steps.iter().flat_map(|step| &step.calls);
    calls
        .filter(same)
        .filter_map(|view| view.evidence.as_deref())
}

fn unlimited(call: &ToolCall) -> impl Iterator<Item = (&String, &Json)> {
    call.arguments.iter().filter(|(name, _)| *name != LIMIT)
}

/// Whether nothing was left out of an answer but what repeats rows that are shown; of a log's, also whether the log holds
/// the time of the alert, and what the alert itself is about.
pub(super) fn says_all(evidence: &Evidence, body: &Json, alert: &Alert) -> bool {
    let is = |pointer: &str, value: Json| body.pointer(pointer) == Some(&value);
    if is_cut(evidence, body) && !is("/left_out", "repeats".into()) {
        return false;
    }
    let searched = Searched::in_body(evidence, body);
    searched.is_none_or(|searched| searched.covers(&alert.times))
        && !(is("/rows_matched", 0.into()) && lacks_its_call(evidence, alert))
}

/// Whether an answer does not show all that it found.
pub(super) fn is_cut(evidence: &Evidence, body: &Json) -> bool {
    evidence.truncated || body.pointer("/truncated") == Some(&true.into())
}

/// Whether a search of the trail without a row shows that the trail is of another account or region: it was for the key that
/// the alert says was used, or for whoever made the call that the alert tells of.
fn lacks_its_call(evidence: &Evidence, alert: &Alert) -> bool {
    let is_call = alert
        .action
        .as_deref()
        .is_some_and(|action| action.starts_with("AWS_API_CALL"));
    let asked = |name: &str| evidence.arguments.get(name).and_then(Json::as_str);
    let (key, caller) = (asked("access_key"), asked("principal").filter(|_| is_call));
    evidence.kind == "log_search.cloudtrail"
        && alert.indicators.iter().any(|one| match one.kind {
            IndicatorKind::AccessKey => one.role != Role::Related && key == Some(&*one.value),
            IndicatorKind::Principal => one.role == Role::Actor && caller == Some(&*one.value),
            _ => false,
        })
}
