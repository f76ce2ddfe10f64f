//! Asks again after a failure that may pass: exponential backoff with full jitter, by `backon`.
//!
//! This is the only retry of the whole stack. A provider is never asked earlier than it told, and nothing is waited for
//! that cannot come before the request's deadline: then the last error is returned at once. What cannot pass in seconds,
//! such as a spend limit or a wrong key, is not tried again, and an answer that was paid for and cannot be read only once:
//! its prompt may be why. A try that had no answer in time is charged all the same.

use std::sync::Arc;
use std::time::Duration;

use crate::chat::{
    ChatAnswer, ChatError, ChatModel, ChatRequest, ChatTraits, Failure, Usage, time_left,
};
use async_trait::async_trait;
use backon::{Backoff, BackoffBuilder, ExponentialBuilder, Retryable};
use tokio::time::timeout_at;

use crate::Price;
use crate::rate::estimate;
use crate::spent::Spent;

/// Upper bounds of the waits: half a second, then twice as much each time, up to 16 seconds.
const WAITS: ExponentialBuilder = ExponentialBuilder::new()
    .with_min_delay(Duration::from_millis(500))
    .with_factor(2.0)
    .with_max_delay(Duration::from_secs(16))
    .with_max_times(6);

/// So many answers that are paid for and cannot be read are followed by another try.
const UNREADABLE: u32 = 1;

/// Tokio's timers round up to this.
const TICK: Duration = Duration::from_millis(1);

/// Adapters end at the deadline; so long they have to say what was used until then.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// A model that is asked again.
pub struct Retry {
    inner: Arc<dyn ChatModel>,
    seed: Option<u64>,
}

impl Retry {
    /// Asks `inner` again where that may help.
    #[must_use]
    pub fn new(inner: Arc<dyn ChatModel>) -> Self {
        Self { inner, seed: None }
    }

    /// The same with waits that can be foretold, for tests.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self {
            seed: Some(seed),
            ..self
        }
    }

    /// One try, ended by the deadline.
    async fn once(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        let asked = timeout_at(request.deadline + LAST_WORDS, self.inner.chat(request));
        let result = asked.await.unwrap_or_else(|_| {
            Err(self.late("no answer came before the question's time was over"))
        });
        result.map_err(|error| match error.failure {
            Failure::Timeout => self.charged(request, error),
            _ => error,
        })
    }

    /// An answer that did not come in time was perhaps made all the same, and stands on the bill. What the provider did
    /// not tell of it is charged as it is as a rule: for free, a model that hangs would pass every budget.
    fn charged(&self, request: &ChatRequest, mut error: ChatError) -> ChatError {
        let usual = estimate(request);
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
        error.usd += Price::at_most(price).usd(untold);
        error.usage += untold;
        error
    }

    fn late(&self, what: &str) -> ChatError {
        ChatError::new(&self.inner.traits().name, Failure::Timeout, what)
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
                ..self.late("the question's time was over before the model was asked")
            });
        }
        let mut spent = Spent::default();
        let mut unreadable = 0;
        let mut last = (|| self.once(request))
            .retry(full_jitter(self.seed))
            .when(|error: &ChatError| {
                unreadable += u32::from(is_unreadable(error));
                error.failure.is_transient() && unreadable <= UNREADABLE
            })
            .adjust(|error, wait| within(request, error.failure.after(), wait?))
            .notify(|error, _| spent.add(error))
            .await;
        spent.add_to(&mut last);
        last
    }
}

/// Whether the model has answered, and nothing that can be read: no word, or a call that is none.
fn is_unreadable(error: &ChatError) -> bool {
    error.failure == Failure::Malformed && error.usage.output_tokens > 0
}

/// Waits between nothing and the growing bound. `backon`'s own jitter lies between the bound and twice it, so the bound
/// is taken off again.
fn full_jitter(seed: Option<u64>) -> impl Backoff {
    let mut jittered = WAITS.with_jitter();
    if let Some(seed) = seed {
        jittered = jittered.with_jitter_seed(seed);
    }
    jittered
        .build()
        .zip(WAITS.build())
        .map(|(jittered, bound)| jittered.saturating_sub(bound))
}

/// The wait before the next try: what the provider told, and the jitter on top, so that those who were told the same do
/// not come back at once; none when it would end too late to ask.
fn within(request: &ChatRequest, told: Option<Duration>, jitter: Duration) -> Option<Duration> {
    let wait = told.unwrap_or_default().saturating_add(jitter);
    (wait.saturating_add(TICK) < time_left(request)).then_some(wait)
}

#[cfg(test)]
mod tests;
