//! A queue of RabbitMQ, over AMQP 0-9-1.
//!
//! One connection and one consumer per source, made and remade by `receive` itself: connect, check the queue, set the
//! prefetch, consume; at any error or end of the stream all of it is dropped and made again. The library's own recovery
//! of topology is not used. The prefetch is what there is room for beside what is not settled, and less while messages
//! are large. A message is named by its connection and delivery tag: a settlement that comes after a reconnect settles
//! nothing, and the message comes again.

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
use nightshift_pipeline::{Message, Settled, Source, SourceError, Unsettled};
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

/// A queue of RabbitMQ.
pub(crate) struct Rabbitmq {
    config: Config,
    secrets: Secrets,
    health: Health,
    /// Held by whoever receives; settling does not need it.
    receiving: tokio::sync::Mutex<Receiving>,
    /// Where messages of the present connection are settled.
    live: Arc<Mutex<Option<Live>>>,
}

struct Receiving {
    session: Option<Session>,
    /// Makes a session, or room in one: at most one task, which has the session meanwhile. A call of `receive` that is
    /// dropped does not end it.
    step: JoinSet<Result<Session, Trouble>>,
    pace: Pace,
    connections: u64,
    closed: bool,
}

/// The channel that messages came over, and those that are not settled.
struct Live {
    channel: lapin::Channel,
    outstanding: Outstanding,
}

impl Rabbitmq {
    /// A source that connects when it is first asked.
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

    /// How many messages may be in our hands when there is room for this many more.
    fn wanted(&self, most: usize) -> u16 {
        let in_hand = self
            .live()
            .as_ref()
            .map_or(0, |live| live.outstanding.handed_over());
        let wanted = u16::try_from(in_hand.saturating_add(most)).unwrap_or(u16::MAX);
        wanted.clamp(1, self.config.prefetch)
    }

    /// Sees to a session that messages come over with room for this many, and made anew where there is none.
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

    /// From now on messages are settled over this session.
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

    /// The channel and what to say on it, for those of the present connection; the others.
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

/// A message whose connection has ended is already on its way again.
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
        // One that takes nothing is waited for once, not for each word.
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
        // Nobody may be receiving, while the store is away, say.
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
        // The broker gives back what is not acknowledged when the connection ends, in order or not.
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
