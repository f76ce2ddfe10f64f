//! Provides a model with scripted answers, for tests of the layers around a model.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::chat::{
    ChatAnswer, ChatError, ChatFailure, ChatMessage, ChatModel, ChatPart, ChatRequest, ChatRole,
    ChatTraits, QuestionKind, StopReason, TokenPrice, Usage,
};
use async_trait::async_trait;
use nightshift_engine::measurement::Measurement;
use nightshift_engine::port::Meter;
use tokio::time::{Instant, sleep};

use crate::circuit::{BreakerConfig, CircuitBreaker};

/// Duration and result of a request.
pub(crate) type ScriptedReply = (Duration, Result<ChatAnswer, ChatError>);

type Script = dyn Fn(usize, &ChatRequest) -> ScriptedReply + Send + Sync;

/// A model that answers by script and records when it was asked.
pub(crate) struct ScriptedModel {
    traits: ChatTraits,
    script: Box<Script>,
    request_times: Mutex<Vec<Instant>>,
}

impl ScriptedModel {
    /// Creates a model whose reply to the n-th request is `reply(n)`.
    pub(crate) fn new(
        script: impl Fn(usize, &ChatRequest) -> ScriptedReply + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::with_name("openai/main", script)
    }

    /// Creates such a model with a name.
    pub(crate) fn with_name(
        name: &str,
        script: impl Fn(usize, &ChatRequest) -> ScriptedReply + Send + Sync + 'static,
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
            request_times: Mutex::default(),
        })
    }

    /// Changes the model's capabilities.
    pub(crate) fn set_traits(&mut self, set: impl FnOnce(&mut ChatTraits)) {
        set(&mut self.traits);
    }

    pub(crate) fn request_times(&self) -> Vec<Instant> {
        self.request_times.lock().clone()
    }

    /// Returns the number of requests.
    pub(crate) fn request_count(&self) -> usize {
        self.request_times().len()
    }
}

#[async_trait]
impl ChatModel for ScriptedModel {
    fn traits(&self) -> &ChatTraits {
        &self.traits
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        let number = {
            let mut asked = self.request_times.lock();
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
pub(crate) struct RecordingMeter(Mutex<Vec<Measurement>>);

impl RecordingMeter {
    pub(crate) fn measures(&self) -> Vec<Measurement> {
        self.0.lock().clone()
    }
}

impl Meter for RecordingMeter {
    fn count(&self, measure: &Measurement) {
        self.0.lock().push(measure.clone());
    }
}

/// Returns a request with this time left.
pub(crate) fn request_with(left: Duration) -> ChatRequest {
    ChatRequest {
        question: QuestionKind::Plan,
        urgent: false,
        system: "You triage alerts.".into(),
        messages: vec![ChatMessage {
            role: ChatRole::User,
            parts: vec![ChatPart::text("What is it?")],
        }],
        tools: Arc::new([]),
        may_call: false,
        output: None,
        max_output_tokens: 1_000,
        deadline: Instant::now() + left,
    }
}

pub(crate) fn urgent_request(left: Duration) -> ChatRequest {
    ChatRequest {
        urgent: true,
        ..request_with(left)
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

pub(crate) fn answer() -> ChatAnswer {
    ChatAnswer {
        parts: vec![ChatPart::text("a miner")],
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
pub(crate) fn failure(failure: ChatFailure) -> ChatError {
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
pub(crate) fn breaker() -> CircuitBreaker {
    CircuitBreaker::new(BreakerConfig::default())
}
