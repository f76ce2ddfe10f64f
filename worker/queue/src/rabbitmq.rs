//! A queue of RabbitMQ, over AMQP 0-9-1.
//!
//! One connection and one consumer per source, made and remade by `receive` itself: connect, check the queue, set the
//! prefetch, consume; at any error or end of the stream all of it is dropped and made again. The library's own recovery
//! of topology is not used. The prefetch is what there is room for beside what is not settled. A message is named by its
//! connection and delivery tag: a settlement that comes after a reconnect settles nothing, and the message comes again.

mod config;
mod message;
mod outstanding;
mod session;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use lapin::options::{BasicAckOptions, BasicNackOptions};
use nightshift_pipeline::{Message, Settled, Source, SourceError, Unsettled};
use tokio::time::timeout;

pub use config::Config;
use outstanding::{Operation, Outstanding};
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

    /// A session that messages come over, made anew where there is none.
    async fn session<'a>(&self, receiving: &'a mut Receiving) -> Result<&'a mut Session, Trouble> {
        if receiving.session.is_none() {
            receiving.pace.wait().await;
            receiving.connections += 1;
            let made = Session::open(&self.config, &self.secrets, receiving.connections).await?;
            *self.live() = Some(Live {
                channel: made.channel(),
                outstanding: Outstanding::new(receiving.connections),
            });
            receiving.session = Some(made);
        }
        receiving
            .session
            .as_mut()
            .ok_or_else(|| Trouble::away("there is no connection"))
    }

    async fn take(&self, receiving: &mut Receiving, most: usize) -> Result<Vec<Message>, Trouble> {
        let session = self.session(receiving).await?;
        let in_hand = self
            .live()
            .as_ref()
            .map_or(0, |live| live.outstanding.handed_over());
        session
            .make_room(in_hand + most, self.config.prefetch)
            .await?;
        self.health.up();
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
        for operation in operations {
            let said = timeout(ANSWER_SECS, say(&channel, &operation)).await;
            let why = match said {
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
        self.health.ready()
    }

    async fn close(&self) {
        let mut receiving = self.receiving.lock().await;
        receiving.closed = true;
        self.health.down("closed");
        *self.live() = None;
        // The broker gives back what is not acknowledged when the connection ends.
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
