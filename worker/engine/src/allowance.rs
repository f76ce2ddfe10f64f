//! What the requests of one case may cost while they run side by side: the caps hold to one request.
//!
//! The machine starts questions by a reserve, which is what a question costs as a rule; what a request may cost at the most
//! is known only once it is written. So an analyst asks the case's allowance before each request: beside others one waits
//! until its most fits as well, and alone it goes out as long as the cap is not spent. A case can exceed its cap only by a
//! request that went out alone. Time spent waiting is not the request's. Sums live for one run of a case; a killed one
//! begins again from its journal.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::{Cap, Cost, Limits};

/// The allowance of one case, shared by its questions.
#[derive(Debug, Clone)]
pub struct Allowance(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limits: Limits,
    sums: Mutex<Sums>,
    settled: Notify,
}

#[derive(Debug, Default)]
struct Sums {
    spent: Cost,
    running: Vec<(u64, Cost)>,
    next: u64,
}

/// Leave for one request. Dropped without being settled it costs what it might have.
#[derive(Debug)]
pub struct Leave {
    shared: Arc<Shared>,
    number: u64,
    most: Cost,
    is_settled: bool,
}

impl Allowance {
    /// What these caps leave where so much is spent.
    #[must_use]
    pub fn new(limits: Limits, spent: Cost) -> Self {
        let sums = Sums {
            spent,
            ..Sums::default()
        };
        Self(Arc::new(Shared {
            limits,
            sums: Mutex::new(sums),
            settled: Notify::new(),
        }))
    }

    /// Waits until a request may go out that costs `most` at the most.
    ///
    /// # Errors
    ///
    /// The cap that is spent: nothing can go out any more.
    pub async fn leave(&self, most: Cost) -> Result<Leave, Cap> {
        loop {
            let settled = self.0.settled.notified();
            tokio::pin!(settled);
            // Armed before the look, so that what is settled between the look and the wait wakes it.
            settled.as_mut().enable();
            if let Some(number) = self.0.enter(most)? {
                return Ok(Leave {
                    shared: Arc::clone(&self.0),
                    number,
                    most,
                    is_settled: false,
                });
            }
            settled.await;
        }
    }
}

impl Leave {
    /// Says what the request cost.
    pub fn settle(mut self, cost: Cost) {
        self.shared.finish(self.number, cost);
        self.is_settled = true;
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        if !self.is_settled {
            self.shared.finish(self.number, self.most);
        }
    }
}

impl Shared {
    fn sums(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a request go out: its number, or none where it must wait for others.
    fn enter(&self, most: Cost) -> Result<Option<u64>, Cap> {
        let mut sums = self.sums();
        if let Some(cap) = self.limits.spent(sums.spent) {
            return Err(cap);
        }
        let mut together = sums.spent;
        for (_, running) in &sums.running {
            together += *running;
        }
        together += most;
        if !sums.running.is_empty() && self.limits.exceeded(together).is_some() {
            return Ok(None);
        }
        let number = sums.next;
        sums.next += 1;
        sums.running.push((number, most));
        Ok(Some(number))
    }

    fn finish(&self, number: u64, cost: Cost) {
        let mut sums = self.sums();
        sums.running.retain(|(running, _)| *running != number);
        sums.spent += cost;
        drop(sums);
        self.settled.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
