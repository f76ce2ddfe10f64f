//! Implements the source for a pull subscription of Google Cloud Pub/Sub, for sites without a public endpoint.
//!
//! One pull runs at a time, as a task of the source. A caller may stop waiting, and the next caller gets the messages
//! of that pull. Messages are held for `ack_deadline_secs`, regardless of the subscription's own deadline: the deadline
//! is set as soon as they arrive. Messages are identified by their message id.

mod client;
mod config;
mod doctor;
mod token;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use backon::{ExponentialBuilder, Retryable};
use nightshift_pipeline::port::{Message, SettleError, Settlement, Source, SourceError};
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

use client::{PubsubError, ReceivedMessage, SubscriptionClient};
pub use config::PubsubConfig;
pub(crate) use doctor::probe;
use token::{METADATA, TokenCache, TokenProvider};

use crate::backoff::{Backoff, FailureKind};
use crate::health::SourceHealth;
use crate::in_flight::{InFlightMessage, InFlightMessages, InFlightQueue, SettleAction};
use crate::{LONG_POLL, SecretResolver, attributes};

/// Maximum number of messages of one pull.
const MOST_MESSAGES: usize = 500;
/// Maximum number of messages that one call settles.
const MOST_IDS: usize = 500;
/// Attempts of a call that settles.
const TRIES: usize = 5;

pub(crate) struct PubsubSource {
    config: PubsubConfig,
    puller: Arc<Puller>,
    health: SourceHealth,
    /// Held by the receiver; settling does not need it.
    receiving: tokio::sync::Mutex<PubsubReceiveState>,
}

/// State shared with a pull.
struct Puller {
    subscription: SubscriptionClient,
    ack_deadline_secs: u32,
    in_flight: Mutex<InFlightMessages>,
}

/// Result of a pull.
#[derive(Default)]
struct PullBatch {
    messages: Vec<Message>,
    /// Reason why the messages are held only for the subscription's own deadline.
    extend_error: Option<String>,
}

struct PubsubReceiveState {
    /// At most one pull.
    pulls: JoinSet<Result<PullBatch, PubsubError>>,
    /// Messages that arrived and were not delivered.
    waiting: VecDeque<Message>,
    backoff: Backoff,
    /// True if the last pull succeeded. The first pull, and one after a failure, do not wait for messages, so that they
    /// show at once whether the subscription can be read.
    works: bool,
    closed: bool,
}

impl PubsubSource {
    /// Creates a source that has not made any call.
    ///
    /// # Errors
    ///
    /// Returns an error when the key cannot be read, or TLS cannot be set up.
    pub(crate) fn new(config: PubsubConfig, secrets: SecretResolver) -> Result<Self, String> {
        let giver = match config.credentials.as_str() {
            "none" => TokenProvider::Disabled,
            "metadata" => {
                let url = Url::parse(METADATA);
                TokenProvider::Metadata(url.map_err(|error| format!("credentials: {error}"))?)
            }
            reference => TokenProvider::Key(reference.to_owned(), secrets),
        };
        Self::with_provider(config, giver)
    }

    /// Creates a source with the account of a machine whose metadata server is elsewhere.
    #[cfg(test)]
    pub(crate) fn with_metadata(config: PubsubConfig, metadata: &str) -> Result<Self, String> {
        let url = Url::parse(metadata).map_err(|error| error.to_string())?;
        Self::with_provider(config, TokenProvider::Metadata(url))
    }

    fn with_provider(config: PubsubConfig, giver: TokenProvider) -> Result<Self, String> {
        let tokens = TokenCache::new(giver);
        tokens.check()?;
        let subscription =
            SubscriptionClient::new(&config.endpoint()?, &config.subscription, tokens)?;
        Ok(Self {
            health: SourceHealth::new(&config.name),
            puller: Arc::new(Puller {
                subscription,
                ack_deadline_secs: config.ack_deadline_secs,
                in_flight: Mutex::default(),
            }),
            config,
            receiving: tokio::sync::Mutex::new(PubsubReceiveState {
                pulls: JoinSet::new(),
                waiting: VecDeque::new(),
                backoff: Backoff::default(),
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
    fn hand_over(&self, receiving: &mut PubsubReceiveState, most: usize) -> Vec<Message> {
        let oldest = self.deadline() * 2 / 5;
        let mut held = self.puller.lock_in_flight();
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

    async fn receive_batch(
        &self,
        receiving: &mut PubsubReceiveState,
        most: usize,
    ) -> Result<Vec<Message>, PubsubError> {
        self.puller
            .lock_in_flight()
            .forget_older_than(self.deadline() * 2);
        let until = Instant::now() + LONG_POLL;
        loop {
            let fresh = self.hand_over(receiving, most);
            if !fresh.is_empty() || Instant::now() >= until {
                return Ok(fresh);
            }
            receiving.backoff.wait().await;
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
                .unwrap_or(Ok(Ok(PullBatch::default())))
                .unwrap_or_else(|error| {
                    Err(PubsubError {
                        what: format!("pull failed: {error}"),
                        failure: FailureKind::Unavailable,
                        status: None,
                    })
                });
            match pulled {
                Ok(PullBatch {
                    messages,
                    extend_error: brief,
                }) => {
                    match brief {
                        None => self.health.up(),
                        Some(why) => self.health.down(&why),
                    }
                    receiving.backoff.reset();
                    receiving.works = true;
                    receiving.waiting.extend(messages);
                }
                Err(failed) => {
                    self.health.down(&failed.what);
                    receiving.backoff.record_failure(failed.failure);
                    receiving.works = false;
                    return Err(failed);
                }
            }
        }
    }
}

impl Puller {
    async fn pull(&self, most: usize, waits: bool) -> Result<PullBatch, PubsubError> {
        let sent = self.subscription.pull(most, waits).await?;
        let came = Instant::now();
        let mut messages = Vec::with_capacity(sent.len());
        for ReceivedMessage { ack_id, message } in sent {
            let group = Some(message.ordering_key.clone()).filter(|key| !key.is_empty());
            let holding = InFlightMessage {
                handle: ack_id,
                group,
                since: came,
                _memory: None,
            };
            self.lock_in_flight()
                .insert(message.message_id.clone(), holding);
            let mut found = std::collections::BTreeMap::new();
            for (name, value) in &message.attributes {
                found.insert(attributes::canonical_name(name), value.clone());
            }
            found.insert("publish-time".to_owned(), message.publish_time.clone());
            messages.push(Message {
                bytes: message.bytes(),
                id: message.message_id,
                attributes: found,
            });
        }
        let brief = self.extend_received(&messages).await.err();
        Ok(PullBatch {
            messages,
            extend_error: brief,
        })
    }

    /// Extends new messages to the configured deadline. There is one short attempt, because the messages are delivered
    /// only afterwards and their time runs. If it fails, messages are redelivered sooner, at worst as sightings.
    async fn extend_received(&self, messages: &[Message]) -> Result<(), String> {
        let handles = self
            .lock_in_flight()
            .handles(messages.iter().map(|one| &one.id));
        if handles.is_empty() {
            return Ok(());
        }
        let handles: Vec<&str> = handles.iter().map(|(_, handle)| handle.as_str()).collect();
        let limit = Duration::from_secs(u64::from(self.ack_deadline_secs)) / 6;
        match timeout(
            limit,
            self.subscription
                .modify_ack_deadline(&handles, self.ack_deadline_secs),
        )
        .await
        {
            Ok(held) => held.map_err(|failed| failed.what),
            Err(_) => Err(format!("modifyAckDeadline: no answer within {limit:?}")),
        }
    }
}

#[async_trait]
impl InFlightQueue for Puller {
    fn in_flight(&self) -> &Mutex<InFlightMessages> {
        &self.in_flight
    }

    async fn apply(
        &self,
        action: SettleAction,
        messages: Vec<(String, String)>,
    ) -> Vec<SettleError> {
        let mut failed = Vec::new();
        for some in messages.chunks(MOST_IDS) {
            let handles: Vec<&str> = some.iter().map(|(_, handle)| handle.as_str()).collect();
            let call = || async {
                match action {
                    SettleAction::Ack => self.subscription.acknowledge(&handles).await,
                    SettleAction::SetVisibility(secs) => {
                        self.subscription.modify_ack_deadline(&handles, secs).await
                    }
                }
            };
            let pauses = ExponentialBuilder::new()
                .with_min_delay(Duration::from_millis(100))
                .with_max_delay(Duration::from_secs(2))
                .with_max_times(TRIES - 1)
                .with_jitter();
            let done = call
                .retry(pauses)
                .when(|failed: &PubsubError| failed.failure == FailureKind::Unavailable);
            if let Err(error) = done.await {
                failed.extend(some.iter().map(|(id, _)| SettleError {
                    id: id.clone(),
                    why: error.what.clone(),
                }));
            }
        }
        failed
    }
}

#[async_trait]
impl Source for PubsubSource {
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
        let taken = self.receive_batch(&mut receiving, most.max(1)).await;
        taken.map(Some).map_err(|failed| SourceError {
            source_name: self.config.name.clone(),
            cause: failed.what.into(),
        })
    }

    async fn settle(&self, settled: &[Settlement]) -> Vec<SettleError> {
        self.puller.settle(settled).await
    }

    fn visibility_timeout(&self) -> Option<Duration> {
        Some(self.deadline())
    }

    async fn extend(&self, ids: &[String]) -> Vec<SettleError> {
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
        self.puller.release_all(&self.config.name).await;
    }
}
