//! Implements the ports whose repositories still exist once per database.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, NaiveDate, Utc};
use nightshift_alert::Severity;
use nightshift_engine::event::Event;
use nightshift_pipeline::admission::RevisionReason;
use nightshift_pipeline::budget::Charge;
use nightshift_pipeline::case::{
    Backlog, Cancellation, CaseFilter, CaseId, CaseRow, CaseView, Lane, Lease, OutageWait,
};
use nightshift_pipeline::export::JournalLine;
use nightshift_pipeline::intake::Arrival;
use nightshift_pipeline::maintenance::{Purge, RetentionClass, StoreMaintenance};
use nightshift_pipeline::port::{
    AcceptedAlert, AmbiguousSend, CaseClosure, Cases, ClaimedCase, DeliveryError, DeliveryReceipt,
    DueRecheck, Inbox, Outbox, PendingDelivery, Rechecks, StoreError, WorkNotifier,
};
use nightshift_pipeline::report::FailoverSources;

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
        delegate!(self.claim(lane, most))
    }

    async fn claim_overdue(
        &self,
        lane: Lane,
        most: usize,
        waited: OutageWait,
    ) -> Result<Vec<ClaimedCase>, StoreError> {
        delegate!(self.claim_overdue(lane, most, waited))
    }

    async fn requeue_degraded(&self, most: usize) -> Result<u64, StoreError> {
        delegate!(self.requeue_degraded(most))
    }

    async fn claim_one(&self, id: &CaseId) -> Result<Option<ClaimedCase>, StoreError> {
        delegate!(self.claim_one(id))
    }

    async fn renew(&self, leases: &[Lease]) -> Result<Vec<Lease>, StoreError> {
        delegate!(self.renew(leases))
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        delegate!(self.release(lease))
    }

    async fn append(
        &self,
        lease: &Lease,
        events: &[Event],
        charge: Charge,
    ) -> Result<(), StoreError> {
        delegate!(self.append(lease, events, charge))
    }

    async fn conclude(&self, lease: &Lease, closing: &CaseClosure) -> Result<(), StoreError> {
        delegate!(self.conclude(lease, closing))
    }

    async fn retry(&self, id: &str) -> Result<CaseId, StoreError> {
        delegate!(self.retry(id))
    }

    async fn cancel(
        &self,
        id: &str,
        who: &str,
        at: DateTime<Utc>,
    ) -> Result<Cancellation, StoreError> {
        delegate!(self.cancel(id, who, at))
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
impl Outbox for SqlStore {
    async fn acquire_lease(
        &self,
        destination: &str,
        holder: &str,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        delegate!(self, Outbox::acquire_lease(destination, holder, lease))
    }

    async fn release_lease(&self, destination: &str, holder: &str) -> Result<(), StoreError> {
        delegate!(self, Outbox::release_lease(destination, holder))
    }

    async fn due_deliveries(
        &self,
        destination: &str,
        most: usize,
    ) -> Result<Vec<PendingDelivery>, StoreError> {
        delegate!(self, Outbox::due_deliveries(destination, most))
    }

    async fn begin_attempt(
        &self,
        destination: &str,
        due: &PendingDelivery,
    ) -> Result<bool, StoreError> {
        delegate!(self, Outbox::begin_attempt(destination, due))
    }

    async fn record_sent(
        &self,
        destination: &str,
        due: &PendingDelivery,
        sent: Option<&DeliveryReceipt>,
    ) -> Result<(), StoreError> {
        delegate!(self, Outbox::record_sent(destination, due, sent))
    }

    async fn record_failed(
        &self,
        destination: &str,
        due: &PendingDelivery,
        error: &DeliveryError,
        retry_in: Option<Duration>,
    ) -> Result<(), StoreError> {
        delegate!(
            self,
            Outbox::record_failed(destination, due, error, retry_in)
        )
    }

    async fn record_ambiguous(
        &self,
        destination: &str,
        due: &PendingDelivery,
        error: &DeliveryError,
        doubt: AmbiguousSend,
        retry_in: Duration,
    ) -> Result<(), StoreError> {
        delegate!(
            self,
            Outbox::record_ambiguous(destination, due, error, doubt, retry_in)
        )
    }

    async fn add_fallback(
        &self,
        case_id: &CaseId,
        destination: &str,
        instead_of: &FailoverSources,
    ) -> Result<(), StoreError> {
        delegate!(self, Outbox::add_fallback(case_id, destination, instead_of))
    }

    async fn enqueue_announcement(
        &self,
        case_id: &CaseId,
        destinations: &[String],
    ) -> Result<(), StoreError> {
        delegate!(self, Outbox::enqueue_announcement(case_id, destinations))
    }

    async fn begin_digest(
        &self,
        destination: &str,
        day: NaiveDate,
    ) -> Result<Option<bool>, StoreError> {
        delegate!(self, Outbox::begin_digest(destination, day))
    }

    async fn record_digest_posted(
        &self,
        destination: &str,
        day: NaiveDate,
    ) -> Result<(), StoreError> {
        delegate!(self, Outbox::record_digest_posted(destination, day))
    }
}

#[async_trait]
impl Rechecks for SqlStore {
    async fn take_due_rechecks(
        &self,
        now: DateTime<Utc>,
        again_at: DateTime<Utc>,
        most: usize,
    ) -> Result<Vec<DueRecheck>, StoreError> {
        delegate!(self, Rechecks::take_due_rechecks(now, again_at, most))
    }

    async fn note_recheck(
        &self,
        due: &DueRecheck,
        whole_until: DateTime<Utc>,
        next: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError> {
        delegate!(self, Rechecks::note_recheck(due, whole_until, next))
    }

    async fn queue_recheck(
        &self,
        due: &DueRecheck,
        why: RevisionReason,
        at: Option<DateTime<Utc>>,
    ) -> Result<bool, StoreError> {
        delegate!(self, Rechecks::queue_recheck(due, why, at))
    }

    async fn note_registers(
        &self,
        fingerprint: &str,
        due_at: DateTime<Utc>,
    ) -> Result<u64, StoreError> {
        delegate!(self, Rechecks::note_registers(fingerprint, due_at))
    }
}

#[async_trait]
impl StoreMaintenance for SqlStore {
    async fn advance_retention_time(
        &self,
        now: DateTime<Utc>,
    ) -> Result<DateTime<Utc>, StoreError> {
        delegate!(self, StoreMaintenance::advance_retention_time(now))
    }

    async fn migrations(&self) -> Result<Vec<String>, StoreError> {
        delegate!(self, StoreMaintenance::migrations())
    }

    async fn expire(
        &self,
        kind: RetentionClass,
        before: DateTime<Utc>,
        most: usize,
    ) -> Result<u64, StoreError> {
        delegate!(self, StoreMaintenance::expire(kind, before, most))
    }

    async fn purge(&self, what: &Purge, most: usize) -> Result<u64, StoreError> {
        delegate!(self, StoreMaintenance::purge(what, most))
    }

    async fn count_kept_cases(&self, what: &Purge) -> Result<u64, StoreError> {
        delegate!(self, StoreMaintenance::count_kept_cases(what))
    }

    async fn sweep(&self) -> Result<u64, StoreError> {
        delegate!(self, StoreMaintenance::sweep())
    }
}

#[async_trait]
impl WorkNotifier for SqlStore {
    async fn wait_for_work(&self, heard: u64) -> u64 {
        delegate!(self, WorkNotifier::wait_for_work(heard))
    }
}
