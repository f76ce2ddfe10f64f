//! Reads and writes cases. Claims and leases are in `claim`, writes of workers in `journal`, reads for people in
//! [`crate::sql`].

use nightshift_pipeline::case::{CaseId, Lane, Lease, OutageWait};
use nightshift_pipeline::port::{ClaimedCase, StoreError};

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
