//! Plans the calls of a step: templates rendered from the alert and from earlier results.
//!
//! A call is made only if a tool of its kind is configured and takes the value. An indicator of a type that the tool
//! does not look up is skipped, not refused.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::Value;
use nightshift_alert::{Alert, CloudProvider};
use nightshift_engine::tool::{ArgumentKind, ToolCall, ToolSpec};
use nightshift_expression::error::EvaluationError;
use nightshift_expression::scope::Scope;
use serde_json::{Map, Value as Json};

use super::facts::functions::NEED_RESULTS;
use super::language::LANGUAGE;
use super::playbook_file::{ArgumentForm, CallForm, MAX_CALLS, Playbook, StepForm};

/// The audit logs of clouds. If an alert does not say which cloud it is from, all configured ones are searched.
const AUDIT_LOG_KINDS: [&str; 2] = ["log_search.cloudtrail", "log_search.gcp_audit"];

#[derive(Debug, Default)]
pub(super) struct StepCalls {
    /// Calls to make, in order, without duplicates.
    pub(super) planned: Vec<ToolCall>,
    /// The values of the calls beyond the limit.
    pub(super) left_out: Vec<String>,
    /// Kinds of tools that the step asks but nobody configured.
    pub(super) unconfigured: Vec<String>,
    /// True if some calls wait for results of earlier steps.
    pub(super) deferred: bool,
}

/// Renders the calls of steps.
pub(super) struct CallPlanner<'a> {
    alert: &'a Alert,
    pub(super) tools: &'a [ToolSpec],
    scope: &'a Scope,
    /// Names whose values are not known yet. It is empty once earlier steps have ended.
    late: Vec<&'a str>,
}

impl<'a> CallPlanner<'a> {
    /// Returns the planner for the time before any step ran. Calls that need results are deferred.
    pub(super) fn before(
        playbook: &'a Playbook,
        alert: &'a Alert,
        tools: &'a [ToolSpec],
        scope: &'a Scope,
    ) -> Self {
        Self {
            late: result_dependent_names(playbook),
            ..Self::after(alert, tools, scope)
        }
    }

    /// Returns the planner for the time after the steps whose results the scope holds.
    pub(super) const fn after(alert: &'a Alert, tools: &'a [ToolSpec], scope: &'a Scope) -> Self {
        Self {
            alert,
            tools,
            scope,
            late: Vec::new(),
        }
    }

    /// Returns the calls of a step.
    pub(super) fn calls(&self, step: &StepForm) -> Result<StepCalls, EvaluationError> {
        let mut calls = StepCalls::default();
        let mut wanted = Vec::new();
        for (number, form) in step.calls.iter().enumerate() {
            self.add(form, number, &mut calls, &mut wanted)?;
        }
        (calls.planned, calls.left_out) = share_calls(wanted);
        // For an alert of no known cloud, a missing audit log counts only if no other tool can be asked.
        if self.alert.provider == CloudProvider::Other && !calls.planned.is_empty() {
            calls
                .unconfigured
                .retain(|kind| !AUDIT_LOG_KINDS.contains(&kind.as_str()));
        }
        Ok(calls)
    }

    fn add(
        &self,
        form: &CallForm,
        number: usize,
        calls: &mut StepCalls,
        wanted: &mut Vec<PlannedCall>,
    ) -> Result<(), EvaluationError> {
        let specs: Vec<_> = self
            .tools
            .iter()
            .filter(|spec| spec.matches_request(form.tool.get_ref()))
            .collect();
        let when = form.when.as_ref().map(|when| when.get_ref().as_str());
        let for_each = form.for_each.as_ref().map(|list| list.get_ref().as_str());
        let can = |expression: Option<&str>| {
            !expression
                .is_some_and(|text| depends_on_results(text, CallTextKind::Expression, &self.late))
        };
        if can(when) && !self.scope.holds(when)? {
            return Ok(());
        }
        let items = if can(for_each) {
            self.scope.items(for_each)?
        } else {
            vec![None]
        };
        if items.is_empty() {
            return Ok(());
        }
        if specs.is_empty() {
            let kind = form.tool.get_ref();
            if !calls.unconfigured.contains(kind) {
                calls.unconfigured.push(kind.clone());
            }
            return Ok(());
        }
        if needs_results(form, &self.late) {
            calls.deferred = true;
            return Ok(());
        }
        for spec in specs {
            for item in &items {
                let Some(call) = self.call(form, spec, item.as_ref())? else {
                    continue;
                };
                if wanted.iter().all(|(_, known)| *known != call) {
                    let kind = item.as_ref().and_then(|item| item.get_attr("type").ok());
                    let kind = kind.map_or_else(String::new, |kind| kind.to_string());
                    wanted.push(((number, spec.name.clone(), kind), call));
                }
            }
        }
        Ok(())
    }

    /// Returns the call about one item, or `None` when the tool does not take it.
    fn call(
        &self,
        form: &CallForm,
        spec: &ToolSpec,
        item: Option<&Value>,
    ) -> Result<Option<ToolCall>, EvaluationError> {
        let scope = self.scope.with_item(item);
        let mut arguments = Map::new();
        for (name, argument) in &form.arguments {
            let value = match argument.get_ref() {
                ArgumentForm::Template(template) => Json::String(scope.render(template)?),
                ArgumentForm::Number(number) => Json::from(*number),
                ArgumentForm::Flag(flag) => Json::from(*flag),
            };
            if value.as_str().is_none_or(|text| !text.trim().is_empty()) {
                arguments.insert(name.clone(), value);
            }
        }
        let is_taken = self.is_taken(spec, form, &arguments);
        Ok(is_taken.then(|| ToolCall::new(&spec.name, arguments)))
    }

    /// Returns whether the tool takes these arguments: nothing required is missing, and the tool looks up indicators
    /// of this type.
    fn is_taken(&self, spec: &ToolSpec, form: &CallForm, arguments: &Map<String, Json>) -> bool {
        if arguments.is_empty() && !form.arguments.is_empty() {
            return false;
        }
        spec.arguments.iter().all(|argument| {
            let Some(value) = arguments.get(&argument.name) else {
                return !argument.required;
            };
            let (ArgumentKind::Indicator { types }, Some(text)) = (&argument.kind, value.as_str())
            else {
                return true;
            };
            types
                .iter()
                .any(|kind| self.alert.has_indicator(*kind, text))
                || !self.alert.indicators.iter().any(|one| one.value == text)
        })
    }
}

/// A call that a step would make, with its group: its place in the playbook, its tool, and the kind of its indicator.
type PlannedCall = ((usize, String, String), ToolCall);

/// Divides calls into those to make, in order, and the values of the others. When there are too many, the groups take
/// turns, so that many addresses do not displace a few names.
fn share_calls(wanted: Vec<PlannedCall>) -> (Vec<ToolCall>, Vec<String>) {
    let mut in_group: BTreeMap<_, usize> = BTreeMap::new();
    let mut turns: Vec<(usize, usize)> = Vec::new();
    for (index, (group, _)) in wanted.iter().enumerate() {
        let turn = in_group.entry(group.clone()).or_default();
        turns.push((*turn, index));
        *turn += 1;
    }
    turns.sort_unstable();
    let made: BTreeSet<usize> = turns.iter().take(MAX_CALLS).map(|(_, at)| *at).collect();
    let (mut make, mut left_out) = (Vec::new(), Vec::new());
    for (index, (_, call)) in wanted.into_iter().enumerate() {
        if made.contains(&index) {
            make.push(call);
        } else {
            left_out.push(subject_of_call(&call));
        }
    }
    (make, left_out)
}

/// Returns the value that a call is about.
pub(super) fn subject_of_call(call: &ToolCall) -> String {
    let value = call.arguments.values().find_map(Json::as_str);
    value.unwrap_or(&call.tool).to_owned()
}

/// Returns whether a call needs results of earlier steps.
fn needs_results(form: &CallForm, late: &[&str]) -> bool {
    let expressions = [&form.when, &form.for_each];
    let by_expression = expressions
        .into_iter()
        .flatten()
        .any(|text| depends_on_results(text.get_ref(), CallTextKind::Expression, late));
    by_expression
        || form.arguments.values().any(|argument| {
            matches!(argument.get_ref(), ArgumentForm::Template(text) if depends_on_results(text, CallTextKind::Template, late))
        })
}

/// Returns the names whose values are known only when steps have ended: those of results, and named expressions that
/// use them.
fn result_dependent_names(playbook: &Playbook) -> Vec<&str> {
    let mut late = NEED_RESULTS.to_vec();
    for (name, expression) in playbook.lets() {
        if depends_on_results(expression.get_ref(), CallTextKind::Expression, &late) {
            late.push(name);
        }
    }
    late
}

#[derive(Clone, Copy)]
enum CallTextKind {
    Expression,
    Template,
}

fn depends_on_results(text: &str, kind: CallTextKind, late: &[&str]) -> bool {
    if !late.iter().any(|name| text.contains(name)) {
        return false;
    }
    let names = match kind {
        CallTextKind::Expression => LANGUAGE.names_of_expression(text),
        CallTextKind::Template => LANGUAGE.names_of_template(text),
    };
    names.is_ok_and(|names| late.iter().any(|name| names.contains(*name)))
}
