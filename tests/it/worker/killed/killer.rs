//! Kills a worker before or after a commit. Before it, no request reaches the store; after it, the worker never gets
//! the answer. All that the worker had in memory is lost, and what it committed is not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::Severity;
use nightshift_engine::event::{Event, EventBody};
use nightshift_pipeline::budget::Charge;
use nightshift_pipeline::case::{
    Backlog, Cancellation, CaseFilter, CaseId, CaseRow, CaseView, Lane, Lease, OutageWait,
};
use nightshift_pipeline::export::JournalLine;
use nightshift_pipeline::intake::Arrival;
use nightshift_pipeline::port::{
    AcceptedAlert, CaseClosure, Cases, ClaimedCase, Inbox, StoreError,
};
use nightshift_store::Store;
use tokio_util::sync::CancellationToken;

/// An action of a worker that is visible from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerAction {
    Accept,
    Claim,
    /// The n-th append to a journal, counted from 1.
    Append(usize),
    Conclude,
    /// A report is posted. The start of the attempt is committed before, its end afterwards.
    Post,
}

/// The side of the action on which the worker is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KillPoint {
    Before,
    After,
}

/// Kills a worker once.
#[derive(Debug, Default)]
pub(super) struct Killer {
    at: Option<(WorkerAction, KillPoint)>,
    appends: AtomicUsize,
    has_accepted: AtomicBool,
    /// The number of outages left. Each starts at every second journal append and lasts until the leases of all cases
    /// have ended.
    outages: AtomicUsize,
    is_away: AtomicBool,
    /// Claims, by case and epoch, that were neither concluded nor released.
    held: Mutex<BTreeSet<(String, u64)>>,
    /// True if the first lease renewal panics; the worker is killed at the next one.
    spoils_renewal: bool,
    renewals: AtomicUsize,
    /// The case that kills every worker that triages it.
    of_case: Option<CaseId>,
    /// Cancelled when the worker was killed.
    pub(super) killed: CancellationToken,
}

impl Killer {
    pub(super) fn at(deed: WorkerAction, side: KillPoint) -> Self {
        Self {
            at: Some((deed, side)),
            ..Self::default()
        }
    }

    /// Kills nothing; makes the store unavailable this many times.
    pub(super) fn with_outages(times: usize) -> Self {
        Self {
            outages: AtomicUsize::new(times),
            ..Self::default()
        }
    }

    /// Makes the first lease renewal panic and kills the worker at the next, which shows that renewals continue.
    pub(super) fn spoils_renewal() -> Self {
        Self {
            spoils_renewal: true,
            ..Self::default()
        }
    }

    /// Kills a worker as soon as it starts anything for this case.
    pub(super) fn of_case(id: &CaseId) -> Self {
        Self {
            of_case: Some(id.clone()),
            ..Self::default()
        }
    }

    /// Runs an action of the worker, unless the worker is killed before or after it.
    pub(super) async fn run_action<T>(
        &self,
        deed: WorkerAction,
        doing: impl Future<Output = T>,
    ) -> T {
        self.die_at(deed, KillPoint::Before).await;
        let done = doing.await;
        self.die_at(deed, KillPoint::After).await;
        done
    }

    async fn die_at(&self, deed: WorkerAction, side: KillPoint) {
        if self.at == Some((deed, side)) {
            self.killed.cancel();
            std::future::pending::<()>().await;
        }
    }
}

impl Killer {
    fn track_lease(&self, lease: &Lease) {
        let claim = (lease.case_id.0.clone(), lease.epoch);
        self.held.lock().unwrap().insert(claim);
    }

    fn untrack_lease(&self, lease: &Lease) {
        let claim = (lease.case_id.0.clone(), lease.epoch);
        self.held.lock().unwrap().remove(&claim);
    }

    /// Starts an outage if one is left and the worker has recovered from the last one.
    fn start_outage(&self) {
        let held = self.held.lock().unwrap();
        let cases: BTreeSet<&String> = held.iter().map(|(case, _)| case).collect();
        if self.outages.load(Ordering::SeqCst) > 0 && cases.len() == held.len() {
            self.outages.fetch_sub(1, Ordering::SeqCst);
            self.is_away.store(true, Ordering::SeqCst);
        }
    }
}

/// The store of a worker that is to be killed.
pub(super) struct KillableStore {
    pub(super) store: Arc<dyn Store>,
    pub(super) killer: Arc<Killer>,
}

impl KillableStore {
    /// Returns an error until another worker has found that no lease is held any more.
    async fn reach(&self) -> Result<(), StoreError> {
        if !self.killer.is_away.load(Ordering::SeqCst) {
            return Ok(());
        }
        // A claim of zero cases frees expired leases.
        self.store.claim(Lane::Any, 0).await?;
        if self.store.backlog().await?.running > 0 {
            return Err(StoreError::Database {
                doing: "do anything",
                cause: "the network is gone".into(),
            });
        }
        self.killer.is_away.store(false, Ordering::SeqCst);
        Ok(())
    }
}

#[async_trait]
impl Inbox for KillableStore {
    async fn accept(&self, batch: Arc<[Arrival]>) -> Result<Vec<AcceptedAlert>, StoreError> {
        let accepted = self
            .killer
            .run_action(WorkerAction::Accept, self.store.accept(batch))
            .await;
        self.killer.has_accepted.store(true, Ordering::SeqCst);
        accepted
    }
}

#[async_trait]
impl Cases for KillableStore {
    /// Claims cases. A claim that finds nothing does not count as an action.
    async fn claim(&self, lane: Lane, most: usize) -> Result<Vec<ClaimedCase>, StoreError> {
        self.reach().await?;
        if self.killer.has_accepted.load(Ordering::SeqCst) {
            self.killer
                .die_at(WorkerAction::Claim, KillPoint::Before)
                .await;
        }
        let claimed = self.store.claim(lane, most).await?;
        if !claimed.is_empty() {
            self.killer
                .die_at(WorkerAction::Claim, KillPoint::After)
                .await;
        }
        claimed
            .iter()
            .for_each(|one| self.killer.track_lease(&one.lease));
        Ok(claimed)
    }

    async fn append(
        &self,
        lease: &Lease,
        events: &[Event],
        charge: Charge,
    ) -> Result<(), StoreError> {
        let number = self.killer.appends.fetch_add(1, Ordering::SeqCst) + 1;
        if self.killer.spoils_renewal {
            std::future::pending::<()>().await;
        }
        if number.is_multiple_of(2) {
            self.killer.start_outage();
        }
        self.reach().await?;
        let appending = self.store.append(lease, events, charge);
        let appended = self
            .killer
            .run_action(WorkerAction::Append(number), appending)
            .await;
        let begins = |event: &Event| matches!(event.body, EventBody::Started { .. });
        if self.killer.of_case.as_ref() == Some(&lease.case_id) && events.iter().any(begins) {
            self.killer.killed.cancel();
            std::future::pending::<()>().await;
        }
        appended
    }

    async fn conclude(&self, lease: &Lease, closing: &CaseClosure) -> Result<(), StoreError> {
        self.reach().await?;
        let concluding = self.store.conclude(lease, closing);
        self.killer
            .run_action(WorkerAction::Conclude, concluding)
            .await?;
        self.killer.untrack_lease(lease);
        Ok(())
    }

    async fn claim_overdue(
        &self,
        lane: Lane,
        most: usize,
        waited: OutageWait,
    ) -> Result<Vec<ClaimedCase>, StoreError> {
        self.store.claim_overdue(lane, most, waited).await
    }

    async fn requeue_degraded(&self, most: usize) -> Result<u64, StoreError> {
        self.store.requeue_degraded(most).await
    }

    async fn claim_one(&self, id: &CaseId) -> Result<Option<ClaimedCase>, StoreError> {
        self.store.claim_one(id).await
    }

    async fn renew(&self, leases: &[Lease]) -> Result<Vec<Lease>, StoreError> {
        if self.killer.spoils_renewal {
            let is_first = self.killer.renewals.fetch_add(1, Ordering::SeqCst) == 0;
            assert!(!is_first, "the renewal is spoilt");
            self.killer.killed.cancel();
        }
        self.reach().await?;
        self.store.renew(leases).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.reach().await?;
        self.store.release(lease).await?;
        self.killer.untrack_lease(lease);
        Ok(())
    }

    async fn retry(&self, id: &str) -> Result<CaseId, StoreError> {
        self.store.retry(id).await
    }

    async fn cancel(
        &self,
        id: &str,
        who: &str,
        at: DateTime<Utc>,
    ) -> Result<Cancellation, StoreError> {
        self.store.cancel(id, who, at).await
    }

    async fn list(&self, filter: &CaseFilter) -> Result<Vec<CaseRow>, StoreError> {
        self.store.list(filter).await
    }

    async fn view(&self, id: &str) -> Result<CaseView, StoreError> {
        self.store.view(id).await
    }

    async fn journal(
        &self,
        id: &CaseId,
        revision: Option<u32>,
    ) -> Result<Vec<JournalLine>, StoreError> {
        self.store.journal(id, revision).await
    }

    async fn waiting(&self) -> Result<BTreeMap<Severity, u64>, StoreError> {
        self.store.waiting().await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        self.store.backlog().await
    }
}
