//! Tests the contents of traces, including values that they must never contain.

use std::sync::Arc;
use std::sync::mpsc::channel;

use nightshift_tests::Collector;
use nightshift_tests::model::FakeModel;

use super::{script, traced};
use crate::worker::fixture::{cases, put};
use crate::worker::resume::{HANGS, hanging};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f01_a_case_that_goes_on_elsewhere_goes_on_in_the_same_trace() {
    let (told, hears) = channel();
    let fake = Arc::new(FakeModel::start(hanging(told)).await.unwrap());
    let collector = Collector::start().await;
    let place = traced(&fake, &collector, "");
    put(&place, "scc-crypto-miner", "s1");
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("messages accepted");
    hears.recv_timeout(HANGS).unwrap();
    let before = collector.wait_for_spans("plan", 1).await;
    worker.kill();
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("report shown");
    worker.signal("TERM");
    assert_eq!(worker.wait_for_exit().0.code(), Some(0));
    collector.wait_for_spans("triage", 1).await;
    let after = collector.case_spans();
    let trace = &before[0].trace_id;
    assert!(
        after.iter().all(|span| span.trace_id == *trace),
        "{after:#?}"
    );
    let named = |name: &str| {
        let all = after.iter().filter(|span| span.name == name);
        all.collect::<Vec<_>>()
    };
    let (whole, parts) = (named("triage"), named("invoke_agent nightshift"));
    assert_eq!(whole.len(), 1, "{after:#?}");
    assert!(!parts.is_empty() && parts.iter().all(|part| part.parent_id == whole[0].span_id));
    // The root span began with the first worker.
    assert!(whole[0].begun <= named("plan")[0].begun);
    assert_eq!(whole[0].parent_id, named("process drop")[0].span_id);
    assert_eq!(named("send files")[0].parent_id, whole[0].span_id);
}

/// A secret in the alert. `TOKEN` is a secret of Nightshift itself.
const SECRET: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
const TOKEN: &str = "Bearer collector-secret-of-ours";

/// Returns everything that a collector got of one case with these settings.
async fn told(rest: &str) -> (Collector, String) {
    let fake = FakeModel::start(script()).await.unwrap();
    let collector = Collector::start().await;
    let headers = "headers = { authorization = \"env:OTEL_TOKEN\" }";
    let mut place = traced(&fake, &collector, &format!("{headers}\n{rest}"));
    place.set_env("OTEL_TOKEN", TOKEN);
    put(&place, "scc-crypto-miner", &format!("s1 {SECRET}"));
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("report shown");
    worker.signal("TERM");
    assert_eq!(worker.wait_for_exit().0.code(), Some(0));
    assert_eq!(cases(&place).len(), 1);
    let text = collector.raw_text();
    assert!(
        collector
            .header_values("authorization")
            .iter()
            .all(|value| value == TOKEN)
    );
    (collector, text)
}

/// Words of the example's prompts, answers, arguments and results.
const CONTENT: [(&str, &str); 4] = [
    ("gen_ai.input.messages", "minexmr"),
    ("gen_ai.output.messages", "finish_reason"),
    ("gen_ai.tool.call.arguments", "{"),
    ("gen_ai.tool.call.result", "{"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a21_spans_hold_no_content_unless_enabled() {
    let (collector, text) = told("").await;
    for (name, _) in CONTENT {
        assert!(!text.contains(name), "{name}");
    }
    for word in ["minexmr", SECRET, TOKEN, "collector-secret"] {
        assert!(!text.contains(word), "{word}");
    }
    assert!(
        collector
            .spans()
            .iter()
            .any(|span| span.name == "chat claude-sonnet-4-5")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a21_where_content_is_wanted_it_is_there_without_secrets() {
    let (collector, text) = told("content = true").await;
    let spans = collector.spans();
    for (name, word) in CONTENT {
        let with = spans
            .iter()
            .filter(|span| span.attribute(name).contains(word));
        assert!(with.count() > 0, "{name}: {spans:#?}");
    }
    for name in ["gen_ai.input.messages", "gen_ai.output.messages"] {
        let written = spans.iter().map(|span| span.attribute(name));
        for text in written.filter(|text| !text.is_empty()) {
            let messages: Vec<serde_json::Value> = serde_json::from_str(text).unwrap();
            for part in messages
                .iter()
                .flat_map(|one| one["parts"].as_array().unwrap())
            {
                let known = match part["type"].as_str().unwrap() {
                    "text" => part["content"].is_string(),
                    "tool_call" => part["name"].is_string() && part["arguments"].is_object(),
                    "tool_call_response" => part["id"].is_string() && part["response"].is_string(),
                    _ => false,
                };
                assert!(known, "{name}: {part}");
            }
        }
    }
    for word in [SECRET, TOKEN, "collector-secret"] {
        assert!(!text.contains(word), "{word}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ratio_of_nothing_records_nothing() {
    let (collector, _) = told("sample_ratio = 0.0").await;
    assert!(collector.spans().is_empty());
}
