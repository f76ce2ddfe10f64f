//! Cases: claims and leases in `claim`, what workers write in `journal`, what people read in `read`.

use std::collections::BTreeMap;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::Severity;
use nightshift_engine::event::Event;
use nightshift_pipeline::budget::Charge;
use nightshift_pipeline::case::{
    Backlog, CalledOff, CaseFilter, CaseId, CaseRow, CaseView, Lane, Lease, Waited,
};
use nightshift_pipeline::export::JournalLine;
use nightshift_pipeline::port::{Cases, Claimed, Closing, StoreError};

use super::PostgresStore;
use super::{backlog, list, read};

#[async_trait]
impl Cases for PostgresStore {
    async fn claim(&self, lane: Lane, most: usize) -> Result<Vec<Claimed>, StoreError> {
        self.claim_best(lane, most, None).await
    }

    async fn claim_waited(
        &self,
        lane: Lane,
        most: usize,
        waited: Waited,
    ) -> Result<Vec<Claimed>, StoreError> {
        self.claim_best(lane, most, Some(waited)).await
    }

    async fn again_with_models(&self, most: usize) -> Result<u64, StoreError> {
        self.queue_for_models(most).await
    }

    async fn claim_one(&self, id: &CaseId) -> Result<Option<Claimed>, StoreError> {
        self.claim_this(id).await
    }

    async fn renew(&self, leases: &[Lease]) -> Result<Vec<Lease>, StoreError> {
        self.renew_all(leases).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.give_back(lease).await
    }

    async fn append(
        &self,
        lease: &Lease,
        events: &[Event],
        charge: Charge,
    ) -> Result<(), StoreError> {
        self.write(lease, events, charge).await
    }

    async fn conclude(&self, lease: &Lease, closing: &Closing) -> Result<(), StoreError> {
        self.end(lease, closing).await
    }

    async fn retry(&self, id: &str) -> Result<CaseId, StoreError> {
        self.run_again(id).await
    }

    async fn cancel(
        &self,
        id: &str,
        who: &str,
        at: DateTime<Utc>,
    ) -> Result<CalledOff, StoreError> {
        self.call_off(id, who, at).await
    }

    async fn list(&self, filter: &CaseFilter) -> Result<Vec<CaseRow>, StoreError> {
        self.look("list cases", |session| async move {
            list::list(&session, filter).await
        })
        .await
    }

    async fn view(&self, id: &str) -> Result<CaseView, StoreError> {
        self.look("read a case", |session| async move {
            Box::pin(read::view(&session, id)).await
        })
        .await
    }

    async fn journal(
        &self,
        id: &CaseId,
        revision: Option<u32>,
    ) -> Result<Vec<JournalLine>, StoreError> {
        self.look("read a journal", |session| async move {
            read::journal(&session, id, revision).await
        })
        .await
    }

    async fn waiting(&self) -> Result<BTreeMap<Severity, u64>, StoreError> {
        self.look("count waiting cases", |session| async move {
            backlog::waiting(&session).await
        })
        .await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        self.look("count what there is to do", |session| async move {
            backlog::read(&session).await
        })
        .await
    }
}
