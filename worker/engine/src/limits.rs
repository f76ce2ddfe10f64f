//! Defines the limits of a case, and its costs.

use serde::{Deserialize, Serialize};

/// Limits of one case. Reaching one ends the work, but a report is still written.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TriageLimits {
    /// Maximum number of steps of the first plan.
    pub first_plan_steps: usize,
    /// Maximum number of steps in total.
    pub steps: usize,
    /// Maximum number of turns of a step.
    pub turns: u32,
    /// Maximum number of calls of one turn; further ones are refused.
    pub calls_per_turn: usize,
    /// Maximum number of model calls.
    pub calls: u64,
    /// Maximum number of model tokens, sent and received.
    pub tokens: u64,
    /// Maximum model cost in US dollars.
    pub usd: f64,
    /// Maximum active time in minutes.
    pub minutes: u64,
    /// Maximum number of steps that run together.
    pub parallel: usize,
    /// Number of refused calls after which a step fails.
    pub strikes: u32,
    /// Maximum seconds of one tool call.
    pub tool_secs: u64,
    /// Maximum seconds of one question, retries included.
    pub question_secs: u64,
}

impl Default for TriageLimits {
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

/// Cost of questions.
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
    /// Returns whether all parts are zero.
    #[must_use]
    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the greater value of each part.
    #[must_use]
    pub(crate) fn max(self, other: Self) -> Self {
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
pub enum BudgetCap {
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

impl BudgetCap {
    /// Returns the word used in metrics and reports.
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

impl TriageLimits {
    /// Returns the cap that the next question would exceed, if `reserve` is charged for it and the same amount is
    /// kept for the conclusion.
    #[must_use]
    pub fn cap_reached(&self, spent: Cost, reserve: Cost) -> Option<BudgetCap> {
        let twice = |one: u64| one.saturating_mul(2);
        let tokens = spent.input_tokens + spent.output_tokens;
        let reserved_tokens = reserve.input_tokens + reserve.output_tokens;
        if spent.model_calls + twice(reserve.model_calls) > self.calls {
            Some(BudgetCap::Calls)
        } else if tokens + twice(reserved_tokens) > self.tokens {
            Some(BudgetCap::Tokens)
        } else if spent.usd + 2.0 * reserve.usd > self.usd {
            Some(BudgetCap::Usd)
        } else {
            None
        }
    }

    /// Returns a cap that is used up.
    #[must_use]
    pub(crate) fn cap_spent(&self, spent: Cost) -> Option<BudgetCap> {
        if spent.model_calls >= self.calls {
            Some(BudgetCap::Calls)
        } else if spent.input_tokens + spent.output_tokens >= self.tokens {
            Some(BudgetCap::Tokens)
        } else if spent.usd > 0.0 && spent.usd >= self.usd {
            Some(BudgetCap::Usd)
        } else {
            None
        }
    }

    /// Returns a cap that this cost would exceed.
    #[must_use]
    pub(crate) fn cap_exceeded(&self, cost: Cost) -> Option<BudgetCap> {
        if cost.model_calls > self.calls {
            Some(BudgetCap::Calls)
        } else if cost.input_tokens + cost.output_tokens > self.tokens {
            Some(BudgetCap::Tokens)
        } else if cost.usd > self.usd {
            Some(BudgetCap::Usd)
        } else {
            None
        }
    }
}
