//! Defines failures of a model, in categories that fit every provider's errors.

use std::time::Duration;

use super::Usage;

/// Error for a missing or incomplete answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{model}: {failure}: {message}")]
pub struct ChatError {
    /// Kind of the failure.
    pub failure: ChatFailure,
    /// The provider's message, redacted and cut. It never contains a key.
    pub message: String,
    /// `provider/model`.
    pub model: String,
    /// Tokens that were used anyway.
    pub usage: Usage,
    /// Cost of these tokens, in USD.
    pub usd: f64,
    /// Number of requests, including retries and other models of a chain. Requests that the provider turned away do
    /// not count, so that waiting for a model does not use up a case's calls.
    pub requests: u64,
}

impl ChatError {
    /// Creates a failure of one request that used nothing.
    #[must_use]
    pub fn new(model: impl Into<String>, failure: ChatFailure, what: impl Into<String>) -> Self {
        Self {
            failure,
            message: what.into(),
            model: model.into(),
            usage: Usage::default(),
            usd: 0.0,
            requests: u64::from(!failure.is_throttled()),
        }
    }
}

/// Kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChatFailure {
    /// Too many requests or tokens at the moment.
    #[error("rate limited")]
    RateLimited {
        /// Minimum time to wait.
        after: Option<Duration>,
    },
    /// The provider is overloaded or has an internal error.
    #[error("overloaded")]
    Overloaded {
        /// Minimum time to wait.
        after: Option<Duration>,
    },
    /// The provider is unreachable, or the connection broke.
    #[error("not reachable")]
    Unreachable,
    /// The answer did not come in time.
    #[error("no answer in time")]
    Timeout,
    /// The answer was cut off at the token limit.
    #[error("cut off")]
    Truncated,
    /// The model refused to answer.
    #[error("refused")]
    Refused,
    /// The provider's filter stopped the prompt or the answer.
    #[error("filtered")]
    Filtered,
    /// The provider's answer cannot be read.
    #[error("not readable")]
    Malformed,
    /// The prompt is longer than the model's window.
    #[error("prompt too long")]
    ContextTooLong,
    /// Money or quota is used up. A short wait does not help.
    #[error("quota used up")]
    Quota,
    /// The key is missing, wrong, or not allowed for this model.
    #[error("not authorised")]
    Auth,
    /// The provider refuses the form of the request.
    #[error("bad request")]
    BadRequest,
    /// The circuit breaker is open after repeated failures.
    #[error("circuit open")]
    CircuitOpen,
    /// The limits of the configuration left no turn in time. Other requests are answered meanwhile.
    #[error("no turn")]
    NoTurn,
}

impl ChatFailure {
    /// Returns whether the same request may succeed a little later.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        matches!(
            self,
            Self::RateLimited { .. }
                | Self::Overloaded { .. }
                | Self::Unreachable
                | Self::Timeout
                | Self::Malformed
        )
    }

    /// Returns whether the failure means that the model is down, regardless of the request.
    #[must_use]
    pub const fn is_outage(self) -> bool {
        matches!(
            self,
            Self::RateLimited { .. }
                | Self::Overloaded { .. }
                | Self::Unreachable
                | Self::CircuitOpen
        )
    }

    /// Returns whether the model or provider refuses this prompt, so that a repetition is useless.
    #[must_use]
    pub const fn is_refusal(self) -> bool {
        matches!(self, Self::Refused | Self::Filtered)
    }

    /// Returns whether the provider did not accept the request at all.
    #[must_use]
    pub const fn is_throttled(self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Overloaded { .. })
    }

    /// Returns whether another model of the chain may answer instead.
    #[must_use]
    pub const fn may_fall_back(self) -> bool {
        !matches!(self, Self::Truncated)
    }

    /// Returns the time that the provider wants to be left alone.
    #[must_use]
    pub const fn retry_after(self) -> Option<Duration> {
        match self {
            Self::RateLimited { after } | Self::Overloaded { after } => after,
            _ => None,
        }
    }

    /// Returns the value of the metric label `outcome`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RateLimited { .. } => "rate_limited",
            Self::Overloaded { .. } => "overloaded",
            Self::Unreachable => "unreachable",
            Self::Timeout => "timeout",
            Self::Truncated => "truncated",
            Self::Refused => "refused",
            Self::Filtered => "filtered",
            Self::Malformed => "malformed",
            Self::ContextTooLong => "context_too_long",
            Self::Quota => "quota",
            Self::Auth => "auth",
            Self::BadRequest => "bad_request",
            Self::CircuitOpen => "circuit_open",
            Self::NoTurn => "no_turn",
        }
    }
}
