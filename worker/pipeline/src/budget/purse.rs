//! The purse: what the day has cost, read from the store every few seconds, and what this process spends in between.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::NaiveDate;
use nightshift_engine::{AskError, Clock, Measure, Meter};
use tokio::time::Instant;

use super::{DayBudget, DaySpent};
use crate::Spending;

/// How long a reading counts.
const READ_EVERY: Duration = Duration::from_secs(5);

/// Says whether the day's budget has room for a question. One for all cases of a process.
pub struct Purse {
    budget: DayBudget,
    spending: Arc<dyn Spending>,
    clock: Arc<dyn Clock>,
    meter: Arc<dyn Meter>,
    /// One reading at a time; who waits for it uses it.
    reading: tokio::sync::Mutex<()>,
    known: Mutex<Known>,
}

/// What is known of the day.
#[derive(Debug, Default)]
struct Known {
    read: Option<Reading>,
    /// What was written since the reading began of what questions of this process cost.
    since: DaySpent,
    /// What they cost that is not written yet: whether a reading holds it nobody can tell.
    unwritten: DaySpent,
    /// What is charged for questions of this process that run.
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
    /// The purse of this budget. It tells nothing by itself: the configuration may be refused yet.
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

    /// Begins to tell: the cap, and that nothing is known to be spent.
    pub fn begin(&self) {
        self.tell(DaySpent::default());
    }

    /// Tells once more what was read of the day last, where anything was: the purse before it told of its own until now.
    pub fn tell_again(&self) {
        let read = self.known().read;
        if let Some(reading) = read {
            self.tell(reading.spent);
        }
    }

    /// Keeps room for one question.
    ///
    /// # Errors
    ///
    /// [`AskError::Budget`] where there is none, or where no day's sum was ever read.
    pub(super) async fn keep(&self, urgent: bool, reserve_usd: f64) -> Result<(), AskError> {
        let today = self.clock.now().date_naive();
        self.read(today).await;
        let mut known = self.known();
        let Some(reading) = known.read else {
            return Err(AskError::Budget {
                what: "what the day's budget has left cannot be read".to_owned(),
            });
        };
        // Of a new day that cannot be read yet nothing is spent but what this process knows of.
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

    /// A question for which so much was kept has come to its end, at this cost. No journal says so yet.
    pub(super) fn settled(&self, urgent: bool, reserve_usd: f64, cost_usd: f64) {
        let mut known = self.known();
        known.running.add(urgent, -reserve_usd);
        known.unwritten.add(urgent, cost_usd);
    }

    /// So much of what was settled stands in the store, or never will: the next reading tells.
    pub(super) fn written(&self, urgent: bool, usd: f64) {
        let mut known = self.known();
        known.unwritten.add(urgent, -usd);
        known.since.add(urgent, usd);
    }

    /// Tells what today has cost, also while nobody asks for room: yesterday's sum would stand there until somebody does.
    pub async fn look(&self) {
        self.read(self.clock.now().date_naive()).await;
    }

    /// Reads the day's sum, unless a reading of this day still counts. Where it cannot be read the last one goes on to
    /// count, with what this process spent since.
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
                // What was written while the store was read may not be in it.
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
