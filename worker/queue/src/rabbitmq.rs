//! Implements the source for a queue of RabbitMQ, over AMQP 0-9-1.
//!
//! Each source has one connection and one consumer, made by `receive` itself: connect, check the queue, set the
//! prefetch, consume. After any error or end of the stream everything is dropped and made again; the library's own
//! recovery of topology is not used. The prefetch is the room beside the unsettled messages, and less while messages
//! are large. A message is identified by its connection and delivery tag. A settlement after a reconnect therefore has
//! no effect, and the message is redelivered.

mod config;
mod doctor;
#[cfg(test)]
mod headers;
mod management;
mod message;
mod publish;
mod session;
mod unacked;

use std::sync::Arc;

use async_trait::async_trait;
use lapin::options::{BasicAckOptions, BasicNackOptions};
use nightshift_pipeline::port::{Message, SettleError, Settlement, Source, SourceError};
use parking_lot::{Mutex, MutexGuard};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

pub use config::RabbitmqConfig;
pub(crate) use doctor::probe;
pub(crate) use publish::{RabbitmqPublisher, probe_publishing as examine_publishing};
use session::{ANSWER_TIMEOUT, Session, SessionError};
use unacked::{AckOperation, UnackedDeliveries};

use crate::SecretResolver;
use crate::backoff::Backoff;
use crate::health::SourceHealth;

pub(crate) struct RabbitmqSource {
    config: RabbitmqConfig,
    secrets: SecretResolver,
    health: SourceHealth,
    /// Held by the receiver; settling does not need it.
    receiving: tokio::sync::Mutex<RabbitmqReceiveState>,
    /// Channel that settles messages of the present connection.
    live: Arc<Mutex<Option<LiveChannel>>>,
}

struct RabbitmqReceiveState {
    session: Option<Session>,
    /// Task that opens a session or adds room to one. At most one runs, and it owns the session meanwhile. Dropping a
    /// call of `receive` does not end it.
    step: JoinSet<Result<Session, SessionError>>,
    backoff: Backoff,
    connections: u64,
    closed: bool,
}

/// The channel of the messages, with those that are not settled.
struct LiveChannel {
    channel: lapin::Channel,
    unacked: UnackedDeliveries,
}

impl RabbitmqSource {
    /// Creates a source that connects at the first request.
    pub(crate) fn new(config: RabbitmqConfig, secrets: SecretResolver) -> Self {
        Self {
            health: SourceHealth::new(&config.name),
            config,
            secrets,
            receiving: tokio::sync::Mutex::new(RabbitmqReceiveState {
                session: None,
                step: JoinSet::new(),
                backoff: Backoff::default(),
                connections: 0,
                closed: false,
            }),
            live: Arc::new(Mutex::new(None)),
        }
    }

    fn lock_live(&self) -> MutexGuard<'_, Option<LiveChannel>> {
        self.live.lock()
    }

    /// Returns how many messages may be held if there is room for this many more.
    fn prefetch_for(&self, most: usize) -> u16 {
        let in_hand = self
            .lock_live()
            .as_ref()
            .map_or(0, |live| live.unacked.count());
        let wanted = u16::try_from(in_hand.saturating_add(most)).unwrap_or(u16::MAX);
        wanted.clamp(1, self.config.prefetch)
    }

    /// Ensures a session with room for this many messages, and opens one if there is none.
    async fn ensure_session(
        &self,
        receiving: &mut RabbitmqReceiveState,
        wanted: u16,
    ) -> Result<(), SessionError> {
        loop {
            if let Some(joined) = receiving.step.join_next().await {
                let session =
                    joined.map_err(|error| SessionError::unavailable(&error.to_string()))??;
                self.attach_session(&session);
                receiving.session = Some(session);
            }
            match receiving.session.take() {
                Some(session) if session.has_room(wanted) => {
                    receiving.session = Some(session);
                    return Ok(());
                }
                Some(session) => {
                    receiving.step.spawn(session.make_room(wanted));
                }
                None => {
                    receiving.backoff.wait().await;
                    receiving.connections += 1;
                    let (config, secrets) = (self.config.clone(), Arc::clone(&self.secrets));
                    let number = receiving.connections;
                    receiving.step.spawn(Session::open(config, secrets, number));
                }
            }
        }
    }

    /// Settles messages over this session from now on.
    fn attach_session(&self, session: &Session) {
        let mut live = self.lock_live();
        let number = session.number();
        if live
            .as_ref()
            .is_none_or(|live| live.unacked.connection() != number)
        {
            *live = Some(LiveChannel {
                channel: session.channel(),
                unacked: UnackedDeliveries::new(number),
            });
        }
    }

    async fn receive_batch(
        &self,
        receiving: &mut RabbitmqReceiveState,
        most: usize,
    ) -> Result<Vec<Message>, SessionError> {
        self.ensure_session(receiving, self.prefetch_for(most))
            .await?;
        self.health.up();
        let session = receiving.session.as_mut();
        let session = session.ok_or_else(|| SessionError::unavailable("not connected"))?;
        let messages = session.receive(most).await?;
        if let Some(live) = self.lock_live().as_mut() {
            live.unacked
                .track(messages.iter().map(|message| message.id.as_str()));
        }
        receiving.backoff.reset();
        Ok(messages)
    }

    /// Returns the channel and the operations for messages of the present connection, and the ids of other messages.
    fn plan_settlement(
        &self,
        settled: &[Settlement],
    ) -> (
        Option<(lapin::Channel, Vec<AckOperation>)>,
        Vec<SettleError>,
    ) {
        match self.lock_live().as_ref() {
            Some(live) => {
                let (operations, strange) = live.unacked.plan_settlement(settled);
                (
                    Some((live.channel.clone(), operations)),
                    stale_settle_errors(strange),
                )
            }
            None => (
                None,
                stale_settle_errors(settled.iter().map(|one| one.id.clone())),
            ),
        }
    }
}

/// Returns errors for messages whose connection has ended. They are being redelivered already.
fn stale_settle_errors(ids: impl IntoIterator<Item = String>) -> Vec<SettleError> {
    ids.into_iter()
        .map(|id| SettleError {
            id,
            why: "the connection of the message was closed".to_owned(),
        })
        .collect()
}

#[async_trait]
impl Source for RabbitmqSource {
    fn name(&self) -> &str {
        &self.config.name
    }

    fn kind(&self) -> &'static str {
        "rabbitmq"
    }

    async fn receive(&self, most: usize) -> Result<Option<Vec<Message>>, SourceError> {
        let mut receiving = self.receiving.lock().await;
        if receiving.closed {
            return Ok(None);
        }
        match self.receive_batch(&mut receiving, most.max(1)).await {
            Ok(messages) => Ok(Some(messages)),
            Err(trouble) => {
                receiving.session = None;
                *self.lock_live() = None;
                receiving.backoff.record_failure(trouble.failure);
                self.health.down(&trouble.what);
                Err(SourceError {
                    source_name: self.config.name.clone(),
                    cause: trouble.what.into(),
                })
            }
        }
    }

    async fn settle(&self, settled: &[Settlement]) -> Vec<SettleError> {
        let (planned, mut unsettled) = self.plan_settlement(settled);
        let Some((channel, operations)) = planned else {
            return unsettled;
        };
        // All operations share one deadline, so that a blocked channel is waited for only once.
        let until = Instant::now() + ANSWER_TIMEOUT;
        for operation in operations {
            let why = match timeout_at(until, send_settlement(&channel, &operation)).await {
                Ok(Ok(())) => {
                    if let Some(live) = self.lock_live().as_mut() {
                        live.unacked.mark_settled(&operation);
                    }
                    continue;
                }
                Ok(Err(error)) => error.to_string(),
                Err(_) => "the broker accepts no data".to_owned(),
            };
            unsettled.extend(operation.delivery_ids().map(|name| SettleError {
                id: name.to_string(),
                why: why.clone(),
            }));
        }
        unsettled
    }

    fn ready(&self) -> Result<(), String> {
        self.health.ready()?;
        // There may be no receiver, for example while the store is away.
        let has_ended = self
            .lock_live()
            .as_ref()
            .is_some_and(|live| !live.channel.status().connected());
        if has_ended {
            return Err("connection closed; reconnecting at the next call".to_owned());
        }
        Ok(())
    }

    async fn close(&self) {
        let mut receiving = self.receiving.lock().await;
        receiving.closed = true;
        self.health.closed();
        *self.lock_live() = None;
        // The broker redelivers unacknowledged messages when the connection ends, whether in order or not.
        receiving.step.shutdown().await;
        if let Some(session) = receiving.session.take() {
            session.close().await;
        }
    }
}

async fn send_settlement(channel: &lapin::Channel, operation: &AckOperation) -> lapin::Result<()> {
    let (tag, multiple) = (operation.tag(), operation.is_multiple());
    if operation.is_nack() {
        let options = BasicNackOptions {
            multiple,
            requeue: true,
        };
        channel.basic_nack(tag, options).await
    } else {
        channel.basic_ack(tag, BasicAckOptions { multiple }).await
    }
}
