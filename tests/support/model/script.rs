//! What the fake answers with: given answers, a function of the request, nonsense, or obedience.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::{Fault, Nonsense, Reply, Seen, Server, obedient};

type Answers = Arc<dyn Fn(&Seen) -> Option<Reply> + Send + Sync>;
type Faults = Arc<dyn Fn(&Seen) -> Option<Fault> + Send + Sync>;

/// How the fake behaves.
#[derive(Clone)]
pub struct Script {
    answers: Answers,
    faults: Option<Faults>,
    latency: Duration,
    pub(super) remembers: bool,
    pub(super) server: Server,
}

impl Script {
    /// Answers by a function of the request.
    pub fn by<R: Into<Reply>>(answer: impl Fn(&Seen) -> R + Send + Sync + 'static) -> Self {
        Self::new(move |seen| Some(answer(seen).into()))
    }

    /// Answers with these, in order, whoever asks.
    pub fn queue<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> Self {
        let queue: VecDeque<Reply> = replies.into_iter().map(Into::into).collect();
        let queue = Mutex::new(queue);
        Self::new(move |_| lock(&queue).pop_front())
    }

    /// Answers with a queue for each conversation: `of` names the one that a request belongs to, and the first time a
    /// name is seen `replies` says what will be answered there.
    pub fn conversations(
        of: impl Fn(&Seen) -> String + Send + Sync + 'static,
        replies: impl Fn(&Seen) -> Vec<Reply> + Send + Sync + 'static,
    ) -> Self {
        let queues: Mutex<BTreeMap<String, VecDeque<Reply>>> = Mutex::default();
        Self::new(move |seen| {
            lock(&queues)
                .entry(of(seen))
                .or_insert_with(|| replies(seen).into())
                .pop_front()
        })
    }

    /// Answers with nonsense that fits the schema. A request is answered the same whenever it comes.
    #[must_use]
    pub fn nonsense(seed: u64) -> Self {
        Self::by(move |seen| {
            let mut hasher = DefaultHasher::new();
            (seed, seen.body.to_string()).hash(&mut hasher);
            Nonsense::new(hasher.finish()).answer(seen)
        })
    }

    /// Obeys what it reads.
    #[must_use]
    pub fn obedient() -> Self {
        Self::by(obedient::answer)
    }

    fn new(answers: impl Fn(&Seen) -> Option<Reply> + Send + Sync + 'static) -> Self {
        Self {
            answers: Arc::new(answers),
            faults: None,
            latency: Duration::ZERO,
            remembers: true,
            server: Server::OpenAi,
        }
    }

    /// Takes so long for every answer, in the time of the runtime that the fake runs on.
    #[must_use]
    pub const fn latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// Goes wrong wherever this says so, without using up an answer.
    #[must_use]
    pub fn faults(
        mut self,
        faults: impl Fn(&Seen) -> Option<Fault> + Send + Sync + 'static,
    ) -> Self {
        self.faults = Some(Arc::new(faults));
        self
    }

    /// Answers on OpenAI's wire as this server does.
    #[must_use]
    pub const fn on(mut self, server: Server) -> Self {
        self.server = server;
        self
    }

    /// Keeps no requests, for runs of many thousands of them.
    #[must_use]
    pub const fn forgetful(mut self) -> Self {
        self.remembers = false;
        self
    }

    /// What comes back for a request; none where the script has come to its end.
    pub(super) fn reply(&self, seen: &Seen) -> Option<Reply> {
        let fault = self.faults.as_ref().and_then(|faults| faults(seen));
        match fault {
            Some(fault) => Some(Reply::Fault(fault)),
            None => (self.answers)(seen),
        }
    }

    pub(super) fn latency_of(&self, reply: &Reply) -> Duration {
        match reply {
            Reply::Answer(answer) => self.latency + answer.after,
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

/// A script that panicked elsewhere leaves its queue as it is.
fn lock<T>(queue: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}
