//! Folds plans. A plan is accepted once, and later changed only in steps that have not started.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::turn;
use crate::plan::{
    Plan, PlanMode, PlanUpdate, PlanUpdateRecord, Step, StepDraft, StepId, StepOutcome, StepStatus,
};
use crate::question::{AskError, PlanAnswer, Reflection};
use crate::state::{CaseState, StepWork};
use crate::strategy::{ReflectionMode, Strategy};
use crate::tool::ToolCall;

/// Accepts the plan. Ids are renumbered, each edge that closes a cycle is removed, and steps above the limit are left
/// out.
pub(super) fn apply_plan(state: &mut CaseState, answer: &PlanAnswer) {
    let Some(opened) = state.setup.clone() else {
        return;
    };
    if state.plan.is_some() {
        return;
    }
    let most = opened.limits.first_plan_steps.min(opened.limits.steps);
    let mode = match opened.options.strategy {
        Strategy::Auto => answer.mode,
        Strategy::Planned => PlanMode::Planned,
        Strategy::Adaptive => PlanMode::Adaptive,
        Strategy::Direct => PlanMode::Direct,
    };
    let mut plan = Plan {
        mode,
        objective: answer.objective.clone(),
        steps: Vec::new(),
        source: answer.source.clone(),
        not_covered: answer.not_covered.clone(),
        conditional: answer.conditional,
    };
    if mode == PlanMode::Planned && answer.steps.len() > most {
        state.insights.push(format!(
            "{} steps were planned, the first {most} are kept",
            answer.steps.len()
        ));
    }
    let most = match mode {
        PlanMode::Planned => most,
        PlanMode::Direct => 1,
        PlanMode::Adaptive => 0,
    };
    let mut drafts: Vec<StepDraft> = answer.steps.iter().take(most).cloned().collect();
    if drafts.is_empty() && mode != PlanMode::Adaptive {
        drafts.push(implicit_step(&answer.objective));
    }
    let ids: BTreeMap<String, StepId> = drafts
        .iter()
        .enumerate()
        .rev()
        .map(|(index, draft)| (draft.id.clone(), StepId::numbered(index + 1)))
        .collect();
    for (index, draft) in drafts.iter().enumerate() {
        let id = StepId::numbered(index + 1);
        let depends_on = draft.depends_on.iter().filter_map(|name| ids.get(name));
        let step = new_step(id, draft, depends_on.cloned().collect(), None);
        push_step(state, &mut plan, step);
    }
    break_cycles(&mut plan, &mut state.insights);
    state.plan = Some(plan);
}

/// Sets the plan of a case that asks for none. Its objective is fixed, and its steps are not planned.
pub(super) fn plan_without_question(state: &mut CaseState) {
    let Some(opened) = state.setup.clone() else {
        return;
    };
    let mode = match opened.options.strategy {
        Strategy::Adaptive => PlanMode::Adaptive,
        Strategy::Direct => PlanMode::Direct,
        Strategy::Auto | Strategy::Planned => return,
    };
    let about = opened
        .alert
        .subject()
        .map_or_else(String::new, |subject| format!(" on {subject}"));
    let answer = PlanAnswer {
        mode,
        objective: format!(
            "Find out whether {}{about} is what it looks like",
            opened.alert.kind
        ),
        steps: Vec::new(),
        source: String::new(),
        not_covered: Vec::new(),
        conditional: false,
    };
    apply_plan(state, &answer);
}

/// Returns the single step of an analyst that sees no need for a plan.
fn implicit_step(objective: &str) -> StepDraft {
    StepDraft {
        id: "direct".to_owned(),
        description: objective.to_owned(),
        tools: Vec::new(),
        expected: String::new(),
        depends_on: Vec::new(),
        calls: Vec::new(),
        key: true,
    }
}

fn new_step(
    id: StepId,
    draft: &StepDraft,
    depends_on: Vec<StepId>,
    reason: Option<String>,
) -> Step {
    Step {
        id,
        name: draft.id.clone(),
        description: draft.description.clone(),
        tools: draft.tools.clone(),
        expected: draft.expected.clone(),
        depends_on,
        calls: draft.calls.clone(),
        key: draft.key,
        status: StepStatus::Pending,
        outcome: None,
        summary: String::new(),
        wave: None,
        reason,
    }
}

fn push_step(state: &mut CaseState, plan: &mut Plan, step: Step) {
    state.work.insert(step.id.clone(), StepWork::default());
    turn::add_calls(state, &step.id, &step.calls);
    plan.steps.push(step);
}

/// Removes each dependency that closes a cycle, in the order of the steps.
fn break_cycles(plan: &mut Plan, insights: &mut Vec<String>) {
    let mut edges: BTreeMap<StepId, BTreeSet<StepId>> = BTreeMap::new();
    for step in &mut plan.steps {
        let mut kept = Vec::new();
        for target in std::mem::take(&mut step.depends_on) {
            if target == step.id || reaches(&edges, &target, &step.id) {
                insights.push(format!(
                    "{} does not wait for {target}: that would be a circle",
                    step.id
                ));
            } else {
                edges
                    .entry(step.id.clone())
                    .or_default()
                    .insert(target.clone());
                kept.push(target);
            }
        }
        step.depends_on = kept;
    }
}

fn reaches(edges: &BTreeMap<StepId, BTreeSet<StepId>>, from: &StepId, to: &StepId) -> bool {
    let mut open = vec![from];
    let mut seen = BTreeSet::new();
    while let Some(at) = open.pop() {
        if at == to {
            return true;
        }
        if seen.insert(at) {
            open.extend(edges.get(at).into_iter().flatten());
        }
    }
    false
}

/// Marks the step as running when its first command starts.
pub(super) fn mark_running(state: &mut CaseState, id: &StepId) {
    let is_first = state.steps_with(StepStatus::Running).next().is_none();
    let Some(step) = state.plan.as_mut().and_then(|plan| plan.step_mut(id)) else {
        return;
    };
    if step.status == StepStatus::Pending {
        if is_first {
            state.wave += 1;
        }
        step.status = StepStatus::Running;
        step.wave = Some(state.wave);
        if let Some(work) = state.work.get_mut(id) {
            work.started_at = state.last_at;
        }
    }
}

/// Checks after the end of a step whether its wave has ended and a reflection is due.
pub(super) fn schedule_reflection(state: &mut CaseState) {
    if state.steps_with(StepStatus::Running).next().is_some() {
        return;
    }
    let Some(plan) = &state.plan else {
        return;
    };
    let nothing_left = !plan
        .steps
        .iter()
        .any(|step| step.status == StepStatus::Pending);
    let all_met = plan
        .steps
        .iter()
        .filter(|step| step.wave == Some(state.wave))
        .all(|step| step.outcome == Some(StepOutcome::Met));
    let mode = state
        .setup
        .as_ref()
        .map_or_else(ReflectionMode::default, |opened| opened.options.reflection);
    let is_needed = plan.conditional
        || mode != ReflectionMode::WhenNeeded
        || !all_met
        || calls_for_replanning(state);
    let skip = nothing_left && all_met && !plan.conditional;
    if skip || !is_needed || state.achieved || plan.mode != PlanMode::Planned {
        state.reflected_waves = state.wave;
    }
}

/// Returns whether a result or an error of the last wave holds one of the texts of `replan_when`.
fn calls_for_replanning(state: &CaseState) -> bool {
    let Some(opened) = &state.setup else {
        return false;
    };
    let last: BTreeSet<&StepId> = state
        .steps()
        .iter()
        .filter(|step| step.wave == Some(state.wave))
        .map(|step| &step.id)
        .collect();
    state
        .evidence
        .values()
        .filter(|evidence| {
            evidence
                .step
                .as_ref()
                .is_some_and(|step| last.contains(step))
        })
        .any(|evidence| {
            let body = evidence.body.value();
            opened.options.replan_when.iter().any(|text| {
                contains_text(&body, text)
                    || evidence
                        .error
                        .as_ref()
                        .is_some_and(|error| format!("ERROR: {error}").contains(text))
            })
        })
}

fn contains_text(value: &Value, text: &str) -> bool {
    match value {
        Value::String(found) => found.contains(text),
        Value::Array(list) => list.iter().any(|one| contains_text(one, text)),
        Value::Object(map) => map.values().any(|one| contains_text(one, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Applies a reflection: its insights, and each update that fits.
pub(super) fn apply_reflection(state: &mut CaseState, reflection: &Reflection) {
    state.reflections += 1;
    state.reflected_waves = state.wave;
    state.insights.extend(reflection.insights.iter().cloned());
    for update in &reflection.plan_updates {
        let refused = update_plan(state, update).err();
        state.updates.push(PlanUpdateRecord {
            reflection: state.reflections,
            update: update.clone(),
            refused,
        });
    }
    if reflection.achieved {
        state.achieved = true;
        let still_needed = state
            .plan
            .as_ref()
            .map(needed_for_key_steps)
            .unwrap_or_default();
        mark_not_run_except(state, &still_needed);
    }
}

/// Returns the key steps, without whose results nothing may clear the alert, and their dependencies. They run
/// regardless of the analyst's findings.
fn needed_for_key_steps(plan: &Plan) -> BTreeSet<StepId> {
    let is_open = |step: &&Step| step.status == StepStatus::Pending;
    let mut needed: BTreeSet<StepId> = BTreeSet::new();
    let keys = plan.steps.iter().filter(is_open).filter(|step| step.key);
    let mut open: Vec<&Step> = keys.collect();
    while let Some(step) = open.pop() {
        if needed.insert(step.id.clone()) {
            let waited_for = step.depends_on.iter().filter_map(|id| plan.step(id));
            open.extend(waited_for.filter(is_open));
        }
    }
    needed
}

/// Keeps the plan unchanged when there is no reflection.
pub(super) fn apply_reflection_failure(state: &mut CaseState, error: &AskError) {
    state.reflections += 1;
    state.reflected_waves = state.wave;
    state.insights.push(format!("no reflection: {error}"));
}

/// Marks the steps that will not run.
pub(super) fn mark_rest_not_run(state: &mut CaseState) {
    mark_not_run_except(state, &BTreeSet::new());
}

/// Marks all open steps but these.
fn mark_not_run_except(state: &mut CaseState, but: &BTreeSet<StepId>) {
    let why = if state.achieved {
        "the objective was reached before"
    } else {
        "the case ended before"
    };
    for step in state.plan.iter_mut().flat_map(|plan| &mut plan.steps) {
        if !step.status.is_terminal() && !but.contains(&step.id) {
            step.status = StepStatus::NotRun;
            why.clone_into(&mut step.summary);
        }
    }
}

fn update_plan(state: &mut CaseState, update: &PlanUpdate) -> Result<(), String> {
    match update {
        PlanUpdate::AddStep { step, reason } => add_step(state, step, reason),
        PlanUpdate::UpdateStep {
            id,
            description,
            expected,
            reason,
        } => {
            let step = open_step(state, id)?;
            step.description.clone_from(description);
            if let Some(expected) = expected {
                step.expected.clone_from(expected);
            }
            step.reason = Some(reason.clone());
            Ok(())
        }
        PlanUpdate::CancelStep { id, reason } => {
            let step = open_step(state, id)?;
            if step.key {
                return Err(format!("{id} is a key step: nothing is cleared without it"));
            }
            step.status = StepStatus::Cancelled;
            step.summary.clone_from(reason);
            step.reason = Some(reason.clone());
            Ok(())
        }
    }
}

/// Returns the step of this id if it has not started.
fn open_step<'a>(state: &'a mut CaseState, id: &StepId) -> Result<&'a mut Step, String> {
    let step = state
        .plan
        .as_mut()
        .and_then(|plan| plan.step_mut(id))
        .ok_or("there is no such step")?;
    if step.status == StepStatus::Pending {
        Ok(step)
    } else {
        Err(format!(
            "{id} is {} and stays as it is",
            step.status.as_str()
        ))
    }
}

pub(super) fn add_step(
    state: &mut CaseState,
    draft: &StepDraft,
    reason: &str,
) -> Result<(), String> {
    let most = state.setup.as_ref().map_or(0, |opened| opened.limits.steps);
    let mut plan = state.plan.take().ok_or("there is no plan")?;
    let same = plan.steps.iter().find(|step| is_same_step(step, draft));
    let refused = if plan.steps.len() >= most {
        Some(format!("the plan has its {most} steps"))
    } else {
        same.map(|step| format!("{} is the same step", step.id))
    };
    let mut added = None;
    let result = if let Some(why) = refused {
        Err(why)
    } else {
        let id = StepId::numbered(plan.steps.len() + 1);
        let depends_on = resolve_step_ids(&plan.steps, &draft.depends_on);
        let step = new_step(id, draft, depends_on, Some(reason.to_owned()));
        added = Some((step.id.clone(), step.calls.clone()));
        state.work.insert(step.id.clone(), StepWork::default());
        plan.steps.push(step);
        Ok(())
    };
    state.plan = Some(plan);
    // The calls are checked once the plan holds the step, because added steps have stricter limits than planned ones.
    if let Some((id, calls)) = added {
        turn::add_calls(state, &id, &calls);
    }
    result
}

/// Returns whether a draft repeats an existing step. The analyst's names do not count: it sees only the engine's ids,
/// and its own names start anew with each answer.
fn is_same_step(step: &Step, draft: &StepDraft) -> bool {
    let identities =
        |calls: &[ToolCall]| -> BTreeSet<String> { calls.iter().map(ToolCall::identity).collect() };
    step.description.trim() == draft.description.trim()
        && identities(&step.calls) == identities(&draft.calls)
}

/// Returns the steps of these ids or names. Of several steps with one name the last is taken, because names start
/// anew with each answer.
fn resolve_step_ids(steps: &[Step], names: &[String]) -> Vec<StepId> {
    let found = steps.iter().enumerate().filter(|(index, step)| {
        let is_last = steps
            .iter()
            .skip(index + 1)
            .all(|later| later.name != step.name);
        names.contains(&step.id.0) || (is_last && names.contains(&step.name))
    });
    found.map(|(_, step)| step.id.clone()).collect()
}
