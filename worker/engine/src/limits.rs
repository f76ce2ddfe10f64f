//! The caps of a case, and what it has spent of them.

use serde::{Deserialize, Serialize};

/// The caps of one case. Reaching one ends the work, never the report.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Steps of the first plan.
    pub first_plan_steps: usize,
    /// Steps in all.
    pub steps: usize,
    /// Turns of a step.
    pub turns: u32,
    /// Calls of one turn; further ones are refused.
    pub calls_per_turn: usize,
    /// Model calls.
    pub calls: u64,
    /// Model tokens, in and out.
    pub tokens: u64,
    /// Model cost in US dollars.
    pub usd: f64,
    /// Minutes of active time.
    pub minutes: u64,
    /// Steps that run together.
    pub parallel: usize,
    /// Refused calls after which a step has failed.
    pub strikes: u32,
    /// Seconds that one tool call may take.
    pub tool_secs: u64,
    /// Seconds that the analyst has for one question, retries included.
    pub question_secs: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            first_plan_steps: 10,
            steps: 20,
            turns: 8,
            calls_per_turn: 16,
            calls: 60,
            tokens: 300_000,
            usd: 1.0,
            minutes: 15,
            parallel: 4,
            strikes: 3,
            tool_secs: 30,
            question_secs: 120,
        }
    }
}

/// What questions cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// US dollars.
    pub usd: f64,
    /// Tokens sent, cached ones included.
    pub input_tokens: u64,
    /// Tokens sent that the provider had cached.
    pub cached_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Calls to a model.
    pub model_calls: u64,
}

impl std::ops::AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.usd += other.usd;
        self.input_tokens += other.input_tokens;
        self.cached_tokens += other.cached_tokens;
        self.output_tokens += other.output_tokens;
        self.model_calls += other.model_calls;
    }
}

impl Cost {
    /// Whether it is none at all.
    #[must_use]
    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Of each part the greater one.
    #[must_use]
    pub(crate) fn at_least(self, other: Self) -> Self {
        Self {
            usd: self.usd.max(other.usd),
            input_tokens: self.input_tokens.max(other.input_tokens),
            cached_tokens: self.cached_tokens.max(other.cached_tokens),
            output_tokens: self.output_tokens.max(other.output_tokens),
            model_calls: self.model_calls.max(other.model_calls),
        }
    }
}

/// A cap that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cap {
    /// Model calls.
    Calls,
    /// Tokens.
    Tokens,
    /// US dollars.
    Usd,
    /// Minutes of active time.
    Minutes,
    /// US dollars of all cases of a day.
    DayUsd,
}

impl Cap {
    /// The word used in metrics and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Tokens => "tokens",
            Self::Usd => "usd",
            Self::Minutes => "minutes",
            Self::DayUsd => "day_usd",
        }
    }
}

impl Limits {
    /// The cap that the next question would break, if `reserve` is charged for it and as much again is kept for the
    /// conclusion.
    #[must_use]
    pub fn reached(&self, spent: Cost, reserve: Cost) -> Option<Cap> {
        let twice = |one: u64| one.saturating_mul(2);
        let tokens = spent.input_tokens + spent.output_tokens;
        let reserved_tokens = reserve.input_tokens + reserve.output_tokens;
        if spent.model_calls + twice(reserve.model_calls) > self.calls {
            Some(Cap::Calls)
        } else if tokens + twice(reserved_tokens) > self.tokens {
            Some(Cap::Tokens)
        } else if spent.usd + 2.0 * reserve.usd > self.usd {
            Some(Cap::Usd)
        } else {
            None
        }
    }

    /// The cap of which nothing is left.
    #[must_use]
    pub(crate) fn spent(&self, spent: Cost) -> Option<Cap> {
        if spent.model_calls >= self.calls {
            Some(Cap::Calls)
        } else if spent.input_tokens + spent.output_tokens >= self.tokens {
            Some(Cap::Tokens)
        } else if spent.usd > 0.0 && spent.usd >= self.usd {
            Some(Cap::Usd)
        } else {
            None
        }
    }

    /// The cap that so much would exceed.
    #[must_use]
    pub(crate) fn exceeded(&self, cost: Cost) -> Option<Cap> {
        if cost.model_calls > self.calls {
            Some(Cap::Calls)
        } else if cost.input_tokens + cost.output_tokens > self.tokens {
            Some(Cap::Tokens)
        } else if cost.usd > self.usd {
            Some(Cap::Usd)
        } else {
            None
        }
    }
}
