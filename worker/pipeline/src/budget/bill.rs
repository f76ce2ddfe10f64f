//! What the questions of one case came to, until its journal says so.

use std::sync::{Arc, Mutex, PoisonError};

use nightshift_engine::{AskError, Cost};

use super::Purse;

/// The bill of one case while one worker has it. What is left on it at the end will not be written any more, or somebody
/// else writes it.
pub(crate) struct Bill {
    purse: Arc<Purse>,
    urgent: bool,
    unwritten_usd: Mutex<f64>,
}

impl Bill {
    /// An empty one. Whether there is room depends on whether the case is of a high or critical alert.
    pub(crate) fn new(purse: Arc<Purse>, urgent: bool) -> Self {
        Self {
            purse,
            urgent,
            unwritten_usd: Mutex::default(),
        }
    }

    /// Room for one question, kept until the permit is settled or dropped.
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

    /// The journal says so much more.
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

/// Room for one question. A question that is dropped before its answer is in stays charged with what was kept for it.
pub(super) struct Permit<'a> {
    bill: &'a Bill,
    reserve_usd: f64,
    cost_usd: f64,
}

impl Permit<'_> {
    /// The question is answered, at this cost.
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
