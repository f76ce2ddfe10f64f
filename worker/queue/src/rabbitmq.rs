//! A queue of RabbitMQ, over AMQP 0-9-1.
//!
//! Each source has one connection and one consumer, made by `receive` itself: connect, check the queue, set the
//! prefetch, consume. After any error or end of the stream everything is dropped and made again; the library's own
//! recovery of topology is not used. The prefetch is the room beside the unsettled messages, and less while messages
//! are large. A message is identified by its connection and delivery tag. A settlement after a reconnect therefore
//! has no effect, and the message is redelivered.

mod config;
mod examine;
#[cfg(test)]
mod headers;
mod management;
mod message;
mod outstanding;
mod publish;
mod session;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use lapin::options::{BasicAckOptions, BasicNackOptions};
use nightshift_pipeline::port::{Message, Settled, Source, SourceError, Unsettled};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

pub use config::Config;
pub(crate) use examine::examine;
use outstanding::{Operation, Outstanding};
pub(crate) use publish::{Publisher, examine as examine_publishing};
use session::{ANSWER_SECS, Session, Trouble};

use crate::Secrets;
use crate::health::Health;
use crate::pace::Pace;

pub(crate) struct Rabbitmq {
    config: Config,
    secrets: Secrets,
    health: Health,
    /// Held by the receiver; settling does not need it.
    receiving: tokio::sync::Mutex<Receiving>,
    /// Channel that settles messages of the present connection.
    live: Arc<Mutex<Option<Live>>>,
}

struct Receiving {
    session: Option<Session>,
    /// Task that opens a session or adds room to one. At most one runs, and it owns the session meanwhile. Dropping a
    /// call of `receive` does not end it.
    step: JoinSet<Result<Session, Trouble>>,
    pace: Pace,
    connections: u64,
    closed: bool,
}

/// The channel of the messages, with those that are not settled.
struct Live {
    channel: lapin::Channel,
    outstanding: Outstanding,
}

impl Rabbitmq {
    /// Creates a source that connects at the first request.
    pub(crate) fn new(config: Config, secrets: Secrets) -> Self {
        Self {
            health: Health::new(&config.name),
            config,
            secrets,
            receiving: tokio::sync::Mutex::new(Receiving {
                session: None,
                step: JoinSet::new(),
                pace: Pace::default(),
                connections: 0,
                closed: false,
            }),
            live: Arc::new(Mutex::new(None)),
        }
    }

    fn live(&self) -> MutexGuard<'_, Option<Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many messages may be held if there is room for this many more.
    fn wanted(&self, most: usize) -> u16 {
        let in_hand = self
            .live()
            .as_ref()
            .map_or(0, |live| live.outstanding.handed_over());
        let wanted = u16::try_from(in_hand.saturating_add(most)).unwrap_or(u16::MAX);
        wanted.clamp(1, self.config.prefetch)
    }

    /// Ensures a session with room for this many messages, and opens one if there is none.
    async fn connected(&self, receiving: &mut Receiving, wanted: u16) -> Result<(), Trouble> {
        loop {
            if let Some(joined) = receiving.step.join_next().await {
                let session = joined.map_err(|error| Trouble::away(&error.to_string()))??;
                self.listen_to(&session);
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
                    receiving.pace.wait().await;
                    receiving.connections += 1;
                    let (config, secrets) = (self.config.clone(), Arc::clone(&self.secrets));
                    let number = receiving.connections;
                    receiving.step.spawn(Session::open(config, secrets, number));
                }
            }
        }
    }

    /// Settles messages over this session from now on.
    fn listen_to(&self, session: &Session) {
        let mut live = self.live();
        let number = session.number();
        if live
            .as_ref()
            .is_none_or(|live| live.outstanding.connection() != number)
        {
            *live = Some(Live {
                channel: session.channel(),
                outstanding: Outstanding::new(number),
            });
        }
    }

    async fn take(&self, receiving: &mut Receiving, most: usize) -> Result<Vec<Message>, Trouble> {
        self.connected(receiving, self.wanted(most)).await?;
        self.health.up();
        let session = receiving.session.as_mut();
        let session = session.ok_or_else(|| Trouble::away("there is no connection"))?;
        let messages = session.next(most).await?;
        if let Some(live) = self.live().as_mut() {
            live.outstanding
                .hand_over(messages.iter().map(|message| message.id.as_str()));
        }
        receiving.pace.succeeded();
        Ok(messages)
    }

    /// Returns the channel and the operations for messages of the present connection, and the ids of other messages.
    fn plan(
        &self,
        settled: &[Settled],
    ) -> (Option<(lapin::Channel, Vec<Operation>)>, Vec<Unsettled>) {
        match self.live().as_ref() {
            Some(live) => {
                let (operations, strange) = live.outstanding.plan(settled);
                (Some((live.channel.clone(), operations)), gone(strange))
            }
            None => (None, gone(settled.iter().map(|one| one.id.clone()))),
        }
    }
}

/// Returns errors for messages whose connection has ended. They are being redelivered already.
fn gone(ids: impl IntoIterator<Item = String>) -> Vec<Unsettled> {
    ids.into_iter()
        .map(|id| Unsettled {
            id,
            why: "the connection that it came over has ended".to_owned(),
        })
        .collect()
}

#[async_trait]
impl Source for Rabbitmq {
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
        match self.take(&mut receiving, most.max(1)).await {
            Ok(messages) => Ok(Some(messages)),
            Err(trouble) => {
                receiving.session = None;
                *self.live() = None;
                receiving.pace.failed(trouble.failure);
                self.health.down(&trouble.what);
                Err(SourceError {
                    source_name: self.config.name.clone(),
                    cause: trouble.what.into(),
                })
            }
        }
    }

    async fn settle(&self, settled: &[Settled]) -> Vec<Unsettled> {
        let (planned, mut unsettled) = self.plan(settled);
        let Some((channel, operations)) = planned else {
            return unsettled;
        };
        // All operations share one deadline, so that a blocked channel is waited for only once.
        let until = Instant::now() + ANSWER_SECS;
        for operation in operations {
            let why = match timeout_at(until, say(&channel, &operation)).await {
                Ok(Ok(())) => {
                    if let Some(live) = self.live().as_mut() {
                        live.outstanding.done(&operation);
                    }
                    continue;
                }
                Ok(Err(error)) => error.to_string(),
                Err(_) => "the broker takes nothing".to_owned(),
            };
            unsettled.extend(operation.names().map(|name| Unsettled {
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
            .live()
            .as_ref()
            .is_some_and(|live| !live.channel.status().connected());
        if has_ended {
            return Err("the connection has ended, and is made again at the next call".to_owned());
        }
        Ok(())
    }

    async fn close(&self) {
        let mut receiving = self.receiving.lock().await;
        receiving.closed = true;
        self.health.closed();
        *self.live() = None;
        // The broker redelivers unacknowledged messages when the connection ends, whether in order or not.
        receiving.step.shutdown().await;
        if let Some(session) = receiving.session.take() {
            session.close().await;
        }
    }
}

async fn say(channel: &lapin::Channel, operation: &Operation) -> lapin::Result<()> {
    let (tag, multiple) = (operation.tag(), operation.is_multiple());
    if operation.gives_back() {
        let options = BasicNackOptions {
            multiple,
            requeue: true,
        };
        channel.basic_nack(tag, options).await
    } else {
        channel.basic_ack(tag, BasicAckOptions { multiple }).await
    }
}
