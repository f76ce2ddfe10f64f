//! A publisher to a queue of RabbitMQ: an alert is an obligation once the broker has confirmed it.

use lapin::PublisherConfirm;
use lapin::options::{
    BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions, QueueDeleteOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Confirmation, Connection, ConnectionProperties};

/// Messages that are sent before the confirmations of any are waited for.
const TOGETHER: usize = 500;

/// A message was not taken.
#[derive(Debug, thiserror::Error)]
pub enum NotPublished {
    /// The connection.
    #[error("the broker cannot be reached")]
    Broker(#[from] lapin::Error),
    /// The broker said so.
    #[error("the broker did not take a message")]
    Refused,
}

/// Publishes to one queue, which is made where it is missing: durable, of quorum type.
#[derive(Debug)]
pub struct Publisher {
    channel: Channel,
    queue: String,
    _connection: Connection,
}

impl Publisher {
    /// Connects, and makes the queue.
    ///
    /// # Errors
    ///
    /// When the broker cannot be reached, or has another queue of this name.
    pub async fn connect(url: &str, queue: &str) -> Result<Self, NotPublished> {
        let connection = Connection::connect(url, ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        channel
            .confirm_select(ConfirmSelectOptions::default())
            .await?;
        let mut arguments = FieldTable::default();
        arguments.insert(
            "x-queue-type".into(),
            AMQPValue::LongString("quorum".into()),
        );
        // As a source makes it: newer brokers refuse another one of the same name.
        arguments.insert("x-delivery-limit".into(), AMQPValue::LongInt(i32::MAX));
        let durable = QueueDeclareOptions {
            durable: true,
            ..QueueDeclareOptions::default()
        };
        channel
            .queue_declare(queue.into(), durable, arguments)
            .await?;
        Ok(Self {
            channel,
            queue: queue.to_owned(),
            _connection: connection,
        })
    }

    /// Publishes these, and waits until each is confirmed.
    ///
    /// # Errors
    ///
    /// When one is not; those before it may be.
    pub async fn publish<T: AsRef<[u8]>>(&self, bodies: &[T]) -> Result<(), NotPublished> {
        for batch in bodies.chunks(TOGETHER) {
            let mut confirmations = Vec::with_capacity(batch.len());
            for body in batch {
                confirmations.push(self.send(body.as_ref(), BasicProperties::default()).await?);
            }
            for confirmation in confirmations {
                confirmed(confirmation).await?;
            }
        }
        Ok(())
    }

    /// Publishes one with these headers, and waits until it is confirmed.
    ///
    /// # Errors
    ///
    /// As [`Publisher::publish`].
    pub async fn publish_with(
        &self,
        body: &[u8],
        headers: &[(&str, &str)],
    ) -> Result<(), NotPublished> {
        let mut table = FieldTable::default();
        for (name, value) in headers {
            table.insert((*name).into(), AMQPValue::LongString((*value).into()));
        }
        let properties = BasicProperties::default().with_headers(table);
        confirmed(self.send(body, properties).await?).await
    }

    /// Deletes the queue with all that is in it: a broker keeps what it had of a long one.
    ///
    /// # Errors
    ///
    /// When the broker cannot be reached.
    pub async fn delete_queue(&self) -> Result<(), NotPublished> {
        let options = QueueDeleteOptions::default();
        let queue = self.queue.as_str().into();
        self.channel.queue_delete(queue, options).await?;
        Ok(())
    }

    async fn send(
        &self,
        body: &[u8],
        properties: BasicProperties,
    ) -> Result<PublisherConfirm, NotPublished> {
        let persistent = properties.with_delivery_mode(2);
        let (exchange, queue) = ("".into(), self.queue.as_str().into());
        let options = BasicPublishOptions::default();
        let sent = self
            .channel
            .basic_publish(exchange, queue, options, body, persistent);
        Ok(sent.await?)
    }
}

async fn confirmed(confirmation: PublisherConfirm) -> Result<(), NotPublished> {
    match confirmation.await? {
        Confirmation::Ack(_) => Ok(()),
        _ => Err(NotPublished::Refused),
    }
}
