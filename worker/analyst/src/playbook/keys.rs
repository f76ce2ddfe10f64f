//! Key steps of the playbook where somebody else made the plan.
//!
//! Of its own plan the engine sees that a key step failed. Of another's it sees that one's key steps, and nothing at all of a
//! case without a plan: what the playbook would not be benign without was perhaps never asked, or had no answer.

use nightshift_engine::{CallView, ConcludeQuestion, ToolCall};

use super::calls::Known;
use super::expression::{Broken, Scope};
use super::form::Playbook;
use super::turn::failure;

/// What the playbook's key steps would have asked and nobody answered, as the report says it.
pub(super) fn unanswered(
    playbook: &Playbook,
    question: &ConcludeQuestion,
    scope: &Scope,
) -> Result<Vec<String>, Broken> {
    let mut unanswered = Vec::new();
    if *question.source == *playbook.source() {
        return Ok(unanswered);
    }
    let known = Known::after(&question.alert, &question.tools, scope);
    for form in playbook.steps.iter().filter(|form| form.key) {
        if !scope.holds(form.condition())? {
            continue;
        }
        let wanted = known.calls(form)?.make;
        if !wanted.is_empty() && !wanted.iter().any(|call| is_answered(call, question)) {
            let description = scope.line(form.description.get_ref())?;
            unanswered.push(format!(
                "{description}: no answer, and nothing is cleared without one"
            ));
        }
    }
    Ok(unanswered)
}

/// Whether this tool gave an answer about the same, for whatever time and however many rows.
fn is_answered(wanted: &ToolCall, question: &ConcludeQuestion) -> bool {
    let about_the_same = |call: &ToolCall| {
        let mut values = wanted.arguments.values().filter(|value| value.is_string());
        wanted.arguments == call.arguments
            || values.any(|value| call.arguments.values().any(|other| other == value))
    };
    let answers = |view: &&CallView| {
        view.call.tool == wanted.tool && failure(view).is_none() && about_the_same(&view.call)
    };
    let mut calls = question.steps.iter().flat_map(|step| &step.calls);
    calls.any(|view| answers(&view))
}
