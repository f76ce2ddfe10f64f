//! Limits the concurrent requests to a model.
//!
//! A fifth of the places, at least one of two or more, is reserved for urgent requests. Places are given in the order
//! of asking. A request never waits past its deadline, nor for a model whose circuit is open.

use std::sync::Arc;

use crate::chat::{ChatAnswer, ChatError, ChatModel, ChatRequest, ChatTraits};
use async_trait::async_trait;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::circuit::{CircuitBreaker, local_limit_error};

/// A model with a limit of concurrent requests.
pub(crate) struct ConcurrencyLimit {
    inner: Arc<dyn ChatModel>,
    breaker: CircuitBreaker,
    slots: Arc<ConcurrencySlots>,
}

/// Places at a model, which all its users share.
pub(crate) struct ConcurrencySlots {
    all: Semaphore,
    /// All places but the reserved ones. Ordinary requests need one of these, too.
    ordinary: Semaphore,
}

impl ConcurrencyLimit {
    /// Limits the requests to `inner` by `places`.
    pub(crate) fn new(
        inner: Arc<dyn ChatModel>,
        places: Arc<ConcurrencySlots>,
        breaker: CircuitBreaker,
    ) -> Self {
        Self {
            inner,
            breaker,
            slots: places,
        }
    }
}

impl ConcurrencySlots {
    /// Creates this many places, at least one.
    pub(crate) fn new(number: u32) -> Arc<Self> {
        let places = usize::try_from(number).unwrap_or(usize::MAX);
        let places = places.clamp(1, Semaphore::MAX_PERMITS);
        let kept = if places > 1 { (places / 5).max(1) } else { 0 };
        Arc::new(Self {
            all: Semaphore::new(places),
            ordinary: Semaphore::new(places - kept),
        })
    }

    /// Takes a place, which is held until it is dropped. Returns `None` only if the semaphores were closed, which
    /// never happens.
    async fn acquire(&self, urgent: bool) -> Option<[Option<SemaphorePermit<'_>>; 2]> {
        let ordinary = if urgent {
            None
        } else {
            Some(self.ordinary.acquire().await.ok()?)
        };
        Some([ordinary, Some(self.all.acquire().await.ok()?)])
    }
}

#[async_trait]
impl ChatModel for ConcurrencyLimit {
    fn traits(&self) -> &ChatTraits {
        self.inner.traits()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        let place = self
            .breaker
            .wait_for_turn(request.deadline, self.slots.acquire(request.urgent))
            .await
            .map_err(|failure| local_limit_error(&self.inner.traits().name, failure))?;
        let result = self.inner.chat(request).await;
        drop(place);
        result
    }
}

#[cfg(test)]
mod tests;
