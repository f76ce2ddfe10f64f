//! What the requests of one case may cost while they run side by side: the caps hold to one request.
//!
//! The machine starts questions by a reserve, which is what a question costs as a rule; what a request may cost at the most
//! is known only once it is written. So an analyst asks the case's allowance before each request: beside others one waits
//! until its most fits as well, and alone it goes out as long as the cap is not spent. Each question in flight counts with
//! its reserve or, where that is more, with what its requests cost: whichever the journal comes to charge, so that what is
//! lost never adds to the sum. Time spent waiting is not the request's. Sums live for one run of a case; a killed one begins
//! again from its journal.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::{Cap, Cost, Limits};

/// The allowance of one case, as one of its questions asks it.
#[derive(Debug, Clone)]
pub struct Allowance {
    shared: Arc<Shared>,
    question: u64,
}

/// Who asks without having begun a question.
const NOBODY: u64 = 0;

#[derive(Debug)]
struct Shared {
    limits: Limits,
    sums: Mutex<Sums>,
    settled: Notify,
}

#[derive(Debug, Default)]
struct Sums {
    /// What the journal says, and what questions came to that have ended since.
    ended: Cost,
    questions: BTreeMap<u64, InFlight>,
    next: u64,
}

/// A question in flight.
#[derive(Debug, Default)]
struct InFlight {
    /// What the journal charges where it is lost.
    reserve: Cost,
    /// What its requests cost that have ended.
    spent: Cost,
    /// What those may cost that run.
    running: Vec<(u64, Cost)>,
    /// Whether it can do nothing until others end.
    waits: bool,
}

/// A question in flight, from its start until the journal has its end. Dropped without an end it is lost, and counts with
/// its reserve or, where that is more, with what its requests may have cost.
#[derive(Debug)]
pub(crate) struct Begun(Allowance);

/// Leave for one request. Dropped without being settled it costs what it might have.
#[derive(Debug)]
pub struct Leave {
    shared: Arc<Shared>,
    question: u64,
    number: u64,
    most: Cost,
    is_settled: bool,
}

impl Allowance {
    /// What these caps leave where so much is spent.
    #[must_use]
    pub fn new(limits: Limits, spent: Cost) -> Self {
        let sums = Sums {
            ended: spent,
            questions: BTreeMap::from([(NOBODY, InFlight::default())]),
            next: NOBODY + 1,
        };
        let shared = Arc::new(Shared {
            limits,
            sums: Mutex::new(sums),
            settled: Notify::new(),
        });
        Self {
            shared,
            question: NOBODY,
        }
    }

    /// Whether a question with this reserve fits beside those in flight, whatever becomes of them.
    pub(crate) fn has_room(&self, reserve: Cost) -> bool {
        let mut together = self.shared.sums().without(None);
        together += reserve;
        self.shared.limits.exceeded(together).is_none()
    }

    /// Begins a question that is charged with this reserve until it ends.
    pub(crate) fn begin(&self, reserve: Cost) -> Begun {
        let mut sums = self.shared.sums();
        let question = sums.number();
        let in_flight = InFlight {
            reserve,
            ..InFlight::default()
        };
        sums.questions.insert(question, in_flight);
        Begun(Self {
            shared: Arc::clone(&self.shared),
            question,
        })
    }

    /// Waits until a request may go out that costs `most` at the most.
    ///
    /// # Errors
    ///
    /// The cap that is spent, or of which the questions in flight leave nothing: nothing can go out any more.
    pub async fn leave(&self, most: Cost) -> Result<Leave, Cap> {
        loop {
            let settled = self.shared.settled.notified();
            tokio::pin!(settled);
            // Armed before the look, so that what is settled between the look and the wait wakes it.
            settled.as_mut().enable();
            if let Some(number) = self.shared.enter(self.question, most)? {
                return Ok(Leave {
                    shared: Arc::clone(&self.shared),
                    question: self.question,
                    number,
                    most,
                    is_settled: false,
                });
            }
            settled.await;
        }
    }
}

impl Begun {
    /// What its requests ask.
    pub(crate) const fn allowance(&self) -> &Allowance {
        &self.0
    }

    /// The journal has its end, and charges this for it.
    pub(crate) fn end(self, cost: Cost) {
        let mut sums = self.0.shared.sums();
        if sums.questions.remove(&self.0.question).is_some() {
            sums.ended += cost;
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let mut sums = self.0.shared.sums();
        if let Some(lost) = sums.questions.remove(&self.0.question) {
            sums.ended += lost.most();
        }
        drop(sums);
        self.0.shared.settled.notify_waiters();
    }
}

impl Leave {
    /// Says what the request cost.
    pub fn settle(mut self, cost: Cost) {
        self.shared.finish(self.question, self.number, cost);
        self.is_settled = true;
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        if !self.is_settled {
            self.shared.finish(self.question, self.number, self.most);
        }
    }
}

impl InFlight {
    /// What its requests come to at the most.
    fn requests(&self) -> Cost {
        let mut most = self.spent;
        for (_, running) in &self.running {
            most += *running;
        }
        most
    }

    /// What it is charged with at the most, whether it ends or is lost.
    fn most(&self) -> Cost {
        self.requests().at_least(self.reserve)
    }
}

impl Sums {
    fn number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }

    /// What all come to at the most but for this question.
    fn without(&self, question: Option<u64>) -> Cost {
        let mut sum = self.ended;
        for (number, in_flight) in &self.questions {
            if Some(*number) != question {
                sum += in_flight.most();
            }
        }
        sum
    }

    /// What requests have cost.
    fn spent(&self) -> Cost {
        let mut sum = self.ended;
        for in_flight in self.questions.values() {
            sum += in_flight.spent;
        }
        sum
    }

    fn is_alone(&self) -> bool {
        self.questions
            .values()
            .all(|question| question.running.is_empty())
    }

    /// Whether nobody is left for whose end this question could wait.
    fn all_wait_but(&self, question: u64) -> bool {
        self.questions
            .iter()
            .all(|(number, one)| one.waits || *number == question || *number == NOBODY)
    }
}

impl Shared {
    fn sums(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a request go out: its number, or none where it must wait for others.
    fn enter(&self, question: u64, most: Cost) -> Result<Option<u64>, Cap> {
        let mut sums = self.sums();
        let may = self.may(&sums, question, most);
        let number = sums.number();
        if let Some(own) = sums.questions.get_mut(&question) {
            own.waits = may == Ok(false);
            if may == Ok(true) {
                own.running.push((number, most));
            }
        }
        may.map(|goes| goes.then_some(number))
    }

    fn may(&self, sums: &Sums, question: u64, most: Cost) -> Result<bool, Cap> {
        if let Some(cap) = self.limits.spent(sums.spent()) {
            return Err(cap);
        }
        let others = sums.without(Some(question));
        let own = sums.questions.get(&question);
        let mut requests = own.map(InFlight::requests).unwrap_or_default();
        let mut before = others;
        before += requests;
        requests += most;
        let mut together = others;
        together += requests.at_least(own.map(|own| own.reserve).unwrap_or_default());
        if self.limits.exceeded(together).is_none() {
            return Ok(true);
        }
        if !sums.is_alone() {
            return Ok(false);
        }
        match self.limits.spent(before) {
            None => Ok(true),
            // Reserves hold it up: they are free again once their questions end, unless all of those wait as well.
            Some(cap) if sums.all_wait_but(question) => Err(cap),
            Some(_) => Ok(false),
        }
    }

    fn finish(&self, question: u64, number: u64, cost: Cost) {
        let mut sums = self.sums();
        if let Some(own) = sums.questions.get_mut(&question) {
            own.running.retain(|(running, _)| *running != number);
            own.spent += cost;
        }
        drop(sums);
        self.settled.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
