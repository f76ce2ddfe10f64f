//! Determines which sources were read, and which gaps the report must name.

use std::collections::{BTreeMap, BTreeSet};

use nightshift_alert::ContentFlag;
use serde_json::Value;

use super::ProseFilter;
use crate::conclusion::SourceCoverage;
use crate::evidence::Evidence;
use crate::log_time_range::LogTimeRange;
use crate::plan::{Step, StepStatus};
use crate::state::CaseState;
use crate::tool::Trust;

/// Counts sources by tool. A tool is read when one of its calls was answered; a log must also have rows of the
/// alert's time.
pub(super) fn measure_coverage(state: &CaseState) -> SourceCoverage {
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
    for (tool, silence) in silent_logs(state) {
        sources.insert(tool, Some(silence));
    }
    let not_covered = unconfigured_sources(state);
    let read = sources.values().filter(|problem| problem.is_none()).count();
    let mut missing: Vec<String> = sources
        .iter()
        .filter_map(|(tool, problem)| problem.as_ref().map(|why| format!("{tool}: {why}")))
        .collect();
    missing.extend(not_covered.iter().map(|line| (*line).to_owned()));
    SourceCoverage {
        read,
        wanted: sources.len() + not_covered.len(),
        missing,
    }
}

/// Returns the logs that answered but hold nothing of the alert's time, each with the time that it covers. Such an
/// answer shows nothing.
fn silent_logs(state: &CaseState) -> BTreeMap<&str, String> {
    let Some(alert) = state.alert() else {
        return BTreeMap::new();
    };
    let mut logs: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for evidence in state.evidence.values() {
        if let Some(searched) = LogTimeRange::from_evidence(evidence) {
            let silence = searched.describe_silence(&alert.times);
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

/// Returns the sources that are not configured, as the plan and the conclusion name them. A case without a plan names
/// them only in the conclusion.
fn unconfigured_sources(state: &CaseState) -> Vec<&str> {
    let by_plan = state.plan.iter().flat_map(|plan| &plan.not_covered);
    let by_draft = state.draft.iter().flat_map(|draft| &draft.not_covered);
    let mut told = BTreeSet::new();
    let lines = by_plan.chain(by_draft).map(String::as_str);
    lines.filter(|line| told.insert(*line)).collect()
}

/// Returns the gaps that the engine knows of: failed and unrun steps, logs of another time, and cut answers.
pub(super) fn coverage_gaps(state: &CaseState, prose: &ProseFilter<'_>) -> Vec<String> {
    let steps = state.steps().iter().filter_map(|step| match step.status {
        StepStatus::Failed => {
            let failed = format!("{} failed", step_label(step, prose));
            let why = Some(prose.filter_text(&step.summary)).filter(|why| !why.is_empty());
            Some(why.map_or_else(|| failed.clone(), |why| format!("{failed}: {why}")))
        }
        StepStatus::NotRun | StepStatus::Pending | StepStatus::Running if !state.achieved => {
            Some(format!("{} was not run", step_label(step, prose)))
        }
        _ => None,
    });
    let cut = state
        .evidence
        .values()
        .filter(|evidence| evidence.truncated)
        .map(|evidence| describe_truncation(state, evidence));
    let lesser = state
        .degraded
        .first()
        .map(|why| format!("The playbook took over from the model ({why})"));
    let silent = silent_logs(state).into_iter();
    let silent = silent.map(|(tool, silence)| format!("{tool} has {silence}"));
    steps.chain(silent).chain(cut).chain(lesser).collect()
}

/// Returns the part of a step's title that may be shown, else its number.
fn step_label(step: &Step, prose: &ProseFilter<'_>) -> String {
    let words = prose.filter_text(&step.description);
    if words.is_empty() {
        format!("step {}", step.id)
    } else {
        words
    }
}

/// Describes what a cut answer lacks: in the words of a built-in tool, else in numbers.
fn describe_truncation(state: &CaseState, evidence: &Evidence) -> String {
    let (id, tool, body) = (evidence.id, &evidence.tool, evidence.body.value());
    let note = body.get("note").and_then(Value::as_str);
    if let Some(note) = note.filter(|_| state.trust(evidence, "/note") > Trust::External) {
        return format!("{id} ({tool}) is not whole: {note}");
    }
    let kept = evidence.flags.iter().find_map(|flag| match flag {
        ContentFlag::Truncated { path } => body.pointer(path)?.as_array().map(Vec::len),
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
