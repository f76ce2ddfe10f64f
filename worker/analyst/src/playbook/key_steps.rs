//! Checks the playbook's key steps when another analyst made the plan.
//!
//! The engine sees only the key steps of the plan that was made, and none in a case without a plan. The questions that
//! the playbook needs answered before it clears an alert may therefore have been left out or have no answer.

use chrono::DateTime;
use nightshift_alert::Alert;
use nightshift_engine::question::ConcludeQuestion;
use nightshift_engine::tool::{ArgumentKind, ToolCall};
use nightshift_expression::error::EvaluationError;
use nightshift_expression::scope::Scope;
use serde_json::Value;

use super::calls::CallPlanner;
use super::facts::answers::failure;
use super::playbook_file::Playbook;

/// Returns the playbook's key steps that nobody answered, as lines of the report.
pub(super) fn unanswered_key_steps(
    playbook: &Playbook,
    question: &ConcludeQuestion,
    scope: &Scope,
) -> Result<Vec<String>, EvaluationError> {
    let mut unanswered = Vec::new();
    if *question.source == *playbook.source() {
        return Ok(unanswered);
    }
    let known = CallPlanner::after(&question.alert, &question.tools, scope);
    for form in playbook.steps.iter().filter(|form| form.key) {
        if !scope.holds(form.condition())? {
            continue;
        }
        let wanted = known.calls(form)?.planned;
        if !wanted.is_empty() && !wanted.iter().any(|call| is_answered(call, question)) {
            let description = scope.render_line(form.description.get_ref())?;
            unanswered.push(format!(
                "{description}: no answer, and nothing is cleared without one"
            ));
        }
    }
    Ok(unanswered)
}

/// Returns whether this tool answered a call about the same values that is not narrower. The number of rows does not
/// matter. A planner that wants to see nothing can add a filter or ask for another day.
fn is_answered(wanted: &ToolCall, question: &ConcludeQuestion) -> bool {
    let spec = question.tools.iter().find(|spec| spec.name == wanted.tool);
    let is_wanted = |value: &Value| wanted.arguments.values().any(|own| own == value);
    let takes_it_in = |(name, value): (&String, &Value)| {
        let mut arguments = spec.into_iter().flat_map(|spec| &spec.arguments);
        let argument = arguments.find(|argument| argument.name == *name);
        match argument.map(|argument| &argument.kind) {
            Some(ArgumentKind::Number { .. }) => true,
            Some(ArgumentKind::Time) => includes_alert_time(name, value, &question.alert),
            _ => is_wanted(value),
        }
    };
    let about_the_same = |call: &ToolCall| {
        let mut values = call.arguments.values().filter(|value| value.is_string());
        wanted.arguments == call.arguments
            || values.any(is_wanted) && call.arguments.iter().all(takes_it_in)
    };
    let mut calls = question.steps.iter().flat_map(|step| &step.calls);
    calls.any(|view| {
        view.call.tool == wanted.tool && failure(view).is_none() && about_the_same(&view.call)
    })
}

/// Returns whether a time bound of a search includes all of the alert's time.
fn includes_alert_time(name: &str, value: &Value, alert: &Alert) -> bool {
    let Some((first, last)) = alert.times.window() else {
        return false;
    };
    let bound = value
        .as_str()
        .and_then(|text| DateTime::parse_from_rfc3339(text).ok());
    bound.is_some_and(|bound| match name {
        "since" => bound <= first,
        "until" => bound >= last,
        _ => false,
    })
}
