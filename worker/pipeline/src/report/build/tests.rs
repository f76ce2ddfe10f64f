use std::sync::Arc;

use nightshift_engine::event::Event;
use nightshift_engine::fold::fold;
use nightshift_engine::journal::read_event;

use super::*;

const EVENTS: &str = include_str!("../../../../../tests/fixtures/journals/v1/planned.jsonl");

fn recorded() -> CaseState {
    let events: Vec<Event> = EVENTS
        .lines()
        .map(|line| read_event(line).unwrap())
        .collect();
    fold(&events)
}

#[test]
fn report_names_the_prompts_that_made_it() {
    let mut state = recorded();
    let opened = Arc::make_mut(state.setup.as_mut().unwrap());
    opened.prompts_hash = "1a2b3c4d5e6f7081".to_owned();
    let report = build(&state, &ReportProducer::default()).unwrap();
    assert_eq!(report.prompts_in_short(), Some("1a2b3c4d"));
    let written = serde_json::to_value(&report).unwrap();
    assert_eq!(written["prompts"], "1a2b3c4d5e6f7081");
}
