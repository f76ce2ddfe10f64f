//! Tests the traces that a collector gets from a worker.

mod batch;
mod brokers;
mod carried;
mod changed;
mod contents;
mod quiet;
mod run;
mod standard;
mod steps;

use nightshift_tests::model::{Answer, FakeModel, RecordedRequest, Reply, Script};
use nightshift_tests::{Collector, Sandbox, repository_root};

use crate::models::example;
use crate::models::providers::ANTHROPIC;
use crate::worker::fixture::{place_with, put};

fn script() -> Script {
    Script::from_fn(|seen: &RecordedRequest| -> Reply {
        let answer: Answer = example::answer(seen);
        Reply::from(answer)
    })
}

/// Returns a place whose worker asks this model and sends traces to this collector.
fn traced(fake: &FakeModel, collector: &Collector, rest: &str) -> Sandbox {
    let traces = collector.config_table(rest);
    place_with(|place| {
        let tools = example::logs(place);
        let model = ANTHROPIC.table(fake, "");
        format!("[worker]\nlease_secs = 15\n{tools}\n{model}\n{traces}")
    })
}

/// Checks that the documentation names every attribute.
fn are_documented(collector: &Collector) {
    let page = std::fs::read_to_string(repository_root().join("docs/observability.md")).unwrap();
    for span in collector.spans() {
        for name in span.attributes.keys() {
            assert!(page.contains(&format!("`{name}`")), "{name} of {span:#?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_is_one_trace_of_questions_calls_tools_and_deliveries() {
    let fake = FakeModel::start(script()).await.unwrap();
    let collector = Collector::start().await;
    let place = traced(&fake, &collector, "");
    put(&place, "scc-crypto-miner", "s1");
    put(&place, "scc-crypto-miner", "s2");
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_lines("report shown", 2);
    worker.signal("TERM");
    let (status, took, lines) = worker.wait_for_exit();
    assert_eq!(status.code(), Some(0), "{lines:#?}");
    assert!(took.as_secs() < 10, "{took:?}");
    let spans = collector.case_spans();
    let mut traces: Vec<&str> = spans.iter().map(|span| span.trace_id.as_str()).collect();
    traces.sort_unstable();
    traces.dedup();
    assert_eq!(traces.len(), 2, "{spans:#?}");
    let concluded = lines.iter().filter(|line| line.contains("case concluded"));
    let names = ["case.id=", "case.revision=", "trace.id="];
    for line in concluded.clone() {
        assert!(names.iter().all(|name| line.contains(name)), "{line}");
    }
    assert_eq!(concluded.count(), 2, "{lines:#?}");
    // The log lines carry the same trace id.
    let shown: Vec<&String> = lines
        .iter()
        .filter(|line| line.contains("report shown"))
        .collect();
    let is_named = |line: &&String| traces.iter().any(|id| line.contains(id));
    assert_eq!(shown.len(), 2, "{lines:#?}");
    assert!(shown.iter().all(is_named), "{shown:#?}");
    let chat = spans.iter().find(|span| span.name.starts_with("chat "));
    let tokens = "gen_ai.usage.output_tokens";
    assert!(chat.unwrap().numbers.contains(tokens), "{chat:#?}");
    let trees = collector.case_trees();
    let (first, second) = trees.split_once("\ntrace\n").unwrap();
    assert_eq!(first.trim_start_matches("trace\n").trim(), second.trim());
    insta::assert_snapshot!("a_trace", first);
    are_documented(&collector);
    assert_eq!(fake.refusals(), []);
}
