//! Renders the progress of a case that has not come to its end: the plan as far as it has run.

use chrono::{DateTime, Utc};
use nightshift_engine::conclude::ProseFilter;
use nightshift_engine::state::CaseState;
use nightshift_pipeline::case::{CaseRow, CaseStatus};
use nightshift_pipeline::language::Language;
use nightshift_pipeline::report::steps_so_far;
use nightshift_render::{Line, cost, render_steps_html};
use serde::Serialize;

/// The maximum number of steps.
const MOST_STEPS: usize = 40;

#[derive(Debug, Serialize)]
pub(super) struct Progress {
    words: &'static str,
    is_over: bool,
    objective: Line,
    /// The steps as HTML.
    steps: String,
    spent: Option<Line>,
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
                CaseStatus::Queued if state.setup.is_some() => language.pick(
                    "It was begun, and waits for a worker to go on with it.",
                    "調査を始めましたが、続きを行うワーカーを待っています。",
                ),
                CaseStatus::Queued => {
                    language.pick("It waits for a worker.", "ワーカーを待っています。")
                }
                CaseStatus::Running if plan.is_none() => language.pick(
                    "A worker has it, and makes a plan.",
                    "ワーカーが計画を作成しています。",
                ),
                CaseStatus::Running => {
                    language.pick("A worker has it.", "ワーカーが調査しています。")
                }
                CaseStatus::Cancelled => language.pick(
                    "It was called off before it came to a conclusion.",
                    "結論が出る前に取り消されました。",
                ),
                CaseStatus::Concluded | CaseStatus::Failed => {
                    language.pick("Its report cannot be shown.", "レポートを表示できません。")
                }
            },
            is_over: row.status.is_over(),
            objective: Line::from_sentence(
                &plan.map_or_else(String::new, |plan| prose.filter_text(&plan.objective)),
            ),
            steps: render_steps_html(&steps, language, now),
            spent: (state.spent.model_calls > 0)
                .then(|| Line::default().made(cost(language, &state.spent))),
        }
    }
}
