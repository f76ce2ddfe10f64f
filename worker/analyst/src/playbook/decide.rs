//! Answers the decide question: first the playbook's steps in order, each with its calls over the results so far,
//! then the conditional steps whose condition holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use nightshift_engine::limits::TriageLimits;
use nightshift_engine::plan::{Step, StepDraft, StepId, StepStatus};
use nightshift_engine::question::{
    DecideQuestion, Decision, Judgement, PlanQuestion, StepView, TurnAnswer, TurnQuestion,
};
use nightshift_expression::error::EvaluationError;

use super::calls::CallPlanner;
use super::facts::QuestionParts;
use super::reflect::{conditional_steps, due_step};
use super::scope;
use super::{Playbook, findings, plan, turn};

/// Judges the last action and takes the next step that has something to ask.
pub(super) fn decide(
    playbook: &Playbook,
    question: &DecideQuestion,
) -> Result<Decision, EvaluationError> {
    let planned = plan::make_plan(
        playbook,
        &PlanQuestion {
            context: question.context.clone(),
            alert: Arc::clone(&question.alert),
            past: question.past.clone(),
            tools: Arc::clone(&question.tools),
            limits: TriageLimits::default(),
        },
    )?;
    let mut decision = Decision {
        objective: planned.objective,
        source: planned.source.clone(),
        reasoning: format!("the next step of {}", planned.source),
        judgement: None,
        next: None,
    };
    let open = question
        .steps
        .iter()
        .find(|view| !view.step.status.is_terminal());
    if let Some(view) = open {
        decision.judgement = Some(judge_step(playbook, question, view)?);
    }
    let is_new = |draft: &StepDraft| question.steps.iter().all(|view| view.step.name != draft.id);
    for draft in planned.steps.into_iter().filter(is_new) {
        decision.next = with_calls(playbook, question, draft)?;
        if decision.next.is_some() {
            return Ok(decision);
        }
    }
    if let Some((next, because)) = next_conditional_step(playbook, question)? {
        decision.reasoning = because;
        decision.next = Some(next);
    }
    Ok(decision)
}

/// Returns the step with its present calls, or `None` when it has none.
fn with_calls(
    playbook: &Playbook,
    question: &DecideQuestion,
    mut draft: StepDraft,
) -> Result<Option<StepDraft>, EvaluationError> {
    let turn = turn::next_turn(
        playbook,
        &step_question(playbook, question, unstarted_step(&draft)),
    )?;
    let TurnAnswer::Calls { calls, .. } = turn else {
        return Ok(None);
    };
    draft.calls = calls;
    draft.depends_on.clear();
    Ok(Some(draft))
}

/// Returns the first conditional step whose condition holds, and why it is made.
fn next_conditional_step(
    playbook: &Playbook,
    question: &DecideQuestion,
) -> Result<Option<(StepDraft, String)>, EvaluationError> {
    let source = playbook.source();
    let parts = QuestionParts {
        past: question.past.as_ref(),
        steps: &question.steps,
        tools: &question.tools,
        source: &source,
        ..QuestionParts::default()
    };
    let (facts, mut scope) = scope::of_question(playbook, &question.alert, &parts);
    findings::evaluate(playbook, &facts, &mut scope);
    let known = CallPlanner::after(&question.alert, &question.tools, &scope);
    for form in conditional_steps(playbook, &question.steps) {
        let Some((draft, because)) = due_step(form, &known, &scope)? else {
            continue;
        };
        if let Some(next) = with_calls(playbook, question, draft)? {
            return Ok(Some((next, because)));
        }
    }
    Ok(None)
}

fn judge_step(
    playbook: &Playbook,
    question: &DecideQuestion,
    view: &StepView,
) -> Result<Judgement, EvaluationError> {
    Ok(
        match turn::next_turn(playbook, &step_question(playbook, question, view.clone()))? {
            TurnAnswer::Result {
                outcome,
                summary,
                findings,
            } => Judgement {
                outcome,
                summary,
                findings,
            },
            TurnAnswer::Calls { .. } => Judgement {
                outcome: nightshift_engine::plan::StepOutcome::Unmet,
                summary: "more could have been asked".to_owned(),
                findings: Vec::new(),
            },
        },
    )
}

/// Returns a step in its state before its first turn.
fn unstarted_step(draft: &StepDraft) -> StepView {
    StepView {
        step: Step {
            id: StepId(draft.id.clone()),
            name: draft.id.clone(),
            description: draft.description.clone(),
            tools: draft.tools.clone(),
            expected: draft.expected.clone(),
            depends_on: Vec::new(),
            calls: Vec::new(),
            key: draft.key,
            status: StepStatus::Running,
            outcome: None,
            summary: String::new(),
            wave: None,
            reason: None,
        },
        calls: Vec::new(),
    }
}

fn step_question(playbook: &Playbook, question: &DecideQuestion, step: StepView) -> TurnQuestion {
    TurnQuestion {
        context: question.context.clone(),
        alert: Arc::clone(&question.alert),
        past: question.past.clone(),
        objective: Arc::clone(&question.objective),
        source: playbook.source().into(),
        steps: question.steps.clone(),
        step,
        turn: 1,
        memos: BTreeMap::new(),
        limits: TriageLimits::default(),
        tools: Arc::clone(&question.tools),
    }
}
