//! Tests the span of a batch: the number of messages and the links to their producers.

use nightshift_tests::{Collector, Sandbox, sample_finding};
use serde_json::{Value, json};

use super::are_documented;
use crate::worker::fixture::place;

/// Puts a message into the source as `docs/sources.md` says.
fn put(place: &Sandbox, name: &str, message: &Value) {
    let name = format!("{name}.json");
    let written = place.write_file(&format!("spool/tmp/{name}"), message.to_string());
    let new = place.path().join("spool/new");
    std::fs::create_dir_all(&new).unwrap();
    std::fs::rename(written.unwrap(), new.join(name)).unwrap();
}

fn alert(id: &str) -> Value {
    sample_finding("scc-crypto-miner", id).unwrap()
}

/// Returns an event whose producer is at this span of its trace.
fn event(trace: &str, id: &str) -> Value {
    json!({
        "specversion": "1.0", "id": id, "source": "/edr", "type": "finding",
        "traceparent": format!("00-{trace}-00f067aa0ba902b7-01"), "data": alert(id),
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batch_span_counts_messages_and_links_to_their_origins() {
    let collector = Collector::start().await;
    let place = place(&collector.config_table(""));
    let producers = [
        "4bf92f3577b34da6a3ce929d0e0e4736",
        "5bf92f3577b34da6a3ce929d0e0e4737",
    ];
    put(&place, "a", &event(producers[0], "c1"));
    put(&place, "b", &event(producers[1], "c2"));
    // Another message of the first producer, one without a producer, and one that cannot be read.
    put(&place, "c", &event(producers[0], "c1"));
    put(&place, "d", &alert("c3"));
    put(&place, "e", &json!("nonsense"));
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_lines("report shown", 4);
    worker.signal("TERM");
    assert_eq!(worker.wait_for_exit().0.code(), Some(0));
    let spans = collector.spans();
    let batches: Vec<_> = spans
        .iter()
        .filter(|span| span.name == "accept drop")
        .collect();
    let sum = |name: &str| -> u32 {
        let all = batches.iter().map(|batch| batch.attribute(name));
        all.map(|number| number.parse::<u32>().unwrap()).sum()
    };
    assert_eq!(sum("messaging.batch.message_count"), 5);
    assert_eq!((sum("alerts"), sum("cases")), (5, 4));
    let mut links: Vec<_> = batches.iter().flat_map(|batch| &batch.links).collect();
    links.sort();
    links.dedup();
    let from = |trace: &str| (trace.to_owned(), "00f067aa0ba902b7".to_owned());
    assert_eq!(links, producers.map(from).iter().collect::<Vec<_>>());
    for batch in &batches {
        assert!(batch.parent_id.is_empty() && !batch.failed, "{batch:#?}");
        assert_eq!(batch.kind, "consumer");
        assert_eq!(batch.attribute("messaging.system"), "spool");
        assert_eq!(batch.attribute("messaging.destination.name"), "drop");
        assert_eq!(batch.attribute("messaging.operation.type"), "process");
        let others = spans.iter().filter(|span| span.trace_id == batch.trace_id);
        assert_eq!(others.count(), 1, "a batch is a trace of its own");
    }
    collector.case_trees();
    are_documented(&collector);
}
