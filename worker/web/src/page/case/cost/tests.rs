use std::sync::Arc;

use nightshift_engine::event::Event;
use nightshift_engine::journal::read_event;

use super::*;
use crate::testing::{FakeStore, get, report, view};

const EVENTS: &str = include_str!("../../../../../../tests/fixtures/journals/v1/planned.jsonl");

/// Returns a case whose questions a model answered at this cost each, except for the reflections, which got no
/// answer.
fn asked(usd: f64) -> CaseView {
    let mut case = view(Some(report()));
    let events = EVENTS.lines().map(|line| read_event(line).unwrap());
    case.events = events
        .map(|mut event: Event| {
            if let EventBody::Finished {
                id, cost, model, ..
            } = &mut event.body
                && place(id) < QUESTIONS.len()
            {
                *cost = Cost {
                    usd,
                    input_tokens: 5_600,
                    cached_tokens: 4_100,
                    output_tokens: 520,
                    model_calls: 1,
                };
                *model = (!id.0.starts_with("reflect")).then(|| "openai/gpt-x".to_owned());
            }
            event
        })
        .collect();
    case
}

fn told(case: &CaseView) -> String {
    let rows = rows(case, Language::En).into_iter().map(|one| {
        let took = one.took.map_or_else(String::new, |took| took.to_string());
        format!(
            "{} | {} | {} | {} | {} | {} | {took}",
            one.question, one.model, one.calls, one.input, one.output, one.usd
        )
    });
    rows.collect::<Vec<_>>().join("\n")
}

#[test]
fn each_question_is_told_by_model_and_what_was_lost_by_itself() {
    let mut case = asked(0.01);
    let spent = nightshift_engine::fold::fold(&case.events).spent;
    case.report.as_mut().unwrap().cost = spent;
    insta::assert_snapshot!(told(&case), @"
    Plan | openai/gpt-x | 1 | 5600 | 520 | 0.0100 | 0.1 s
    Step turns | openai/gpt-x | 8 | 44800 | 4160 | 0.0800 | 0.1 s
    Reflections | none answered | 3 | 16800 | 1560 | 0.0300 | 0.0 s
    Conclusion | openai/gpt-x | 1 | 5600 | 520 | 0.0100 | 0.0 s
    ");
    let cost = &mut case.report.as_mut().unwrap().cost;
    cost.model_calls += 2;
    cost.usd += 0.5;
    assert!(told(&case).ends_with("\nLost before it was noted |  | 2 | 0 | 0 | 0.5000 | "));
}

#[test]
fn cost_is_absent_for_a_triage_without_model_or_events() {
    let mut case = asked(0.01);
    case.report.as_mut().unwrap().revision = 2;
    assert_eq!(rows(&case, Language::En), []);
    case.report = None;
    assert_eq!(rows(&case, Language::En), []);
    let mut case = asked(0.0);
    case.report.as_mut().unwrap().cost = Cost::default();
    let events = EVENTS.lines().map(|line| read_event(line).unwrap());
    case.events = events.collect();
    assert_eq!(rows(&case, Language::En), []);
}

#[tokio::test]
async fn the_page_has_it_folded_away() {
    let page = get(
        Arc::new(FakeStore::with_views(vec![asked(0.01)])),
        "/cases/k3f9",
    )
    .await;
    for words in [
        "<details>\n<summary>What it cost, by question and model</summary>",
        "colspan=\"5\">Step turns · openai&#x2f;gpt-x</th></tr>\n<tr><td>8</td><td>44800</td><td>4160</td><td>0.0800</td>",
    ] {
        assert!(page.text.contains(words), "no {words:?} in {}", page.text);
    }
    let none = get(
        Arc::new(FakeStore::with_views(vec![view(Some(report()))])),
        "/cases/k3f9",
    )
    .await;
    assert!(!none.text.contains("What it cost"));
}
