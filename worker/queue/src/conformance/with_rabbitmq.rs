//! Runs the suite on RabbitMQ, and tests faults of its connections (F6, F7, F8, F10, F11, F33).

mod faults;
mod node;

use std::sync::Arc;

use async_trait::async_trait;
use lapin::options::{
    BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions, QueueDeleteOptions,
};
use lapin::types::{AMQPValue, FieldTable, LongString};
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use nightshift_pipeline::port::{Publish, Source};
use secrecy::SecretString;
use tokio::time::timeout;

use super::broker::Broker;
use super::suite::suite;
use super::{BOUND, offered, receive, texts};
use crate::{SecretResolver, SourceConfig, connect, publisher};

suite!(RabbitQueue::quorum);

mod classic {
    use super::{RabbitQueue, suite};
    suite!(RabbitQueue::classic);
}

/// A queue that ends with its test.
pub(super) struct RabbitQueue {
    url: String,
    name: String,
    channel: Channel,
    connection: Connection,
}

impl RabbitQueue {
    async fn quorum() -> Option<Self> {
        Self::of_kind("quorum").await
    }

    async fn classic() -> Option<Self> {
        Self::of_kind("classic").await
    }

    async fn of_kind(kind: &str) -> Option<Self> {
        Some(Self::made(&offered("RABBITMQ")?, kind).await)
    }

    async fn made(url: &str, kind: &str) -> Self {
        let name = format!("conformance-{}", uuid::Uuid::new_v4());
        Self::named(url, kind, name).await
    }

    /// Creates the queue with its own publisher connection.
    async fn named(url: &str, kind: &str, name: String) -> Self {
        let connection = Connection::connect(url, ConnectionProperties::default())
            .await
            .unwrap();
        let channel = connection.create_channel().await.unwrap();
        channel
            .confirm_select(ConfirmSelectOptions::default())
            .await
            .unwrap();
        declare(&channel, &name, kind, true).await;
        Self {
            url: url.to_owned(),
            name,
            channel,
            connection,
        }
    }

    /// Returns the source's configuration with additional keys.
    fn config(&self, url: &str, more: &str) -> SourceConfig {
        let text = format!(
            "kind = 'rabbitmq'\nname = 'rabbit'\nurl = '{url}'\nqueue = '{}'\n{more}",
            self.name
        );
        toml::from_str(&text).unwrap()
    }

    async fn source_at(&self, url: &str, more: &str) -> Arc<dyn Source> {
        connect(&self.config(url, more), as_written())
            .await
            .unwrap()
    }

    /// Waits until the queue has a consumer. The queue may not exist yet.
    async fn until_consumed(&self) {
        let looking = async {
            loop {
                // A query for a missing queue closes the channel.
                let channel = self.connection.create_channel().await.unwrap();
                let told = channel.queue_declare(
                    self.name.as_str().into(),
                    passively(),
                    FieldTable::default(),
                );
                if told.await.is_ok_and(|queue| queue.consumer_count() > 0) {
                    return;
                }
                let _ = channel.close(200, "asked".into()).await;
            }
        };
        timeout(BOUND, looking).await.expect("a consumer comes");
    }

    /// Receives one message, which is published when the source has begun to consume.
    async fn first(&self, source: &dyn Source, body: &str) {
        let publishing = async {
            self.until_consumed().await;
            self.publish(vec![body.into()], &[]).await;
        };
        let (came, ()) = tokio::join!(receive(source, 1), publishing);
        assert_eq!(texts(&came), [body]);
    }

    async fn delete(&self) {
        let options = QueueDeleteOptions::default();
        self.channel
            .queue_delete(self.name.as_str().into(), options)
            .await
            .unwrap();
    }
}

async fn declare(channel: &Channel, name: &str, kind: &str, ends: bool) {
    let mut arguments = FieldTable::default();
    arguments.insert("x-queue-type".into(), AMQPValue::LongString(kind.into()));
    if ends {
        // The queue expires some time after its test.
        arguments.insert("x-expires".into(), AMQPValue::LongInt(600_000));
    }
    let durable = QueueDeclareOptions::durable();
    channel
        .queue_declare(name.into(), durable, arguments)
        .await
        .unwrap();
}

fn passively() -> QueueDeclareOptions {
    QueueDeclareOptions {
        passive: true,
        ..QueueDeclareOptions::default()
    }
}

/// Resolves every text to itself.
fn as_written() -> SecretResolver {
    Arc::new(|text| Ok(SecretString::from(text.to_owned())))
}

#[async_trait]
impl Broker for RabbitQueue {
    async fn publish(&self, bodies: Vec<Vec<u8>>, attributes: &[(&str, &str)]) {
        let mut headers = FieldTable::default();
        for (name, value) in attributes {
            let value = AMQPValue::LongString(LongString::from(*value));
            headers.insert((*name).into(), value);
        }
        let mut confirms = Vec::new();
        for body in bodies {
            let options = BasicPublishOptions::default();
            let properties = BasicProperties::default()
                .with_headers(headers.clone())
                .with_delivery_mode(2);
            let queue = self.name.as_str().into();
            let sent = self
                .channel
                .basic_publish("".into(), queue, options, &body, properties)
                .await;
            confirms.push(sent.unwrap());
        }
        for confirm in confirms {
            assert!(confirm.await.unwrap().is_ack());
        }
    }

    async fn source(&self) -> Arc<dyn Source> {
        self.source_at(&self.url, "").await
    }

    async fn publisher(&self) -> Option<Arc<dyn Publish>> {
        let made = publisher(&self.config(&self.url, ""), as_written()).await;
        Some(made.unwrap())
    }

    async fn left(&self) -> usize {
        let name = self.name.as_str().into();
        let told = self
            .channel
            .queue_declare(name, passively(), FieldTable::default());
        usize::try_from(told.await.unwrap().message_count()).unwrap()
    }
}

/// Checks that the broker keeps the messages that do not fit into memory if nothing is settled, as during a slow
/// commit.
#[tokio::test]
async fn a17_of_large_messages_no_more_are_taken_than_fit_into_memory() {
    let Some(broker) = RabbitQueue::quorum().await else {
        return;
    };
    let large = || vec![b'x'; 8 * 1024 * 1024];
    broker
        .publish((0..20).map(|_| large()).collect(), &[])
        .await;
    let source = broker.source().await;
    // Four messages before any was seen, then eight at a time.
    let came = receive(&*source, 5).await;
    assert!(came.iter().all(|one| one.bytes == large()));
    let left = broker.left().await;
    assert!(left >= 8, "{left} are left");
    source.close().await;
    broker.delete().await;
}
