use std::sync::Arc;

use nightshift_engine::{Event, fold, read_event};

use super::*;

const EVENTS: &str = include_str!("../../../../../tests/fixtures/journals/v1/planned.jsonl");

fn recorded() -> State {
    let events: Vec<Event> = EVENTS
        .lines()
        .map(|line| read_event(line).unwrap())
        .collect();
    fold(&events)
}

#[test]
fn a_report_says_by_which_prompts_it_was_made_and_one_that_says_nothing_of_it_is_still_read() {
    let mut state = recorded();
    let opened = Arc::make_mut(state.opened.as_mut().unwrap());
    opened.prompts = "1a2b3c4d5e6f7081".to_owned();
    let report = build(&state, &Sender::default()).unwrap();
    assert_eq!(report.prompts_in_short(), Some("1a2b3c4d"));
    let written = serde_json::to_value(&report).unwrap();
    assert_eq!(written["prompts"], "1a2b3c4d5e6f7081");
    // A report of an earlier version has this form, and so has one where no model was to be asked.
    let mut older = written;
    older.as_object_mut().unwrap().remove("prompts");
    let read: Report = serde_json::from_value(older.clone()).unwrap();
    assert_eq!(read.prompts_in_short(), None);
    assert_eq!(serde_json::to_value(&read).unwrap(), older);
}
