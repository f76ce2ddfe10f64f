//! Tests that an unreachable or unresponsive collector does not affect the worker.

use nightshift_tests::Sandbox;
use tokio::net::TcpListener;

use crate::worker::fixture::{place, put, reports};

/// Triages three cases with a collector at this address and returns the worker's output.
fn works_with(address: &str) -> Vec<String> {
    let endpoint = format!("[traces]\nendpoint = \"http://{address}/v1/traces\"\n");
    let place: Sandbox = place(&endpoint);
    for id in ["q1", "q2", "q3"] {
        put(&place, "scc-crypto-miner", id);
    }
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_lines("report shown", 3);
    worker.signal("TERM");
    let (status, took, lines) = worker.wait_for_exit();
    assert_eq!(status.code(), Some(0), "{lines:#?}");
    assert!(took.as_secs() < 10, "{took:?}");
    assert_eq!(reports(&place).len(), 3);
    lines
}

/// Returns whether a line reports lost spans.
fn tells_losses(lines: &[String]) -> bool {
    let mut told = lines.iter().filter(|line| line.contains(" WARN spans "));
    told.any(|line| line.contains("spans=") && !line.contains("spans=0"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unreachable_collector_changes_nothing_and_losses_are_logged() {
    // The listener is dropped, so nothing listens on this port.
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = port.local_addr().unwrap().to_string();
    drop(port);
    let lines = works_with(&address);
    assert!(tells_losses(&lines), "{lines:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_collector_changes_nothing_and_losses_are_logged() {
    // The system accepts connections, but nothing reads from them.
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let lines = works_with(&port.local_addr().unwrap().to_string());
    assert!(tells_losses(&lines), "{lines:#?}");
}
