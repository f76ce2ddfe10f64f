//! Keeps to a model's limits of requests and tokens per minute, by `governor` (GCRA), and leaves the model alone for as
//! long as it told anybody; what it told for longer than one stands in line opens its circuit.
//!
//! A fifth of the rate is kept for urgent requests. Turns are given in the order of asking, in two lanes: urgent and
//! ordinary. Nobody waits past the own deadline, nor for a model whose circuit is open. The limits are of this process, over
//! all configurations that it follows one after the other: several processes that share a key share its limits by
//! configuration.

mod bucket;
mod estimate;

use std::sync::{Arc, Mutex, PoisonError};

use crate::chat::{ChatAnswer, ChatError, ChatModel, ChatRequest, ChatTraits, Failure, Usage};
use async_trait::async_trait;
use tokio::time::{Instant, sleep_until};

use crate::circuit::{Breaker, IN_LINE, not_asked};
use bucket::Bucket;
pub(crate) use estimate::{estimate, json, length, output_tokens, tokens_in, tokens_of};

/// Requests are spread: of a minute's worth no more than a sixth at once, as providers enforce the limit over seconds, too.
const REQUESTS_AT_ONCE: u32 = 6;

/// What a model may be asked in a minute; none: as much as one likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Limits {
    /// Requests.
    pub(crate) requests_per_minute: Option<u32>,
    /// Tokens, sent and received.
    pub(crate) tokens_per_minute: Option<u32>,
}

/// A model that is asked no faster than its limits.
pub(crate) struct Rate {
    inner: Arc<dyn ChatModel>,
    breaker: Breaker,
    turns: Arc<Turns>,
}

/// Turns to ask a model, of all who ask it.
pub(crate) struct Turns {
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
    /// Tokens used beyond the estimates so far, or less than zero: a credit. The next request bears them.
    owed: Mutex<i64>,
    /// The model is left alone until then.
    quiet_until: Mutex<Instant>,
    urgent: Lane,
    ordinary: Lane,
}

/// Those who wait, the first one at the front.
type Lane = tokio::sync::Mutex<()>;

impl Rate {
    /// Asks `inner` when it is its turn.
    pub(crate) fn new(inner: Arc<dyn ChatModel>, turns: Arc<Turns>, breaker: Breaker) -> Self {
        Self {
            inner,
            breaker,
            turns,
        }
    }
}

impl Turns {
    /// As many as these limits leave.
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

    /// Waits for a turn; the error is whose limits leave none in time, ours or the provider's.
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
                // It paid a part of what is owed. Otherwise each would begin anew, and a debt would never end.
                self.owe(-signed(taken));
                return Err(Failure::NoTurn);
            }
            self.owe(signed(tokens) - charged);
        }
        // Others may have been told to wait in the meantime.
        self.quiet(request.deadline).await
    }

    /// Waits while the model is to be left alone; the error is how long that is, if it is too long.
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

    /// Corrects the estimate by what was used, and takes in what the provider told.
    fn settle(&self, estimated: u64, result: &Result<ChatAnswer, ChatError>) {
        let (usage, failure) = match result {
            Ok(answer) => (answer.usage, None),
            Err(error) => (error.usage, Some(error.failure)),
        };
        let used = tokens(usage);
        // An answer that did not come in time was perhaps made all the same.
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

    /// Adds to what is owed. More than a minute's worth is never saved up.
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
