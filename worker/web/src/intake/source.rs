//! Implements the source for alerts posted over HTTP: requests wait here until their messages are committed.
//!
//! A request is answered when its message is settled, so that "accepted" means committed. The intake loop takes all
//! waiting messages as one batch. If a client disconnects before its message was taken, the message is dropped.
//! Otherwise the message is committed all the same, and a repeated post becomes a sighting.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use nightshift_engine::measurement::Measurement;
use nightshift_engine::port::Meter;
use nightshift_pipeline::loops::InboxCapacity;
use nightshift_pipeline::port::{
    Disposition, Message, SettleError, Settlement, Source, SourceError,
};
use parking_lot::{Mutex, MutexGuard};
use secrecy::SecretString;
use tokio::sync::{Notify, OwnedSemaphorePermit, oneshot};
use tokio::time::{Instant, timeout_at};

use super::config::HttpConfig;
use super::credential::secret_problems;
use super::response::IntakeError;
use crate::log_throttle::LogThrottle;

/// The time that a call of `receive` waits for the first message.
const LONG_POLL: Duration = Duration::from_secs(20);
/// Maximum number of requests that wait to be received.
const MAX_WAITING: usize = 1_024;

/// Reads the secrets that `env:NAME` and `file:PATH` refer to. The function is called for each request, so that a
/// changed file takes effect immediately. The error names what is missing and contains no secret.
pub type IntakeSecrets = Arc<dyn Fn(&str) -> Result<SecretString, String> + Send + Sync>;

/// The reason why a message is not accepted now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EnqueueError {
    /// The inbox is full, or too many requests wait.
    Full,
    /// The process is stopping.
    Closing,
}

/// A source that receives posts.
pub struct HttpSource {
    pub(super) config: HttpConfig,
    pub(super) secrets: IntakeSecrets,
    inbox_capacity: Arc<InboxCapacity>,
    meter: Arc<dyn Meter>,
    queue: Mutex<RequestQueue>,
    /// Throttles log lines about unreadable secrets.
    pub(super) log_throttle: LogThrottle,
    /// Notified when a message arrives or the source is closed.
    notify: Notify,
}

#[derive(Default)]
struct RequestQueue {
    waiting: VecDeque<QueuedRequest>,
    /// Received messages by their id.
    in_flight: HashMap<String, PendingReply>,
    last_id: u64,
    is_closed: bool,
}

struct QueuedRequest {
    message: Message,
    answer: PendingReply,
}

/// The channel to a waiting request, with the memory of its message.
struct PendingReply {
    disposition: oneshot::Sender<Disposition>,
    _memory: OwnedSemaphorePermit,
}

impl HttpSource {
    /// Creates a source. `secrets` reads the values that tokens and signing secrets refer to.
    ///
    /// # Errors
    ///
    /// Returns the problem of the configuration, or the secret that cannot be read.
    pub fn new(
        config: HttpConfig,
        secrets: IntakeSecrets,
        room: Arc<InboxCapacity>,
        meter: Arc<dyn Meter>,
    ) -> Result<Self, String> {
        config.check()?;
        let source = Self {
            config,
            secrets,
            inbox_capacity: room,
            meter,
            queue: Mutex::default(),
            log_throttle: LogThrottle::default(),
            notify: Notify::new(),
        };
        match secret_problems(&source.config, &source.secrets)
            .into_iter()
            .next()
        {
            Some(wrong) => Err(wrong),
            None => Ok(source),
        }
    }

    /// Returns the refusal of a request to this source and counts it.
    pub(super) fn record_rejection(&self, why: impl Into<IntakeError>) -> IntakeError {
        let why = why.into();
        self.meter.count(&Measurement::Message {
            source: self.config.name.clone(),
            outcome: if why.is_retryable() {
                "busy"
            } else {
                "refused"
            },
        });
        why
    }

    /// Queues a message and returns a receiver for its disposition. If the sender is dropped, the message is not
    /// committed.
    pub(super) fn enqueue(
        &self,
        bytes: Vec<u8>,
        attributes: BTreeMap<String, String>,
        memory: OwnedSemaphorePermit,
    ) -> Result<oneshot::Receiver<Disposition>, EnqueueError> {
        let (told, fate) = oneshot::channel();
        if self.inbox_capacity.is_full() {
            return Err(EnqueueError::Full);
        }
        let mut queue = self.lock_queue();
        if queue.is_closed {
            return Err(EnqueueError::Closing);
        }
        queue
            .waiting
            .retain(|one| !one.answer.disposition.is_closed());
        if queue.waiting.len() >= MAX_WAITING {
            return Err(EnqueueError::Full);
        }
        queue.last_id += 1;
        let message = Message {
            id: queue.last_id.to_string(),
            bytes,
            attributes,
        };
        let answer = PendingReply {
            disposition: told,
            _memory: memory,
        };
        queue.waiting.push_back(QueuedRequest { message, answer });
        drop(queue);
        self.notify.notify_one();
        Ok(fate)
    }

    /// Takes waiting messages. Returns `None` once the source is closed.
    fn dequeue(&self, most: usize) -> Option<Vec<Message>> {
        let mut queue = self.lock_queue();
        if queue.is_closed {
            return None;
        }
        let mut taken = Vec::new();
        while taken.len() < most {
            let Some(QueuedRequest { message, answer }) = queue.waiting.pop_front() else {
                break;
            };
            // A disconnected client got no response and will send the message again.
            if !answer.disposition.is_closed() {
                queue.in_flight.insert(message.id.clone(), answer);
                taken.push(message);
            }
        }
        if !queue.waiting.is_empty() {
            self.notify.notify_one();
        }
        Some(taken)
    }

    fn lock_queue(&self) -> MutexGuard<'_, RequestQueue> {
        self.queue.lock()
    }
}

#[async_trait]
impl Source for HttpSource {
    fn name(&self) -> &str {
        &self.config.name
    }

    fn kind(&self) -> &'static str {
        "http"
    }

    async fn receive(&self, most: usize) -> Result<Option<Vec<Message>>, SourceError> {
        let until = Instant::now() + LONG_POLL;
        loop {
            match self.dequeue(most.max(1)) {
                None => return Ok(None),
                Some(taken) if !taken.is_empty() => return Ok(Some(taken)),
                Some(_) => {}
            }
            if timeout_at(until, self.notify.notified()).await.is_err() {
                return Ok(Some(Vec::new()));
            }
        }
    }

    async fn settle(&self, settled: &[Settlement]) -> Vec<SettleError> {
        let mut queue = self.lock_queue();
        let mut unsettled = Vec::new();
        for one in settled {
            let answer = queue.in_flight.remove(&one.id);
            let is_told =
                answer.is_some_and(|answer| answer.disposition.send(one.disposition).is_ok());
            if !is_told && one.disposition != Disposition::Nack {
                unsettled.push(SettleError {
                    id: one.id.clone(),
                    why: "the client disconnected before its message was committed".to_owned(),
                });
            }
        }
        unsettled
    }

    fn ready(&self) -> Result<(), String> {
        if self.lock_queue().is_closed {
            return Err("closed".to_owned());
        }
        Ok(())
    }

    async fn close(&self) {
        // Dropping the senders tells waiting requests that there will be no answer.
        let mut queue = self.lock_queue();
        let ended = std::mem::take(&mut *queue);
        queue.is_closed = true;
        drop(queue);
        drop(ended);
        self.notify.notify_waiters();
        self.notify.notify_one();
    }
}
