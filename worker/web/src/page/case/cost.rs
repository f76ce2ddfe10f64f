//! Renders the cost of a triage by question and model, summed up over the events of the case.

use std::collections::{BTreeMap, HashMap};

use nightshift_engine::event::{CommandId, EventBody};
use nightshift_engine::limits::Cost;
use nightshift_pipeline::case::CaseView;
use serde::Serialize;

use crate::safe_text::{SafeText, duration_text};

/// The maximum number of rows. There are six questions and few models.
const MOST: usize = 24;

#[derive(Debug, PartialEq, Serialize)]
pub(super) struct CostRow {
    question: &'static str,
    model: SafeText,
    calls: u64,
    input: u64,
    output: u64,
    usd: SafeText,
    took: Option<SafeText>,
}

/// The questions in the order in which they are asked.
const QUESTIONS: [(&str, &str); 5] = [
    ("plan", "Plan"),
    ("turn", "Step turns"),
    ("decide", "Decisions"),
    ("reflect", "Reflections"),
    ("conclude", "Conclusion"),
];

/// Returns the costs of the shown report. The result is empty when no model was asked, and for an earlier report,
/// whose events the page does not load.
pub(super) fn rows(view: &CaseView) -> Vec<CostRow> {
    let opened = view.events.first().map(|event| &event.body);
    let report = view.report.as_ref();
    let Some((report, EventBody::Opened(opened))) = report.zip(opened) else {
        return Vec::new();
    };
    if opened.revision != report.revision {
        return Vec::new();
    }
    let (mut begun, mut sums) = (HashMap::new(), BTreeMap::new());
    let mut rest = report.cost;
    for event in &view.events {
        let (id, cost, model) = match &event.body {
            EventBody::Started { id, .. } => {
                begun.insert(id, event.at);
                continue;
            }
            EventBody::Finished {
                id, cost, model, ..
            } => (id, cost, model.as_deref()),
            EventBody::Withdrawn { id, cost, .. } => (id, cost, None),
            _ => continue,
        };
        let waited = begun
            .remove(id)
            .map(|at| (event.at - at).num_milliseconds());
        if *cost == Cost::default() {
            continue;
        }
        let (sum, ms): &mut (Cost, u64) = sums.entry((place(id), model)).or_default();
        *sum += *cost;
        *ms += waited.and_then(|ms| u64::try_from(ms).ok()).unwrap_or(0);
        without(&mut rest, cost);
    }
    let mut rows: Vec<CostRow> = sums
        .into_iter()
        .map(|((place, model), (cost, ms))| {
            let question = QUESTIONS.get(place).map_or("Others", |(_, words)| words);
            let model = model.map_or_else(none_answered, SafeText::name);
            row(question, model, &cost, Some(duration_text(ms)))
        })
        .collect();
    rows.truncate(MOST);
    if rest.model_calls > 0 {
        // This is the cost of calls by a lost worker, which is charged as reserved.
        rows.push(row(
            "Lost before it was noted",
            SafeText::default(),
            &rest,
            None,
        ));
    }
    rows
}

fn place(id: &CommandId) -> usize {
    let kind = id.0.split(':').next();
    let found = QUESTIONS.iter().position(|(name, _)| Some(*name) == kind);
    found.unwrap_or(QUESTIONS.len())
}

fn none_answered() -> SafeText {
    SafeText::from_own(format_args!("none answered"))
}

fn row(question: &'static str, model: SafeText, cost: &Cost, took: Option<SafeText>) -> CostRow {
    CostRow {
        question,
        model,
        calls: cost.model_calls,
        input: cost.input_tokens,
        output: cost.output_tokens,
        usd: SafeText::from_own(format_args!("{:.4}", cost.usd)),
        took,
    }
}

/// Subtracts `cost` from `rest`.
fn without(rest: &mut Cost, cost: &Cost) {
    rest.usd = (rest.usd - cost.usd).max(0.0);
    rest.model_calls = rest.model_calls.saturating_sub(cost.model_calls);
    rest.input_tokens = rest.input_tokens.saturating_sub(cost.input_tokens);
    rest.output_tokens = rest.output_tokens.saturating_sub(cost.output_tokens);
}

#[cfg(test)]
mod tests;
