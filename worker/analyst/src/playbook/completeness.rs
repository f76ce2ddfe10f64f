//! Determines which steps were answered completely. Only their answers show that something is absent.
//!
//! A search that failed or was cut shows no absence, nor does one whose log does not cover the alert's time. A rule
//! that clears because something was not found asks `whole(step)`; a rule for registers asks `not partial(step)`. The
//! calls that the playbook itself makes count, even if a model made the plan.

use std::sync::Arc;

use minijinja::Value;
use nightshift_alert::Alert;
use nightshift_engine::evidence::Evidence;
use nightshift_engine::question::{CallView, StepView};
use nightshift_engine::tool::{ToolCall, ToolSpec};
use nightshift_expression::scope::Scope;
use serde_json::Value as Json;

use super::calls::{CallPlanner, subject_of_call};
use super::facts::CaseFacts;
use super::facts::answers::failure;
use super::facts::step_answers::{LazyStepAnswers, STEP_ANSWERS, StepAnswers};
use super::playbook_file::Playbook;

/// The argument for the maximum number of rows of a search. Rows beyond it are reported as cut.
const LIMIT: &str = "limit";

/// Gives the scope of an ended case the functions that ask which steps were answered completely. The answers are
/// computed when a rule first asks.
pub(super) fn set_step_answers(
    playbook: &Arc<Playbook>,
    steps: &[StepView],
    tools: &Arc<[ToolSpec]>,
    facts: &Arc<CaseFacts>,
    scope: &mut Scope,
) {
    let case = EndedCase {
        playbook: Arc::clone(playbook),
        steps: steps.to_vec(),
        tools: Arc::clone(tools),
        facts: Arc::clone(facts),
        scope: scope.clone(),
    };
    let answers = LazyStepAnswers::new(move || {
        let alert = case.facts.source();
        alert.map_or_else(StepAnswers::default, |alert| case.step_answers(alert))
    });
    scope.set(STEP_ANSWERS, Value::from_object(answers));
}

/// A case whose work has ended.
struct EndedCase {
    playbook: Arc<Playbook>,
    steps: Vec<StepView>,
    tools: Arc<[ToolSpec]>,
    facts: Arc<CaseFacts>,
    /// The scope from which the calls are rendered.
    scope: Scope,
}

impl EndedCase {
    fn step_answers(&self, alert: &Alert) -> StepAnswers {
        let planner = CallPlanner::after(alert, &self.tools, &self.scope);
        let mut answers = StepAnswers::default();
        for form in &self.playbook.steps {
            let calls = planner.calls(form);
            let asks_nothing = calls
                .as_ref()
                .is_ok_and(|calls| calls.planned.is_empty() && calls.left_out.is_empty());
            if asks_nothing {
                continue;
            }
            let name = form.id.get_ref();
            if let Ok(calls) = &calls {
                let silent = calls.planned.iter().filter(|call| self.has_no_answer(call));
                let values = silent.map(subject_of_call);
                let values = values.chain(calls.left_out.iter().cloned());
                answers.unanswered.insert(name.clone(), values.collect());
            }
            let calls = calls.ok().filter(|calls| calls.left_out.is_empty());
            let made = calls.map_or_else(Vec::new, |calls| calls.planned);
            if !made.is_empty() && made.iter().all(|call| self.is_complete(call)) {
                answers.complete.push(name.clone());
            } else if !made.iter().any(|call| self.is_complete(call))
                || !made
                    .iter()
                    .all(|call| self.is_complete(call) || self.is_of_other_log(call))
            {
                answers.partial.push(name.clone());
            }
        }
        answers
    }

    fn has_no_answer(&self, call: &ToolCall) -> bool {
        answers_to(&self.steps, call).next().is_none()
    }

    fn is_complete(&self, call: &ToolCall) -> bool {
        answers_to(&self.steps, call).any(|answer| self.facts.is_complete(answer))
    }

    /// Returns whether the answer may come from the log of an unrelated application: it has no record of the alert's
    /// time.
    fn is_of_other_log(&self, call: &ToolCall) -> bool {
        answers_to(&self.steps, call).any(|answer| {
            let is_none = |pointer: &str| {
                let body = self.facts.body(answer.id);
                body.and_then(|body| body.pointer(pointer)) == Some(&0.into())
            };
            // A row without a known time may be of that time.
            answer.kind == "log_search.json_lines"
                && is_none("/searched/records_in_time")
                && answer.rows.unwrap_or_default() == 0
        })
    }
}

/// Returns the answers to this call, with any limit.
fn answers_to<'a>(
    steps: &'a [StepView],
    wanted: &'a ToolCall,
) -> impl Iterator<Item = &'a Evidence> {
    let same = |view: &&CallView| {
        view.call.tool == wanted.tool
            && without_limit(&view.call).eq(without_limit(wanted))
            && failure(view).is_none()
    };
    let calls = steps.iter().flat_map(|step| &step.calls);
    calls
        .filter(same)
        .filter_map(|view| view.evidence.as_deref())
}

fn without_limit(call: &ToolCall) -> impl Iterator<Item = (&String, &Json)> {
    call.arguments.iter().filter(|(name, _)| *name != LIMIT)
}
