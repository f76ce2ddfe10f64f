//! Runs one suite for all sources against real services: RabbitMQ, moto as SQS and S3, a directory. Pub/Sub is a strict
//! fake.
//!
//! `tests/services` starts the services and names their addresses. If a service is missing, its tests report that on
//! standard error and end; `tests/run` leaves them out and counts them as skipped. Each test has its own queue. No test
//! sleeps: it waits for messages, within bounds that only a broken source reaches.

mod broker;
mod fake_pubsub;
#[cfg(feature = "sqs")]
mod fake_sqs;
mod proxy;
mod suite;
mod with_pubsub;
mod with_rabbitmq;
mod with_spool;
#[cfg(feature = "sqs")]
mod with_sqs;

use std::time::Duration;

use nightshift_pipeline::port::{Disposition, Message, Settlement, Source};
use tokio::time::timeout;

/// The time limit of each wait, far above the real times.
const BOUND: Duration = Duration::from_secs(90);

/// Returns the value that `tests/services` reports for a service, such as `RABBITMQ`.
#[expect(
    clippy::disallowed_methods,
    reason = "tests are told here what to run against"
)]
fn offered(name: &str) -> Option<String> {
    let name = format!("NIGHTSHIFT_TEST_{name}");
    let found = std::env::var(&name).ok().filter(|value| !value.is_empty());
    if found.is_none() {
        eprintln!("skipped: {name} is not set; tests/services starts what is missing and tells");
    }
    found
}

/// Receives until this many messages arrived. The source may be unavailable meanwhile.
async fn receive(source: &dyn Source, wanted: usize) -> Vec<Message> {
    let mut found: Vec<Message> = Vec::new();
    let receiving = async {
        while found.len() < wanted {
            if let Ok(messages) = source.receive(wanted - found.len()).await {
                found.extend(messages.expect("a queue has no end"));
            }
        }
    };
    let came = timeout(BOUND, receiving).await;
    assert!(
        came.is_ok(),
        "{wanted} were wanted, {} came: {:?}",
        found.len(),
        source.ready()
    );
    found
}

/// Receives until the source fails, and returns why it is not ready. Messages received before are nacked.
async fn until_down(source: &dyn Source) -> String {
    let looking = async {
        while let Ok(messages) = source.receive(1).await {
            let back = settled(&messages.expect("a queue has no end"), Disposition::Nack);
            source.settle(&back).await;
        }
    };
    timeout(BOUND, looking).await.expect("the source notices");
    source
        .ready()
        .expect_err("what cannot be read is not ready")
}

fn settled(messages: &[Message], fate: Disposition) -> Vec<Settlement> {
    let one = |message: &Message| Settlement {
        id: message.id.clone(),
        disposition: fate,
    };
    messages.iter().map(one).collect()
}

async fn ack(source: &dyn Source, messages: &[Message]) {
    let failed = source.settle(&settled(messages, Disposition::Ack)).await;
    assert_eq!(failed, []);
}

fn texts(messages: &[Message]) -> Vec<String> {
    let text = |message: &Message| String::from_utf8_lossy(&message.bytes).into_owned();
    let mut found: Vec<String> = messages.iter().map(text).collect();
    found.sort();
    found
}

fn numbered(numbers: std::ops::Range<usize>) -> Vec<Vec<u8>> {
    numbers
        .map(|number| format!("message {number:04}").into_bytes())
        .collect()
}
