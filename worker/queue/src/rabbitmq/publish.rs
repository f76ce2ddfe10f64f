//! Publishes a message to the queue through the default exchange, and waits for the confirmation.
//!
//! Each message has its own connection. Messages are rare, so no connection stays idle and the consumer's connection
//! is not affected. The user needs the right to write to `amq.default`.

use async_trait::async_trait;
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::{BasicProperties, Confirmation};
use nightshift_engine::doctor::HealthReport;
use nightshift_pipeline::port::{OutgoingMessage, Publish, PublishError};

use super::RabbitmqConfig;
use super::session::{ANSWER_TIMEOUT, SessionError, connect, open_channel, with_timeout};
use crate::SecretResolver;
use crate::backoff::FailureKind;
use crate::publish::publish_error;

/// Delivery mode of AMQP for a message that survives a restart of the broker.
const PERSISTENT: u8 = 2;

/// Publisher of messages to a queue.
pub(crate) struct RabbitmqPublisher {
    config: RabbitmqConfig,
    secrets: SecretResolver,
}

impl RabbitmqPublisher {
    pub(crate) fn new(config: RabbitmqConfig, secrets: SecretResolver) -> Self {
        Self { config, secrets }
    }

    async fn publish_confirmed(&self, message: &OutgoingMessage) -> Result<(), SessionError> {
        let queue = &self.config.queue;
        match self.send(queue, message).await? {
            Confirmation::Ack(None) => Ok(()),
            Confirmation::Ack(Some(_)) => Err(SessionError::unavailable(&format!(
                "the broker gave it back: there is no queue {queue:?}"
            ))),
            Confirmation::Nack(_) => Err(SessionError::unavailable(&format!(
                "the broker did not take it: is the queue {queue:?} full?"
            ))),
            Confirmation::NotRequested => {
                Err(SessionError::unavailable("the broker confirms nothing"))
            }
        }
    }

    /// Sends the message to the queue of this name, and returns the confirmation.
    async fn send(
        &self,
        queue: &str,
        message: &OutgoingMessage,
    ) -> Result<Confirmation, SessionError> {
        let connection = connect(&self.config, &self.secrets).await?;
        let channel = open_channel(&connection).await?;
        let confirming = channel.confirm_select(ConfirmSelectOptions::default());
        with_timeout("have messages confirmed", ANSWER_TIMEOUT, confirming).await?;
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
        let confirmation = with_timeout("publish", ANSWER_TIMEOUT, confirmed).await;
        let ended = connection.close(200, "done".into());
        if let Err(trouble) = with_timeout("close the connection", ANSWER_TIMEOUT, ended).await {
            tracing::debug!(why = trouble.what, "cannot close the connection cleanly");
        }
        confirmation
    }
}

#[async_trait]
impl Publish for RabbitmqPublisher {
    fn name(&self) -> &str {
        &self.config.name
    }

    async fn publish(&self, message: &OutgoingMessage) -> Result<(), PublishError> {
        let put = self.publish_confirmed(message).await;
        put.map_err(|trouble| publish_error(&self.config.name, trouble.what))
    }
}

/// Checks whether canaries may be sent, by a message to a queue that does not exist, which the broker returns.
pub(crate) async fn probe_publishing(
    config: RabbitmqConfig,
    secrets: SecretResolver,
) -> HealthReport {
    let mut checkup = HealthReport::default();
    let publisher = RabbitmqPublisher::new(config, secrets);
    let nowhere = format!("nightshift-doctor-{}", uuid::Uuid::new_v4().simple());
    let message = OutgoingMessage {
        id: nowhere.clone(),
        bytes: Vec::new(),
    };
    match publisher.send(&nowhere, &message).await {
        Ok(_) => checkup.add_observation("canaries may be sent"),
        Err(trouble) if trouble.failure == FailureKind::Refused => checkup.add_error(
            "source.canary_refused",
            format!("no canary may be sent: {}", trouble.what),
            "no canary arrives, and NightshiftCanaryLate fires",
            "let the user write to the default exchange: rabbitmqctl set_permissions -p VHOST USER '^$' '^amq\\.default$' '^QUEUE$'",
        ),
        // The check of the queue reports this error.
        Err(trouble) => checkup.add_observation(format!("whether canaries may be sent is not known: {}", trouble.what)),
    }
    checkup
}
