//! Benign cases that are evaluated again by code.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::Alert;

use crate::{CaseId, Change, Report, StoreError};

/// A benign case that is due.
#[derive(Debug, Clone)]
pub struct DueRecheck {
    /// The case.
    pub case_id: CaseId,
    /// The triage that cleared it.
    pub revision: u32,
    /// Its alert.
    pub alert: Arc<Alert>,
    /// Its report.
    pub report: Box<Report>,
    /// Until when the logs were judged whole by evaluations before; none: by its triage alone.
    pub whole_until: Option<DateTime<Utc>>,
    /// The last event that its sightings told of.
    pub events_until: Option<DateTime<Utc>>,
}

/// Benign cases, and what evaluations of them came to. Whatever is noted of a case that is triaged again meanwhile, or was,
/// changes nothing.
#[async_trait]
pub trait Rechecks: Send + Sync {
    /// Takes up to this many cases that are due, the longest due first; no other worker gets them until `again_at`.
    ///
    /// # Errors
    ///
    /// When the store cannot be read or written.
    async fn take_due_rechecks(
        &self,
        now: DateTime<Utc>,
        again_at: DateTime<Utc>,
        most: usize,
    ) -> Result<Vec<DueRecheck>, StoreError>;

    /// Notes that a case is still benign, or that nothing could be decided: until when the logs are judged whole, and when it
    /// is due next; none: not any more.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    async fn note_recheck(
        &self,
        due: &DueRecheck,
        whole_until: DateTime<Utc>,
        next: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError>;

    /// Queues a new revision of a case; its events last until `at`, where that is given. Whether it was queued.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    async fn queue_recheck(
        &self,
        due: &DueRecheck,
        why: Change,
        at: Option<DateTime<Utc>>,
    ) -> Result<bool, StoreError>;

    /// Notes what the register files hold. Where that is not what a worker noted before, all benign cases that are evaluated
    /// are due at `due_at`; how many.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    async fn note_registers(
        &self,
        fingerprint: &str,
        due_at: DateTime<Utc>,
    ) -> Result<u64, StoreError>;
}
