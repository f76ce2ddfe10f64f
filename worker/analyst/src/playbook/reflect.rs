//! Answers a reflection: conditional steps whose condition now holds, and what is known so far.

use std::sync::Arc;

use nightshift_engine::plan::{PlanUpdate, StepDraft};
use nightshift_engine::question::{ReflectQuestion, Reflection, StepView};
use nightshift_expression::error::EvaluationError;
use nightshift_expression::scope::Scope;

use super::calls::CallPlanner;
use super::completeness::set_step_answers;
use super::facts::QuestionParts;
use super::findings;
use super::plan::{draft_step, keep_known_dependencies};
use super::playbook_file::{Playbook, StepForm};
use super::scope;

/// Adds steps whose `when` holds. The claims of findings become insights.
pub(super) fn reflect(
    playbook: &Arc<Playbook>,
    question: &ReflectQuestion,
) -> Result<Reflection, EvaluationError> {
    if *question.source != *playbook.source() {
        return Ok(Reflection::default());
    }
    let parts = QuestionParts {
        past: question.past.as_ref(),
        steps: &question.steps,
        tools: &question.tools,
        source: &question.source,
        ..QuestionParts::default()
    };
    let (facts, mut scope) = scope::of_question(playbook, &question.alert, &parts);
    set_step_answers(
        playbook,
        &question.steps,
        &question.tools,
        &facts,
        &mut scope,
    );
    let made = findings::evaluate(playbook, &facts, &mut scope);
    let known = CallPlanner::after(&question.alert, &question.tools, &scope);
    let asked = |form: &StepForm| {
        question.updates.iter().any(|record| {
            matches!(&record.update, PlanUpdate::AddStep { step, .. } if step.id == *form.id.get_ref())
        })
    };
    let mut added: Vec<(StepDraft, String)> = Vec::new();
    for form in conditional_steps(playbook, &question.steps).filter(|form| !asked(form)) {
        if added.len() < question.steps_left {
            added.extend(due_step(form, &known, &scope)?);
        }
    }
    let (mut drafts, reasons): (Vec<_>, Vec<_>) = added.into_iter().unzip();
    keep_known_dependencies(&mut drafts, |_| false);
    Ok(Reflection {
        achieved: false,
        insights: made
            .drafts
            .into_iter()
            .map(|draft| draft.claim)
            .filter(|claim| !question.insights.contains(claim))
            .collect(),
        plan_updates: drafts
            .into_iter()
            .zip(reasons)
            .map(|(step, reason)| PlanUpdate::AddStep { step, reason })
            .collect(),
    })
}

/// Returns the conditional steps that are not among these steps.
pub(super) fn conditional_steps<'a>(
    playbook: &'a Playbook,
    steps: &'a [StepView],
) -> impl Iterator<Item = &'a StepForm> {
    playbook.steps.iter().filter(|form| {
        let name = form.id.get_ref();
        form.when.is_some() && steps.iter().all(|view| view.step.name != *name)
    })
}

/// Returns the conditional step and why it is made, if its condition holds and it has something to ask.
pub(super) fn due_step(
    form: &StepForm,
    known: &CallPlanner<'_>,
    scope: &Scope,
) -> Result<Option<(StepDraft, String)>, EvaluationError> {
    if !scope.holds(form.condition())? {
        return Ok(None);
    }
    let Some(draft) = draft_step(form, known, scope, usize::MAX, &mut Vec::new())? else {
        return Ok(None);
    };
    let because = match &form.because {
        Some(because) => scope.render_line(because.get_ref())?,
        None => "its condition holds".to_owned(),
    };
    Ok(Some((draft, because)))
}
