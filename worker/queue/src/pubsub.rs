//! A pull subscription of Google Cloud Pub/Sub, for sites without a public endpoint.
//!
//! One pull runs at a time, as a task of the source. A caller may stop waiting, and the next caller gets the messages
//! of that pull. Messages are held for `ack_deadline_secs`, whatever the subscription says: the deadline is set as
//! soon as they arrive. Messages are identified by their message id.

mod call;
mod config;
mod examine;
mod token;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use backon::{ExponentialBuilder, Retryable};
use nightshift_pipeline::port::{Message, Settled, Source, SourceError, Unsettled};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

use call::{Failed, Sent, Subscription};
pub use config::Config;
pub(crate) use examine::examine;
use token::{Giver, METADATA, Tokens};

use crate::health::Health;
use crate::held::{Action, Held, Holder, Holding};
use crate::pace::{Failure, Pace};
use crate::{LONG_POLL, Secrets, attributes};

/// Most messages of one pull.
const MOST_MESSAGES: usize = 500;
/// Most messages that one call settles.
const MOST_IDS: usize = 500;
/// Attempts of a call that settles.
const TRIES: usize = 5;

pub(crate) struct Pubsub {
    config: Config,
    puller: Arc<Puller>,
    health: Health,
    /// Held by the receiver; settling does not need it.
    receiving: tokio::sync::Mutex<Receiving>,
}

/// State shared with a pull.
struct Puller {
    subscription: Subscription,
    ack_deadline_secs: u32,
    held: Mutex<Held>,
}

/// Result of a pull.
#[derive(Default)]
struct Pulled {
    messages: Vec<Message>,
    /// Reason why the messages are held only for the subscription's own deadline.
    brief: Option<String>,
}

struct Receiving {
    /// At most one pull.
    pulls: JoinSet<Result<Pulled, Failed>>,
    /// Messages that arrived and were not delivered.
    waiting: VecDeque<Message>,
    pace: Pace,
    /// Whether the last pull succeeded. The first pull, and one after a failure, do not wait for messages, so that
    /// they show at once whether the subscription can be read.
    works: bool,
    closed: bool,
}

impl Pubsub {
    /// Creates a source that has not made any call.
    ///
    /// # Errors
    ///
    /// When the key cannot be read, or TLS cannot be set up.
    pub(crate) fn new(config: Config, secrets: Secrets) -> Result<Self, String> {
        let giver = match config.credentials.as_str() {
            "none" => Giver::Nobody,
            "metadata" => {
                let url = Url::parse(METADATA);
                Giver::Metadata(url.map_err(|error| format!("credentials: {error}"))?)
            }
            reference => Giver::Key(reference.to_owned(), secrets),
        };
        Self::with(config, giver)
    }

    /// Creates a source with the account of a machine whose metadata server is elsewhere.
    #[cfg(test)]
    pub(crate) fn of_machine(config: Config, metadata: &str) -> Result<Self, String> {
        let url = Url::parse(metadata).map_err(|error| error.to_string())?;
        Self::with(config, Giver::Metadata(url))
    }

    fn with(config: Config, giver: Giver) -> Result<Self, String> {
        let tokens = Tokens::new(giver);
        tokens.check()?;
        let subscription = Subscription::new(&config.endpoint()?, &config.subscription, tokens)?;
        Ok(Self {
            health: Health::new(&config.name),
            puller: Arc::new(Puller {
                subscription,
                ack_deadline_secs: config.ack_deadline_secs,
                held: Mutex::default(),
            }),
            config,
            receiving: tokio::sync::Mutex::new(Receiving {
                pulls: JoinSet::new(),
                waiting: VecDeque::new(),
                pace: Pace::default(),
                works: false,
                closed: false,
            }),
        })
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(u64::from(self.config.ack_deadline_secs))
    }

    /// Returns waiting messages that are held long enough to be committed. The others are dropped, and Pub/Sub
    /// redelivers them a little later.
    fn hand_over(&self, receiving: &mut Receiving, most: usize) -> Vec<Message> {
        let oldest = self.deadline() * 2 / 5;
        let mut held = self.puller.held();
        let mut fresh = Vec::new();
        while fresh.len() < most {
            let Some(message) = receiving.waiting.pop_front() else {
                break;
            };
            if held.age(&message.id).is_some_and(|age| age <= oldest) {
                fresh.push(message);
            } else {
                held.remove(&message.id);
            }
        }
        fresh
    }

    async fn take(&self, receiving: &mut Receiving, most: usize) -> Result<Vec<Message>, Failed> {
        self.puller.held().forget_older_than(self.deadline() * 2);
        let until = Instant::now() + LONG_POLL;
        loop {
            let fresh = self.hand_over(receiving, most);
            if !fresh.is_empty() || Instant::now() >= until {
                return Ok(fresh);
            }
            receiving.pace.wait().await;
            if receiving.pulls.is_empty() {
                let (puller, waits) = (Arc::clone(&self.puller), receiving.works);
                let most = most.min(MOST_MESSAGES);
                receiving
                    .pulls
                    .spawn(async move { puller.pull(most, waits).await });
            }
            let Ok(joined) = timeout_at(until, receiving.pulls.join_next()).await else {
                continue;
            };
            let pulled = joined
                .unwrap_or(Ok(Ok(Pulled::default())))
                .unwrap_or_else(|error| {
                    Err(Failed {
                        what: format!("a pull broke off: {error}"),
                        failure: Failure::Away,
                        is_answer: None,
                    })
                });
            match pulled {
                Ok(Pulled { messages, brief }) => {
                    match brief {
                        None => self.health.up(),
                        Some(why) => self.health.down(&why),
                    }
                    receiving.pace.succeeded();
                    receiving.works = true;
                    receiving.waiting.extend(messages);
                }
                Err(failed) => {
                    self.health.down(&failed.what);
                    receiving.pace.failed(failed.failure);
                    receiving.works = false;
                    return Err(failed);
                }
            }
        }
    }
}

impl Puller {
    async fn pull(&self, most: usize, waits: bool) -> Result<Pulled, Failed> {
        let sent = self.subscription.pull(most, waits).await?;
        let came = Instant::now();
        let mut messages = Vec::with_capacity(sent.len());
        for Sent { ack_id, message } in sent {
            let group = Some(message.ordering_key.clone()).filter(|key| !key.is_empty());
            let holding = Holding {
                handle: ack_id,
                group,
                since: came,
                _room: None,
            };
            self.held().insert(message.message_id.clone(), holding);
            let mut found = std::collections::BTreeMap::new();
            for (name, value) in &message.attributes {
                found.insert(attributes::name(name), value.clone());
            }
            found.insert("publish-time".to_owned(), message.publish_time.clone());
            messages.push(Message {
                bytes: message.bytes(),
                id: message.message_id,
                attributes: found,
            });
        }
        let brief = self.hold_first(&messages).await.err();
        Ok(Pulled { messages, brief })
    }

    /// Extends new messages to our deadline. There is one short attempt, because the messages are delivered only
    /// afterwards and their time runs. If it fails, messages are redelivered sooner, at worst as sightings.
    async fn hold_first(&self, messages: &[Message]) -> Result<(), String> {
        let handles = self.held().handles(messages.iter().map(|one| &one.id));
        if handles.is_empty() {
            return Ok(());
        }
        let handles: Vec<&str> = handles.iter().map(|(_, handle)| handle.as_str()).collect();
        let limit = Duration::from_secs(u64::from(self.ack_deadline_secs)) / 6;
        match timeout(
            limit,
            self.subscription.hold(&handles, self.ack_deadline_secs),
        )
        .await
        {
            Ok(held) => held.map_err(|failed| failed.what),
            Err(_) => Err(format!("modifyAckDeadline: no answer within {limit:?}")),
        }
    }
}

#[async_trait]
impl Holder for Puller {
    fn messages(&self) -> &Mutex<Held> {
        &self.held
    }

    async fn all(&self, action: Action, messages: Vec<(String, String)>) -> Vec<Unsettled> {
        let mut failed = Vec::new();
        for some in messages.chunks(MOST_IDS) {
            let handles: Vec<&str> = some.iter().map(|(_, handle)| handle.as_str()).collect();
            let call = || async {
                match action {
                    Action::Done => self.subscription.acknowledge(&handles).await,
                    Action::Hold(secs) => self.subscription.hold(&handles, secs).await,
                }
            };
            let pauses = ExponentialBuilder::new()
                .with_min_delay(Duration::from_millis(100))
                .with_max_delay(Duration::from_secs(2))
                .with_max_times(TRIES - 1)
                .with_jitter();
            let done = call
                .retry(pauses)
                .when(|failed: &Failed| failed.failure == Failure::Away);
            if let Err(error) = done.await {
                failed.extend(some.iter().map(|(id, _)| Unsettled {
                    id: id.clone(),
                    why: error.what.clone(),
                }));
            }
        }
        failed
    }
}

#[async_trait]
impl Source for Pubsub {
    fn name(&self) -> &str {
        &self.config.name
    }

    fn kind(&self) -> &'static str {
        "gcp_pubsub"
    }

    async fn receive(&self, most: usize) -> Result<Option<Vec<Message>>, SourceError> {
        let mut receiving = self.receiving.lock().await;
        if receiving.closed {
            return Ok(None);
        }
        let taken = self.take(&mut receiving, most.max(1)).await;
        taken.map(Some).map_err(|failed| SourceError {
            source_name: self.config.name.clone(),
            cause: failed.what.into(),
        })
    }

    async fn settle(&self, settled: &[Settled]) -> Vec<Unsettled> {
        self.puller.settle(settled).await
    }

    fn hold(&self) -> Option<Duration> {
        Some(self.deadline())
    }

    async fn extend(&self, ids: &[String]) -> Vec<Unsettled> {
        self.puller.extend(ids, self.config.ack_deadline_secs).await
    }

    fn ready(&self) -> Result<(), String> {
        self.health.ready()
    }

    async fn close(&self) {
        let mut receiving = self.receiving.lock().await;
        receiving.closed = true;
        self.health.closed();
        receiving.pulls.shutdown().await;
        receiving.waiting.clear();
        self.puller.give_back(&self.config.name).await;
    }
}
