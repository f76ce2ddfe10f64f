//! Publishes a message to the queue through the default exchange, and waits for the confirmation.
//!
//! Each message has its own connection. Messages are rare, so no connection stays idle and the consumer's connection
//! is not affected. The user needs the right to write to `amq.default`.

use async_trait::async_trait;
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::{BasicProperties, Confirmation};
use nightshift_engine::checkup::Checkup;
use nightshift_pipeline::port::{Outgoing, Publish, PublishError};

use super::Config;
use super::session::{ANSWER_SECS, Trouble, asked, connect, open_channel};
use crate::Secrets;
use crate::pace::Failure;
use crate::publish::failed;

/// Delivery mode of AMQP for a message that survives a restart of the broker.
const PERSISTENT: u8 = 2;

/// Publisher of messages to a queue.
pub(crate) struct Publisher {
    config: Config,
    secrets: Secrets,
}

impl Publisher {
    pub(crate) fn new(config: Config, secrets: Secrets) -> Self {
        Self { config, secrets }
    }

    async fn put(&self, message: &Outgoing) -> Result<(), Trouble> {
        let queue = &self.config.queue;
        match self.send(queue, message).await? {
            Confirmation::Ack(None) => Ok(()),
            Confirmation::Ack(Some(_)) => Err(Trouble::away(&format!(
                "the broker gave it back: there is no queue {queue:?}"
            ))),
            Confirmation::Nack(_) => Err(Trouble::away(&format!(
                "the broker did not take it: is the queue {queue:?} full?"
            ))),
            Confirmation::NotRequested => Err(Trouble::away("the broker confirms nothing")),
        }
    }

    /// Sends the message to the queue of this name, and returns the confirmation.
    async fn send(&self, queue: &str, message: &Outgoing) -> Result<Confirmation, Trouble> {
        let connection = connect(&self.config, &self.secrets).await?;
        let channel = open_channel(&connection).await?;
        let confirming = channel.confirm_select(ConfirmSelectOptions::default());
        asked("have messages confirmed", ANSWER_SECS, confirming).await?;
        let options = BasicPublishOptions {
            mandatory: true,
            ..BasicPublishOptions::default()
        };
        let properties = BasicProperties::default()
            .with_content_type("application/json".into())
            .with_message_id(message.id.as_str().into())
            .with_delivery_mode(PERSISTENT);
        let confirmed = async {
            let put =
                channel.basic_publish("".into(), queue.into(), options, &message.bytes, properties);
            put.await?.await
        };
        let confirmation = asked("publish", ANSWER_SECS, confirmed).await;
        let ended = connection.close(200, "done".into());
        if let Err(trouble) = asked("close the connection", ANSWER_SECS, ended).await {
            tracing::debug!(why = trouble.what, "a connection did not end in order");
        }
        confirmation
    }
}

#[async_trait]
impl Publish for Publisher {
    fn name(&self) -> &str {
        &self.config.name
    }

    async fn publish(&self, message: &Outgoing) -> Result<(), PublishError> {
        let put = self.put(message).await;
        put.map_err(|trouble| failed(&self.config.name, trouble.what))
    }
}

/// Checks whether canaries may be sent, by a message to a queue that does not exist, which the broker returns.
pub(crate) async fn examine(config: Config, secrets: Secrets) -> Checkup {
    let mut checkup = Checkup::default();
    let publisher = Publisher::new(config, secrets);
    let nowhere = format!("nightshift-doctor-{}", uuid::Uuid::new_v4().simple());
    let message = Outgoing {
        id: nowhere.clone(),
        bytes: Vec::new(),
    };
    match publisher.send(&nowhere, &message).await {
        Ok(_) => checkup.saw("canaries may be sent"),
        Err(trouble) if trouble.failure == Failure::Refused => checkup.error(
            "source.canary_refused",
            format!("no canary may be sent: {}", trouble.what),
            "no canary comes through, and NightshiftCanaryLate pages",
            "let the user write to the default exchange: rabbitmqctl set_permissions -p VHOST USER '^$' '^amq\\.default$' '^QUEUE$'",
        ),
        // The check of the queue reports this error.
        Err(trouble) => checkup.saw(format!("whether canaries may be sent is not known: {}", trouble.what)),
    }
    checkup
}
