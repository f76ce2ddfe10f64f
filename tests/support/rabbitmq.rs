//! Provides a publisher to a queue of RabbitMQ. An alert counts as accepted once the broker has confirmed it.

use lapin::PublisherConfirm;
use lapin::options::{
    BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions, QueueDeleteOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Confirmation, Connection, ConnectionProperties};

/// Messages that are sent before confirmations are awaited.
const BATCH_SIZE: usize = 500;

/// A message was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The connection failed.
    #[error("the broker cannot be reached")]
    Broker(#[from] lapin::Error),
    /// The broker refused the message.
    #[error("the broker did not take a message")]
    Refused,
}

/// A publisher to one queue, which is created if missing: durable, of type quorum.
#[derive(Debug)]
pub struct Publisher {
    channel: Channel,
    queue: String,
    _connection: Connection,
}

impl Publisher {
    /// Connects and creates the queue.
    pub async fn connect(url: &str, queue: &str) -> Result<Self, PublishError> {
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
        // A source declares the same argument; newer brokers refuse a queue with other arguments.
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

    /// Publishes these messages and waits until each is confirmed.
    ///
    /// # Errors
    ///
    /// Fails when a message is not confirmed; those before it may be.
    pub async fn publish<T: AsRef<[u8]>>(&self, bodies: &[T]) -> Result<(), PublishError> {
        for batch in bodies.chunks(BATCH_SIZE) {
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

    /// Publishes one message with these headers and waits until it is confirmed.
    pub async fn publish_with(
        &self,
        body: &[u8],
        headers: &[(&str, &str)],
    ) -> Result<(), PublishError> {
        let mut table = FieldTable::default();
        for (name, value) in headers {
            table.insert((*name).into(), AMQPValue::LongString((*value).into()));
        }
        let properties = BasicProperties::default().with_headers(table);
        confirmed(self.send(body, properties).await?).await
    }

    /// Deletes the queue with its contents, since a broker keeps the disk space of a long queue.
    pub async fn delete_queue(&self) -> Result<(), PublishError> {
        let options = QueueDeleteOptions::default();
        let queue = self.queue.as_str().into();
        self.channel.queue_delete(queue, options).await?;
        Ok(())
    }

    async fn send(
        &self,
        body: &[u8],
        properties: BasicProperties,
    ) -> Result<PublisherConfirm, PublishError> {
        let persistent = properties.with_delivery_mode(2);
        let (exchange, queue) = ("".into(), self.queue.as_str().into());
        let options = BasicPublishOptions::default();
        let sent = self
            .channel
            .basic_publish(exchange, queue, options, body, persistent);
        Ok(sent.await?)
    }
}

async fn confirmed(confirmation: PublisherConfirm) -> Result<(), PublishError> {
    match confirmation.await? {
        Confirmation::Ack(_) => Ok(()),
        _ => Err(PublishError::Refused),
    }
}
