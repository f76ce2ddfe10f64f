//! Renders the cost of a triage by question and model, summed up over the events of the case.

use std::collections::{BTreeMap, HashMap};

use nightshift_engine::event::{CommandId, EventBody};
use nightshift_engine::limits::Cost;
use nightshift_pipeline::case::CaseView;
use nightshift_pipeline::language::Language;
use nightshift_render::{Line, took};
use serde::Serialize;

/// The maximum number of rows. There are six questions and few models.
const MOST: usize = 24;

#[derive(Debug, PartialEq, Serialize)]
pub(super) struct CostRow {
    question: &'static str,
    model: Line,
    calls: u64,
    input: u64,
    output: u64,
    usd: String,
    took: Option<Line>,
}

/// The questions in the order in which they are asked.
const QUESTIONS: [(&str, &str, &str); 5] = [
    ("plan", "Plan", "計画"),
    ("turn", "Step turns", "手順"),
    ("decide", "Decisions", "決定"),
    ("reflect", "Reflections", "見直し"),
    ("conclude", "Conclusion", "結論"),
];

/// Returns the costs of the shown report. The result is empty when no model was asked, and for an earlier report,
/// whose events the page does not load.
pub(super) fn rows(view: &CaseView, language: Language) -> Vec<CostRow> {
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
            let (_, en, ja) = QUESTIONS.get(place).unwrap_or(&("", "Others", "その他"));
            let none = || Line::from_static(language.pick("none answered", "応答なし"));
            let model = model.map_or_else(none, Line::from_name);
            let took = Line::default().made(took(language, ms));
            row(language.pick(en, ja), model, &cost, Some(took))
        })
        .collect();
    rows.truncate(MOST);
    if rest.model_calls > 0 {
        // This is the cost of calls by a lost worker, which is charged as reserved.
        rows.push(row(
            language.pick("Lost before it was noted", "記録前に失われた分"),
            Line::default(),
            &rest,
            None,
        ));
    }
    rows
}

fn place(id: &CommandId) -> usize {
    let kind = id.0.split(':').next();
    let found = QUESTIONS.iter().position(|(name, ..)| Some(*name) == kind);
    found.unwrap_or(QUESTIONS.len())
}

fn row(question: &'static str, model: Line, cost: &Cost, took: Option<Line>) -> CostRow {
    CostRow {
        question,
        model,
        calls: cost.model_calls,
        input: cost.input_tokens,
        output: cost.output_tokens,
        usd: format!("{:.4}", cost.usd),
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
