//! Enforces a model's limits of requests and tokens per minute with `governor` (GCRA), and respects the waits that
//! its provider sets. A wait that is longer than requests queue opens the circuit.
//!
//! A fifth of the rate is reserved for urgent requests. Turns are given in the order of asking, in two lanes: urgent
//! and ordinary. A request never waits past its deadline, nor for a model whose circuit is open. The limits apply to
//! this process across reloads. Several processes that share a key must divide its limits by configuration.

mod bucket;
mod estimate;

use std::sync::Arc;

use parking_lot::Mutex;

use crate::chat::{ChatAnswer, ChatError, ChatFailure, ChatModel, ChatRequest, ChatTraits, Usage};
use async_trait::async_trait;
use tokio::time::{Instant, sleep_until};

use crate::circuit::{CircuitBreaker, MAX_QUEUED_WAIT, local_limit_error};
use bucket::TokenBucket;
pub(crate) use estimate::{
    estimate_usage, json_bytes, part_tokens, text_bytes, tokens_from_bytes, usual_output_tokens,
};

/// Requests at once: a sixth of a minute's limit, because providers enforce the limit over seconds, too.
const REQUESTS_AT_ONCE: u32 = 6;

/// Limits of a model per minute; `None` means unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct MinuteLimits {
    pub(crate) requests_per_minute: Option<u32>,
    /// Tokens, sent and received.
    pub(crate) tokens_per_minute: Option<u32>,
}

/// A model with rate limits.
pub(crate) struct RateLimit {
    inner: Arc<dyn ChatModel>,
    breaker: CircuitBreaker,
    shared: Arc<SharedRateLimit>,
}

/// Turns to ask a model, which all its users share.
pub(crate) struct SharedRateLimit {
    requests: Option<TokenBucket>,
    tokens: Option<TokenBucket>,
    /// Tokens used beyond the estimates so far; a negative value is a credit. The next request pays them.
    token_debt: Mutex<i64>,
    /// Time until which the model is left alone.
    paused_until: Mutex<Instant>,
    urgent: WaitQueue,
    ordinary: WaitQueue,
}

/// The queue of waiting requests, in order.
type WaitQueue = tokio::sync::Mutex<()>;

impl RateLimit {
    /// Limits the rate of requests to `inner`.
    pub(crate) fn new(
        inner: Arc<dyn ChatModel>,
        turns: Arc<SharedRateLimit>,
        breaker: CircuitBreaker,
    ) -> Self {
        Self {
            inner,
            breaker,
            shared: turns,
        }
    }
}

impl SharedRateLimit {
    /// Creates the turns for these limits.
    pub(crate) fn new(limits: MinuteLimits) -> Arc<Self> {
        Arc::new(Self {
            requests: limits
                .requests_per_minute
                .map(|limit| TokenBucket::per_minute(limit, limit / REQUESTS_AT_ONCE)),
            tokens: limits
                .tokens_per_minute
                .map(|limit| TokenBucket::per_minute(limit, limit)),
            token_debt: Mutex::default(),
            paused_until: Mutex::new(Instant::now()),
            urgent: WaitQueue::default(),
            ordinary: WaitQueue::default(),
        })
    }

    /// Waits for a turn. The error says whether the configured limits or the provider's leave none in time.
    async fn acquire(&self, request: &ChatRequest, tokens: u64) -> Result<(), ChatFailure> {
        let lane = if request.urgent {
            &self.urgent
        } else {
            &self.ordinary
        };
        let _front = lane.lock().await;
        self.wait_for_provider(request.deadline).await?;
        if let Some(bucket) = &self.requests {
            let taken = bucket.acquire(1, request.urgent, request.deadline).await;
            taken.map_err(|_| ChatFailure::NoTurn)?;
        }
        if let Some(bucket) = &self.tokens {
            let charged = to_signed(tokens)
                .saturating_add(*self.token_debt.lock())
                .max(0);
            let number = charged.unsigned_abs();
            let taken = bucket
                .acquire(number, request.urgent, request.deadline)
                .await;
            if let Err(taken) = taken {
                // The request paid a part of the debt. Otherwise each would begin anew, and the debt would never end.
                self.adjust_debt(-to_signed(taken));
                return Err(ChatFailure::NoTurn);
            }
            self.adjust_debt(to_signed(tokens) - charged);
        }
        // The provider may have set a wait for others in the meantime.
        self.wait_for_provider(request.deadline).await
    }

    /// Waits while the model must be left alone. The error is that wait, if it exceeds the deadline.
    async fn wait_for_provider(&self, deadline: Instant) -> Result<(), ChatFailure> {
        loop {
            let until = *self.paused_until.lock();
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            if until >= deadline {
                return Err(ChatFailure::RateLimited { after: Some(left) });
            }
            sleep_until(until).await;
        }
    }

    /// Corrects the estimate by the actual usage and records the wait that the provider set.
    fn settle(&self, estimated: u64, result: &Result<ChatAnswer, ChatError>) {
        let (usage, failure) = match result {
            Ok(answer) => (answer.usage, None),
            Err(error) => (error.usage, Some(error.failure)),
        };
        let used = total_tokens(usage);
        // A late answer was possibly generated, so its estimate stays charged.
        if used > 0 || failure != Some(ChatFailure::Timeout) {
            self.adjust_debt(to_signed(used) - to_signed(estimated));
        }
        if let Some(after) = failure.and_then(ChatFailure::retry_after)
            && after <= MAX_QUEUED_WAIT
        {
            let mut quiet_until = self.paused_until.lock();
            *quiet_until = (*quiet_until).max(Instant::now() + after);
        }
    }

    /// Adds to the debt. The credit never exceeds a minute's limit.
    fn adjust_debt(&self, tokens: i64) {
        let Some(bucket) = &self.tokens else {
            return;
        };
        let mut owed = self.token_debt.lock();
        *owed = owed.saturating_add(tokens).max(-i64::from(bucket.burst()));
    }
}

#[async_trait]
impl ChatModel for RateLimit {
    fn traits(&self) -> &ChatTraits {
        self.inner.traits()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        let estimated = match &self.shared.tokens {
            Some(_) => total_tokens(estimate_usage(request)),
            None => 0,
        };
        let turn = self
            .breaker
            .wait_for_turn(request.deadline, self.shared.acquire(request, estimated))
            .await
            .flatten();
        if let Err(failure) = turn {
            return Err(local_limit_error(&self.inner.traits().name, failure));
        }
        let result = self.inner.chat(request).await;
        self.shared.settle(estimated, &result);
        result
    }
}

fn total_tokens(usage: Usage) -> u64 {
    usage.input_tokens + usage.output_tokens
}

fn to_signed(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
