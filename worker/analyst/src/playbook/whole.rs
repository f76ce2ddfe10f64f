//! Which steps were answered whole: only they say that something is not there.
//!
//! A search that failed, that was cut, or whose log does not hold the alert's time holds no deed either. A rule that clears for
//! what was not found asks `whole(step)`, or where a register clears `not partial(step)`, whoever made the plan: what counts
//! are the calls that the playbook itself makes.

use minijinja::Value;
use nightshift_alert::{Alert, IndicatorKind, Role};
use nightshift_engine::{CallView, Evidence, Searched, StepView, ToolCall};
use serde_json::Value as Json;

use super::calls::{Known, about};
use super::expression::Scope;
use super::facts::{Facts, Seen};
use super::form::Playbook;
use super::turn::failure;

/// The variable that holds the names of these steps, for the function `whole`.
pub(super) const WHOLE: &str = "_whole";

/// The variable that holds the names of steps that ask something and were not answered whole, for `partial`.
pub(super) const PARTIAL: &str = "_partial";

/// The variable that holds what each step did not get to know, for `unasked`.
pub(super) const UNASKED: &str = "_unasked";

/// How many rows a search may give; what is left out for it is told as cut.
const LIMIT: &str = "limit";

/// Tells the scope which steps were answered whole, and which in part or not at all.
pub(super) fn tell(
    playbook: &Playbook,
    alert: &Alert,
    seen: &Seen<'_>,
    facts: &Facts,
    scope: &mut Scope,
) {
    let known = Known::after(alert, seen.tools, scope);
    let steps = seen.steps;
    let is_answered = |call: &ToolCall| answers(steps, call).any(|answer| facts.says_all(answer));
    // A log of whatever application, without a record of that time, is perhaps of something else.
    let is_of_else = |call: &ToolCall| {
        answers(steps, call).any(|answer| {
            let is_none = |pointer: &str| {
                let body = facts.body(answer.id);
                body.and_then(|body| body.pointer(pointer)) == Some(&0.into())
            };
            // What it holds of no known time is of this.
            answer.kind == "log_search.json_lines"
                && is_none("/searched/records_in_time")
                && answer.rows.unwrap_or_default() == 0
        })
    };
    let (mut whole, mut partial) = (Vec::new(), Vec::new());
    let mut unasked: Vec<(String, Vec<String>)> = Vec::new();
    for form in &playbook.steps {
        let calls = known.calls(form);
        let asks_nothing = calls
            .as_ref()
            .is_ok_and(|calls| calls.make.is_empty() && calls.left_out.is_empty());
        if asks_nothing {
            continue;
        }
        let name = form.id.get_ref();
        unasked.extend(calls.as_ref().ok().map(|calls| {
            let silent = calls
                .make
                .iter()
                .filter(|call| answers(steps, call).next().is_none());
            let values = silent.map(about).chain(calls.left_out.iter().cloned());
            (name.clone(), values.collect())
        }));
        let calls = calls.ok().filter(|calls| calls.left_out.is_empty());
        let made = calls.map_or_else(Vec::new, |calls| calls.make);
        if !made.is_empty() && made.iter().all(is_answered) {
            whole.push(name.clone());
        } else if !made.iter().any(is_answered)
            || !made
                .iter()
                .all(|call| is_answered(call) || is_of_else(call))
        {
            partial.push(name.clone());
        }
    }
    scope.set(WHOLE, Value::from(whole));
    scope.set(PARTIAL, Value::from(partial));
    scope.set(UNASKED, Value::from_pairs(unasked));
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
