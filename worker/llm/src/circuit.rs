//! A circuit breaker: a model that is down gets only one probe every ten seconds, and none before a time that its
//! provider set.
//!
//! The circuit is the innermost of the waiting layers, so that a request that queued when the circuit opened does not
//! reach the model. The rules are in [`breaker`]; [`Circuits`] reports the states. A spend limit or a wrong key does
//! not open the circuit, because waiting would not help and callers must learn of it at once. The refusal is
//! remembered, because such a model cannot replace one that is down.

mod breaker;
mod circuits;

use std::sync::Arc;

use crate::chat::{ChatAnswer, ChatError, ChatModel, ChatRequest, ChatTraits, Failure};
use async_trait::async_trait;
use tokio::time::Instant;

pub(crate) use breaker::{Breaker, IN_LINE, Patience};
pub use circuits::{Circuits, Health};

/// A model that is not asked while it is down.
pub(crate) struct Circuit {
    inner: Arc<dyn ChatModel>,
    breaker: Breaker,
}

impl Circuit {
    /// Asks `inner` while its circuit is closed.
    pub(crate) fn new(inner: Arc<dyn ChatModel>, breaker: Breaker) -> Self {
        Self { inner, breaker }
    }
}

#[async_trait]
impl ChatModel for Circuit {
    fn traits(&self) -> &ChatTraits {
        self.inner.traits()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        if !self.breaker.admit() {
            return Err(not_asked(&self.inner.traits().name, Failure::CircuitOpen));
        }
        let mut pending = Pending {
            breaker: &self.breaker,
            since: Instant::now(),
            result: None,
        };
        let result = self.inner.chat(request).await;
        pending.result = Some(result.as_ref().err().map(|error| error.failure));
        result
    }
}

/// A request in progress. A request that is dropped counts as unanswered if it took long.
struct Pending<'a> {
    breaker: &'a Breaker,
    since: Instant,
    result: Option<Option<Failure>>,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        let failure = self.result.unwrap_or(Some(Failure::Timeout));
        self.breaker.record(failure, self.since.elapsed());
    }
}

/// Returns the error for a request that our own limits prevented.
pub(crate) fn not_asked(model: &str, failure: Failure) -> ChatError {
    let what = match failure {
        Failure::CircuitOpen => "it is down or to be left alone, and is asked only now and then",
        Failure::NoTurn => {
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
