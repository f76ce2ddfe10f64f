use chrono::DateTime;
use nightshift_engine::journal::read_event;
use nightshift_engine::limits::Cost;
use nightshift_engine::question::AskError;

use super::*;

const EVENTS: &str = include_str!("../../../../tests/fixtures/journals/v1/planned.jsonl");

/// Returns all lines of an event.
fn event_lines(before: &CaseState, state: &CaseState, body: &EventBody) -> Vec<String> {
    let mut lines = milestones(before, state, body);
    lines.extend(details(before, state, body));
    lines
}

/// Returns the lines of a recorded case in which each answer but those of tools costs `usd`.
fn said(usd: f64) -> Vec<String> {
    let mut state = CaseState::default();
    let mut said = Vec::new();
    for line in EVENTS.lines() {
        let mut event: Event = read_event(line).unwrap();
        if let EventBody::Finished { id, cost, .. } = &mut event.body {
            let is_tool = ["call:", "lookup:"]
                .iter()
                .any(|kind| id.0.starts_with(kind));
            cost.usd = if is_tool { 0.0 } else { usd };
        }
        let before = state.clone();
        apply(&mut state, &event);
        said.extend(event_lines(&before, &state, &event.body));
    }
    said
}

#[test]
fn progress_lines_show_cost_where_something_was_paid() {
    let told = |usd| {
        let all = said(usd).into_iter();
        let told = all.filter(|line| line.starts_with("step ") || line.starts_with("concluded"));
        told.collect::<Vec<_>>()
    };
    insta::assert_snapshot!(told(0.0123).join("\n"), @"
    step 1/7 (0 done) process: Read what the alert itself tells of the process on shop-web-03: name, path, command line, wallet ($0.0123 so far)
    step 2/7 (0 done) lists: Look up every far end, wallet and hash of the alert in the watch lists ($0.0123 so far)
    step 3/7 (0 done) facts: Tell what the addresses and domains of the alert are: public or internal, which cloud, dynamic DNS ($0.0123 so far)
    step 4/7 (0 done) asset: Look shop-web-03 up in the asset register: owner, environment, purpose, findings that are expected of it ($0.0123 so far)
    step 5/7 (4 done) changes: Look for an approved change on shop-web-03 that covers the time of the alert ($0.0738 so far)
    step 6/7 (4 done) flows: Search the VPC flow logs for traffic between shop-web-03 and the far ends ($0.0738 so far)
    step 7/7 (4 done) trail: Search the audit logs for who started, changed or logged in to shop-web-03 before the alert ($0.0738 so far)
    step 8/8 (7 done) others: Search the flow logs for other hosts that talk to the listed pool ($0.1230 so far)
    concluded: True positive, high confidence, critical ($0.1722)
    ");
    let all = said(0.0123);
    let ended = all
        .iter()
        .find(|line| line.trim_start().starts_with("s1 met"));
    assert!(ended.unwrap().ends_with(" so far)"), "{all:#?}");
    let free = said(0.0);
    assert_eq!(free.len(), all.len());
    assert!(free.iter().all(|line| !line.contains('$')), "{free:?}");
}

#[test]
fn that_a_model_does_not_answer_is_said_at_once_and_once() {
    let body = |id: &str| EventBody::Finished {
        id: CommandId(id.to_owned()),
        outcome: Box::new(CommandOutcome::Exonerated(Vec::new())),
        cost: Cost::default(),
        degraded: Some(AskError::Unavailable {
            what: "HTTP 401: the key is wrong".to_owned(),
        }),
        model: None,
        unanswered: Vec::new(),
    };
    let mut state = CaseState::default();
    let mut said = |body: EventBody| {
        let before = state.clone();
        apply(&mut state, &Event::new(DateTime::UNIX_EPOCH, body.clone()));
        event_lines(&before, &state, &body)
    };
    assert_eq!(
        said(body("plan")),
        ["plan: no answer: HTTP 401: the key is wrong; the playbook takes over from the model"]
    );
    assert_eq!(said(body("turn:s1:1")), [""; 0]);
}

#[test]
fn cases_that_run_at_once_show_beginning_and_end_only() {
    let mut state = CaseState::default();
    let mut lines = Vec::new();
    for line in EVENTS.lines() {
        let event: Event = read_event(line).unwrap();
        let before = state.clone();
        apply(&mut state, &event);
        let said = milestones(&before, &state, &event.body);
        lines.extend(said.iter().map(|line| shared_line("xgzv-7v2s-g7d5", line)));
    }
    insta::assert_snapshot!(lines.join("\n"), @"
    xgzv-7v2s-g7d5  revision 1: Execution: Cryptocurrency Mining Hash Match (critical, scc)
    xgzv-7v2s-g7d5  concluded: True positive, high confidence, critical
    ");
}
