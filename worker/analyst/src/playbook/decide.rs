//! The decide question: the playbook's steps one after the other, each with its calls over the results so far.

use std::collections::BTreeMap;
use std::sync::Arc;

use nightshift_engine::{
    DecideQuestion, Decision, Judgement, Limits, PlanQuestion, Step, StepDraft, StepId, StepStatus,
    StepView, TurnAnswer, TurnQuestion,
};

use super::expression::Broken;
use super::{Playbook, plan, turn};

/// Judges the last action and takes the next step that has something to ask.
pub(super) fn decide(playbook: &Playbook, question: &DecideQuestion) -> Result<Decision, Broken> {
    let planned = plan::plan(
        playbook,
        &PlanQuestion {
            setting: question.setting.clone(),
            alert: Arc::clone(&question.alert),
            past: question.past.clone(),
            tools: Arc::clone(&question.tools),
            limits: Limits::default(),
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
        decision.judgement = Some(judge(playbook, question, view)?);
    }
    let is_new = |draft: &StepDraft| question.steps.iter().all(|view| view.step.name != draft.id);
    for mut draft in planned.steps.into_iter().filter(is_new) {
        let view = unstarted(&draft);
        if let TurnAnswer::Calls { calls, .. } =
            turn::turn(playbook, &asked(playbook, question, view))?
        {
            draft.calls = calls;
            draft.depends_on.clear();
            decision.next = Some(draft);
            break;
        }
    }
    Ok(decision)
}

fn judge(
    playbook: &Playbook,
    question: &DecideQuestion,
    view: &StepView,
) -> Result<Judgement, Broken> {
    Ok(
        match turn::turn(playbook, &asked(playbook, question, view.clone()))? {
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
                outcome: nightshift_engine::StepOutcome::Unmet,
                summary: "more could have been asked".to_owned(),
                findings: Vec::new(),
            },
        },
    )
}

/// A step as it is before its first turn.
fn unstarted(draft: &StepDraft) -> StepView {
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

fn asked(playbook: &Playbook, question: &DecideQuestion, step: StepView) -> TurnQuestion {
    TurnQuestion {
        setting: question.setting.clone(),
        alert: Arc::clone(&question.alert),
        past: question.past.clone(),
        objective: Arc::clone(&question.objective),
        source: playbook.source().into(),
        steps: question.steps.clone(),
        step,
        turn: 1,
        memos: BTreeMap::new(),
        limits: Limits::default(),
        tools: Arc::clone(&question.tools),
    }
}
