//! Coverage: which sources were read, and what the report must say was not.

use std::collections::{BTreeMap, BTreeSet};

use nightshift_alert::Flag;
use serde_json::Value;

use super::Prose;
use crate::{Coverage, Evidence, Searched, State, Step, StepStatus, Trust};

/// Sources by tool: read when one of its calls was answered, of a log by one that has the time of the alert.
pub(super) fn of(state: &State) -> Coverage {
    let mut sources: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for evidence in state.evidence.values().filter(|evidence| evidence.id.0 > 0) {
        let problem = evidence.error.as_ref().map(ToString::to_string);
        sources
            .entry(&evidence.tool)
            .and_modify(|known| {
                if problem.is_none() {
                    *known = None;
                }
            })
            .or_insert(problem);
    }
    for (tool, silence) in silent(state) {
        sources.insert(tool, Some(silence));
    }
    let not_covered = not_covered(state);
    let read = sources.values().filter(|problem| problem.is_none()).count();
    let mut missing: Vec<String> = sources
        .iter()
        .filter_map(|(tool, problem)| problem.as_ref().map(|why| format!("{tool}: {why}")))
        .collect();
    missing.extend(not_covered.iter().map(|line| (*line).to_owned()));
    Coverage {
        read,
        wanted: sources.len() + not_covered.len(),
        missing,
    }
}

/// The logs that answered, and of the alert's time have nothing, each with what it has: that they show nothing says nothing.
fn silent(state: &State) -> BTreeMap<&str, String> {
    let Some(alert) = state.alert() else {
        return BTreeMap::new();
    };
    let mut logs: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for evidence in state.evidence.values() {
        if let Some(searched) = Searched::of(evidence) {
            let silence = searched.silence(&alert.times);
            let known = logs
                .entry(&evidence.tool)
                .or_insert_with(|| silence.clone());
            *known = known.take().and(silence);
        }
    }
    let silent = logs.into_iter();
    silent
        .filter_map(|(tool, why)| Some((tool, why?)))
        .collect()
}

/// What was not asked because nobody configured it, as the plan says it and as the conclusion does: a case without a plan
/// hears of it only there.
fn not_covered(state: &State) -> Vec<&str> {
    let by_plan = state.plan.iter().flat_map(|plan| &plan.not_covered);
    let by_draft = state.draft.iter().flat_map(|draft| &draft.not_covered);
    let mut told = BTreeSet::new();
    let lines = by_plan.chain(by_draft).map(String::as_str);
    lines.filter(|line| told.insert(*line)).collect()
}

/// What the engine knows was not seen: failed and unrun steps, logs of another time, and answers that were cut.
pub(super) fn gaps(state: &State, prose: &Prose<'_>) -> Vec<String> {
    let steps = state.steps().iter().filter_map(|step| match step.status {
        StepStatus::Failed => {
            let failed = format!("{} failed", named(step, prose));
            let why = Some(prose.text(&step.summary)).filter(|why| !why.is_empty());
            Some(why.map_or_else(|| failed.clone(), |why| format!("{failed}: {why}")))
        }
        StepStatus::NotRun | StepStatus::Pending | StepStatus::Running if !state.achieved => {
            Some(format!("{} was not run", named(step, prose)))
        }
        _ => None,
    });
    let cut = state
        .evidence
        .values()
        .filter(|evidence| evidence.truncated)
        .map(|evidence| cut(state, evidence));
    let lesser = state
        .degraded
        .first()
        .map(|why| format!("The playbook took over from the model ({why})"));
    let silent = silent(state).into_iter();
    let silent = silent.map(|(tool, silence)| format!("{tool} has {silence}"));
    steps.chain(silent).chain(cut).chain(lesser).collect()
}

/// A step by what may be shown of its words, else by its number.
fn named(step: &Step, prose: &Prose<'_>) -> String {
    let words = prose.text(&step.description);
    if words.is_empty() {
        format!("step {}", step.id)
    } else {
        words
    }
}

/// What an answer that was cut does not hold: in its tool's own words where we wrote them, else in numbers.
fn cut(state: &State, evidence: &Evidence) -> String {
    let (id, tool, body) = (evidence.id, &evidence.tool, evidence.body.value());
    let note = body.get("note").and_then(Value::as_str);
    if let Some(note) = note.filter(|_| state.trust(evidence, "/note") > Trust::External) {
        return format!("{id} ({tool}) is not whole: {note}");
    }
    let kept = evidence.flags.iter().find_map(|flag| match flag {
        Flag::Truncated { path } => body.pointer(path)?.as_array().map(Vec::len),
        _ => None,
    });
    let found = evidence.rows.and_then(|rows| usize::try_from(rows).ok());
    match kept.zip(found) {
        Some((kept, found)) if kept < found => {
            format!("{id} ({tool}) is not whole: {kept} of {found} rows")
        }
        _ => format!("{id} ({tool}) was cut for its size"),
    }
}

#[cfg(test)]
mod tests;
