//! Keeps the costs of the questions of one case that its journal does not hold yet.

use std::sync::Arc;

use nightshift_engine::limits::Cost;
use nightshift_engine::question::AskError;
use parking_lot::Mutex;

use super::DayBudgetTracker;

/// Unjournaled costs of one case while one worker holds it. The costs that remain at the end will never be journaled
/// here.
pub(crate) struct CaseSpend {
    tracker: Arc<DayBudgetTracker>,
    urgent: bool,
    unjournaled_usd: Mutex<f64>,
}

impl CaseSpend {
    /// Creates an empty record. The room in the budget depends on whether the case is of a high or critical alert.
    pub(crate) fn new(tracker: Arc<DayBudgetTracker>, urgent: bool) -> Self {
        Self {
            tracker,
            urgent,
            unjournaled_usd: Mutex::default(),
        }
    }

    /// Reserves room for one question until the reservation is settled or dropped.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`DayBudgetTracker::reserve`].
    pub(super) async fn reserve(&self, reserve_usd: f64) -> Result<Reservation<'_>, AskError> {
        self.tracker.reserve(self.urgent, reserve_usd).await?;
        Ok(Reservation {
            case_spend: self,
            reserve_usd,
            cost_usd: reserve_usd,
        })
    }

    /// Moves this amount from unjournaled to journaled.
    pub(crate) fn mark_journaled(&self, usd: f64) {
        let written = {
            let mut unwritten = self.lock_unjournaled();
            let written = usd.min(*unwritten);
            *unwritten -= written;
            written
        };
        self.tracker.mark_journaled(self.urgent, written);
    }

    fn lock_unjournaled(&self) -> parking_lot::MutexGuard<'_, f64> {
        self.unjournaled_usd.lock()
    }
}

impl Drop for CaseSpend {
    fn drop(&mut self) {
        self.mark_journaled(f64::INFINITY);
    }
}

/// Reservation for one question. If the question is dropped before its answer arrives, the reserved amount stays
/// charged.
pub(super) struct Reservation<'a> {
    case_spend: &'a CaseSpend,
    reserve_usd: f64,
    cost_usd: f64,
}

impl Reservation<'_> {
    /// Settles the reservation with the actual cost of the answered question.
    pub(super) fn settle(mut self, cost: Cost) {
        self.cost_usd = cost.usd;
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let case_spend = self.case_spend;
        *case_spend.lock_unjournaled() += self.cost_usd;
        case_spend
            .tracker
            .settle(case_spend.urgent, self.reserve_usd, self.cost_usd);
    }
}
