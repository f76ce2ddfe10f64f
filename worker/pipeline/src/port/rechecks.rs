//! Defines the store of benign cases that code re-evaluates.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::Alert;

use crate::admission::RevisionReason;
use crate::case::CaseId;
use crate::port::StoreError;
use crate::report::Report;

/// A benign case that is due for re-evaluation.
#[derive(Debug, Clone)]
pub struct DueRecheck {
    pub case_id: CaseId,
    /// The revision that cleared the case.
    pub revision: u32,
    pub alert: Arc<Alert>,
    pub report: Box<Report>,
    /// Time until which earlier evaluations judged the logs whole; `None` if only the triage did.
    pub whole_until: Option<DateTime<Utc>>,
    /// Last event of the sightings of the case.
    pub events_until: Option<DateTime<Utc>>,
}

/// Store of benign cases and the results of their evaluations. A note about a case that is or was triaged again
/// meanwhile changes nothing.
#[async_trait]
pub trait Rechecks: Send + Sync {
    /// Takes up to this many due cases, the longest due first. No other worker gets them until `again_at`.
    async fn take_due_rechecks(
        &self,
        now: DateTime<Utc>,
        again_at: DateTime<Utc>,
        most: usize,
    ) -> Result<Vec<DueRecheck>, StoreError>;

    /// Notes that a case is still benign or was undecidable: until when the logs are judged whole, and when it is due
    /// next. `None` ends the re-evaluation.
    async fn note_recheck(
        &self,
        due: &DueRecheck,
        whole_until: DateTime<Utc>,
        next: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError>;

    /// Queues a new revision of a case, and returns whether it was queued. If `at` is given, its events last until
    /// then.
    async fn queue_recheck(
        &self,
        due: &DueRecheck,
        why: RevisionReason,
        at: Option<DateTime<Utc>>,
    ) -> Result<bool, StoreError>;

    /// Notes the contents of the register files. If they differ from the last note of a worker, all re-evaluated
    /// benign cases become due at `due_at`. Returns their number.
    async fn note_registers(
        &self,
        fingerprint: &str,
        due_at: DateTime<Utc>,
    ) -> Result<u64, StoreError>;
}
