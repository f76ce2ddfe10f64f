//! Tests the trace of `nightshift run`, including the delivery.

use nightshift_tests::{Collector, Sandbox, repository_root};

/// Runs `nightshift run` on one alert with this destination and returns the collector.
async fn ran(destination: &str) -> Collector {
    let collector = Collector::start().await;
    let place = Sandbox::new().unwrap();
    let text = format!(
        "{destination}[[route]]\ndestinations = [\"soc\"]\n{}",
        collector.config_table("")
    );
    place.write_file("nightshift.toml", text).unwrap();
    let alert = repository_root().join("tests/fixtures/alerts/scc-crypto-miner.json");
    let ran = place.run(&["run", alert.to_str().unwrap()]).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    collector
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_one_trace_from_its_file_to_its_sending() {
    let collector =
        ran("[[destination]]\nname = \"soc\"\nkind = \"file\"\npath = \"reports\"\n").await;
    let spans = collector.spans();
    collector.case_trees();
    let named = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
    let (whole, send) = (named("triage"), named("send soc"));
    assert!(spans.iter().all(|span| span.trace_id == whole.trace_id));
    assert_eq!(whole.parent_id, named("process run").span_id);
    assert_eq!(send.parent_id, whole.span_id);
    assert_eq!((send.kind, send.failed), ("client", false));
    assert_eq!(send.attribute("messaging.system"), "file");
    assert_eq!(send.attribute("messaging.operation.type"), "send");
    assert_eq!(send.attribute("messaging.destination.name"), "soc");
    assert_eq!(send.attribute("case.id"), whole.attribute("case.id"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_run_could_not_send_has_failed() {
    // The listener is dropped, so nothing listens on this port.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let hook = port.local_addr().unwrap();
    drop(port);
    let collector = ran(&format!(
        "[[destination]]\nname = \"soc\"\nkind = \"webhook\"\nurl = \"http://{hook}/\"\n\
         secret = \"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\"\n"
    ))
    .await;
    let spans = collector.spans();
    let send = spans.iter().find(|span| span.name == "send soc").unwrap();
    assert!(send.failed);
    assert_eq!(send.attribute("error.type"), "later");
    assert_eq!(send.attribute("messaging.system"), "webhook");
}
