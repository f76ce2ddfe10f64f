//! Reads and writes cases. Claims and leases are in `claim`, writes of workers in `journal`, reads for people in
//! [`crate::sql`].

use chrono::{DateTime, Utc};
use nightshift_engine::event::Event;
use nightshift_pipeline::budget::Charge;
use nightshift_pipeline::case::{Cancellation, CaseId, Lane, Lease, OutageWait};
use nightshift_pipeline::port::{CaseClosure, ClaimedCase, StoreError};

use super::PostgresStore;

impl PostgresStore {
    pub(crate) async fn claim(
        &self,
        lane: Lane,
        most: usize,
    ) -> Result<Vec<ClaimedCase>, StoreError> {
        self.claim_best(lane, most, None).await
    }

    pub(crate) async fn claim_overdue(
        &self,
        lane: Lane,
        most: usize,
        waited: OutageWait,
    ) -> Result<Vec<ClaimedCase>, StoreError> {
        self.claim_best(lane, most, Some(waited)).await
    }

    pub(crate) async fn requeue_degraded(&self, most: usize) -> Result<u64, StoreError> {
        self.queue_for_models(most).await
    }

    pub(crate) async fn claim_one(&self, id: &CaseId) -> Result<Option<ClaimedCase>, StoreError> {
        self.claim_this(id).await
    }

    pub(crate) async fn renew(&self, leases: &[Lease]) -> Result<Vec<Lease>, StoreError> {
        self.renew_all(leases).await
    }

    pub(crate) async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.release_lease(lease).await
    }

    pub(crate) async fn append(
        &self,
        lease: &Lease,
        events: &[Event],
        charge: Charge,
    ) -> Result<(), StoreError> {
        self.write(lease, events, charge).await
    }

    pub(crate) async fn conclude(
        &self,
        lease: &Lease,
        closing: &CaseClosure,
    ) -> Result<(), StoreError> {
        self.end(lease, closing).await
    }

    pub(crate) async fn retry(&self, id: &str) -> Result<CaseId, StoreError> {
        self.retriage(id).await
    }

    pub(crate) async fn cancel(
        &self,
        id: &str,
        who: &str,
        at: DateTime<Utc>,
    ) -> Result<Cancellation, StoreError> {
        self.cancel_triage(id, who, at).await
    }

    pub(crate) fn is_disk_full(&self) -> bool {
        self.database.disk.is_recent()
    }

    pub(crate) async fn connection_problem(&self) -> Option<&'static str> {
        if self.database.begin_pooled.is_some() {
            return None;
        }
        let is_shared = self.pooler.is_shared(&self.database).await;
        is_shared
            .then_some("a pooler lends its connections for one transaction only; see [store] url")
    }
}
