//! Costs of the questions of one case that its journal does not hold yet.

use std::sync::{Arc, Mutex, PoisonError};

use nightshift_engine::limits::Cost;
use nightshift_engine::question::AskError;

use super::Purse;

/// Unjournaled costs of one case while one worker holds it. What remains at the end will never be journaled here.
pub(crate) struct Bill {
    purse: Arc<Purse>,
    urgent: bool,
    unwritten_usd: Mutex<f64>,
}

impl Bill {
    /// Creates an empty record. Room depends on whether the case is of a high or critical alert.
    pub(crate) fn new(purse: Arc<Purse>, urgent: bool) -> Self {
        Self {
            purse,
            urgent,
            unwritten_usd: Mutex::default(),
        }
    }

    /// Reserves room for one question until the permit is settled or dropped.
    ///
    /// # Errors
    ///
    /// As [`Purse::keep`].
    pub(super) async fn permit(&self, reserve_usd: f64) -> Result<Permit<'_>, AskError> {
        self.purse.keep(self.urgent, reserve_usd).await?;
        Ok(Permit {
            bill: self,
            reserve_usd,
            cost_usd: reserve_usd,
        })
    }

    /// Moves this amount from unjournaled to journaled.
    pub(crate) fn written(&self, usd: f64) {
        let written = {
            let mut unwritten = self.unwritten();
            let written = usd.min(*unwritten);
            *unwritten -= written;
            written
        };
        self.purse.written(self.urgent, written);
    }

    fn unwritten(&self) -> std::sync::MutexGuard<'_, f64> {
        self.unwritten_usd
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Bill {
    fn drop(&mut self) {
        self.written(f64::INFINITY);
    }
}

/// Reservation for one question. If the question is dropped before its answer arrives, the reserved amount stays
/// charged.
pub(super) struct Permit<'a> {
    bill: &'a Bill,
    reserve_usd: f64,
    cost_usd: f64,
}

impl Permit<'_> {
    /// Settles the reservation with the actual cost of the answered question.
    pub(super) fn settle(mut self, cost: Cost) {
        self.cost_usd = cost.usd;
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let bill = self.bill;
        *bill.unwritten() += self.cost_usd;
        bill.purse
            .settled(bill.urgent, self.reserve_usd, self.cost_usd);
    }
}
