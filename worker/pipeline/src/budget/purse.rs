//! Tracks the cost of the day: the sum read from the store every few seconds, and what this process has spent since.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::NaiveDate;
use nightshift_engine::measure::Measure;
use nightshift_engine::port::{Clock, Meter};
use nightshift_engine::question::AskError;
use tokio::time::Instant;

use super::{DayBudget, DaySpent};
use crate::port::Spending;

/// How long a reading is valid.
const READ_EVERY: Duration = Duration::from_secs(5);

/// Decides whether the day budget has room for a question. All cases of a process share one.
pub struct Purse {
    budget: DayBudget,
    spending: Arc<dyn Spending>,
    clock: Arc<dyn Clock>,
    meter: Arc<dyn Meter>,
    /// Serialises readings; a task that waits uses the reading of the other.
    reading: tokio::sync::Mutex<()>,
    known: Mutex<Known>,
}

/// Known costs of the day.
#[derive(Debug, Default)]
struct Known {
    read: Option<Reading>,
    /// Costs of this process that were written since the reading began.
    since: DaySpent,
    /// Costs of this process that are not known to be written. A reading may or may not contain them.
    unwritten: DaySpent,
    /// Reservations of questions of this process that run.
    running: DaySpent,
}

#[derive(Debug, Clone, Copy)]
struct Reading {
    day: NaiveDate,
    at: Instant,
    spent: DaySpent,
}

impl fmt::Debug for Purse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known();
        f.debug_struct("Purse")
            .field("budget", &self.budget)
            .field("known", &*known)
            .finish_non_exhaustive()
    }
}

impl Purse {
    /// Creates the tracker without setting metrics, because the configuration may still be refused.
    pub fn new(
        budget: DayBudget,
        spending: Arc<dyn Spending>,
        clock: Arc<dyn Clock>,
        meter: Arc<dyn Meter>,
    ) -> Self {
        Self {
            budget,
            spending,
            clock,
            meter,
            reading: tokio::sync::Mutex::default(),
            known: Mutex::default(),
        }
    }

    /// Starts to report metrics: the cap, and no known cost.
    pub fn begin(&self) {
        self.tell(DaySpent::default());
    }

    /// Reports the last reading again, if any, because the tracker before this one reported its own until now.
    pub fn tell_again(&self) {
        let read = self.known().read;
        if let Some(reading) = read {
            self.tell(reading.spent);
        }
    }

    /// Reserves room for one question.
    ///
    /// # Errors
    ///
    /// Returns [`AskError::Budget`] if there is no room, or if no reading of any day has succeeded.
    pub(super) async fn keep(&self, urgent: bool, reserve_usd: f64) -> Result<(), AskError> {
        let today = self.clock.now().date_naive();
        self.read(today).await;
        let mut known = self.known();
        let Some(reading) = known.read else {
            return Err(AskError::Budget {
                what: "what the day's budget has left cannot be read".to_owned(),
            });
        };
        // If a new day cannot be read yet, only the costs known to this process count.
        let read = Some(reading.spent).filter(|_| reading.day == today);
        let own = known.since + known.unwritten + known.running;
        if !self
            .budget
            .has_room(read.unwrap_or_default() + own, reserve_usd, urgent)
        {
            return Err(self.budget.refusal());
        }
        known.running.add(urgent, reserve_usd);
        Ok(())
    }

    /// Replaces a reservation with the actual cost, which no journal holds yet.
    pub(super) fn settled(&self, urgent: bool, reserve_usd: f64, cost_usd: f64) {
        let mut known = self.known();
        known.running.add(urgent, -reserve_usd);
        known.unwritten.add(urgent, cost_usd);
    }

    /// Moves an amount from the unwritten costs to those since the reading. The store holds the amount or never will,
    /// and the next reading shows which.
    pub(super) fn written(&self, urgent: bool, usd: f64) {
        let mut known = self.known();
        known.unwritten.add(urgent, -usd);
        known.since.add(urgent, usd);
    }

    /// Reports the cost of today even if no question is asked. Without this the metric would keep yesterday's sum.
    pub async fn look(&self) {
        self.read(self.clock.now().date_naive()).await;
    }

    /// Reads the sum of the day unless the last reading of this day is still valid. If that fails, the last reading
    /// stays in use together with what this process spent since.
    async fn read(&self, today: NaiveDate) {
        let counts = |known: &Known| {
            let reading = known.read.filter(|reading| reading.day == today);
            reading.is_some_and(|reading| reading.at.elapsed() < READ_EVERY)
        };
        if counts(&self.known()) {
            return;
        }
        let _one = self.reading.lock().await;
        if counts(&self.known()) {
            return;
        }
        let before = self.known().since;
        match self.spending.spent_on(today).await {
            Ok(spent) => {
                let mut known = self.known();
                known.read = Some(Reading {
                    day: today,
                    at: Instant::now(),
                    spent,
                });
                // The reading may miss what was written while it ran.
                known.since.urgent_usd -= before.urgent_usd;
                known.since.other_usd -= before.other_usd;
                drop(known);
                self.tell(spent);
            }
            Err(error) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "what the day has cost was not read"
            ),
        }
    }

    fn tell(&self, spent: DaySpent) {
        self.meter.count(&Measure::DayBudget {
            spent: spent.usd(),
            spent_below_high: spent.other_usd,
            cap: self.budget.cap_usd(),
            reserved: self.budget.reserved_usd(),
        });
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
