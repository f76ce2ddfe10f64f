//! The publisher: an alert is an obligation once the broker has confirmed it. One whose confirmation was lost is published
//! again; the same finding twice is a sighting.

use std::time::Duration;

use anyhow::Context;
use nightshift_tests::{Publisher, finding};
use tokio_util::sync::CancellationToken;

/// The queue.
pub(crate) const QUEUE: &str = "alerts";
const SAMPLES: [&str; 2] = ["guardduty-finding", "scc-crypto-miner"];
/// The project of the second one.
const PROJECT: &str = "production-project-12345";
/// The project of those whose cases get a ticket.
pub(crate) const TICKETS: &str = "tickets-project";
/// One alert of so many is of it: a desk takes two tickets a second.
const TICKETS_EVERY: usize = 10;
/// Between two tries to reach the broker.
const PAUSE: Duration = Duration::from_millis(300);

/// Publishes so many alerts, or fewer when it is enough; the ids of all of them, each confirmed.
pub(crate) async fn all(
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
        put(&url, &mut publisher, &alert(number, &id)?).await;
        ids.push(id);
        // Not all at once: they are to come while things are killed.
        tokio::time::sleep(Duration::from_millis(fastrand::u64(0..40))).await;
    }
    Ok(ids)
}

/// One more, when all is over.
pub(crate) async fn fresh(url: &str) -> anyhow::Result<String> {
    let id = "chaos-fresh".to_owned();
    put(url, &mut None, &alert(0, &id)?).await;
    Ok(id)
}

/// A sample with another id.
fn alert(number: usize, id: &str) -> anyhow::Result<Vec<u8>> {
    let sample = SAMPLES.get(number % SAMPLES.len()).context("a sample")?;
    let text = finding(sample, id)?.to_string();
    Ok(match wants_ticket(number) {
        true => text.replace(PROJECT, TICKETS).into(),
        false => text.into(),
    })
}

/// Whether the case of this alert gets a ticket.
pub(crate) fn wants_ticket(number: usize) -> bool {
    number % TICKETS_EVERY == 1
}

/// Publishes until the broker has confirmed it.
async fn put(url: &str, publisher: &mut Option<Publisher>, body: &[u8]) {
    while let Err(_lost) = try_to_put(url, publisher, body).await {
        *publisher = None;
        tokio::time::sleep(PAUSE).await;
    }
}

async fn try_to_put(
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
