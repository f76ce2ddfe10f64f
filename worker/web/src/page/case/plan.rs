//! Renders the plan as far as it has run.

use nightshift_engine::conclude::ProseFilter;
use nightshift_engine::evidence::EvidenceId;
use nightshift_engine::plan::{PlanUpdate, PlanUpdateRecord, StepOutcome, StepStatus};
use nightshift_engine::state::CaseState;
use nightshift_pipeline::case::{CaseRow, CaseStatus};
use nightshift_pipeline::report::Report;
use serde::Serialize;

use super::evidence::{Argument, arguments};
use super::{Cite, cites};
use crate::safe_text::SafeText;

/// The maximum number of steps.
const MOST_STEPS: usize = 40;
const MOST_CALLS: usize = 20;
const MOST_NOTES: usize = 20;

#[derive(Debug, Serialize)]
pub(super) struct PlanView {
    source: SafeText,
    steps: Vec<StepRow>,
    insights: Vec<SafeText>,
    updates: Vec<SafeText>,
}

#[derive(Debug, Serialize)]
struct StepRow {
    id: SafeText,
    status: &'static str,
    words: &'static str,
    wave: Option<u32>,
    description: SafeText,
    summary: SafeText,
    reason: Option<SafeText>,
    calls: Vec<CallRow>,
}

#[derive(Debug, Serialize)]
struct CallRow {
    tool: SafeText,
    arguments: Vec<Argument>,
    rows: Option<u64>,
    error: Option<SafeText>,
    cites: Vec<Cite>,
}

/// The progress of an unfinished case.
#[derive(Debug, Serialize)]
pub(super) struct Progress {
    words: &'static str,
    is_over: bool,
    objective: SafeText,
    steps: Vec<StepRow>,
    spent: Option<SafeText>,
}

impl PlanView {
    pub(super) fn of_report(report: &Report, here: &[EvidenceId]) -> Self {
        let mut steps: Vec<_> = report.steps.iter().collect();
        steps.sort_by_key(|step| step.wave.unwrap_or(u32::MAX));
        let row = |step: &&nightshift_pipeline::report::StepEntry| StepRow {
            id: SafeText::from_foreign(&step.id.0, 12),
            status: class(step.status, step.outcome),
            words: words(step.status, step.outcome),
            wave: step.wave,
            description: SafeText::sentence(&step.description),
            summary: SafeText::sentence(&step.summary),
            reason: step.reason.as_deref().map(SafeText::sentence),
            calls: step
                .calls_made()
                .take(MOST_CALLS)
                .map(|call| CallRow {
                    tool: SafeText::from_foreign(&call.tool, 60),
                    arguments: arguments(&call.arguments),
                    rows: call.rows,
                    error: call
                        .error
                        .as_ref()
                        .map(|error| SafeText::from_foreign(&error.to_string(), 200)),
                    cites: cites(call.evidence, here),
                })
                .collect(),
        };
        Self {
            source: SafeText::name(&report.source),
            steps: steps.iter().take(MOST_STEPS).map(row).collect(),
            insights: SafeText::sentences(&report.insights, MOST_NOTES),
            updates: report.updates.iter().take(MOST_NOTES).map(update).collect(),
        }
    }
}

impl Progress {
    pub(super) fn new(state: &CaseState, row: &CaseRow) -> Self {
        let plan = state.plan.as_ref();
        let steps = state.step_views();
        let prose = ProseFilter::from_state(state);
        let row_of = |view: &nightshift_engine::question::StepView| StepRow {
            id: SafeText::from_foreign(&view.step.id.0, 12),
            status: class(view.step.status, view.step.outcome),
            words: words(view.step.status, view.step.outcome),
            wave: view.step.wave,
            description: SafeText::sentence(&prose.filter_text(&view.step.description)),
            summary: SafeText::sentence(&prose.filter_text(&view.step.summary)),
            reason: view
                .step
                .reason
                .as_deref()
                .map(|why| SafeText::sentence(&prose.filter_text(why))),
            calls: view
                .calls
                .iter()
                .take(MOST_CALLS)
                .map(|call| CallRow {
                    tool: SafeText::from_foreign(&call.call.tool, 60),
                    arguments: arguments(&call.call.arguments),
                    rows: None,
                    error: call
                        .refused
                        .as_ref()
                        .map(|error| SafeText::from_foreign(&error.to_string(), 200)),
                    cites: cites(call.evidence.as_ref().map(|evidence| evidence.id), &[]),
                })
                .collect(),
        };
        Self {
            words: match row.status {
                CaseStatus::Queued if state.setup.is_some() => {
                    "It was begun, and waits for a worker to go on with it."
                }
                CaseStatus::Queued => "It waits for a worker.",
                CaseStatus::Running if plan.is_none() => "A worker has it, and makes a plan.",
                CaseStatus::Running => "A worker has it.",
                CaseStatus::Cancelled => "It was called off before it came to a conclusion.",
                CaseStatus::Concluded | CaseStatus::Failed => "Its report cannot be shown.",
            },
            is_over: row.status.is_over(),
            objective: SafeText::sentence(
                &plan.map_or_else(String::new, |plan| prose.filter_text(&plan.objective)),
            ),
            steps: steps.iter().take(MOST_STEPS).map(row_of).collect(),
            spent: (state.spent.model_calls > 0).then(|| {
                SafeText::from_own(format_args!(
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
fn update(record: &PlanUpdateRecord) -> SafeText {
    let number = record.reflection;
    let wanted = if record.refused.is_none() {
        ""
    } else {
        "wanted: "
    };
    let what = match &record.update {
        PlanUpdate::AddStep { step, .. } if step.description.is_empty() => {
            SafeText::from_own(format_args!("add a step"))
        }
        PlanUpdate::AddStep { step, .. } => SafeText::from_own(format_args!(
            "add \u{201c}{}\u{201d}",
            SafeText::sentence(&step.description)
        )),
        PlanUpdate::UpdateStep {
            id, description, ..
        } if description.is_empty() => {
            SafeText::from_own(format_args!("change {}", SafeText::from_foreign(&id.0, 12)))
        }
        PlanUpdate::UpdateStep {
            id, description, ..
        } => SafeText::from_own(format_args!(
            "change {} to \u{201c}{}\u{201d}",
            SafeText::from_foreign(&id.0, 12),
            SafeText::sentence(description)
        )),
        PlanUpdate::CancelStep { id, .. } => {
            SafeText::from_own(format_args!("cancel {}", SafeText::from_foreign(&id.0, 12)))
        }
    };
    let why = match record.update.reason() {
        "" => SafeText::default(),
        reason => SafeText::from_own(format_args!(" ({})", SafeText::sentence(reason))),
    };
    match &record.refused {
        Some(refused) => SafeText::from_own(format_args!(
            "Reflection {number} {wanted}{what}{why}; refused: {}",
            SafeText::sentence(refused)
        )),
        None => SafeText::from_own(format_args!("Reflection {number}: {what}{why}")),
    }
}
