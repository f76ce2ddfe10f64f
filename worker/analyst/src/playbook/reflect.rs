//! The answer to a reflection: steps that were held back and whose condition now holds, and what is known so far.

use nightshift_engine::{PlanUpdate, ReflectQuestion, Reflection, StepDraft};

use super::calls::Known;
use super::expression::Broken;
use super::facts::{Facts, Seen};
use super::findings;
use super::form::{Playbook, StepForm};
use super::plan::{draft, keep_known_dependencies};

/// Steps whose `when` holds are added; claims that hold are insights.
pub(super) fn reflect(
    playbook: &Playbook,
    question: &ReflectQuestion,
) -> Result<Reflection, Broken> {
    if *question.source != *playbook.source() {
        return Ok(Reflection::default());
    }
    let seen = Seen {
        past: question.past.as_ref(),
        steps: &question.steps,
        tools: &question.tools,
        source: &question.source,
        ..Seen::default()
    };
    let (facts, mut scope) = Facts::of(playbook, &question.alert, &seen);
    let made = findings::make(playbook, &facts, &mut scope);
    let known = Known::after(&question.alert, &question.tools, &scope);
    let mut added: Vec<(StepDraft, String)> = Vec::new();
    for form in held_back(playbook, question) {
        let when = form.when.as_ref().map(|when| when.get_ref().as_str());
        if added.len() >= question.steps_left || !scope.holds(when)? {
            continue;
        }
        if let Some(draft) = draft(form, &known, &scope, usize::MAX, &mut Vec::new())? {
            let because = match &form.because {
                Some(because) => scope.line(because.get_ref())?,
                None => "its condition holds".to_owned(),
            };
            added.push((draft, because));
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

/// Conditional steps that were neither made nor asked for.
fn held_back<'a>(
    playbook: &'a Playbook,
    question: &'a ReflectQuestion,
) -> impl Iterator<Item = &'a StepForm> {
    playbook.steps.iter().filter(|form| {
        let name = form.id.get_ref();
        let planned = question.steps.iter().any(|view| view.step.name == *name);
        let asked = question.updates.iter().any(
            |record| matches!(&record.update, PlanUpdate::AddStep { step, .. } if step.id == *name),
        );
        form.when.is_some() && !planned && !asked
    })
}
