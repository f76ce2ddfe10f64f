//! Tests that the trace of an alert's sender continues through its case to the receiver of the report.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::http::HeaderMap;
use axum::routing::post;
use nightshift_tests::{Collector, Sandbox, sample_finding};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::worker::fixture::place;

const TOKEN: &str = "0123456789abcdef-intake";
pub(super) const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
pub(super) const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// A receiver of webhooks that records requests.
pub(super) struct WebhookReceiver {
    address: SocketAddr,
    received: Arc<Mutex<Vec<(HeaderMap, Value)>>>,
    _tasks: JoinSet<std::io::Result<()>>,
}

impl WebhookReceiver {
    pub(super) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let got: Arc<Mutex<Vec<(HeaderMap, Value)>>> = Arc::default();
        let seen = Arc::clone(&got);
        let take = move |headers: HeaderMap, body: String| async move {
            let event = serde_json::from_str(&body).unwrap();
            seen.lock().unwrap().push((headers, event));
        };
        let app = axum::Router::new().route("/", post(take));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { axum::serve(listener, app).await });
        Self {
            address,
            received: got,
            _tasks: tasks,
        }
    }
}

/// Returns a place whose worker takes alerts from this source, which is named `soar`, and posts reports to the
/// receiver.
pub(super) fn between(collector: &Collector, receiver: &WebhookReceiver, source: &str) -> Sandbox {
    let (traces, hook) = (collector.config_table(""), receiver.address);
    let mut place = place(&format!(
        "[[route]]\ndestinations = [\"hook\", \"files\"]\n{source}\
         [[destination]]\nname = \"hook\"\nkind = \"webhook\"\nurl = \"http://{hook}/\"\nsecret = \"env:HOOK\"\n{traces}"
    ));
    let config = place.path().join("nightshift.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let alone = "[[route]]\ndestinations = [\"files\"]\n";
    std::fs::write(&config, text.replacen(alone, "", 1)).unwrap();
    place.set_env("HOOK", "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=");
    place
}

/// Posts an alert and waits for this many reports.
async fn sent(
    headers: &[(&str, &str)],
    body: String,
    reports: usize,
) -> (Collector, WebhookReceiver) {
    let (collector, receiver) = (Collector::start().await, WebhookReceiver::start().await);
    let source = "[[source]]\nname = \"soar\"\nkind = \"http\"\ntokens = [\"env:INTAKE_TOKEN\"]\n";
    let mut place = between(&collector, &receiver, source);
    place.set_env("INTAKE_TOKEN", TOKEN);
    place.set_env("NIGHTSHIFT__WEB__INTAKE_LISTEN", "127.0.0.1:0");
    let mut worker = place.start(&["worker"]).unwrap();
    let line = worker.wait_for_line("alerts are posted to");
    let url = line.rsplit(' ').next().unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut request = client.post(url).bearer_auth(TOKEN).body(body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    assert_eq!(request.send().await.unwrap().status(), 200);
    worker.wait_for_lines("report shown", 2 * reports);
    worker.signal("TERM");
    assert_eq!(worker.wait_for_exit().0.code(), Some(0));
    (collector, receiver)
}

/// Checks that a message from a source of this kind continues its trace, and that the report continues it from the
/// triage.
pub(super) fn goes_on(collector: &Collector, receiver: &WebhookReceiver, kind: &str, state: &str) {
    let spans = collector.case_spans();
    assert!(
        spans.iter().all(|span| span.trace_id == TRACE),
        "{spans:#?}"
    );
    let named = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
    let process = named("process soar");
    assert!(process.is_remote && process.parent_id == "00f067aa0ba902b7");
    assert_eq!(
        (process.kind, process.attribute("messaging.system")),
        ("consumer", kind)
    );
    assert_eq!(process.state, state);
    assert_eq!(named("triage").parent_id, process.span_id);
    collector.case_trees();
    let (headers, event) = receiver.received.lock().unwrap()[0].clone();
    let out = format!("00-{TRACE}-{}-01", named("triage").span_id);
    assert_eq!(headers["traceparent"], out.as_str());
    assert_eq!(event["traceparent"], out.as_str());
    if state.is_empty() {
        assert!(!headers.contains_key("tracestate") && event.get("tracestate").is_none());
    } else {
        assert_eq!(headers["tracestate"], state);
        assert_eq!(event["tracestate"], state);
    }
}

pub(super) fn alert(id: &str) -> Value {
    sample_finding("scc-crypto-miner", id).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_trace_of_a_post_goes_on_through_its_case_to_the_webhook() {
    let headers = [("traceparent", PARENT), ("tracestate", "vendor=1")];
    let (collector, receiver) = sent(&headers, alert("c1").to_string(), 1).await;
    goes_on(&collector, &receiver, "http", "vendor=1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cloud_event_trace_continues_through_case_to_webhook() {
    let event = json!({
        "specversion": "1.0", "id": "1", "source": "/edr", "type": "finding",
        "traceparent": PARENT, "data": alert("c1"),
    });
    let (collector, receiver) = sent(&[], event.to_string(), 1).await;
    goes_on(&collector, &receiver, "http", "");
    let headers = [
        ("ce-specversion", "1.0"),
        ("ce-type", "finding"),
        ("ce-source", "/edr"),
        ("ce-id", "1"),
        ("ce-traceparent", PARENT),
    ];
    let (collector, receiver) = sent(&headers, alert("c1").to_string(), 1).await;
    goes_on(&collector, &receiver, "http", "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_alert_of_a_message_has_its_own_linked_trace() {
    let body = format!("{}\n{}\n", alert("c1"), alert("c2"));
    let (collector, receiver) = sent(&[("traceparent", PARENT)], body, 2).await;
    let spans = collector.spans();
    let process: Vec<_> = spans
        .iter()
        .filter(|span| span.name == "process soar")
        .collect();
    assert_eq!(process.len(), 2, "{spans:#?}");
    let from = (TRACE.to_owned(), "00f067aa0ba902b7".to_owned());
    for one in &process {
        assert_eq!(one.links, std::slice::from_ref(&from));
        assert!(one.trace_id != TRACE && one.parent_id.is_empty());
    }
    assert_ne!(process[0].trace_id, process[1].trace_id);
    collector.case_trees();
    for (headers, _) in receiver.received.lock().unwrap().iter() {
        assert!(!headers["traceparent"].to_str().unwrap().contains(TRACE));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trace_that_is_none_is_not_followed() {
    let headers = [
        ("traceparent", "00-<script>-00f067aa0ba902b7-01"),
        ("tracestate", "a=b"),
    ];
    let (collector, receiver) = sent(&headers, alert("c1").to_string(), 1).await;
    let spans = collector.spans();
    assert!(
        spans
            .iter()
            .all(|span| !span.is_remote && span.state.is_empty())
    );
    collector.case_trees();
    let (headers, event) = receiver.received.lock().unwrap()[0].clone();
    let whole = spans.iter().find(|span| span.name == "triage").unwrap();
    let out = format!("00-{}-{}-01", whole.trace_id, whole.span_id);
    assert_eq!(
        (&headers["traceparent"], &event["traceparent"]),
        (&out.as_str().try_into().unwrap(), &json!(out))
    );
}
