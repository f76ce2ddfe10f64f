//! Implements the source for a queue of Amazon SQS or a compatible service.
//!
//! Long polls run as tasks of the source: a caller may stop waiting, and the next caller gets their messages. Polls
//! request no more messages than there is room for. One poll waits at an idle queue, and more run concurrently when
//! polls return full. Messages are held for `visibility_secs`, settled ten at a time, and identified by their message
//! id. Work without a waiting caller, such as the check of an unavailable bucket, runs aside and delays no poll.

mod access;
mod batch;
mod doctor;
mod payload;
mod poll;
mod publish;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
#[cfg(test)]
use aws_config::SdkConfig;
use nightshift_pipeline::port::{Message, SettleError, Settlement, Source, SourceError};
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;

use access::ClientAccess;
pub(crate) use doctor::probe;
use payload::{Payload, parse_pointer};
use poll::{MOST_MESSAGES, PollError, Poller};
pub(crate) use publish::SqsPublisher;

use crate::LONG_POLL;
use crate::backoff::{Backoff, FailureKind};
use crate::health::SourceHealth;
use crate::in_flight::{InFlightMessages, InFlightQueue, SettleAction};
use crate::message_sizes::MessageSizes;
use crate::sqs_config::SqsConfig;

/// Maximum number of concurrent polls.
const MOST_POLLS: usize = 16;

/// Shortest time between two checks of an unavailable bucket, about as long as one check may take.
const BUCKET_RETRY_INTERVAL: Duration = Duration::from_secs(30);

/// Assumed size of a message before any was seen: the limit of SQS and of payloads that are read.
const LARGEST_BODY_BYTES: usize = 1024 * 1024;
const LARGEST_PAYLOAD_BYTES: usize = 16 * 1024 * 1024;

/// Reads the payload that a message of a queue points to, or returns `None` if it is not a pointer.
///
/// # Errors
///
/// Returns an error when the payload cannot be read.
pub async fn fetch_payload(config: &SqsConfig, bytes: &[u8]) -> Option<Result<Vec<u8>, String>> {
    // A client is created only for a pointer.
    parse_pointer(std::str::from_utf8(bytes).ok()?)?;
    match SqsSource::new(config.clone()).await {
        Ok(sqs) => sqs.fetch_payload(bytes).await,
        Err(why) => Some(Err(why)),
    }
}

pub(crate) struct SqsSource {
    config: SqsConfig,
    poller: Arc<Poller>,
    health: SourceHealth,
    /// Held by the receiver; settling does not need it.
    receiving: tokio::sync::Mutex<SqsReceiveState>,
}

struct SqsReceiveState {
    polls: JoinSet<(usize, Result<Vec<Message>, PollError>)>,
    /// Tasks without a waiting caller.
    background: JoinSet<()>,
    /// Time of the last check of an unavailable bucket.
    looked: Option<Instant>,
    /// Number of messages that the running polls may return.
    asked: usize,
    /// Number of polls that may run; grows with full ones.
    width: usize,
    /// Messages that arrived and were not handed over.
    waiting: VecDeque<Message>,
    sizes: MessageSizes,
    backoff: Backoff,
    /// True if the last poll succeeded. The first poll, and one after a failure, do not wait for messages, so that they
    /// show at once whether the queue can be read.
    works: bool,
    closed: bool,
}

impl SqsSource {
    /// Creates a source with the credentials and, unless configured, the region of the AWS environment.
    ///
    /// # Errors
    ///
    /// Returns an error when no region is known, or a client cannot be created.
    pub(crate) async fn new(config: SqsConfig) -> Result<Self, String> {
        // More than the longest wait of a poll.
        let access = ClientAccess::load(&config, LONG_POLL + Duration::from_secs(10)).await?;
        Self::with_access(config, access)
    }

    /// Creates a source over a configuration of the SDK.
    #[cfg(test)]
    pub(crate) fn with_sdk_config(config: SqsConfig, sdk: &SdkConfig) -> Result<Self, String> {
        let access = ClientAccess::with_sdk_config(&config, sdk)?;
        Self::with_access(config, access)
    }

    /// Creates a source over the configurations that `load` returns, now and later.
    #[cfg(test)]
    pub(crate) async fn with_loader(
        config: SqsConfig,
        load: impl Fn() -> futures_util::future::BoxFuture<'static, SdkConfig> + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let access = ClientAccess::with_loader(&config, Arc::new(load)).await?;
        Self::with_access(config, access)
    }

    /// Reads the payload that a message points to, if it is a pointer.
    pub(crate) async fn fetch_payload(&self, bytes: &[u8]) -> Option<Result<Vec<u8>, String>> {
        let pointer = parse_pointer(std::str::from_utf8(bytes).ok()?)?;
        Some(match self.poller.payloads.get(&pointer).await {
            Payload::Bytes(bytes, _) => Ok(bytes),
            Payload::NoMemory => Err("not enough memory for the payload".to_owned()),
            Payload::Unreadable(why) | Payload::Unavailable(why) => Err(why),
        })
    }

    fn with_access(config: SqsConfig, access: ClientAccess) -> Result<Self, String> {
        let health = SourceHealth::new(&config.name);
        let poller = Poller::new(&config, access)?;
        let sizes = MessageSizes::new(if poller.payloads.has_buckets() {
            LARGEST_PAYLOAD_BYTES
        } else {
            LARGEST_BODY_BYTES
        });
        Ok(Self {
            config,
            poller: Arc::new(poller),
            health,
            receiving: tokio::sync::Mutex::new(SqsReceiveState {
                polls: JoinSet::new(),
                background: JoinSet::new(),
                looked: None,
                asked: 0,
                width: 1,
                waiting: VecDeque::new(),
                sizes,
                backoff: Backoff::default(),
                works: false,
                closed: false,
            }),
        })
    }

    fn visibility(&self) -> Duration {
        Duration::from_secs(u64::from(self.config.visibility_secs))
    }

    /// Starts polls while there is room and memory for their messages. There is always room for one message, and
    /// there are no more calls than settlements.
    fn start_polls(&self, receiving: &mut SqsReceiveState, most: usize) {
        let in_hand = self.poller.lock_in_flight().len();
        while receiving.polls.len() < receiving.width {
            let asked = receiving.asked;
            let fit = receiving
                .sizes
                .max_in_flight()
                .saturating_sub(in_hand + asked);
            let fit = fit.max(usize::from(asked == 0));
            let room = most.saturating_sub(asked).min(MOST_MESSAGES).min(fit);
            if room == 0 {
                return;
            }
            receiving.asked += room;
            let poller = Arc::clone(&self.poller);
            let wait = if receiving.works {
                LONG_POLL
            } else {
                Duration::ZERO
            };
            receiving
                .polls
                .spawn(async move { (room, poller.poll(room, wait).await) });
        }
    }

    /// Returns waiting messages that are held long enough to be committed: half of their time must be left at the
    /// first extension. The others are nacked.
    fn hand_over(&self, receiving: &mut SqsReceiveState, most: usize) -> Vec<Message> {
        let oldest = self.visibility() * 2 / 5;
        let mut fresh = Vec::new();
        let mut stale = Vec::new();
        {
            let held = self.poller.lock_in_flight();
            while fresh.len() < most {
                let Some(message) = receiving.waiting.pop_front() else {
                    break;
                };
                if held.age(&message.id).is_some_and(|age| age <= oldest) {
                    fresh.push(message);
                } else {
                    stale.push(message.id);
                }
            }
        }
        if !stale.is_empty() {
            // Best effort without waiting: SQS redelivers the messages a little later anyway.
            let handles = self.poller.lock_in_flight().handles(&stale);
            let (poller, count) = (Arc::clone(&self.poller), handles.len());
            tracing::debug!(
                source.name = self.config.name,
                count,
                "messages waited too long to be handed over"
            );
            receiving.background.spawn(async move {
                let _ = poller.apply(SettleAction::SetVisibility(0), handles).await;
            });
        }
        fresh
    }

    /// Checks at intervals whether a bucket is back.
    fn retry_bucket(&self, receiving: &mut SqsReceiveState) {
        while receiving.background.try_join_next().is_some() {}
        let is_due = receiving
            .looked
            .is_none_or(|at| at.elapsed() >= BUCKET_RETRY_INTERVAL);
        if is_due && self.poller.unavailable_reason().is_some() {
            receiving.looked = Some(Instant::now());
            let poller = Arc::clone(&self.poller);
            let looking = async move { poller.retry_bucket().await };
            receiving.background.spawn(looking);
        }
    }

    async fn receive_batch(
        &self,
        receiving: &mut SqsReceiveState,
        most: usize,
    ) -> Result<Vec<Message>, PollError> {
        self.poller
            .lock_in_flight()
            .forget_older_than(self.visibility() * 2);
        self.retry_bucket(receiving);
        let mut is_empty = false;
        loop {
            let fresh = self.hand_over(receiving, most);
            if !fresh.is_empty() || is_empty {
                return Ok(fresh);
            }
            receiving.backoff.wait().await;
            self.start_polls(receiving, most);
            let Some(joined) = receiving.polls.join_next().await else {
                return Ok(Vec::new());
            };
            let mut next = Some(joined);
            while let Some(joined) = next {
                is_empty = self.record_poll(receiving, joined)?;
                next = receiving.polls.try_join_next();
            }
        }
    }

    /// Notes the result of a poll, and returns whether it was empty.
    fn record_poll(
        &self,
        receiving: &mut SqsReceiveState,
        joined: Result<(usize, Result<Vec<Message>, PollError>), tokio::task::JoinError>,
    ) -> Result<bool, PollError> {
        let (room, polled) = joined.unwrap_or_else(|error| {
            let what = format!("a poll broke off: {error}");
            (
                MOST_MESSAGES,
                Err(PollError {
                    what,
                    failure: FailureKind::Unavailable,
                }),
            )
        });
        receiving.asked = receiving.asked.saturating_sub(room);
        match polled {
            Ok(messages) => {
                match self.poller.unavailable_reason() {
                    None => self.health.up(),
                    Some(why) => self.health.down(&why),
                }
                receiving.backoff.reset();
                receiving.works = true;
                let is_full = messages.len() >= MOST_MESSAGES;
                receiving.width = match messages.len() {
                    0 => 1,
                    _ if is_full => (receiving.width * 2).min(MOST_POLLS),
                    _ => receiving.width,
                };
                let is_empty = messages.is_empty();
                for message in &messages {
                    receiving.sizes.record(message.bytes.len());
                }
                receiving.waiting.extend(messages);
                Ok(is_empty)
            }
            Err(failed) => {
                self.health.down(&failed.what);
                receiving.backoff.record_failure(failed.failure);
                receiving.width = 1;
                receiving.works = false;
                Err(failed)
            }
        }
    }
}

#[async_trait]
impl Source for SqsSource {
    fn name(&self) -> &str {
        &self.config.name
    }

    fn kind(&self) -> &'static str {
        "aws_sqs"
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
        self.poller.settle(settled).await
    }

    fn visibility_timeout(&self) -> Option<Duration> {
        Some(self.visibility())
    }

    async fn extend(&self, ids: &[String]) -> Vec<SettleError> {
        self.poller.extend(ids, self.config.visibility_secs).await
    }

    fn ready(&self) -> Result<(), String> {
        self.health.ready()
    }

    async fn close(&self) {
        let mut receiving = self.receiving.lock().await;
        receiving.closed = true;
        self.health.closed();
        receiving.polls.shutdown().await;
        receiving.background.shutdown().await;
        receiving.waiting.clear();
        self.poller.release_all(&self.config.name).await;
    }
}

#[async_trait]
impl InFlightQueue for Poller {
    fn in_flight(&self) -> &Mutex<InFlightMessages> {
        &self.in_flight
    }

    async fn apply(
        &self,
        action: SettleAction,
        messages: Vec<(String, String)>,
    ) -> Vec<SettleError> {
        batch::settle_all(
            &self.access.current_client(),
            &self.queue_url,
            action,
            messages,
        )
        .await
    }
}
