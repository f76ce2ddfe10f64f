//! Defines the day budget: the limit of what all cases of a UTC day may cost. Half of it is kept for high and critical
//! alerts.
//!
//! This file holds the pure rule. [`DayBudgetTracker`] reads the cost of the day, and `budgeted_analyst` asks it before
//! each question to a model. `journal_cost` computes the cost of a growing journal, and `case_spend` holds costs that
//! are not journaled yet. The engine decides what happens to a refused question: the fallback analyst takes over, or
//! the case ends with what it has. `docs/budget.md` states the bound of the overshoot.

mod budgeted_analyst;
mod case_spend;
mod journal_cost;
mod tracker;

#[cfg(test)]
mod tests;

use chrono::NaiveDate;
use nightshift_alert::Severity;
use nightshift_engine::question::AskError;

pub(crate) use budgeted_analyst::BudgetedAnalyst;
pub(crate) use case_spend::CaseSpend;
pub(crate) use journal_cost::JournalCost;
pub use tracker::DayBudgetTracker;

/// Cost of the cases of a day in US dollars, including reservations.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DaySpend {
    /// Cost of high and critical alerts.
    pub urgent_usd: f64,
    /// Cost of all other alerts.
    pub other_usd: f64,
}

impl DaySpend {
    /// Returns the sum.
    #[must_use]
    pub fn total_usd(self) -> f64 {
        self.urgent_usd + self.other_usd
    }

    fn add(&mut self, urgent: bool, usd: f64) {
        let sum = if urgent {
            &mut self.urgent_usd
        } else {
            &mut self.other_usd
        };
        *sum += usd;
    }
}

impl std::ops::Add for DaySpend {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            urgent_usd: self.urgent_usd + other.urgent_usd,
            other_usd: self.other_usd + other.other_usd,
        }
    }
}

/// Cost of a part of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Charge {
    /// UTC day on which the cost was settled.
    pub day: NaiveDate,
    /// True if the case is of a high or critical alert.
    pub urgent: bool,
    /// US dollars; 0 if there is nothing to note.
    pub usd: f64,
}

/// Returns whether alerts of this severity may use the reserve.
#[must_use]
pub fn is_urgent(severity: Severity) -> bool {
    severity >= Severity::High
}

/// Limit of what all cases of a UTC day may cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DayBudget {
    cap_usd: f64,
}

impl DayBudget {
    /// Returns a budget of this many US dollars, or `None` if there is no cap.
    #[must_use]
    pub fn new(cap_usd: f64) -> Option<Self> {
        (cap_usd.is_finite() && cap_usd > 0.0).then_some(Self { cap_usd })
    }

    /// Returns the whole budget.
    #[must_use]
    pub const fn cap_usd(self) -> f64 {
        self.cap_usd
    }

    /// Returns the part that is kept for high and critical alerts.
    #[must_use]
    pub fn reserved_usd(self) -> f64 {
        self.cap_usd / 2.0
    }

    /// Returns whether the budget has room for a question that reserves `reserve_usd`, beside what is spent and
    /// reserved.
    #[must_use]
    pub fn has_room(self, spent: DaySpend, reserve_usd: f64, urgent: bool) -> bool {
        let fits = |sum: f64, share: f64| sum < share && sum + reserve_usd <= share;
        let share = self.cap_usd - self.reserved_usd();
        fits(spent.total_usd(), self.cap_usd) && (urgent || fits(spent.other_usd, share))
    }

    /// Returns the error for a question that is refused.
    pub(crate) fn refusal(self) -> AskError {
        AskError::Budget {
            what: format!(
                "the day's budget of {} USD is spent (half is kept for high and critical)",
                self.cap_usd
            ),
        }
    }
}
