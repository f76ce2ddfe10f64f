//! Renders the progress of a case that has not come to its end: the plan as far as it has run.

use chrono::{DateTime, Utc};
use nightshift_engine::conclude::ProseFilter;
use nightshift_engine::state::CaseState;
use nightshift_pipeline::case::{CaseRow, CaseStatus};
use nightshift_pipeline::language::Language;
use nightshift_pipeline::report::steps_so_far;
use nightshift_report::render_steps_html;
use serde::Serialize;

use crate::safe_text::SafeText;

/// The maximum number of steps.
const MOST_STEPS: usize = 40;

#[derive(Debug, Serialize)]
pub(super) struct Progress {
    words: &'static str,
    is_over: bool,
    objective: SafeText,
    /// The steps as HTML.
    steps: String,
    spent: Option<SafeText>,
}

impl Progress {
    pub(super) fn new(
        state: &CaseState,
        row: &CaseRow,
        language: Language,
        now: DateTime<Utc>,
    ) -> Self {
        let plan = state.plan.as_ref();
        let prose = ProseFilter::from_state(state);
        let mut steps = steps_so_far(state);
        steps.truncate(MOST_STEPS);
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
            steps: render_steps_html(&steps, language, now),
            spent: (state.spent.model_calls > 0).then(|| {
                SafeText::from_own(format_args!(
                    "{:.4} USD, {} model calls",
                    state.spent.usd, state.spent.model_calls
                ))
            }),
        }
    }
}
