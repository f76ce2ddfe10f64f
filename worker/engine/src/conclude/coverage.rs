//! Coverage: which sources were read, and what the report must say was not.

use std::collections::BTreeMap;

use crate::{Coverage, State, StepStatus};

/// Sources by tool: read when one of its calls was answered.
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
    let not_covered = state
        .plan
        .as_ref()
        .map_or(&[][..], |plan| &plan.not_covered);
    let read = sources.values().filter(|problem| problem.is_none()).count();
    let mut missing: Vec<String> = sources
        .iter()
        .filter_map(|(tool, problem)| problem.as_ref().map(|why| format!("{tool}: {why}")))
        .collect();
    missing.extend(not_covered.iter().cloned());
    Coverage {
        read,
        wanted: sources.len() + not_covered.len(),
        missing,
    }
}

/// What the engine knows was not seen: failed and unrun steps, and answers that were cut.
pub(super) fn gaps(state: &State) -> Vec<String> {
    let steps = state.steps().iter().filter_map(|step| match step.status {
        StepStatus::Failed => Some(format!("{} failed: {}", step.description, step.summary)),
        StepStatus::NotRun | StepStatus::Pending | StepStatus::Running if !state.achieved => {
            Some(format!("{} was not run", step.description))
        }
        _ => None,
    });
    let cut = state
        .evidence
        .values()
        .filter(|evidence| evidence.truncated)
        .map(|evidence| format!("{} ({}) was cut for its size", evidence.id, evidence.tool));
    let lesser = state
        .degraded
        .first()
        .map(|why| format!("The playbook took over from the model ({why})"));
    steps.chain(cut).chain(lesser).collect()
}
