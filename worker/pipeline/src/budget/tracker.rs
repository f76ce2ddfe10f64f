//! Tracks the cost of the day: the sum read from the store every few seconds, and what this process has spent since.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDate;
use nightshift_engine::measurement::Measurement;
use nightshift_engine::port::{Clock, Meter};
use nightshift_engine::question::AskError;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::{DayBudget, DaySpend};
use crate::port::DaySpendStore;

/// The time for which a reading is valid.
const REFRESH_INTERVAL: Duration = Duration::from_secs(5);

/// Decides whether the day budget has room for a question. All cases of a process share one.
pub struct DayBudgetTracker {
    budget: DayBudget,
    spending: Arc<dyn DaySpendStore>,
    clock: Arc<dyn Clock>,
    meter: Arc<dyn Meter>,
    /// Serialises readings; a task that waits uses the reading of the other.
    refresh_lock: tokio::sync::Mutex<()>,
    state: Mutex<SpendState>,
}

/// Known costs of the day.
#[derive(Debug, Default)]
struct SpendState {
    last_reading: Option<SpendReading>,
    /// Costs of this process that were written since the reading began.
    journaled_since: DaySpend,
    /// Costs of this process that are not known to be written. A reading may or may not contain them.
    unjournaled: DaySpend,
    /// Reservations of questions of this process that run.
    running: DaySpend,
}

#[derive(Debug, Clone, Copy)]
struct SpendReading {
    day: NaiveDate,
    at: Instant,
    spent: DaySpend,
}

impl fmt::Debug for DayBudgetTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.lock_state();
        f.debug_struct("Purse")
            .field("budget", &self.budget)
            .field("known", &*known)
            .finish_non_exhaustive()
    }
}

impl DayBudgetTracker {
    /// Creates the tracker without setting metrics, because the configuration may still be refused.
    pub fn new(
        budget: DayBudget,
        spending: Arc<dyn DaySpendStore>,
        clock: Arc<dyn Clock>,
        meter: Arc<dyn Meter>,
    ) -> Self {
        Self {
            budget,
            spending,
            clock,
            meter,
            refresh_lock: tokio::sync::Mutex::default(),
            state: Mutex::default(),
        }
    }

    /// Starts to report metrics: the cap, and no known cost.
    pub fn publish_cap(&self) {
        self.publish(DaySpend::default());
    }

    /// Reports the last reading again, if any, because the tracker before this one reported its own until now.
    pub fn republish(&self) {
        let read = self.lock_state().last_reading;
        if let Some(reading) = read {
            self.publish(reading.spent);
        }
    }

    /// Reserves room for one question.
    ///
    /// # Errors
    ///
    /// Returns [`AskError::Budget`] if there is no room, or if no reading of any day has succeeded.
    pub(super) async fn reserve(&self, urgent: bool, reserve_usd: f64) -> Result<(), AskError> {
        let today = self.clock.now().date_naive();
        self.refresh_if_stale(today).await;
        let mut known = self.lock_state();
        let Some(reading) = known.last_reading else {
            return Err(AskError::Budget {
                what: "cannot read the remaining day budget".to_owned(),
            });
        };
        // If a new day cannot be read yet, only the costs known to this process count.
        let read = Some(reading.spent).filter(|_| reading.day == today);
        let own = known.journaled_since + known.unjournaled + known.running;
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
    pub(super) fn settle(&self, urgent: bool, reserve_usd: f64, cost_usd: f64) {
        let mut known = self.lock_state();
        known.running.add(urgent, -reserve_usd);
        known.unjournaled.add(urgent, cost_usd);
    }

    /// Moves an amount from the unwritten costs to those since the reading. The store holds the amount or never will,
    /// and the next reading shows which.
    pub(super) fn mark_journaled(&self, urgent: bool, usd: f64) {
        let mut known = self.lock_state();
        known.unjournaled.add(urgent, -usd);
        known.journaled_since.add(urgent, usd);
    }

    /// Reports the cost of today even if no question is asked. Without this the metric would keep yesterday's sum.
    pub async fn refresh(&self) {
        self.refresh_if_stale(self.clock.now().date_naive()).await;
    }

    /// Reads the sum of the day unless the last reading of this day is still valid. If that fails, the last reading
    /// stays in use together with what this process spent since.
    async fn refresh_if_stale(&self, today: NaiveDate) {
        let counts = |known: &SpendState| {
            let reading = known.last_reading.filter(|reading| reading.day == today);
            reading.is_some_and(|reading| reading.at.elapsed() < REFRESH_INTERVAL)
        };
        if counts(&self.lock_state()) {
            return;
        }
        let _one = self.refresh_lock.lock().await;
        if counts(&self.lock_state()) {
            return;
        }
        let before = self.lock_state().journaled_since;
        match self.spending.spent_on(today).await {
            Ok(spent) => {
                let mut known = self.lock_state();
                known.last_reading = Some(SpendReading {
                    day: today,
                    at: Instant::now(),
                    spent,
                });
                // The reading may miss costs that were written while it ran.
                known.journaled_since.urgent_usd -= before.urgent_usd;
                known.journaled_since.other_usd -= before.other_usd;
                drop(known);
                self.publish(spent);
            }
            Err(error) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "cannot read the cost of the day; using the last reading"
            ),
        }
    }

    fn publish(&self, spent: DaySpend) {
        self.meter.count(&Measurement::DayBudget {
            spent: spent.total_usd(),
            spent_below_high: spent.other_usd,
            cap: self.budget.cap_usd(),
            reserved: self.budget.reserved_usd(),
        });
    }

    fn lock_state(&self) -> MutexGuard<'_, SpendState> {
        self.state.lock()
    }
}
