//! Answers the plan question: the steps that the configured tools can make.

use nightshift_engine::plan::{PlanMode, StepDraft};
use nightshift_engine::question::{PlanAnswer, PlanQuestion};
use nightshift_engine::tool::ToolSpec;
use nightshift_expression::error::EvaluationError;
use nightshift_expression::scope::Scope;

use super::calls::CallPlanner;
use super::facts::QuestionParts;
use super::playbook_file::{Playbook, StepForm};
use super::scope;
use super::tool_kinds;

/// Returns the plan of this playbook for this alert.
pub(super) fn make_plan(
    playbook: &Playbook,
    question: &PlanQuestion,
) -> Result<PlanAnswer, EvaluationError> {
    let source = playbook.source();
    let parts = QuestionParts {
        past: question.past.as_ref(),
        tools: &question.tools,
        source: &source,
        ..QuestionParts::default()
    };
    let (_, scope) = scope::of_question(playbook, &question.alert, &parts);
    let known = CallPlanner::before(playbook, &question.alert, &question.tools, &scope);
    let mut steps = Vec::new();
    let mut not_covered = Vec::new();
    let mut conditional = false;
    for form in &playbook.steps {
        let draft = draft_step(
            form,
            &known,
            &scope,
            question.limits.calls_per_turn,
            &mut not_covered,
        )?;
        match draft {
            Some(_) if form.when.is_some() => conditional = true,
            Some(draft) => steps.push(draft),
            None => {}
        }
    }
    for left in steps.iter().skip(question.limits.first_plan_steps) {
        not_covered.push(format!(
            "Left out, for the plan is full: {}",
            left.description
        ));
    }
    steps.truncate(question.limits.first_plan_steps);
    keep_known_dependencies(&mut steps, |_| false);
    Ok(PlanAnswer {
        mode: PlanMode::Planned,
        objective: scope.render_line(playbook.objective.get_ref())?,
        steps,
        source,
        not_covered,
        conditional,
    })
}

/// Returns the step with its first calls, or `None` when the step needs a call and has none. The function adds kinds
/// that are not configured to `not_covered`.
pub(super) fn draft_step(
    form: &StepForm,
    known: &CallPlanner<'_>,
    scope: &Scope,
    most_calls: usize,
    not_covered: &mut Vec<String>,
) -> Result<Option<StepDraft>, EvaluationError> {
    let calls = known.calls(form)?;
    tool_kinds::add_not_configured(&calls.unconfigured, not_covered);
    if calls.planned.is_empty() && !calls.deferred && !form.calls.is_empty() {
        return Ok(None);
    }
    Ok(Some(StepDraft {
        id: form.id.get_ref().clone(),
        description: scope.render_line(form.description.get_ref())?,
        tools: tool_names(form, known.tools),
        expected: form.expected.clone(),
        depends_on: form
            .depends_on
            .iter()
            .map(|id| id.get_ref().clone())
            .collect(),
        calls: calls.planned.into_iter().take(most_calls).collect(),
        key: form.key,
    }))
}

fn tool_names(form: &StepForm, tools: &[ToolSpec]) -> Vec<String> {
    tools
        .iter()
        .filter(|spec| {
            form.calls
                .iter()
                .any(|call| spec.matches_request(call.tool.get_ref()))
        })
        .map(|spec| spec.name.clone())
        .collect()
}

/// Drops dependencies on steps that are not planned.
pub(super) fn keep_known_dependencies(steps: &mut [StepDraft], also: impl Fn(&str) -> bool) {
    let planned: Vec<String> = steps.iter().map(|step| step.id.clone()).collect();
    for step in steps {
        step.depends_on
            .retain(|id| planned.contains(id) || also(id));
    }
}
