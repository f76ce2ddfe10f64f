//! Enforces the budget of one case whose requests run concurrently. No request may exceed a cap.
//!
//! A question is started with a reserve, its usual cost. The maximum cost of a request is known only once the request
//! is written, so an analyst asks this budget before each request. A request waits until its maximum fits beside the
//! other questions; a request that is alone goes out as long as the cap is not spent. A question in flight counts with
//! its reserve or with the cost of its requests, whichever is greater. The journal charges no more than that, so a lost
//! question never raises the sum. Time spent waiting does not count as request time. The sums live for one run of a
//! case; a killed run starts again from its journal.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::limits::{BudgetCap, Cost, TriageLimits};

/// Budget of one case, as seen by one of its questions.
#[derive(Debug, Clone)]
pub struct CaseBudget {
    shared: Arc<SharedBudget>,
    question: u64,
}

/// Number of a caller that has not started a question.
const NO_QUESTION: u64 = 0;

#[derive(Debug)]
struct SharedBudget {
    limits: TriageLimits,
    totals: Mutex<BudgetTotals>,
    settled: Notify,
}

#[derive(Debug, Default)]
struct BudgetTotals {
    /// Cost in the journal and of questions that ended since.
    ended: Cost,
    questions: BTreeMap<u64, QuestionSpend>,
    next_question: u64,
}

/// A question in flight.
#[derive(Debug, Default)]
struct QuestionSpend {
    /// Cost that the journal charges if the question is lost.
    reserve: Cost,
    /// Cost of the requests that ended.
    spent: Cost,
    /// Maximum cost of the requests that run.
    running: Vec<(u64, Cost)>,
    /// True if the question must wait for others to end.
    waits: bool,
}

/// A question in flight, from its start until the journal holds its end. A question that is dropped without an end is
/// lost. It then counts with its reserve or with the maximum cost of its requests, whichever is greater.
#[derive(Debug)]
pub(crate) struct QuestionReservation(CaseBudget);

/// Reservation for one request. When dropped without being settled, it is charged its maximum cost.
#[derive(Debug)]
pub struct RequestReservation {
    shared: Arc<SharedBudget>,
    question: u64,
    number: u64,
    max_cost: Cost,
    is_settled: bool,
}

impl CaseBudget {
    /// Creates the budget that remains under these caps after `spent`.
    #[must_use]
    pub fn new(limits: TriageLimits, spent: Cost) -> Self {
        let sums = BudgetTotals {
            ended: spent,
            questions: BTreeMap::from([(NO_QUESTION, QuestionSpend::default())]),
            next_question: NO_QUESTION + 1,
        };
        let shared = Arc::new(SharedBudget {
            limits,
            totals: Mutex::new(sums),
            settled: Notify::new(),
        });
        Self {
            shared,
            question: NO_QUESTION,
        }
    }

    /// Returns whether a question with this reserve fits beside those in flight, whatever these will cost.
    pub(crate) fn has_room(&self, reserve: Cost) -> bool {
        let mut together = self.shared.lock_totals().total_without(None);
        together += reserve;
        self.shared.limits.cap_exceeded(together).is_none()
    }

    /// Starts a question that is charged with this reserve until it ends.
    pub(crate) fn reserve_question(&self, reserve: Cost) -> QuestionReservation {
        let mut sums = self.shared.lock_totals();
        let question = sums.next_number();
        let in_flight = QuestionSpend {
            reserve,
            ..QuestionSpend::default()
        };
        sums.questions.insert(question, in_flight);
        QuestionReservation(Self {
            shared: Arc::clone(&self.shared),
            question,
        })
    }

    /// Waits until a request that costs at most `most` may go out.
    ///
    /// # Errors
    ///
    /// Returns the cap that is spent or fully taken by the questions in flight. No further request can go out.
    pub async fn reserve_request(&self, most: Cost) -> Result<RequestReservation, BudgetCap> {
        loop {
            let settled = self.shared.settled.notified();
            tokio::pin!(settled);
            // Enabled before the check, so that a settlement between the check and the wait wakes this task.
            settled.as_mut().enable();
            if let Some(number) = self.shared.try_reserve(self.question, most)? {
                return Ok(RequestReservation {
                    shared: Arc::clone(&self.shared),
                    question: self.question,
                    number,
                    max_cost: most,
                    is_settled: false,
                });
            }
            settled.await;
        }
    }
}

impl QuestionReservation {
    pub(crate) const fn budget(&self) -> &CaseBudget {
        &self.0
    }

    /// Ends the question with the cost that the journal charges.
    pub(crate) fn settle(self, cost: Cost) {
        let mut sums = self.0.shared.lock_totals();
        if sums.questions.remove(&self.0.question).is_some() {
            sums.ended += cost;
        }
    }
}

impl Drop for QuestionReservation {
    fn drop(&mut self) {
        let mut sums = self.0.shared.lock_totals();
        if let Some(lost) = sums.questions.remove(&self.0.question) {
            sums.ended += lost.max_cost();
        }
        drop(sums);
        self.0.shared.settled.notify_waiters();
    }
}

impl RequestReservation {
    /// Records the cost of the request.
    pub fn settle(mut self, cost: Cost) {
        self.shared.settle_request(self.question, self.number, cost);
        self.is_settled = true;
    }
}

impl Drop for RequestReservation {
    fn drop(&mut self) {
        if !self.is_settled {
            self.shared
                .settle_request(self.question, self.number, self.max_cost);
        }
    }
}

impl QuestionSpend {
    /// Returns the maximum cost of the question's requests.
    fn requests_cost(&self) -> Cost {
        let mut most = self.spent;
        for (_, running) in &self.running {
            most += *running;
        }
        most
    }

    /// Returns the maximum charge for the question, whether it ends or is lost.
    fn max_cost(&self) -> Cost {
        self.requests_cost().max(self.reserve)
    }
}

impl BudgetTotals {
    fn next_number(&mut self) -> u64 {
        let number = self.next_question;
        self.next_question += 1;
        number
    }

    /// Returns the maximum cost of all questions but this one.
    fn total_without(&self, question: Option<u64>) -> Cost {
        let mut sum = self.ended;
        for (number, in_flight) in &self.questions {
            if Some(*number) != question {
                sum += in_flight.max_cost();
            }
        }
        sum
    }

    /// Returns the cost of the requests that ended.
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

    /// Returns whether all other questions wait, so that this one has nothing to wait for.
    fn all_others_wait(&self, question: u64) -> bool {
        self.questions
            .iter()
            .all(|(number, one)| one.waits || *number == question || *number == NO_QUESTION)
    }
}

impl SharedBudget {
    fn lock_totals(&self) -> MutexGuard<'_, BudgetTotals> {
        self.totals.lock()
    }

    /// Lets a request go out and returns its number, or `None` when it must wait for others.
    fn try_reserve(&self, question: u64, most: Cost) -> Result<Option<u64>, BudgetCap> {
        let mut sums = self.lock_totals();
        let may = self.check_request(&sums, question, most);
        let number = sums.next_number();
        if let Some(own) = sums.questions.get_mut(&question) {
            own.waits = may == Ok(false);
            if may == Ok(true) {
                own.running.push((number, most));
            }
        }
        may.map(|goes| goes.then_some(number))
    }

    fn check_request(
        &self,
        sums: &BudgetTotals,
        question: u64,
        most: Cost,
    ) -> Result<bool, BudgetCap> {
        if let Some(cap) = self.limits.cap_spent(sums.spent()) {
            return Err(cap);
        }
        let others = sums.total_without(Some(question));
        let own = sums.questions.get(&question);
        let mut requests = own.map(QuestionSpend::requests_cost).unwrap_or_default();
        let mut before = others;
        before += requests;
        requests += most;
        let mut together = others;
        together += requests.max(own.map(|own| own.reserve).unwrap_or_default());
        if self.limits.cap_exceeded(together).is_none() {
            return Ok(true);
        }
        if !sums.is_alone() {
            return Ok(false);
        }
        match self.limits.cap_spent(before) {
            None => Ok(true),
            // The reserves of other questions are in the way. They are released as those questions end, unless all of
            // them wait as well.
            Some(cap) if sums.all_others_wait(question) => Err(cap),
            Some(_) => Ok(false),
        }
    }

    fn settle_request(&self, question: u64, number: u64, cost: Cost) {
        let mut sums = self.lock_totals();
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
