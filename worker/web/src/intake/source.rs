//! The source for alerts posted over HTTP: requests wait here until their messages are committed.
//!
//! A request is answered when its message is settled, so that "accepted" means committed. The intake loop takes all
//! waiting messages as one batch. If a client disconnects before its message was taken, the message is dropped.
//! Otherwise the message is committed all the same, and a repeated post becomes a sighting.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use nightshift_engine::measure::Measure;
use nightshift_engine::port::Meter;
use nightshift_pipeline::loops::InboxRoom;
use nightshift_pipeline::port::{Fate, Message, Settled, Source, SourceError, Unsettled};
use secrecy::SecretString;
use tokio::sync::{Notify, OwnedSemaphorePermit, oneshot};
use tokio::time::{Instant, timeout_at};

use super::answer::Refused;
use super::config::Config;
use super::credential::wrong_secrets;
use crate::told::NowAndThen;

/// How long a call of `receive` waits for the first message.
const LONG_POLL: Duration = Duration::from_secs(20);
/// Most requests that wait to be received.
const MOST_WAITING: usize = 1_024;

/// Reads the secrets that `env:NAME` and `file:PATH` refer to. Called for each request, so that a changed file takes
/// effect immediately. The error says what is missing and contains no secret.
pub type IntakeSecrets = Arc<dyn Fn(&str) -> Result<SecretString, String> + Send + Sync>;

/// The reason why a message is not accepted now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Busy {
    /// The inbox is full, or too many requests wait.
    Full,
    /// The process is stopping.
    Closing,
}

/// A source that receives posts.
pub struct HttpSource {
    pub(super) config: Config,
    pub(super) secrets: IntakeSecrets,
    room: Arc<InboxRoom>,
    meter: Arc<dyn Meter>,
    queue: Mutex<Queue>,
    /// Throttles log lines about unreadable secrets.
    pub(super) tells: NowAndThen,
    /// Notified when a message arrives or the source is closed.
    came: Notify,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    /// Received messages by their id.
    held: HashMap<String, Answer>,
    last: u64,
    is_closed: bool,
}

struct Waiting {
    message: Message,
    answer: Answer,
}

/// The channel to a waiting request, with the memory of its message.
struct Answer {
    told: oneshot::Sender<Fate>,
    _memory: OwnedSemaphorePermit,
}

impl HttpSource {
    /// Creates a source. `secrets` reads the values that tokens and signing secrets refer to.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the configuration, or which secret cannot be read.
    pub fn new(
        config: Config,
        secrets: IntakeSecrets,
        room: Arc<InboxRoom>,
        meter: Arc<dyn Meter>,
    ) -> Result<Self, String> {
        config.check()?;
        let source = Self {
            config,
            secrets,
            room,
            meter,
            queue: Mutex::default(),
            tells: NowAndThen::default(),
            came: Notify::new(),
        };
        match wrong_secrets(&source.config, &source.secrets)
            .into_iter()
            .next()
        {
            Some(wrong) => Err(wrong),
            None => Ok(source),
        }
    }

    /// Returns the refusal of a request to this source and counts it.
    pub(super) fn away(&self, why: impl Into<Refused>) -> Refused {
        let why = why.into();
        self.meter.count(&Measure::Message {
            source: self.config.name.clone(),
            outcome: if why.is_later() { "busy" } else { "refused" },
        });
        why
    }

    /// Queues a message and returns a receiver for its disposition. If the sender is dropped, the message is not
    /// committed.
    pub(super) fn offer(
        &self,
        bytes: Vec<u8>,
        attributes: BTreeMap<String, String>,
        memory: OwnedSemaphorePermit,
    ) -> Result<oneshot::Receiver<Fate>, Busy> {
        let (told, fate) = oneshot::channel();
        if self.room.is_full() {
            return Err(Busy::Full);
        }
        let mut queue = self.queue();
        if queue.is_closed {
            return Err(Busy::Closing);
        }
        queue.waiting.retain(|one| !one.answer.told.is_closed());
        if queue.waiting.len() >= MOST_WAITING {
            return Err(Busy::Full);
        }
        queue.last += 1;
        let message = Message {
            id: queue.last.to_string(),
            bytes,
            attributes,
        };
        let answer = Answer {
            told,
            _memory: memory,
        };
        queue.waiting.push_back(Waiting { message, answer });
        drop(queue);
        self.came.notify_one();
        Ok(fate)
    }

    /// Takes waiting messages. Returns `None` once the source is closed.
    fn take(&self, most: usize) -> Option<Vec<Message>> {
        let mut queue = self.queue();
        if queue.is_closed {
            return None;
        }
        let mut taken = Vec::new();
        while taken.len() < most {
            let Some(Waiting { message, answer }) = queue.waiting.pop_front() else {
                break;
            };
            // A disconnected client got no response and will send the message again.
            if !answer.told.is_closed() {
                queue.held.insert(message.id.clone(), answer);
                taken.push(message);
            }
        }
        if !queue.waiting.is_empty() {
            self.came.notify_one();
        }
        Some(taken)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
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
            match self.take(most.max(1)) {
                None => return Ok(None),
                Some(taken) if !taken.is_empty() => return Ok(Some(taken)),
                Some(_) => {}
            }
            if timeout_at(until, self.came.notified()).await.is_err() {
                return Ok(Some(Vec::new()));
            }
        }
    }

    async fn settle(&self, settled: &[Settled]) -> Vec<Unsettled> {
        let mut queue = self.queue();
        let mut unsettled = Vec::new();
        for one in settled {
            let answer = queue.held.remove(&one.id);
            let is_told = answer.is_some_and(|answer| answer.told.send(one.fate).is_ok());
            if !is_told && one.fate != Fate::Back {
                unsettled.push(Unsettled {
                    id: one.id.clone(),
                    why: "whoever posted it has gone, and does not know that it is committed"
                        .to_owned(),
                });
            }
        }
        unsettled
    }

    fn ready(&self) -> Result<(), String> {
        if self.queue().is_closed {
            return Err("closed".to_owned());
        }
        Ok(())
    }

    async fn close(&self) {
        // Dropping the senders tells waiting requests that there will be no answer.
        let mut queue = self.queue();
        let ended = std::mem::take(&mut *queue);
        queue.is_closed = true;
        drop(queue);
        drop(ended);
        self.came.notify_waiters();
        self.came.notify_one();
    }
}
