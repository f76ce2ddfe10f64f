//! Defines scripts, which produce the replies of a fake: given replies, a function of the request, nonsense, or
//! obedience.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::{Fault, Nonsense, OpenAiServer, RecordedRequest, Reply, obedient};

type AnswerFn = Arc<dyn Fn(&RecordedRequest) -> Option<Reply> + Send + Sync>;
type FaultFn = Arc<dyn Fn(&RecordedRequest) -> Option<Fault> + Send + Sync>;

/// The behaviour of a fake.
#[derive(Clone)]
pub struct Script {
    answers: AnswerFn,
    faults: Option<FaultFn>,
    latency: Duration,
    pub(super) remembers: bool,
    pub(super) server: OpenAiServer,
}

impl Script {
    /// Creates a script that replies by a function of the request.
    pub fn from_fn<R: Into<Reply>>(
        answer: impl Fn(&RecordedRequest) -> R + Send + Sync + 'static,
    ) -> Self {
        Self::new(move |seen| Some(answer(seen).into()))
    }

    /// Creates a script that gives these replies in order.
    pub fn from_replies<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> Self {
        let queue: VecDeque<Reply> = replies.into_iter().map(Into::into).collect();
        let queue = Mutex::new(queue);
        Self::new(move |_| lock(&queue).pop_front())
    }

    /// Creates a script with a queue for each conversation. `of` returns the name of a request's conversation, and
    /// `replies` returns the queue for a new name.
    pub fn conversations(
        of: impl Fn(&RecordedRequest) -> String + Send + Sync + 'static,
        replies: impl Fn(&RecordedRequest) -> Vec<Reply> + Send + Sync + 'static,
    ) -> Self {
        let queues: Mutex<BTreeMap<String, VecDeque<Reply>>> = Mutex::default();
        Self::new(move |seen| {
            lock(&queues)
                .entry(of(seen))
                .or_insert_with(|| replies(seen).into())
                .pop_front()
        })
    }

    /// Creates a script that replies with nonsense that fits the schema. Equal requests get equal replies.
    #[must_use]
    pub fn nonsense(seed: u64) -> Self {
        Self::from_fn(move |seen| {
            let mut hasher = DefaultHasher::new();
            (seed, seen.body.to_string()).hash(&mut hasher);
            Nonsense::new(hasher.finish()).answer(seen)
        })
    }

    /// Creates a script that obeys the data of its prompts.
    #[must_use]
    pub fn obedient() -> Self {
        Self::from_fn(obedient::answer)
    }

    fn new(answers: impl Fn(&RecordedRequest) -> Option<Reply> + Send + Sync + 'static) -> Self {
        Self {
            answers: Arc::new(answers),
            faults: None,
            latency: Duration::ZERO,
            remembers: true,
            server: OpenAiServer::OpenAi,
        }
    }

    /// Sets the latency of every answer, in the time of the fake's runtime.
    #[must_use]
    pub const fn with_latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// Adds faults for the requests that this function selects, without using up a reply.
    #[must_use]
    pub fn with_faults(
        mut self,
        faults: impl Fn(&RecordedRequest) -> Option<Fault> + Send + Sync + 'static,
    ) -> Self {
        self.faults = Some(Arc::new(faults));
        self
    }

    /// Imitates this server on OpenAI's protocol.
    #[must_use]
    pub const fn on_server(mut self, server: OpenAiServer) -> Self {
        self.server = server;
        self
    }

    /// Keeps no requests, for runs with many thousands of them.
    #[must_use]
    pub const fn without_recording(mut self) -> Self {
        self.remembers = false;
        self
    }

    /// Returns the reply to a request, or `None` when the script has ended.
    pub(super) fn reply(&self, seen: &RecordedRequest) -> Option<Reply> {
        let fault = self.faults.as_ref().and_then(|faults| faults(seen));
        match fault {
            Some(fault) => Some(Reply::Fault(fault)),
            None => (self.answers)(seen),
        }
    }

    pub(super) fn latency_of(&self, reply: &Reply) -> Duration {
        match reply {
            Reply::Answer(answer) => self.latency + answer.delay,
            Reply::Fault(_) => self.latency,
        }
    }
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Script")
            .field("latency", &self.latency)
            .finish_non_exhaustive()
    }
}

/// Locks a queue, ignoring the panic of another script, which leaves its queue intact.
fn lock<T>(queue: &Mutex<T>) -> parking_lot::MutexGuard<'_, T> {
    queue.lock()
}
