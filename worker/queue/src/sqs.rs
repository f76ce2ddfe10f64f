//! A queue of Amazon SQS or a compatible service.
//!
//! Long polls run as tasks of the source: a caller may stop waiting, and the next caller gets their messages. Polls
//! request no more messages than there is room for. One poll waits at an idle queue, and more run concurrently when
//! polls return full. Messages are held for `visibility_secs`, settled ten at a time, and identified by their message
//! id. Work without a waiting caller, such as the check of an unavailable bucket, runs aside and delays no poll.

mod access;
mod batch;
mod config;
mod examine;
mod payload;
mod poll;
mod publish;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
#[cfg(test)]
use aws_config::SdkConfig;
use nightshift_pipeline::port::{Message, Settled, Source, SourceError, Unsettled};
use tokio::task::JoinSet;
use tokio::time::Instant;

use access::Access;
pub use config::Config;
pub(crate) use examine::examine;
use payload::{Payload, pointer};
use poll::{Failed, MOST_MESSAGES, Poller};
pub(crate) use publish::Publisher;

use crate::LONG_POLL;
use crate::health::Health;
use crate::held::{Action, Held, Holder};
use crate::pace::{Failure, Pace};
use crate::sizes::Sizes;

/// Most concurrent polls.
const MOST_POLLS: usize = 16;

/// Shortest time between two checks of an unavailable bucket, about as long as one check may take.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// Assumed size of a message before any was seen: the limit of SQS and of payloads that are read.
const LARGEST_BODY_BYTES: usize = 1024 * 1024;
const LARGEST_PAYLOAD_BYTES: usize = 16 * 1024 * 1024;

/// Reads the payload that a message of a queue points to, or returns `None` if it is not a pointer.
///
/// # Errors
///
/// When the payload cannot be read.
pub async fn payload(config: &Config, bytes: &[u8]) -> Option<Result<Vec<u8>, String>> {
    // A client is created only for a pointer.
    pointer(std::str::from_utf8(bytes).ok()?)?;
    match Sqs::new(config.clone()).await {
        Ok(sqs) => sqs.payload(bytes).await,
        Err(why) => Some(Err(why)),
    }
}

pub(crate) struct Sqs {
    config: Config,
    poller: Arc<Poller>,
    health: Health,
    /// Held by the receiver; settling does not need it.
    receiving: tokio::sync::Mutex<Receiving>,
}

struct Receiving {
    polls: JoinSet<(usize, Result<Vec<Message>, Failed>)>,
    /// Tasks without a waiting caller.
    aside: JoinSet<()>,
    /// Time of the last check of an unavailable bucket.
    looked: Option<Instant>,
    /// Number of messages that the running polls may return.
    asked: usize,
    /// Number of polls that may run; grows with full ones.
    width: usize,
    /// Messages that arrived and were not handed over.
    waiting: VecDeque<Message>,
    sizes: Sizes,
    pace: Pace,
    /// Whether the last poll succeeded. The first poll, and one after a failure, do not wait for messages, so that
    /// they show at once whether the queue can be read.
    works: bool,
    closed: bool,
}

impl Sqs {
    /// Creates a source with the credentials and, unless configured, the region of the AWS environment.
    ///
    /// # Errors
    ///
    /// When no region is known, or a client cannot be created.
    pub(crate) async fn new(config: Config) -> Result<Self, String> {
        // More than the longest wait of a poll.
        let access = Access::load(&config, LONG_POLL + Duration::from_secs(10)).await?;
        Self::over(config, access)
    }

    /// Creates a source over a configuration of the SDK.
    #[cfg(test)]
    pub(crate) fn with(config: Config, sdk: &SdkConfig) -> Result<Self, String> {
        let access = Access::with(&config, sdk)?;
        Self::over(config, access)
    }

    /// Creates a source over the configurations that `load` returns, now and later.
    #[cfg(test)]
    pub(crate) async fn loading(
        config: Config,
        load: impl Fn() -> futures_util::future::BoxFuture<'static, SdkConfig> + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let access = Access::loading(&config, Arc::new(load)).await?;
        Self::over(config, access)
    }

    /// Reads the payload that a message points to, if it is a pointer.
    pub(crate) async fn payload(&self, bytes: &[u8]) -> Option<Result<Vec<u8>, String>> {
        let pointer = pointer(std::str::from_utf8(bytes).ok()?)?;
        Some(match self.poller.payloads.get(&pointer).await {
            Payload::Bytes(bytes, _) => Ok(bytes),
            Payload::NoRoom => Err("there is no memory for its payload".to_owned()),
            Payload::Never(why) | Payload::Later(why) => Err(why),
        })
    }

    fn over(config: Config, access: Access) -> Result<Self, String> {
        let health = Health::new(&config.name);
        let poller = Poller::new(&config, access)?;
        let sizes = Sizes::new(if poller.payloads.any() {
            LARGEST_PAYLOAD_BYTES
        } else {
            LARGEST_BODY_BYTES
        });
        Ok(Self {
            config,
            poller: Arc::new(poller),
            health,
            receiving: tokio::sync::Mutex::new(Receiving {
                polls: JoinSet::new(),
                aside: JoinSet::new(),
                looked: None,
                asked: 0,
                width: 1,
                waiting: VecDeque::new(),
                sizes,
                pace: Pace::default(),
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
    fn start(&self, receiving: &mut Receiving, most: usize) {
        let in_hand = self.poller.held().len();
        while receiving.polls.len() < receiving.width {
            let asked = receiving.asked;
            let fit = receiving.sizes.most().saturating_sub(in_hand + asked);
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
    fn hand_over(&self, receiving: &mut Receiving, most: usize) -> Vec<Message> {
        let oldest = self.visibility() * 2 / 5;
        let mut fresh = Vec::new();
        let mut stale = Vec::new();
        {
            let held = self.poller.held();
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
            let handles = self.poller.held().handles(&stale);
            let (poller, count) = (Arc::clone(&self.poller), handles.len());
            tracing::debug!(
                source.name = self.config.name,
                count,
                "messages waited too long to be handed over"
            );
            receiving.aside.spawn(async move {
                let _ = poller.all(Action::Hold(0), handles).await;
            });
        }
        fresh
    }

    /// Checks at intervals whether a bucket is back.
    fn look_again(&self, receiving: &mut Receiving) {
        while receiving.aside.try_join_next().is_some() {}
        let is_due = receiving.looked.is_none_or(|at| at.elapsed() >= LOOK_AGAIN);
        if is_due && self.poller.why_away().is_some() {
            receiving.looked = Some(Instant::now());
            let poller = Arc::clone(&self.poller);
            let looking = async move { poller.look_again().await };
            receiving.aside.spawn(looking);
        }
    }

    async fn take(&self, receiving: &mut Receiving, most: usize) -> Result<Vec<Message>, Failed> {
        self.poller.held().forget_older_than(self.visibility() * 2);
        self.look_again(receiving);
        let mut is_empty = false;
        loop {
            let fresh = self.hand_over(receiving, most);
            if !fresh.is_empty() || is_empty {
                return Ok(fresh);
            }
            receiving.pace.wait().await;
            self.start(receiving, most);
            let Some(joined) = receiving.polls.join_next().await else {
                return Ok(Vec::new());
            };
            let mut next = Some(joined);
            while let Some(joined) = next {
                is_empty = self.absorb(receiving, joined)?;
                next = receiving.polls.try_join_next();
            }
        }
    }

    /// Notes the result of a poll, and returns whether it was empty.
    fn absorb(
        &self,
        receiving: &mut Receiving,
        joined: Result<(usize, Result<Vec<Message>, Failed>), tokio::task::JoinError>,
    ) -> Result<bool, Failed> {
        let (room, polled) = joined.unwrap_or_else(|error| {
            let what = format!("a poll broke off: {error}");
            (
                MOST_MESSAGES,
                Err(Failed {
                    what,
                    failure: Failure::Away,
                }),
            )
        });
        receiving.asked = receiving.asked.saturating_sub(room);
        match polled {
            Ok(messages) => {
                match self.poller.why_away() {
                    None => self.health.up(),
                    Some(why) => self.health.down(&why),
                }
                receiving.pace.succeeded();
                receiving.works = true;
                let is_full = messages.len() >= MOST_MESSAGES;
                receiving.width = match messages.len() {
                    0 => 1,
                    _ if is_full => (receiving.width * 2).min(MOST_POLLS),
                    _ => receiving.width,
                };
                let is_empty = messages.is_empty();
                for message in &messages {
                    receiving.sizes.note(message.bytes.len());
                }
                receiving.waiting.extend(messages);
                Ok(is_empty)
            }
            Err(failed) => {
                self.health.down(&failed.what);
                receiving.pace.failed(failed.failure);
                receiving.width = 1;
                receiving.works = false;
                Err(failed)
            }
        }
    }
}

#[async_trait]
impl Source for Sqs {
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
        let taken = self.take(&mut receiving, most.max(1)).await;
        taken.map(Some).map_err(|failed| SourceError {
            source_name: self.config.name.clone(),
            cause: failed.what.into(),
        })
    }

    async fn settle(&self, settled: &[Settled]) -> Vec<Unsettled> {
        self.poller.settle(settled).await
    }

    fn hold(&self) -> Option<Duration> {
        Some(self.visibility())
    }

    async fn extend(&self, ids: &[String]) -> Vec<Unsettled> {
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
        receiving.aside.shutdown().await;
        receiving.waiting.clear();
        self.poller.give_back(&self.config.name).await;
    }
}

#[async_trait]
impl Holder for Poller {
    fn messages(&self) -> &Mutex<Held> {
        &self.held
    }

    async fn all(&self, action: Action, messages: Vec<(String, String)>) -> Vec<Unsettled> {
        batch::all(&self.access.client(), &self.queue_url, action, messages).await
    }
}
