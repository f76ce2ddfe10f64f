//! Manages one connection with one consumer, from opening to closing.
//!
//! Every step that waits for the broker has a timeout: heartbeats detect a silent network on an open connection, and
//! these limits detect one before. Connecting and making room must not be dropped midway, because a consumer would be
//! left without a reader, so the source runs them as tasks. Waiting for messages may be dropped at any time.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt, TryStreamExt};
use lapin::message::Delivery;
use lapin::options::{
    BasicCancelOptions, BasicConsumeOptions, BasicQosOptions, QueueDeclareOptions,
};
use lapin::protocol::{AMQPErrorKind, AMQPHardError, AMQPSoftError};
use lapin::tcp::OwnedTLSConfig;
use lapin::types::{AMQPValue, FieldTable};
use lapin::uri::AMQPAuthority;
use lapin::{Channel, Connection, ConnectionProperties, Consumer, ErrorKind};
use nightshift_pipeline::port::Message;
use secrecy::ExposeSecret;
use tokio::time::timeout;

use super::config::RabbitmqConfig;
use super::message::{is_of_stream, message_from_delivery};
use crate::backoff::FailureKind;
use crate::message_sizes::MessageSizes;
use crate::{LONG_POLL, SecretResolver};

/// Longest time for one answer of the broker.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest time for opening a connection. If the network drops all packets, this is the whole wait.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Assumed size of a message before any was seen: the default limit of RabbitMQ 4 (`max_message_size`).
const LARGEST_BYTES: usize = 16 * 1024 * 1024;

/// Reason why there is no session, or no longer.
#[derive(Debug)]
pub(super) struct SessionError {
    /// Text for people.
    pub(super) what: String,
    /// Kind of the failure.
    pub(super) failure: FailureKind,
    /// True if only the queue is missing.
    pub(super) is_queue_missing: bool,
    /// True if the URL names the vhost with an empty name.
    pub(super) has_empty_vhost: bool,
}

impl SessionError {
    pub(super) fn unavailable(what: &str) -> Self {
        Self {
            what: what.to_owned(),
            failure: FailureKind::Unavailable,
            is_queue_missing: false,
            has_empty_vhost: false,
        }
    }

    fn refused(what: String) -> Self {
        Self {
            what,
            failure: FailureKind::Refused,
            is_queue_missing: false,
            has_empty_vhost: false,
        }
    }

    fn from_lapin(doing: &str, error: &lapin::Error) -> Self {
        use AMQPErrorKind::{Hard, Soft};
        let said = match error.kind() {
            ErrorKind::ProtocolError(said) => Some(said.kind()),
            _ => None,
        };
        let refused = matches!(
            said,
            Some(
                Soft(AMQPSoftError::ACCESSREFUSED | AMQPSoftError::PRECONDITIONFAILED)
                    | Hard(AMQPHardError::NOTALLOWED)
            )
        );
        Self {
            what: format!("{doing}: {error}"),
            failure: if refused {
                FailureKind::Refused
            } else {
                FailureKind::Unavailable
            },
            is_queue_missing: matches!(said, Some(Soft(AMQPSoftError::NOTFOUND))),
            has_empty_vhost: false,
        }
    }
}

/// Waits for an answer of the broker with a timeout.
pub(super) async fn with_timeout<T>(
    doing: &str,
    limit: Duration,
    answer: impl Future<Output = lapin::Result<T>>,
) -> Result<T, SessionError> {
    match timeout(limit, answer).await {
        Ok(answer) => answer.map_err(|error| SessionError::from_lapin(doing, &error)),
        Err(_) => Err(SessionError::unavailable(&format!(
            "{doing}: no answer within {limit:?}"
        ))),
    }
}

/// A connection with its channel and consumer.
pub(super) struct Session {
    connection: Connection,
    channel: Channel,
    queue: String,
    consumer: Option<Consumer>,
    prefetch: u16,
    buffer: ReceiveBuffer,
}

/// Messages that arrived.
struct ReceiveBuffer {
    /// Number of the connection.
    number: u64,
    /// Messages that were not handed over.
    waiting: VecDeque<Message>,
    sizes: MessageSizes,
    /// True if it was logged that they come from a stream.
    is_stream_logged: bool,
}

impl ReceiveBuffer {
    fn add(&mut self, delivery: Delivery) {
        self.sizes.record(delivery.data.len());
        if !self.is_stream_logged && is_of_stream(&delivery.properties) {
            self.is_stream_logged = true;
            tracing::error!(
                "the queue is a stream: alerts that come while no worker listens are never taken; bind a durable quorum \
                 queue in its place"
            );
        }
        self.waiting
            .push_back(message_from_delivery(self.number, delivery));
    }
}

impl Session {
    /// Connects and checks the queue. Nothing is consumed before [`Session::make_room`].
    pub(super) async fn open(
        config: RabbitmqConfig,
        secrets: SecretResolver,
        number: u64,
    ) -> Result<Self, SessionError> {
        let connection = connect(&config, &secrets).await?;
        let mut channel = open_channel(&connection).await?;
        match passive_declare(&channel, &config.queue).await {
            Err(trouble) if config.declare && trouble.is_queue_missing => {
                // The refusal has closed the channel.
                channel = open_channel(&connection).await?;
                declare_queue(&channel, &config.queue).await?;
            }
            other => other?,
        }
        Ok(Self {
            connection,
            channel,
            queue: config.queue.clone(),
            consumer: None,
            prefetch: 0,
            buffer: ReceiveBuffer {
                number,
                waiting: VecDeque::new(),
                sizes: MessageSizes::new(LARGEST_BYTES),
                is_stream_logged: false,
            },
        })
    }

    pub(super) fn channel(&self) -> Channel {
        self.channel.clone()
    }

    pub(super) const fn number(&self) -> u64 {
        self.buffer.number
    }

    /// Returns the number of messages whose bytes fit into memory.
    fn max_fitting(&self) -> u16 {
        u16::try_from(self.buffer.sizes.max_in_flight()).unwrap_or(u16::MAX)
    }

    /// Returns whether the prefetch suits this many messages, or as many as fit into memory. A slightly too large
    /// prefetch does not justify another consumer, unless memory is short.
    pub(super) fn has_room(&self, wanted: u16) -> bool {
        let fit = self.max_fitting();
        let wanted = wanted.min(fit);
        let is_about = self.prefetch / 2 <= wanted && wanted <= self.prefetch;
        self.consumer.is_some() && is_about && self.prefetch <= fit
    }

    /// Sets the prefetch to this many messages. A limit applies to consumers that start after it was set, so the
    /// consumer is replaced. Messages that it had received are kept.
    pub(super) async fn make_room(mut self, wanted: u16) -> Result<Self, SessionError> {
        if let Some(mut consumer) = self.consumer.take() {
            let cancelled = self
                .channel
                .basic_cancel(consumer.tag(), BasicCancelOptions::default());
            with_timeout("cancel the consumer", ANSWER_TIMEOUT, cancelled).await?;
            let rest = async {
                while let Some(delivery) = consumer.try_next().await? {
                    self.buffer.add(delivery);
                }
                Ok(())
            };
            with_timeout("end the consumer", ANSWER_TIMEOUT, rest).await?;
        }
        let wanted = wanted.min(self.max_fitting());
        let limit = self.channel.basic_qos(wanted, BasicQosOptions::default());
        with_timeout("set the prefetch", ANSWER_TIMEOUT, limit).await?;
        let consumer = self.channel.basic_consume(
            self.queue.as_str().into(),
            "".into(),
            BasicConsumeOptions::default(),
            FieldTable::default(),
        );
        self.consumer = Some(with_timeout("consume", ANSWER_TIMEOUT, consumer).await?);
        self.prefetch = wanted;
        Ok(self)
    }

    /// Waits for a first message and returns those that arrived with it. The end of the stream is an error: the
    /// broker has cancelled the consumer, as it does when the queue is deleted. Messages that arrived before are
    /// returned first.
    pub(super) async fn receive(&mut self, most: usize) -> Result<Vec<Message>, SessionError> {
        let Some(consumer) = &mut self.consumer else {
            return Err(SessionError::unavailable("no consumer"));
        };
        let mut next = if self.buffer.waiting.is_empty() {
            timeout(LONG_POLL, consumer.next()).await.ok()
        } else {
            consumer.next().now_or_never()
        };
        while let Some(came) = next {
            match came {
                Some(Ok(delivery)) => self.buffer.add(delivery),
                Some(Err(error)) => return Err(SessionError::from_lapin("receive", &error)),
                None => {
                    // A stream that has ended must not be polled again, because it would never wake.
                    self.consumer = None;
                    break;
                }
            }
            if self.buffer.waiting.len() >= most {
                break;
            }
            next = consumer.next().now_or_never();
        }
        if self.consumer.is_none() && self.buffer.waiting.is_empty() {
            let queue = &self.queue;
            return Err(SessionError::unavailable(&format!(
                "the broker has cancelled the consumer: was the queue {queue:?} deleted?"
            )));
        }
        let count = most.min(self.buffer.waiting.len());
        Ok(self.buffer.waiting.drain(..count).collect())
    }

    /// Closes in order, so that the broker redelivers unacknowledged messages at once.
    pub(super) async fn close(self) {
        let closed = self.connection.close(200, "done".into());
        if let Err(trouble) =
            with_timeout("close the connection", Duration::from_secs(2), closed).await
        {
            tracing::debug!(why = trouble.what, "cannot close the connection cleanly");
        }
    }
}

pub(super) async fn connect(
    config: &RabbitmqConfig,
    secrets: &SecretResolver,
) -> Result<Connection, SessionError> {
    let secret = |text: &str| secrets(text).map_err(SessionError::refused);
    let url = secret(config.url.expose_secret())?;
    let mut uri = config
        .uri(url.expose_secret())
        .map_err(SessionError::refused)?;
    if let Some(password) = &config.password {
        let password = secret(password.expose_secret())?;
        uri.authority.userinfo.password = password.expose_secret().trim_end().to_owned();
    }
    let cert_chain = match &config.ca_file {
        None => None,
        Some(file) => {
            let file = file.clone();
            let shown = file.display().to_string();
            let read = tokio::task::spawn_blocking(move || std::fs::read_to_string(file)).await;
            let read = read.map_err(|error| SessionError::refused(error.to_string()))?;
            Some(read.map_err(|error| SessionError::refused(format!("ca_file {shown}: {error}")))?)
        }
    };
    let tls = OwnedTLSConfig {
        identity: None,
        cert_chain,
    };
    let properties = ConnectionProperties::default()
        .with_connection_name(format!("nightshift {}", config.name).into());
    let runtime = lapin::runtime::default_runtime()
        .map_err(|error| SessionError::from_lapin("connect", &error))?;
    let (place, nameless) = (connect_label(&uri.authority), uri.vhost.is_empty());
    let connected = Connection::connect_uri_with_config(uri, properties, tls, runtime);
    // The library's future is too large for the stack of its callers.
    let connected = with_timeout(&place, CONNECT_TIMEOUT, Box::pin(connected)).await;
    connected.map_err(|trouble| SessionError {
        has_empty_vhost: nameless,
        ..trouble
    })
}

/// Formats the address for people, with brackets around an IPv6 address before a port.
fn connect_label(authority: &AMQPAuthority) -> String {
    let (host, port) = (&authority.host, authority.port);
    if host.contains(':') {
        format!("connect to [{host}]:{port}")
    } else {
        format!("connect to {host}:{port}")
    }
}

async fn passive_declare(channel: &Channel, queue: &str) -> Result<(), SessionError> {
    let options = QueueDeclareOptions {
        passive: true,
        ..QueueDeclareOptions::default()
    };
    let asked_for = channel.queue_declare(queue.into(), options, FieldTable::default());
    with_timeout("look for the queue", ANSWER_TIMEOUT, asked_for)
        .await
        .map(|_| ())
}

/// Practically unlimited in all versions. Before 4, -1 means that nothing may be redelivered.
const MOST_DELIVERIES: i32 = i32::MAX;

/// Creates the queue without a delivery limit. From version 4 on, RabbitMQ otherwise has a limit of 20 and drops
/// messages that reach it.
async fn declare_queue(channel: &Channel, queue: &str) -> Result<(), SessionError> {
    let mut arguments = FieldTable::default();
    arguments.insert(
        "x-queue-type".into(),
        AMQPValue::LongString("quorum".into()),
    );
    arguments.insert(
        "x-delivery-limit".into(),
        AMQPValue::LongInt(MOST_DELIVERIES),
    );
    let made = channel.queue_declare(queue.into(), QueueDeclareOptions::durable(), arguments);
    with_timeout("make the queue", ANSWER_TIMEOUT, made)
        .await
        .map(|_| ())
}

pub(super) async fn open_channel(connection: &Connection) -> Result<Channel, SessionError> {
    with_timeout(
        "open a channel",
        ANSWER_TIMEOUT,
        connection.create_channel(),
    )
    .await
}
