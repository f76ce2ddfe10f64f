//! Why a model gave no answer, in words that every provider's errors fit.

use std::time::Duration;

use super::Usage;

/// No answer, or no whole one.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{model}: {failure}: {what}")]
pub struct ChatError {
    /// What kind of failure it is.
    pub failure: Failure,
    /// What the provider said, redacted and cut; never a key.
    pub what: String,
    /// `provider/model`.
    pub model: String,
    /// What was used up all the same.
    pub usage: Usage,
    /// What that cost, in USD.
    pub usd: f64,
    /// Requests that were made, those of retries and of other models of a chain included; but for those that were turned
    /// away, since a case that waits for its model is not to spend its calls on that.
    pub requests: u64,
}

impl ChatError {
    /// A failure of one request that used up nothing.
    #[must_use]
    pub fn new(model: impl Into<String>, failure: Failure, what: impl Into<String>) -> Self {
        Self {
            failure,
            what: what.into(),
            model: model.into(),
            usage: Usage::default(),
            usd: 0.0,
            requests: u64::from(!failure.is_turned_away()),
        }
    }
}

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Too many requests or tokens just now.
    #[error("rate limited")]
    RateLimited {
        /// Not before this.
        after: Option<Duration>,
    },
    /// The provider is overloaded, or has an error of its own.
    #[error("overloaded")]
    Overloaded {
        /// Not before this.
        after: Option<Duration>,
    },
    /// It cannot be reached, or the connection broke.
    #[error("not reachable")]
    Unreachable,
    /// No answer in time.
    #[error("no answer in time")]
    Timeout,
    /// The answer was cut off at the token limit.
    #[error("cut off")]
    Truncated,
    /// The model would not answer.
    #[error("refused")]
    Refused,
    /// The provider's filter stopped prompt or answer.
    #[error("filtered")]
    Filtered,
    /// The provider's answer cannot be read.
    #[error("not readable")]
    Malformed,
    /// The prompt is longer than the model's window.
    #[error("prompt too long")]
    ContextTooLong,
    /// Money or quota is used up; waiting for seconds does not help.
    #[error("quota used up")]
    Quota,
    /// The key is missing, wrong, or may not use this model.
    #[error("not authorised")]
    Auth,
    /// The provider refuses the request itself.
    #[error("bad request")]
    BadRequest,
    /// It failed so often that it is not asked just now.
    #[error("circuit open")]
    CircuitOpen,
    /// Limits of ours left no turn to ask it in time; others are asked meanwhile, and answered.
    #[error("no turn")]
    NoTurn,
}

impl Failure {
    /// Whether the same request may have an answer a little later.
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

    /// Whether it says that the model is down, and nothing of the request.
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

    /// Whether model or provider would not answer this prompt: to ask the same one again would change nothing.
    #[must_use]
    pub const fn is_refusal(self) -> bool {
        matches!(self, Self::Refused | Self::Filtered)
    }

    /// Whether the provider did not take the request at all.
    #[must_use]
    pub const fn is_turned_away(self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Overloaded { .. })
    }

    /// Whether another model of the chain may answer what this one does not.
    #[must_use]
    pub const fn may_fall_back(self) -> bool {
        !matches!(self, Self::Truncated)
    }

    /// How long the provider wants to be left alone.
    #[must_use]
    pub const fn after(self) -> Option<Duration> {
        match self {
            Self::RateLimited { after } | Self::Overloaded { after } => after,
            _ => None,
        }
    }

    /// As the metric label `outcome` names it.
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
