//! Counts every request that reaches a model: outcome, duration, usage and cost.
//!
//! The layer is next to the adapter, so that each attempt of a retry is counted and queueing is not. The names of
//! metrics are in the program; only the engine's port is used here.

mod conversation;
mod refusal;
mod span;

use std::sync::Arc;

use crate::chat::{
    ChatAnswer, ChatError, ChatFailure, ChatModel, ChatRequest, ChatTraits, QuestionKind, Usage,
};
use async_trait::async_trait;
use nightshift_engine::measurement::{Measurement, ModelTokens};
use nightshift_engine::port::Meter;
use tokio::time::Instant;
use tracing::{Instrument as _, Span};

use self::refusal::RefusalLog;

/// Outcomes of a request: an answer, a drop by the caller, or a failure that a provider's response can be.
pub const OUTCOMES: [&str; 14] = [
    OK,
    CANCELLED,
    "rate_limited",
    "overloaded",
    "unreachable",
    "timeout",
    "truncated",
    "refused",
    "filtered",
    "malformed",
    "context_too_long",
    "quota",
    "auth",
    "bad_request",
];

const OK: &str = "ok";
const CANCELLED: &str = "cancelled";

/// A model whose requests are counted.
pub struct MeteredModel {
    inner: Arc<dyn ChatModel>,
    provider: &'static str,
    model: String,
    meter: Arc<dyn Meter>,
    refusal: RefusalLog,
}

impl MeteredModel {
    /// Counts the requests to `inner` under these labels.
    pub fn new(
        inner: Arc<dyn ChatModel>,
        provider: &'static str,
        model: impl Into<String>,
        meter: Arc<dyn Meter>,
    ) -> Self {
        Self {
            inner,
            provider,
            model: model.into(),
            meter,
            refusal: RefusalLog::default(),
        }
    }
}

#[async_trait]
impl ChatModel for MeteredModel {
    fn traits(&self) -> &ChatTraits {
        self.inner.traits()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        let span = span::start_span(self.provider, &self.model, request);
        let mut count = RequestMeter {
            metered: self,
            span: span.clone(),
            asked: request.question,
            deadline: request.deadline,
            started: Instant::now(),
            outcome: None,
        };
        let result = self.inner.chat(request).instrument(span.clone()).await;
        self.refusal.record(self.provider, &self.model, &result);
        if let Ok(answer) = &result {
            span::record_answer(&span, answer);
        }
        count.outcome = Some(match &result {
            Ok(answer) => (OK, answer.usage, answer.usd),
            Err(error) => (error.failure.as_str(), error.usage, error.usd),
        });
        result
    }
}

/// A request in progress, which is counted at its end, even when it is dropped.
struct RequestMeter<'a> {
    metered: &'a MeteredModel,
    span: Span,
    asked: QuestionKind,
    deadline: Instant,
    started: Instant,
    outcome: Option<(&'static str, Usage, f64)>,
}

impl Drop for RequestMeter<'_> {
    fn drop(&mut self) {
        let (outcome, usage, usd) = self.outcome.take().unwrap_or_else(|| {
            let outcome = if Instant::now() < self.deadline {
                CANCELLED
            } else {
                ChatFailure::Timeout.as_str()
            };
            (outcome, Usage::default(), 0.0)
        });
        let failure = Some(outcome).filter(|outcome| *outcome != OK);
        span::record_end(&self.span, failure, usage, usd);
        self.metered.meter.count(&Measurement::ModelRequest {
            provider: self.metered.provider,
            model: self.metered.model.clone(),
            question: self.asked.as_str(),
            outcome,
            took: self.started.elapsed(),
            tokens: disjoint_tokens(usage),
            usd,
        });
    }
}

/// Splits the tokens into kinds that do not overlap.
fn disjoint_tokens(usage: Usage) -> ModelTokens {
    ModelTokens {
        input: usage
            .input_tokens
            .saturating_sub(usage.cached_tokens)
            .saturating_sub(usage.cache_write_tokens),
        cached: usage.cached_tokens,
        cache_write: usage.cache_write_tokens,
        output: usage.output_tokens.saturating_sub(usage.reasoning_tokens),
        reasoning: usage.reasoning_tokens,
    }
}

#[cfg(test)]
mod tests;
