//! The day's budget: what all cases of a UTC day may cost, half of it kept for high and critical alerts.
//!
//! The rule is here and pure. [`Purse`] reads what the day has cost, `guard` asks it before each question to a model,
//! `tab` says what a journal costs as it grows, `bill` what none says yet. What happens to a question that has no room is the engine's: the
//! lesser analyst takes over, or the case ends with what it has. The bound of the overshoot: `docs/budget.md`.

mod bill;
mod guard;
mod purse;
mod tab;

#[cfg(test)]
mod tests;

use chrono::NaiveDate;
use nightshift_alert::Severity;
use nightshift_engine::AskError;

pub(crate) use bill::Bill;
pub(crate) use guard::Guard;
pub use purse::Purse;
pub(crate) use tab::Tab;

/// What the cases of a day cost, or may cost yet, in US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DaySpent {
    /// Those of high and critical alerts.
    pub urgent_usd: f64,
    /// All others.
    pub other_usd: f64,
}

impl DaySpent {
    /// All of it.
    #[must_use]
    pub fn usd(self) -> f64 {
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

impl std::ops::Add for DaySpent {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            urgent_usd: self.urgent_usd + other.urgent_usd,
            other_usd: self.other_usd + other.other_usd,
        }
    }
}

/// What a piece of a journal cost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Charge {
    /// The UTC day on which it was settled.
    pub day: NaiveDate,
    /// Whether the case is of a high or critical alert.
    pub urgent: bool,
    /// US dollars; 0 where nothing is to be noted.
    pub usd: f64,
}

/// Whether the budget's reserve is for alerts of this severity.
#[must_use]
pub fn is_urgent(severity: Severity) -> bool {
    severity >= Severity::High
}

/// What all cases of a UTC day may cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DayBudget {
    cap_usd: f64,
}

impl DayBudget {
    /// A budget of this many US dollars; none where there is no cap.
    #[must_use]
    pub fn new(cap_usd: f64) -> Option<Self> {
        (cap_usd.is_finite() && cap_usd > 0.0).then_some(Self { cap_usd })
    }

    /// The whole of it.
    #[must_use]
    pub const fn cap_usd(self) -> f64 {
        self.cap_usd
    }

    /// What is kept for high and critical alerts.
    #[must_use]
    pub fn reserved_usd(self) -> f64 {
        self.cap_usd / 2.0
    }

    /// Whether there is room for a question that is charged with `reserve_usd`, beside what is spent and what runs.
    #[must_use]
    pub fn has_room(self, spent: DaySpent, reserve_usd: f64, urgent: bool) -> bool {
        let fits = |sum: f64, share: f64| sum < share && sum + reserve_usd <= share;
        let share = self.cap_usd - self.reserved_usd();
        fits(spent.usd(), self.cap_usd) && (urgent || fits(spent.other_usd, share))
    }

    /// Why a question is not asked.
    pub(crate) fn refusal(self) -> AskError {
        AskError::Budget {
            what: format!(
                "the day's budget of {} USD is spent (half is kept for high and critical)",
                self.cap_usd
            ),
        }
    }
}
