//! Which steps were answered whole: only they say that something is not there.
//!
//! A search that failed, that was cut, or whose log does not reach the alert holds no deed either. A rule that clears for
//! what was not found asks `whole(step)`, whoever made the plan: what counts are the calls that the playbook itself makes.

use chrono::{DateTime, Utc};
use nightshift_engine::{CallView, ConcludeQuestion, Evidence, ToolCall};
use serde_json::Value as Json;

use super::calls::Known;
use super::expression::Scope;
use super::facts::Facts;
use super::form::{Playbook, StepForm};
use super::turn::failure;

/// The variable that holds the names of these steps, for the function `whole`.
pub(super) const WHOLE: &str = "_whole";

/// How many rows a search may give; what is left out for it is told as cut.
const LIMIT: &str = "limit";

/// The steps that were answered whole; asked only where the playbook has a rule that clears.
pub(super) fn steps(
    playbook: &Playbook,
    question: &ConcludeQuestion,
    facts: &Facts,
    scope: &Scope,
) -> Vec<String> {
    if playbook.benign.is_empty() {
        return Vec::new();
    }
    let known = Known::after(&question.alert, &question.tools, scope);
    let is_whole = |form: &&StepForm| {
        known.calls(form).is_ok_and(|calls| {
            let all_are_made = calls.left_out.is_empty() && !calls.make.is_empty();
            all_are_made
                && calls.make.iter().all(|call| {
                    answer(question, call).is_some_and(|answer| {
                        says_all(answer, facts, question.alert.times.first_seen)
                    })
                })
        })
    };
    playbook
        .steps
        .iter()
        .filter(is_whole)
        .map(|form| form.id.get_ref().clone())
        .collect()
}

/// The answer to this very call, with whatever limit.
fn answer<'a>(question: &'a ConcludeQuestion, wanted: &ToolCall) -> Option<&'a Evidence> {
    let same = |view: &&CallView| {
        view.call.tool == wanted.tool
            && unlimited(&view.call).eq(unlimited(wanted))
            && failure(view).is_none()
    };
    let mut calls = question.steps.iter().flat_map(|step| &step.calls);
    calls.find(same)?.evidence.as_deref()
}

fn unlimited(call: &ToolCall) -> impl Iterator<Item = (&String, &Json)> {
    call.arguments.iter().filter(|(name, _)| *name != LIMIT)
}

/// Whether nothing was left out of an answer; of a log's, also whether the log reaches to the alert.
fn says_all(evidence: &Evidence, facts: &Facts, first_seen: Option<DateTime<Utc>>) -> bool {
    let Some(body) = facts.body(evidence.id).filter(|_| !evidence.truncated) else {
        return false;
    };
    let is = |pointer: &str, value: Json| body.pointer(pointer) == Some(&value);
    let until = body
        .pointer("/searched/records_until")
        .and_then(Json::as_str)
        .and_then(|text| text.parse::<DateTime<Utc>>().ok());
    let ends_before = until
        .zip(first_seen)
        .is_some_and(|(until, first)| until < first);
    !is("/truncated", true.into()) && !is("/searched/records_in_time", 0.into()) && !ends_before
}
