//! Implements a circuit breaker: a model that is down gets only one probe every ten seconds, and none before a time
//! that its provider set.
//!
//! The circuit is the innermost of the waiting layers, so that a request that queued when the circuit opened does not
//! reach the model. The rules are in [`breaker`]; [`CircuitRegistry`] reports the states. A spend limit or a wrong key
//! does not open the circuit, because waiting would not help and callers must learn of it at once. The refusal is
//! remembered, because such a model cannot replace one that is down.

mod breaker;
mod registry;

use std::sync::Arc;

use crate::chat::{ChatAnswer, ChatError, ChatFailure, ChatModel, ChatRequest, ChatTraits};
use async_trait::async_trait;
use tokio::time::Instant;

pub(crate) use breaker::{BreakerConfig, CircuitBreaker, MAX_QUEUED_WAIT};
pub use registry::{ChainHealth, CircuitRegistry};

/// A model that is not asked while it is down.
pub(crate) struct CircuitGuard {
    inner: Arc<dyn ChatModel>,
    breaker: CircuitBreaker,
}

impl CircuitGuard {
    /// Asks `inner` while its circuit is closed.
    pub(crate) fn new(inner: Arc<dyn ChatModel>, breaker: CircuitBreaker) -> Self {
        Self { inner, breaker }
    }
}

#[async_trait]
impl ChatModel for CircuitGuard {
    fn traits(&self) -> &ChatTraits {
        self.inner.traits()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        if !self.breaker.admit() {
            return Err(local_limit_error(
                &self.inner.traits().name,
                ChatFailure::CircuitOpen,
            ));
        }
        let mut pending = PendingRequest {
            breaker: &self.breaker,
            started: Instant::now(),
            result: None,
        };
        let result = self.inner.chat(request).await;
        pending.result = Some(result.as_ref().err().map(|error| error.failure));
        result
    }
}

/// A request in progress. A request that is dropped counts as unanswered if it took long.
struct PendingRequest<'a> {
    breaker: &'a CircuitBreaker,
    started: Instant,
    result: Option<Option<ChatFailure>>,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        let failure = self.result.unwrap_or(Some(ChatFailure::Timeout));
        self.breaker.record(failure, self.started.elapsed());
    }
}

/// Returns the error for a request that the configured limits prevented.
pub(crate) fn local_limit_error(model: &str, failure: ChatFailure) -> ChatError {
    let what = match failure {
        ChatFailure::CircuitOpen => {
            "it is down or to be left alone, and is asked only now and then"
        }
        ChatFailure::NoTurn => {
            "its limits (requests_per_minute, tokens_per_minute, concurrent) leave no turn before the question's time is over"
        }
        _ => "its provider wants it left alone until after the question's time is over",
    };
    ChatError {
        requests: 0,
        ..ChatError::new(model, failure, what)
    }
}

#[cfg(test)]
mod tests;
