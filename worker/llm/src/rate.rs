//! Enforces a model's limits of requests and tokens per minute with `governor` (GCRA), and respects the waits that
//! its provider sets. A wait that is longer than requests queue opens the circuit.
//!
//! A fifth of the rate is reserved for urgent requests. Turns are given in the order of asking, in two lanes: urgent
//! and ordinary. A request never waits past its deadline, nor for a model whose circuit is open. The limits apply to
//! this process across reloads. Several processes that share a key must divide its limits by configuration.

mod bucket;
mod estimate;

use std::sync::{Arc, Mutex, PoisonError};

use crate::chat::{ChatAnswer, ChatError, ChatModel, ChatRequest, ChatTraits, Failure, Usage};
use async_trait::async_trait;
use tokio::time::{Instant, sleep_until};

use crate::circuit::{Breaker, IN_LINE, not_asked};
use bucket::Bucket;
pub(crate) use estimate::{estimate, json, length, output_tokens, tokens_in, tokens_of};

/// Requests at once: a sixth of a minute's limit, because providers enforce the limit over seconds, too.
const REQUESTS_AT_ONCE: u32 = 6;

/// Limits of a model per minute; `None` means unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Limits {
    /// Requests.
    pub(crate) requests_per_minute: Option<u32>,
    /// Tokens, sent and received.
    pub(crate) tokens_per_minute: Option<u32>,
}

/// A model with rate limits.
pub(crate) struct Rate {
    inner: Arc<dyn ChatModel>,
    breaker: Breaker,
    turns: Arc<Turns>,
}

/// Turns to ask a model, which all its users share.
pub(crate) struct Turns {
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
    /// Tokens used beyond the estimates so far; a negative value is a credit. The next request pays them.
    owed: Mutex<i64>,
    /// Time until which the model is left alone.
    quiet_until: Mutex<Instant>,
    urgent: Lane,
    ordinary: Lane,
}

/// The queue of waiting requests, in order.
type Lane = tokio::sync::Mutex<()>;

impl Rate {
    /// Limits the rate of requests to `inner`.
    pub(crate) fn new(inner: Arc<dyn ChatModel>, turns: Arc<Turns>, breaker: Breaker) -> Self {
        Self {
            inner,
            breaker,
            turns,
        }
    }
}

impl Turns {
    /// Creates the turns for these limits.
    pub(crate) fn within(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            requests: limits
                .requests_per_minute
                .map(|limit| Bucket::per_minute(limit, limit / REQUESTS_AT_ONCE)),
            tokens: limits
                .tokens_per_minute
                .map(|limit| Bucket::per_minute(limit, limit)),
            owed: Mutex::default(),
            quiet_until: Mutex::new(Instant::now()),
            urgent: Lane::default(),
            ordinary: Lane::default(),
        })
    }

    /// Waits for a turn. The error says whose limits leave none in time, ours or the provider's.
    async fn turn(&self, request: &ChatRequest, tokens: u64) -> Result<(), Failure> {
        let lane = if request.urgent {
            &self.urgent
        } else {
            &self.ordinary
        };
        let _front = lane.lock().await;
        self.quiet(request.deadline).await?;
        if let Some(bucket) = &self.requests {
            let taken = bucket.take(1, request.urgent, request.deadline).await;
            taken.map_err(|_| Failure::NoTurn)?;
        }
        if let Some(bucket) = &self.tokens {
            let charged = signed(tokens).saturating_add(*locked(&self.owed)).max(0);
            let number = charged.unsigned_abs();
            let taken = bucket.take(number, request.urgent, request.deadline).await;
            if let Err(taken) = taken {
                // The request paid a part of the debt. Otherwise each would begin anew, and the debt would never end.
                self.owe(-signed(taken));
                return Err(Failure::NoTurn);
            }
            self.owe(signed(tokens) - charged);
        }
        // The provider may have set a wait for others in the meantime.
        self.quiet(request.deadline).await
    }

    /// Waits while the model must be left alone. The error is that wait, if it exceeds the deadline.
    async fn quiet(&self, deadline: Instant) -> Result<(), Failure> {
        loop {
            let until = *locked(&self.quiet_until);
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            if until >= deadline {
                return Err(Failure::RateLimited { after: Some(left) });
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
        let used = tokens(usage);
        // A late answer was possibly generated, so its estimate stays charged.
        if used > 0 || failure != Some(Failure::Timeout) {
            self.owe(signed(used) - signed(estimated));
        }
        if let Some(after) = failure.and_then(Failure::after)
            && after <= IN_LINE
        {
            let mut quiet_until = locked(&self.quiet_until);
            *quiet_until = (*quiet_until).max(Instant::now() + after);
        }
    }

    /// Adds to the debt. The credit never exceeds a minute's limit.
    fn owe(&self, tokens: i64) {
        let Some(bucket) = &self.tokens else {
            return;
        };
        let mut owed = locked(&self.owed);
        *owed = owed.saturating_add(tokens).max(-i64::from(bucket.burst()));
    }
}

#[async_trait]
impl ChatModel for Rate {
    fn traits(&self) -> &ChatTraits {
        self.inner.traits()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        let estimated = match &self.turns.tokens {
            Some(_) => tokens(estimate(request)),
            None => 0,
        };
        let turn = self
            .breaker
            .wait(request.deadline, self.turns.turn(request, estimated))
            .await
            .flatten();
        if let Err(failure) = turn {
            return Err(not_asked(&self.inner.traits().name, failure));
        }
        let result = self.inner.chat(request).await;
        self.turns.settle(estimated, &result);
        result
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tokens(usage: Usage) -> u64 {
    usage.input_tokens + usage.output_tokens
}

fn signed(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
