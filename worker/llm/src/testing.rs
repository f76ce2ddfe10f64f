//! A model with scripted answers, for tests of the layers around a model.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::chat::{
    Asked, ChatAnswer, ChatError, ChatMessage, ChatModel, ChatRequest, ChatTraits, Failure, Part,
    Role, StopReason, TokenPrice, Usage,
};
use async_trait::async_trait;
use nightshift_engine::measure::Measure;
use nightshift_engine::port::Meter;
use tokio::time::{Instant, sleep};

use crate::circuit::{Breaker, Patience};

/// Duration and result of a request.
pub(crate) type Reply = (Duration, Result<ChatAnswer, ChatError>);

type Script = dyn Fn(usize, &ChatRequest) -> Reply + Send + Sync;

/// A model that answers by script and records when it was asked.
pub(crate) struct Scripted {
    traits: ChatTraits,
    script: Box<Script>,
    asked: Mutex<Vec<Instant>>,
}

impl Scripted {
    /// Creates a model whose reply to the n-th request is `reply(n)`.
    pub(crate) fn new(
        script: impl Fn(usize, &ChatRequest) -> Reply + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::named("openai/main", script)
    }

    /// Creates such a model with a name.
    pub(crate) fn named(
        name: &str,
        script: impl Fn(usize, &ChatRequest) -> Reply + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            traits: ChatTraits {
                name: name.to_owned(),
                window_tokens: 128_000,
                max_output_tokens: 8_000,
                reasoning_tokens: 0,
                tools: true,
                tools_always: true,
                price: TokenPrice::default(),
            },
            script: Box::new(script),
            asked: Mutex::default(),
        })
    }

    /// Changes the model's capabilities.
    pub(crate) fn set_traits(&mut self, set: impl FnOnce(&mut ChatTraits)) {
        set(&mut self.traits);
    }

    /// Returns the times of the requests.
    pub(crate) fn asked(&self) -> Vec<Instant> {
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns the number of requests.
    pub(crate) fn count(&self) -> usize {
        self.asked().len()
    }
}

#[async_trait]
impl ChatModel for Scripted {
    fn traits(&self) -> &ChatTraits {
        &self.traits
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        let number = {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            asked.push(Instant::now());
            asked.len() - 1
        };
        let (took, result) = (self.script)(number, request);
        if !took.is_zero() {
            sleep(took).await;
        }
        result
    }
}

/// A meter that keeps its measures.
#[derive(Default)]
pub(crate) struct Counted(Mutex<Vec<Measure>>);

impl Counted {
    /// Returns the measures.
    pub(crate) fn all(&self) -> Vec<Measure> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Meter for Counted {
    fn count(&self, measure: &Measure) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(measure.clone());
    }
}

/// Returns a request with this time left.
pub(crate) fn request(left: Duration) -> ChatRequest {
    ChatRequest {
        asked: Asked::Plan,
        urgent: false,
        system: "You triage alerts.".into(),
        messages: vec![ChatMessage {
            role: Role::User,
            parts: vec![Part::text("What is it?")],
        }],
        tools: Arc::new([]),
        may_call: false,
        output: None,
        max_output_tokens: 1_000,
        deadline: Instant::now() + left,
    }
}

/// Returns an urgent request.
pub(crate) fn urgent(left: Duration) -> ChatRequest {
    ChatRequest {
        urgent: true,
        ..request(left)
    }
}

/// Returns the usage of a request.
pub(crate) fn usage(input_tokens: u64, output_tokens: u64) -> Usage {
    Usage {
        input_tokens,
        output_tokens,
        ..Usage::default()
    }
}

/// Returns an answer.
pub(crate) fn answer() -> ChatAnswer {
    ChatAnswer {
        parts: vec![Part::text("a miner")],
        structured: None,
        stop: StopReason::Done,
        usage: usage(100, 20),
        usd: 0.0,
        requests: 1,
        model: "openai/main".to_owned(),
        id: None,
    }
}

/// Returns a failure of one request that used 10 tokens and a cent.
pub(crate) fn failed(failure: Failure) -> ChatError {
    ChatError {
        usage: usage(10, 0),
        usd: 0.01,
        ..ChatError::new("openai/main", failure, "no")
    }
}

pub(crate) const NOW: Duration = Duration::ZERO;

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Returns a circuit that has no other users.
pub(crate) fn breaker() -> Breaker {
    Breaker::new(Patience::default())
}
