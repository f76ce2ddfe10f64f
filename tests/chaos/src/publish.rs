//! The publisher: an alert is an obligation once the broker has confirmed it. One whose confirmation was lost is published
//! again; the same finding twice is a sighting.

use std::time::Duration;

use anyhow::Context;
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use nightshift_tests::root;
use serde_json::Value;

/// The queue.
pub(crate) const QUEUE: &str = "alerts";
const SAMPLES: [&str; 2] = ["guardduty-finding", "scc-crypto-miner"];
/// Between two tries to reach the broker.
const PAUSE: Duration = Duration::from_millis(300);

/// Publishes so many alerts; the ids of all of them, each confirmed.
pub(crate) async fn all(url: String, many: usize) -> anyhow::Result<Vec<String>> {
    let mut ids = Vec::with_capacity(many);
    let mut channel = None;
    for number in 0..many {
        let id = format!("chaos-{number:06}");
        put(&url, &mut channel, &alert(number, &id)?).await;
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
    let path = root().join(format!("tests/fixtures/alerts/{sample}.json"));
    let mut finding: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    match finding.pointer_mut("/finding/name") {
        Some(name) => *name = format!("organizations/1/sources/2/findings/{id}").into(),
        None => {
            let arn = format!("arn:aws:guardduty:eu-west-1:444455556666:detector/d/finding/{id}");
            let fields = finding.as_object_mut().context("a finding is an object")?;
            fields.insert("Id".to_owned(), id.into());
            fields.insert("Arn".to_owned(), arn.into());
        }
    }
    Ok(serde_json::to_vec(&finding)?)
}

/// Publishes until the broker has confirmed it.
async fn put(url: &str, channel: &mut Option<Channel>, body: &[u8]) {
    loop {
        match try_to_put(url, channel, body).await {
            Ok(()) => return,
            Err(_) => {
                *channel = None;
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn try_to_put(url: &str, channel: &mut Option<Channel>, body: &[u8]) -> anyhow::Result<()> {
    let open = match channel.take() {
        Some(open) => open,
        None => connect(url).await?,
    };
    let persistent = BasicProperties::default().with_delivery_mode(2);
    let options = BasicPublishOptions::default();
    let sent = open.basic_publish("".into(), QUEUE.into(), options, body, persistent);
    let confirmed =
        tokio::time::timeout(Duration::from_secs(10), async { sent.await?.await }).await??;
    anyhow::ensure!(confirmed.is_ack(), "the broker did not take it");
    *channel = Some(open);
    Ok(())
}

async fn connect(url: &str) -> anyhow::Result<Channel> {
    let connection = Connection::connect(url, ConnectionProperties::default()).await?;
    let channel = connection.create_channel().await?;
    channel
        .confirm_select(ConfirmSelectOptions::default())
        .await?;
    let mut arguments = FieldTable::default();
    arguments.insert(
        "x-queue-type".into(),
        lapin::types::AMQPValue::LongString("quorum".into()),
    );
    let options = QueueDeclareOptions {
        durable: true,
        ..QueueDeclareOptions::default()
    };
    channel
        .queue_declare(QUEUE.into(), options, arguments)
        .await?;
    Ok(channel)
}
