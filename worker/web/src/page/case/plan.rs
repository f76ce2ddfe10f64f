//! The plan as far as it has run.

use nightshift_engine::conclude::Prose;
use nightshift_engine::evidence::EvidenceId;
use nightshift_engine::plan::{PlanUpdate, StepOutcome, StepStatus, UpdateRecord};
use nightshift_engine::state::State;
use nightshift_pipeline::case::{CaseRow, CaseStatus};
use nightshift_pipeline::report::Report;
use serde::Serialize;

use super::evidence::{Argument, arguments};
use super::{Cite, cites};
use crate::shown::Shown;

/// Most steps, calls of a step, and notes.
const MOST_STEPS: usize = 40;
const MOST_CALLS: usize = 20;
const MOST_NOTES: usize = 20;

#[derive(Debug, Serialize)]
pub(super) struct PlanView {
    source: Shown,
    steps: Vec<StepRow>,
    insights: Vec<Shown>,
    updates: Vec<Shown>,
}

#[derive(Debug, Serialize)]
struct StepRow {
    id: Shown,
    status: &'static str,
    words: &'static str,
    wave: Option<u32>,
    description: Shown,
    summary: Shown,
    reason: Option<Shown>,
    calls: Vec<CallRow>,
}

#[derive(Debug, Serialize)]
struct CallRow {
    tool: Shown,
    arguments: Vec<Argument>,
    rows: Option<u64>,
    error: Option<Shown>,
    cites: Vec<Cite>,
}

/// The progress of an unfinished case.
#[derive(Debug, Serialize)]
pub(super) struct Progress {
    words: &'static str,
    is_over: bool,
    objective: Shown,
    steps: Vec<StepRow>,
    spent: Option<Shown>,
}

impl PlanView {
    pub(super) fn of_report(report: &Report, here: &[EvidenceId]) -> Self {
        let mut steps: Vec<_> = report.steps.iter().collect();
        steps.sort_by_key(|step| step.wave.unwrap_or(u32::MAX));
        let row = |step: &&nightshift_pipeline::report::StepEntry| StepRow {
            id: Shown::foreign(&step.id.0, 12),
            status: class(step.status, step.outcome),
            words: words(step.status, step.outcome),
            wave: step.wave,
            description: Shown::sentence(&step.description),
            summary: Shown::sentence(&step.summary),
            reason: step.reason.as_deref().map(Shown::sentence),
            calls: step
                .calls_made()
                .take(MOST_CALLS)
                .map(|call| CallRow {
                    tool: Shown::foreign(&call.tool, 60),
                    arguments: arguments(&call.arguments),
                    rows: call.rows,
                    error: call
                        .error
                        .as_ref()
                        .map(|error| Shown::foreign(&error.to_string(), 200)),
                    cites: cites(call.evidence, here),
                })
                .collect(),
        };
        Self {
            source: Shown::name(&report.source),
            steps: steps.iter().take(MOST_STEPS).map(row).collect(),
            insights: Shown::sentences(&report.insights, MOST_NOTES),
            updates: report.updates.iter().take(MOST_NOTES).map(update).collect(),
        }
    }
}

impl Progress {
    pub(super) fn new(state: &State, row: &CaseRow) -> Self {
        let plan = state.plan.as_ref();
        let steps = state.step_views();
        let prose = Prose::of(state);
        let row_of = |view: &nightshift_engine::question::StepView| StepRow {
            id: Shown::foreign(&view.step.id.0, 12),
            status: class(view.step.status, view.step.outcome),
            words: words(view.step.status, view.step.outcome),
            wave: view.step.wave,
            description: Shown::sentence(&prose.text(&view.step.description)),
            summary: Shown::sentence(&prose.text(&view.step.summary)),
            reason: view
                .step
                .reason
                .as_deref()
                .map(|why| Shown::sentence(&prose.text(why))),
            calls: view
                .calls
                .iter()
                .take(MOST_CALLS)
                .map(|call| CallRow {
                    tool: Shown::foreign(&call.call.tool, 60),
                    arguments: arguments(&call.call.arguments),
                    rows: None,
                    error: call
                        .refused
                        .as_ref()
                        .map(|error| Shown::foreign(&error.to_string(), 200)),
                    cites: cites(call.evidence.as_ref().map(|evidence| evidence.id), &[]),
                })
                .collect(),
        };
        Self {
            words: match row.status {
                CaseStatus::Queued if state.opened.is_some() => {
                    "It was begun, and waits for a worker to go on with it."
                }
                CaseStatus::Queued => "It waits for a worker.",
                CaseStatus::Running if plan.is_none() => "A worker has it, and makes a plan.",
                CaseStatus::Running => "A worker has it.",
                CaseStatus::Cancelled => "It was called off before it came to a conclusion.",
                CaseStatus::Concluded | CaseStatus::Failed => "Its report cannot be shown.",
            },
            is_over: row.status.is_over(),
            objective: Shown::sentence(
                &plan.map_or_else(String::new, |plan| prose.text(&plan.objective)),
            ),
            steps: steps.iter().take(MOST_STEPS).map(row_of).collect(),
            spent: (state.spent.model_calls > 0).then(|| {
                Shown::made(format_args!(
                    "{:.4} USD, {} model calls",
                    state.spent.usd, state.spent.model_calls
                ))
            }),
        }
    }
}

const fn words(status: StepStatus, outcome: Option<StepOutcome>) -> &'static str {
    match (status, outcome) {
        (StepStatus::Done, Some(StepOutcome::Met)) => "done, met",
        (StepStatus::Done, Some(StepOutcome::Unmet)) => "done, unmet",
        (StepStatus::Done, _) => "done",
        (StepStatus::Failed, _) => "failed",
        (StepStatus::Cancelled, _) => "cancelled",
        (StepStatus::NotRun, _) => "not run",
        (StepStatus::Pending, _) => "pending",
        (StepStatus::Running, _) => "running",
    }
}

const fn class(status: StepStatus, outcome: Option<StepOutcome>) -> &'static str {
    match (status, outcome) {
        (StepStatus::Done, Some(StepOutcome::Unmet)) => "unmet",
        _ => status.as_str(),
    }
}

/// Returns `Reflection 1 cancelled s4 (the owner is known)`, or the wanted change and why it was refused.
fn update(record: &UpdateRecord) -> Shown {
    let number = record.reflection;
    let wanted = if record.refused.is_none() {
        ""
    } else {
        "wanted: "
    };
    let what = match &record.update {
        PlanUpdate::AddStep { step, .. } if step.description.is_empty() => {
            Shown::made(format_args!("add a step"))
        }
        PlanUpdate::AddStep { step, .. } => Shown::made(format_args!(
            "add \u{201c}{}\u{201d}",
            Shown::sentence(&step.description)
        )),
        PlanUpdate::UpdateStep {
            id, description, ..
        } if description.is_empty() => {
            Shown::made(format_args!("change {}", Shown::foreign(&id.0, 12)))
        }
        PlanUpdate::UpdateStep {
            id, description, ..
        } => Shown::made(format_args!(
            "change {} to \u{201c}{}\u{201d}",
            Shown::foreign(&id.0, 12),
            Shown::sentence(description)
        )),
        PlanUpdate::CancelStep { id, .. } => {
            Shown::made(format_args!("cancel {}", Shown::foreign(&id.0, 12)))
        }
    };
    let why = match record.update.reason() {
        "" => Shown::default(),
        reason => Shown::made(format_args!(" ({})", Shown::sentence(reason))),
    };
    match &record.refused {
        Some(refused) => Shown::made(format_args!(
            "Reflection {number} {wanted}{what}{why}; refused: {}",
            Shown::sentence(refused)
        )),
        None => Shown::made(format_args!("Reflection {number}: {what}{why}")),
    }
}
