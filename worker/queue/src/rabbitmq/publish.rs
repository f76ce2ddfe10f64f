//! Puts a message into the queue, by the default exchange, and waits until the broker has it.
//!
//! Each has a connection of its own, for they are rare: none stands idle, and the one that messages come over is not
//! touched. The user needs the right to write to `amq.default`.

use async_trait::async_trait;
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::{BasicProperties, Confirmation};
use nightshift_engine::Checkup;
use nightshift_pipeline::{Outgoing, Publish, PublishError};

use super::Config;
use super::session::{ANSWER_SECS, Trouble, asked, connect, open_channel};
use crate::Secrets;
use crate::pace::Failure;
use crate::publish::failed;

/// What AMQP calls a message that outlives a restart of the broker.
const PERSISTENT: u8 = 2;

/// Where messages of a queue are put.
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

    /// Sends it to the queue of this name, and hears what became of it.
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

/// Looks whether canaries may be sent: by a message to a queue that there is none of, which the broker gives back.
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
        // Whoever looks at the queue tells of that.
        Err(trouble) => checkup.saw(format!("whether canaries may be sent is not known: {}", trouble.what)),
    }
    checkup
}
