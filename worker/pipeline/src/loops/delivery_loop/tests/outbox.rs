//! Provides an outbox in memory with lease, attempt marks and notifications. There are no delays: a failed delivery is
//! due at once.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, NaiveDate, Utc};
use nightshift_alert::{CANARY_FEED, Severity};
use nightshift_engine::event::Event;
use tokio_util::sync::CancellationToken;

use crate::admission::Mute;
use crate::budget::Charge;
use crate::case::{
    Backlog, Cancellation, CaseFilter, CaseId, CaseRow, CaseView, Lane, Lease, OutageWait,
};
use crate::delivery_payload::DeliveryPayload;
use crate::export::JournalLine;
use crate::mutes::{MutePreview, MuteRow, NewMute};
use crate::port::{
    AmbiguousSend, CaseClosure, Cases, ClaimedCase, DeliveryError, DeliveryReceipt, Mutes, Outbox,
    PendingDelivery, StoreError, WorkNotifier,
};
use crate::report::{FailoverSources, Report, ReportProducer, sample_report};

/// Progress of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    Due,
    /// An attempt began, and its result was not noted.
    InDoubt,
    Shown(String),
    GivenUp,
}

#[derive(Default)]
struct OutboxState {
    /// Deliveries in due order.
    all: Vec<(String, Stage, u32)>,
    holder: Option<String>,
    rings: u64,
    /// Limits of the queries.
    asked: Vec<usize>,
    /// Deliveries left in doubt, with their delay.
    put_off: Vec<(String, Duration)>,
    when_idle: Option<CancellationToken>,
}

#[derive(Default)]
pub(super) struct FakeOutbox(Mutex<OutboxState>);

impl FakeOutbox {
    pub(super) fn with(names: &[&str]) -> Self {
        let outbox = Self::default();
        let all = names
            .iter()
            .map(|name| ((*name).to_owned(), Stage::Due, 0))
            .collect();
        outbox.lock_state().all = all;
        outbox
    }

    fn lock_state(&self) -> MutexGuard<'_, OutboxState> {
        self.0.lock().unwrap()
    }

    pub(super) fn asked(&self) -> Vec<usize> {
        self.lock_state().asked.clone()
    }

    pub(super) fn put_off(&self) -> Vec<(String, Duration)> {
        self.lock_state().put_off.clone()
    }

    pub(super) fn holder(&self) -> Option<String> {
        self.lock_state().holder.clone()
    }

    pub(super) fn served_by(&self, holder: &str) {
        self.lock_state().holder = Some(holder.to_owned());
    }

    pub(super) fn when_idle(&self, stop: CancellationToken) {
        self.lock_state().when_idle = Some(stop);
    }

    pub(super) fn add_first(&self, name: &str) {
        self.add_first_without_a_ring(name);
        self.lock_state().rings += 1;
    }

    pub(super) fn add_first_without_a_ring(&self, name: &str) {
        let new = (name.to_owned(), Stage::Due, 0);
        self.lock_state().all.insert(0, new);
    }

    pub(super) fn stage(&self, name: &str) -> Stage {
        let held = self.lock_state();
        let found = held.all.iter().find(|one| one.0 == name);
        found.unwrap().1.clone()
    }

    /// Marks a delivery whose attempt began without a noted result.
    pub(super) fn doubts(&self, name: &str) {
        self.set(&CaseId(name.to_owned()), Stage::InDoubt);
    }

    fn set(&self, id: &CaseId, stage: Stage) {
        let mut held = self.lock_state();
        let found = held.all.iter_mut().find(|one| one.0 == id.0);
        let found = found.unwrap();
        found.2 += u32::from(stage == Stage::InDoubt && found.1 == Stage::Due);
        found.1 = stage;
    }
}

/// Returns a report of a sample or canary with this case id.
fn report(name: &str) -> Report {
    let mut report = sample_report(name, DateTime::UNIX_EPOCH, &ReportProducer::default());
    if name.starts_with("canary") {
        CANARY_FEED.clone_into(&mut report.alert.feed);
        report.alert.first_seen = Some(DateTime::UNIX_EPOCH);
    }
    report
}

#[async_trait]
impl Outbox for FakeOutbox {
    async fn acquire_lease(&self, _: &str, holder: &str, _: Duration) -> Result<bool, StoreError> {
        let mut held = self.lock_state();
        let ours = held.holder.get_or_insert_with(|| holder.to_owned());
        Ok(ours == holder)
    }

    async fn release_lease(&self, _: &str, holder: &str) -> Result<(), StoreError> {
        let mut held = self.lock_state();
        held.holder.take_if(|ours| ours == holder);
        Ok(())
    }

    async fn due_deliveries(
        &self,
        _: &str,
        most: usize,
    ) -> Result<Vec<PendingDelivery>, StoreError> {
        let mut held = self.lock_state();
        held.asked.push(most);
        let wanting = |stage: &Stage| matches!(stage, Stage::Due | Stage::InDoubt);
        let due = held.all.iter().filter(|one| wanting(&one.1)).take(most);
        Ok(due
            .map(|(name, stage, attempts)| PendingDelivery {
                case_id: CaseId(name.clone()),
                attempts: *attempts,
                in_doubt: *stage == Stage::InDoubt,
                attempt_age: Duration::ZERO,
                payload: DeliveryPayload {
                    remote_id: name.starts_with("edit").then(|| format!("ts-{name}")),
                    is_minor: name.starts_with("edit pressed"),
                    ..DeliveryPayload::new(report(name))
                },
            })
            .collect())
    }

    async fn begin_attempt(&self, _: &str, due: &PendingDelivery) -> Result<bool, StoreError> {
        let now = self.stage(&due.case_id.0);
        let as_read = match now {
            Stage::Due => !due.in_doubt,
            Stage::InDoubt => due.in_doubt,
            _ => false,
        };
        if as_read {
            self.set(&due.case_id, Stage::InDoubt);
        }
        Ok(as_read)
    }

    async fn record_sent(
        &self,
        _: &str,
        due: &PendingDelivery,
        sent: Option<&DeliveryReceipt>,
    ) -> Result<(), StoreError> {
        let remote_id = sent.and_then(|sent| sent.remote_id.clone());
        self.set(&due.case_id, Stage::Shown(remote_id.unwrap_or_default()));
        Ok(())
    }

    async fn record_failed(
        &self,
        _: &str,
        due: &PendingDelivery,
        _: &DeliveryError,
        retry_in: Option<Duration>,
    ) -> Result<(), StoreError> {
        let stage = retry_in.map_or(Stage::GivenUp, |_| Stage::Due);
        self.set(&due.case_id, stage);
        Ok(())
    }

    async fn record_ambiguous(
        &self,
        _: &str,
        due: &PendingDelivery,
        _: &DeliveryError,
        _: AmbiguousSend,
        retry_in: Duration,
    ) -> Result<(), StoreError> {
        let put_off = (due.case_id.0.clone(), retry_in);
        self.lock_state().put_off.push(put_off);
        self.set(&due.case_id, Stage::InDoubt);
        Ok(())
    }

    async fn add_fallback(
        &self,
        _: &CaseId,
        _: &str,
        _: &FailoverSources,
    ) -> Result<(), StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn enqueue_announcement(&self, _: &CaseId, _: &[String]) -> Result<(), StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn begin_digest(&self, _: &str, _: NaiveDate) -> Result<Option<bool>, StoreError> {
        Ok(Some(false))
    }

    async fn record_digest_posted(&self, _: &str, _: NaiveDate) -> Result<(), StoreError> {
        Ok(())
    }
}

#[async_trait]
impl WorkNotifier for FakeOutbox {
    async fn wait_for_work(&self, heard: u64) -> u64 {
        let is_over = {
            let held = self.lock_state();
            if held.rings > heard {
                return held.rings;
            }
            let wanting = |stage: &Stage| matches!(stage, Stage::Due | Stage::InDoubt);
            !held.all.iter().any(|one| wanting(&one.1))
        };
        if is_over && let Some(stop) = &self.lock_state().when_idle {
            stop.cancel();
        }
        std::future::pending().await
    }
}

#[async_trait]
impl Mutes for FakeOutbox {
    async fn mutes(&self) -> Result<Vec<MuteRow>, StoreError> {
        Ok(Vec::new())
    }

    async fn add_mute(&self, _: NewMute, _: DateTime<Utc>) -> Result<Mute, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn remove_mute(&self, _: &str, _: DateTime<Utc>) -> Result<(), StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn preview_mute(&self, _: &NewMute, _: DateTime<Utc>) -> Result<MutePreview, StoreError> {
        Err(StoreError::LeaseLost)
    }
}

#[async_trait]
impl Cases for FakeOutbox {
    async fn claim(&self, _: Lane, _: usize) -> Result<Vec<ClaimedCase>, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn claim_overdue(
        &self,
        _: Lane,
        _: usize,
        _: OutageWait,
    ) -> Result<Vec<ClaimedCase>, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn requeue_degraded(&self, _: usize) -> Result<u64, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn claim_one(&self, _: &CaseId) -> Result<Option<ClaimedCase>, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn renew(&self, _: &[Lease]) -> Result<Vec<Lease>, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn release(&self, _: &Lease) -> Result<(), StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn append(&self, _: &Lease, _: &[Event], _: Charge) -> Result<(), StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn conclude(&self, _: &Lease, _: &CaseClosure) -> Result<(), StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn retry(&self, _: &str) -> Result<CaseId, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn cancel(&self, _: &str, _: &str, _: DateTime<Utc>) -> Result<Cancellation, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn list(&self, _: &CaseFilter) -> Result<Vec<CaseRow>, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn view(&self, _: &str) -> Result<CaseView, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn journal(&self, _: &CaseId, _: Option<u32>) -> Result<Vec<JournalLine>, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn waiting(&self) -> Result<BTreeMap<Severity, u64>, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        Err(StoreError::LeaseLost)
    }
}
