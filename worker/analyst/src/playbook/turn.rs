//! Answers a turn: with the calls still to make, or with the result of the step.

use nightshift_engine::plan::StepOutcome;
use nightshift_engine::question::{CallView, StepView, TurnAnswer, TurnQuestion};
use nightshift_expression::error::EvaluationError;
use nightshift_expression::scope::Scope;
use nightshift_expression::text::one_line;

use super::calls::{CallPlanner, StepCalls};
use super::facts::QuestionParts;
use super::facts::answers::failure;
use super::findings;
use super::playbook_file::{MAX_CALLS, Playbook, StepForm};
use super::scope;

/// Returns the next calls of the step, or its result.
pub(super) fn next_turn(
    playbook: &Playbook,
    question: &TurnQuestion,
) -> Result<TurnAnswer, EvaluationError> {
    let steps = with_own_step(question);
    let parts = QuestionParts {
        past: question.past.as_ref(),
        steps: &steps,
        tools: &question.tools,
        source: &question.source,
        ..QuestionParts::default()
    };
    let form = playbook
        .step(&question.step.step.name)
        .filter(|_| *question.source == *playbook.source());
    let (facts, mut scope) = scope::of_question(playbook, &question.alert, &parts);
    let Some(form) = form else {
        // Conditions can name findings.
        findings::evaluate(playbook, &facts, &mut scope);
        return foreign_step_turn(playbook, question, &scope);
    };
    let known = CallPlanner::after(&question.alert, &question.tools, &scope);
    let calls = known.calls(form)?;
    let open = open_calls(&calls, question);
    if open.is_empty() {
        return step_result(&question.step, Some(form), &calls, &scope);
    }
    Ok(TurnAnswer::calls(open))
}

/// Answers for a step that is not the playbook's. The only step of a case without a plan asks what all steps of the
/// playbook would ask, including conditional steps whose condition holds.
fn foreign_step_turn(
    playbook: &Playbook,
    question: &TurnQuestion,
    scope: &Scope,
) -> Result<TurnAnswer, EvaluationError> {
    if question.steps.len() == 1 && question.source.is_empty() {
        let known = CallPlanner::after(&question.alert, &question.tools, scope);
        let mut all = StepCalls::default();
        for form in &playbook.steps {
            if scope.holds(form.condition())? {
                all.planned.extend(known.calls(form)?.planned);
            }
        }
        let calls = open_calls(&all, question);
        if !calls.is_empty() {
            return Ok(TurnAnswer::calls(calls));
        }
    }
    step_result(&question.step, None, &StepCalls::default(), scope)
}

/// Returns all steps, with this step as the question has it.
fn with_own_step(question: &TurnQuestion) -> Vec<StepView> {
    let mut steps: Vec<_> = question
        .steps
        .iter()
        .filter(|view| view.step.id != question.step.step.id)
        .cloned()
        .collect();
    steps.push(question.step.clone());
    steps
}

/// Returns the calls that were not made yet. The last turn has none, because it is for the result.
fn open_calls(
    calls: &StepCalls,
    question: &TurnQuestion,
) -> Vec<nightshift_engine::tool::ToolCall> {
    let made: Vec<String> = question
        .step
        .calls
        .iter()
        .map(|view| view.call.identity())
        .collect();
    if question.turn >= question.limits.turns || made.len() >= calls.planned.len() {
        return Vec::new();
    }
    calls
        .planned
        .iter()
        .filter(|call| !made.contains(&call.identity()))
        .take(question.limits.calls_per_turn)
        .cloned()
        .collect()
}

fn step_result(
    view: &StepView,
    form: Option<&StepForm>,
    calls: &StepCalls,
    scope: &Scope,
) -> Result<TurnAnswer, EvaluationError> {
    let failures: Vec<String> = view.calls.iter().filter_map(failure).collect();
    let all_failed = !view.calls.is_empty() && failures.len() == view.calls.len();
    let met = match form.and_then(|form| form.met.as_ref()) {
        Some(_) if all_failed => false,
        Some(met) => scope.holds(Some(met.get_ref()))?,
        None => view.calls.iter().any(has_rows),
    };
    let outcome = if all_failed {
        StepOutcome::Failed
    } else if met {
        StepOutcome::Met
    } else {
        StepOutcome::Unmet
    };
    let mut parts = Vec::new();
    match form.and_then(|form| form.summary.as_ref()) {
        _ if all_failed => {}
        Some(summary) => parts.push(scope.render_line(summary.get_ref())?),
        None => parts.push(count_summary(view)),
    }
    if let Some(first) = failures.first().filter(|_| all_failed) {
        parts.push(format!("No answer: {first}."));
    } else if let Some(first) = failures.first() {
        parts.push(format!(
            "{} of {} calls failed: {first}.",
            failures.len(),
            view.calls.len()
        ));
    }
    if !calls.left_out.is_empty() {
        parts.push(format!(
            "Not looked up, beyond {} calls: {}.",
            MAX_CALLS,
            calls.left_out.join(", ")
        ));
    }
    Ok(TurnAnswer::Result {
        outcome,
        summary: one_line(&parts.join(" ")),
        findings: Vec::new(),
    })
}

fn has_rows(call: &CallView) -> bool {
    failure(call).is_none()
        && call
            .evidence
            .as_ref()
            .is_some_and(|evidence| evidence.rows.is_none_or(|rows| rows > 0))
}

fn count_summary(view: &StepView) -> String {
    let answers: Vec<_> = view
        .calls
        .iter()
        .filter(|call| failure(call).is_none())
        .filter_map(|call| call.evidence.as_ref())
        .collect();
    let look_ups = match answers.len() {
        0 => return "Nothing to look up.".to_owned(),
        1 => "1 look-up".to_owned(),
        many => format!("{many} look-ups"),
    };
    let rows = answers
        .iter()
        .filter_map(|evidence| evidence.rows)
        .reduce(u64::saturating_add);
    match rows {
        // Some tools describe a value and count no rows.
        None => format!("{look_ups}, answered."),
        Some(1) => format!("{look_ups}, 1 row."),
        Some(rows) => format!("{look_ups}, {rows} rows."),
    }
}
