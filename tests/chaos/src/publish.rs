//! Implements the publisher. An alert is an obligation once the broker has confirmed it. An alert whose confirmation
//! was lost is published again, and the same finding twice is a sighting.

use std::time::Duration;

use anyhow::Context;
use nightshift_tests::{Publisher, sample_finding};
use tokio_util::sync::CancellationToken;

/// Name of the queue.
pub(crate) const QUEUE: &str = "alerts";
const SAMPLES: [&str; 2] = ["guardduty-finding", "scc-crypto-miner"];
/// The project of the second sample.
const PROJECT: &str = "production-project-12345";
/// The project of alerts whose cases get a ticket.
pub(crate) const TICKETS: &str = "tickets-project";
/// One alert in this many is of that project, because a ticket system takes two tickets per second.
const TICKETS_EVERY: usize = 10;
/// Pause between attempts to reach the broker.
const PAUSE: Duration = Duration::from_millis(300);

/// Publishes this many alerts, or fewer when it is cancelled. Returns the ids of all of them, each confirmed.
pub(crate) async fn publish_all(
    url: String,
    most: usize,
    enough: CancellationToken,
) -> anyhow::Result<Vec<String>> {
    let mut ids = Vec::new();
    let mut publisher = None;
    for number in 0..most {
        if enough.is_cancelled() {
            break;
        }
        let id = format!("chaos-{number:06}");
        publish_with_retry(&url, &mut publisher, &alert(number, &id)?).await;
        ids.push(id);
        // The alerts are spread over time, so that they arrive while processes are killed.
        tokio::time::sleep(Duration::from_millis(fastrand::u64(0..40))).await;
    }
    Ok(ids)
}

/// Publishes one more alert at the end.
pub(crate) async fn fresh(url: &str) -> anyhow::Result<String> {
    let id = "chaos-fresh".to_owned();
    publish_with_retry(url, &mut None, &alert(0, &id)?).await;
    Ok(id)
}

/// Returns a sample with another id.
fn alert(number: usize, id: &str) -> anyhow::Result<Vec<u8>> {
    let sample = SAMPLES.get(number % SAMPLES.len()).context("a sample")?;
    let text = sample_finding(sample, id)?.to_string();
    Ok(match wants_ticket(number) {
        true => text.replace(PROJECT, TICKETS).into(),
        false => text.into(),
    })
}

/// Returns whether the case of this alert gets a ticket.
pub(crate) fn wants_ticket(number: usize) -> bool {
    number % TICKETS_EVERY == 1
}

/// Publishes a message until the broker has confirmed it.
async fn publish_with_retry(url: &str, publisher: &mut Option<Publisher>, body: &[u8]) {
    while let Err(_lost) = try_publish(url, publisher, body).await {
        *publisher = None;
        tokio::time::sleep(PAUSE).await;
    }
}

async fn try_publish(
    url: &str,
    publisher: &mut Option<Publisher>,
    body: &[u8],
) -> anyhow::Result<()> {
    let open = match publisher.take() {
        Some(open) => open,
        None => Publisher::connect(url, QUEUE).await?,
    };
    tokio::time::timeout(Duration::from_secs(10), open.publish(&[body])).await??;
    *publisher = Some(open);
    Ok(())
}
