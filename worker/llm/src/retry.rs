//! Retries transient failures with exponential backoff and full jitter, by `backon`.
//!
//! This is the only retry of the whole stack. A provider is never asked earlier than the wait that it set. When a
//! retry cannot finish before the request's deadline, the last error is returned at once. Failures that do not pass
//! in seconds, such as a spend limit or a wrong key, are not retried. A paid but unreadable answer is retried once,
//! because its prompt may be the cause. An attempt that timed out is charged.

use std::sync::Arc;
use std::time::Duration;

use crate::chat::{
    ChatAnswer, ChatError, ChatFailure, ChatModel, ChatRequest, ChatTraits, Usage, time_left,
};
use async_trait::async_trait;
use backon::{Backoff, BackoffBuilder, ExponentialBuilder, Retryable};
use tokio::time::timeout_at;

use crate::Price;
use crate::attempt_cost::AttemptCost;
use crate::rate::estimate_usage;

/// Upper bounds of the waits: half a second, doubled each time, up to 16 seconds.
const BACKOFF: ExponentialBuilder = ExponentialBuilder::new()
    .with_min_delay(Duration::from_millis(500))
    .with_factor(2.0)
    .with_max_delay(Duration::from_secs(16))
    .with_max_times(6);

/// Maximum number of paid, unreadable answers that are retried.
const MAX_UNREADABLE_RETRIES: u32 = 1;

/// Resolution of tokio's timers, which round up.
const TIMER_RESOLUTION: Duration = Duration::from_millis(1);

/// Extra time for adapters to report the usage after the deadline.
const GRACE_PERIOD: Duration = Duration::from_millis(250);

/// A model with retries.
pub struct Retry {
    inner: Arc<dyn ChatModel>,
    seed: Option<u64>,
}

impl Retry {
    /// Retries requests to `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn ChatModel>) -> Self {
        Self { inner, seed: None }
    }

    /// Makes the waits deterministic for tests.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self {
            seed: Some(seed),
            ..self
        }
    }

    /// Makes one attempt, which ends at the deadline.
    async fn attempt(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        let asked = timeout_at(request.deadline + GRACE_PERIOD, self.inner.chat(request));
        let result = asked.await.unwrap_or_else(|_| {
            Err(self.timeout_error("no answer came before the question's time was over"))
        });
        result.map_err(|error| match error.failure {
            ChatFailure::Timeout => self.charge_timeout(request, error),
            _ => error,
        })
    }

    /// Charges an attempt that timed out, because the answer was possibly generated and billed. Missing usage is
    /// estimated. Otherwise a hanging model would pass every budget.
    fn charge_timeout(&self, request: &ChatRequest, mut error: ChatError) -> ChatError {
        let usual = estimate_usage(request);
        let told = error.usage;
        let untold = Usage {
            input_tokens: match told.input_tokens {
                0 => usual.input_tokens,
                _ => 0,
            },
            output_tokens: usual.output_tokens.saturating_sub(told.output_tokens),
            ..Usage::default()
        };
        let price = self.inner.traits().price;
        error.usd += Price::from_max_token_price(price).cost_usd(untold);
        error.usage += untold;
        error
    }

    fn timeout_error(&self, what: &str) -> ChatError {
        ChatError::new(&self.inner.traits().name, ChatFailure::Timeout, what)
    }
}

#[async_trait]
impl ChatModel for Retry {
    fn traits(&self) -> &ChatTraits {
        self.inner.traits()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        if time_left(request).is_zero() {
            return Err(ChatError {
                requests: 0,
                ..self.timeout_error("the question's time was over before the model was asked")
            });
        }
        let mut spent = AttemptCost::default();
        let mut unreadable = 0;
        let mut last = (|| self.attempt(request))
            .retry(full_jitter(self.seed))
            .when(|error: &ChatError| {
                unreadable += u32::from(is_unreadable(error));
                error.failure.is_transient() && unreadable <= MAX_UNREADABLE_RETRIES
            })
            .adjust(|error, wait| next_delay(request, error.failure.retry_after(), wait?))
            .notify(|error, _| spent.add_failure(error))
            .await;
        spent.add_to_result(&mut last);
        last
    }
}

/// Returns whether the model answered with nothing readable: no text, or an invalid call.
fn is_unreadable(error: &ChatError) -> bool {
    error.failure == ChatFailure::Malformed && error.usage.output_tokens > 0
}

/// Returns waits between zero and the growing bound. `backon`'s own jitter is between the bound and twice the bound,
/// so the bound is subtracted.
fn full_jitter(seed: Option<u64>) -> impl Backoff {
    let mut jittered = BACKOFF.with_jitter();
    if let Some(seed) = seed {
        jittered = jittered.with_jitter_seed(seed);
    }
    jittered
        .build()
        .zip(BACKOFF.build())
        .map(|(jittered, bound)| jittered.saturating_sub(bound))
}

/// Returns the wait before the next attempt: the provider's wait plus jitter, so that waiting requests do not return
/// at once. Returns `None` when the wait ends too late.
fn next_delay(request: &ChatRequest, told: Option<Duration>, jitter: Duration) -> Option<Duration> {
    let wait = told.unwrap_or_default().saturating_add(jitter);
    (wait.saturating_add(TIMER_RESOLUTION) < time_left(request)).then_some(wait)
}

#[cfg(test)]
mod tests;
