//! Tests changes of `[traces]` and `[log]` while the worker runs.

use std::sync::Arc;
use std::sync::mpsc::channel;

use nightshift_tests::model::FakeModel;
use nightshift_tests::{Collector, RunningProgram, Sandbox};
use serde_json::Value;

use super::traced;
use crate::worker::fixture::{place, put};
use crate::worker::reload::{RENEWED, change};
use crate::worker::resume::{HANGS, hanging};

const SCC: &str = "scc-crypto-miner";

fn ends(worker: RunningProgram) {
    worker.signal("TERM");
    let (status, _, lines) = worker.wait_for_exit();
    assert_eq!(status.code(), Some(0), "{lines:#?}");
}

/// Returns the number of triages that this collector received, after checking that each trace is complete.
fn triaged(collector: &Collector) -> usize {
    collector.case_trees();
    let spans = collector.case_spans();
    spans.iter().filter(|span| span.name == "triage").count()
}

/// Waits for the last spans of a case: its report may be shown before all spans of the triage are sent.
async fn has_all(collector: &Collector) {
    for name in ["send files", "triage", "invoke_agent nightshift"] {
        collector.wait_for_spans(name, 1).await;
    }
}

fn address(collector: &Collector) -> String {
    let table = collector.config_table("");
    let line = table.lines().find(|line| line.starts_with("endpoint"));
    line.unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_collector_gets_new_spans_and_old_one_gets_its_backlog() {
    let (first, second) = (Collector::start().await, Collector::start().await);
    let place = place(&first.config_table(""));
    put(&place, SCC, "s1");
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("report shown");
    has_all(&first).await;
    // Until now the worker's own lines were filtered out, and the format was text.
    change(&place, &address(&first), &address(&second));
    change(
        &place,
        "level = \"warn,nightshift_pipeline=info,nightshift_pipeline::canary=debug\", format = \"text\"",
        "level = \"info\", format = \"json\"",
    );
    let line = worker.wait_for_line(RENEWED);
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(line["level"], "INFO");
    put(&place, SCC, "s2");
    let line = worker.wait_for_line("report shown");
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(line["destination.name"], "files");
    ends(worker);
    assert_eq!((triaged(&first), triaged(&second)), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn traces_are_turned_on_and_off_while_the_worker_runs() {
    let collector = Collector::start().await;
    let place = place("[traces]\n\n");
    change(&place, "warn,nightshift_pipeline=info", "info");
    put(&place, SCC, "s1");
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("report shown");
    change(&place, "[traces]\n", &collector.config_table(""));
    worker.wait_for_line(RENEWED);
    put(&place, SCC, "s2");
    worker.wait_for_line("report shown");
    has_all(&collector).await;
    change(&place, &collector.config_table(""), "[traces]\n");
    worker.wait_for_line(RENEWED);
    put(&place, SCC, "s3");
    worker.wait_for_line("report shown");
    ends(worker);
    assert_eq!(triaged(&collector), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn traces_enabled_mid_case_record_the_rest_of_that_case() {
    let (told, hears) = channel();
    let fake = Arc::new(FakeModel::start(hanging(told)).await.unwrap());
    let collector = Collector::start().await;
    let place: Sandbox = traced(&fake, &collector, "");
    let (on, off) = (address(&collector), "endpoint = \"\"");
    change(&place, &on, off);
    change(&place, "warn,nightshift_pipeline=info", "info");
    put(&place, SCC, "s1");
    let mut worker = place.start(&["worker"]).unwrap();
    hears.recv_timeout(HANGS).unwrap();
    change(&place, off, &on);
    worker.wait_for_line(RENEWED);
    fake.release();
    worker.wait_for_line("report shown");
    ends(worker);
    let spans = collector.case_spans();
    let whole = spans.iter().find(|span| span.name == "triage").unwrap();
    assert!(spans.iter().all(|span| span.trace_id == whole.trace_id));
    let chat = spans.iter().find(|span| span.name.starts_with("chat "));
    assert_eq!(chat.unwrap().parent_id, whole.span_id, "{spans:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_level_or_a_collector_that_is_wrong_changes_nothing() {
    let collector = Collector::start().await;
    let place = place(&collector.config_table(""));
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("started:");
    change(
        &place,
        "nightshift_pipeline=info",
        "nightshift_pipeline=loud",
    );
    let told = worker.wait_for_line("invalid configuration");
    assert!(
        told.contains("ERROR") && told.contains("[log] level"),
        "{told}"
    );
    change(
        &place,
        "nightshift_pipeline=loud",
        "nightshift_pipeline=info",
    );
    let on = address(&collector);
    let wrong = "ca_file = \"no-such.pem\"";
    change(&place, &on, &format!("{on}\n{wrong}"));
    let told = worker.wait_for_line("invalid configuration");
    assert!(told.contains("ca_file"), "{told}");
    put(&place, SCC, "s1");
    worker.wait_for_line("report shown");
    ends(worker);
    assert_eq!(triaged(&collector), 1);
}
