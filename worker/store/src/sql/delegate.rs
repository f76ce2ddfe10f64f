//! Implements the ports whose repositories still exist once per database.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::Severity;
use nightshift_engine::event::Event;
use nightshift_pipeline::budget::Charge;
use nightshift_pipeline::case::{
    Backlog, Cancellation, CaseFilter, CaseId, CaseRow, CaseView, Lane, Lease, OutageWait,
};
use nightshift_pipeline::export::JournalLine;
use nightshift_pipeline::intake::Arrival;
use nightshift_pipeline::maintenance::{Purge, RetentionClass, StoreMaintenance};
use nightshift_pipeline::port::{
    AcceptedAlert, CaseClosure, Cases, ClaimedCase, Inbox, StoreError, WorkNotifier,
};

use super::{Rest, SqlStore};

/// Calls a method, of a port or its own, on the store of the database.
macro_rules! delegate {
    ($self:ident.$method:ident($($argument:ident),*)) => {
        match &$self.rest {
            Rest::Postgres(store) => store.$method($($argument),*).await,
            Rest::Sqlite(store) => store.$method($($argument),*).await,
        }
    };
    ($self:ident, $port:ident::$method:ident($($argument:ident),*)) => {
        match &$self.rest {
            Rest::Postgres(store) => $port::$method(store.as_ref(), $($argument),*).await,
            Rest::Sqlite(store) => $port::$method(store.as_ref(), $($argument),*).await,
        }
    };
}

#[async_trait]
impl Inbox for SqlStore {
    async fn accept(&self, batch: Arc<[Arrival]>) -> Result<Vec<AcceptedAlert>, StoreError> {
        delegate!(self, Inbox::accept(batch))
    }
}

#[async_trait]
impl Cases for SqlStore {
    async fn claim(&self, lane: Lane, most: usize) -> Result<Vec<ClaimedCase>, StoreError> {
        self.claim_best(lane, most, None).await
    }

    async fn claim_overdue(
        &self,
        lane: Lane,
        most: usize,
        waited: OutageWait,
    ) -> Result<Vec<ClaimedCase>, StoreError> {
        self.claim_best(lane, most, Some(waited)).await
    }

    async fn requeue_degraded(&self, most: usize) -> Result<u64, StoreError> {
        self.requeue_without_model(most).await
    }

    async fn claim_one(&self, id: &CaseId) -> Result<Option<ClaimedCase>, StoreError> {
        self.claim_case(id).await
    }

    async fn renew(&self, leases: &[Lease]) -> Result<Vec<Lease>, StoreError> {
        self.renew_leases(leases).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.release_case(lease).await
    }

    async fn append(
        &self,
        lease: &Lease,
        events: &[Event],
        charge: Charge,
    ) -> Result<(), StoreError> {
        self.append_events(lease, events, charge).await
    }

    async fn conclude(&self, lease: &Lease, closing: &CaseClosure) -> Result<(), StoreError> {
        self.conclude_case(lease, closing).await
    }

    async fn retry(&self, id: &str) -> Result<CaseId, StoreError> {
        self.retry_triage(id).await
    }

    async fn cancel(
        &self,
        id: &str,
        who: &str,
        at: DateTime<Utc>,
    ) -> Result<Cancellation, StoreError> {
        self.cancel_triage(id, who, at).await
    }

    async fn list(&self, filter: &CaseFilter) -> Result<Vec<CaseRow>, StoreError> {
        self.list_cases(filter).await
    }

    async fn view(&self, id: &str) -> Result<CaseView, StoreError> {
        self.view_case(id).await
    }

    async fn journal(
        &self,
        id: &CaseId,
        revision: Option<u32>,
    ) -> Result<Vec<JournalLine>, StoreError> {
        self.read_journal(id, revision).await
    }

    fn is_disk_full(&self) -> bool {
        match &self.rest {
            Rest::Postgres(store) => store.is_disk_full(),
            Rest::Sqlite(store) => store.is_disk_full(),
        }
    }

    async fn connection_problem(&self) -> Option<&'static str> {
        match &self.rest {
            Rest::Postgres(store) => store.connection_problem().await,
            Rest::Sqlite(_) => None,
        }
    }

    async fn waiting(&self) -> Result<BTreeMap<Severity, u64>, StoreError> {
        self.count_waiting().await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        self.read_backlog().await
    }
}

#[async_trait]
impl StoreMaintenance for SqlStore {
    async fn advance_retention_time(
        &self,
        now: DateTime<Utc>,
    ) -> Result<DateTime<Utc>, StoreError> {
        self.advance_retention(now).await
    }

    async fn migrations(&self) -> Result<Vec<String>, StoreError> {
        delegate!(self.migrations())
    }

    async fn expire(
        &self,
        kind: RetentionClass,
        before: DateTime<Utc>,
        most: usize,
    ) -> Result<u64, StoreError> {
        self.expire_class(kind, before, most).await
    }

    async fn purge(&self, what: &Purge, most: usize) -> Result<u64, StoreError> {
        let purged = self.purge_rows(what, most).await?;
        if let (0, Rest::Sqlite(store)) = (purged, &self.rest) {
            store.erase_removed(true).await?;
        }
        Ok(purged)
    }

    async fn count_kept_cases(&self, what: &Purge) -> Result<u64, StoreError> {
        self.count_kept(what).await
    }

    async fn sweep(&self) -> Result<u64, StoreError> {
        self.sweep_all().await
    }
}

#[async_trait]
impl WorkNotifier for SqlStore {
    async fn wait_for_work(&self, heard: u64) -> u64 {
        delegate!(self, WorkNotifier::wait_for_work(heard))
    }
}
