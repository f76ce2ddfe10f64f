//! Claims cases and manages leases.

use nightshift_pipeline::case::{CaseId, Lane, Lease, OutageWait};
use nightshift_pipeline::port::{ClaimedCase, StoreError};

use super::SqliteStore;

impl SqliteStore {
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

    pub(crate) async fn claim_one(&self, id: &CaseId) -> Result<Option<ClaimedCase>, StoreError> {
        self.claim_this(id).await
    }

    pub(crate) async fn renew(&self, leases: &[Lease]) -> Result<Vec<Lease>, StoreError> {
        self.renew_all(leases).await
    }

    pub(crate) async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.release_lease(lease).await
    }

    pub(crate) fn is_disk_full(&self) -> bool {
        self.thread.disk.is_recent()
    }
}
