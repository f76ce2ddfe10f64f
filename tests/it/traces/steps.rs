//! Tests that a step has one span, even when several workers ran parts of it.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use nightshift_tests::model::{Answer, FakeModel, Fault, RecordedRequest, Reply, Script};
use nightshift_tests::{Collector, Span};

use super::traced;
use crate::models::example;
use crate::worker::fixture::put;
use crate::worker::resume::HANGS;

/// Answers as the worked example does. The second turn of its second step hangs once and notifies the test.
fn hanging_within_a_step(told: Sender<()>) -> Script {
    let told = Mutex::new(Some(told));
    Script::from_fn(move |seen: &RecordedRequest| -> Reply {
        let text = seen.text();
        let step = text.rsplit_once(" step>\n");
        let line = step.and_then(|(_, block)| block.lines().next());
        let is_second = line.is_some_and(|line| line.contains(r#""id":"s2""#));
        if is_second
            && !seen.results().is_empty()
            && let Some(told) = told.lock().unwrap().take()
        {
            told.send(()).unwrap();
            return Reply::Fault(Fault::Hang);
        }
        let answer: Answer = example::answer(seen);
        Reply::from(answer)
    })
}

fn of_step<'a>(spans: &'a [Span], id: &str) -> Vec<&'a Span> {
    let all = spans.iter();
    all.filter(|span| span.attribute("step.id") == id).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f01_step_shared_by_two_workers_is_one_span_with_both_parts() {
    let (told, hears) = channel();
    let fake = FakeModel::start(hanging_within_a_step(told)).await.unwrap();
    let fake = Arc::new(fake);
    let collector = Collector::start().await;
    let place = traced(&fake, &collector, "");
    put(&place, "scc-crypto-miner", "s1");
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("messages accepted");
    hears.recv_timeout(HANGS).unwrap();
    // Both turns of the first and the third step, and the first turn of the second.
    let before = collector.wait_for_spans("turn", 5).await;
    worker.kill();
    let first = of_step(&before, "s2");
    assert!(!first.is_empty() && first.iter().all(|span| span.name != "step"));
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("report shown");
    worker.signal("TERM");
    assert_eq!(worker.wait_for_exit().0.code(), Some(0));
    let after = collector.spans();
    let whole = after.iter().find(|span| span.name == "triage").unwrap();
    let (steps, parts): (Vec<_>, Vec<_>) = of_step(&after, "s2")
        .into_iter()
        .partition(|span| span.name == "step");
    let [step] = steps.as_slice() else {
        panic!("{steps:#?}")
    };
    assert_eq!(step.parent_id, whole.span_id);
    assert!(parts.iter().all(|part| part.parent_id == step.span_id));
    // The step began with the first worker and contains the spans of both.
    assert!(parts.iter().all(|part| step.begun <= part.begun));
    let mut epochs: Vec<&str> = parts
        .iter()
        .map(|part| part.attribute("case.epoch"))
        .collect();
    epochs.sort_unstable();
    epochs.dedup();
    assert_eq!(epochs.len(), 2, "{parts:#?}");
    assert_eq!(step.attribute("step.outcome"), "unmet");
    assert!(!step.failed && !step.ok);
    let met = of_step(&after, "s1");
    let met = met.iter().find(|span| span.name == "step").unwrap();
    assert!(met.ok && met.attribute("step.status") == "done");
    assert_eq!(fake.refusals(), []);
}
