//! Defines traits that the pipeline needs from outside: stores, sources and destinations.

mod canaries;
mod outbox;
mod outbox_admin;
mod publish;
mod rechecks;
mod source;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, NaiveDate, Utc};
use nightshift_alert::{Alert, Severity, TraceContext};
use nightshift_engine::conclusion::Conclusion;
use nightshift_engine::event::Event;
use nightshift_engine::previous_run::PreviousRun;

use crate::admission::{Admission, Mute};
use crate::budget::{Charge, DaySpend};
use crate::case::{
    Backlog, Cancellation, CaseFilter, CaseId, CaseRow, CaseStatus, CaseView, DeadLetter, Lane,
    Lease, OutageWait,
};
use crate::case_workflow::{CaseAction, CaseWorkflow};
use crate::digest::Digest;
use crate::export::JournalLine;
use crate::feedback::{FeedbackRecord, NewPersonVerdict, PersonVerdict};
use crate::intake::Arrival;
use crate::mutes::{LedgerCount, MutePreview, MuteRow, NewMute};
use crate::report::Report;

pub use canaries::Canaries;
pub use outbox::{
    AmbiguousSend, DeliveryError, DeliveryReceipt, Destination, Outbox, PendingDelivery,
};
pub use outbox_admin::{DestinationBacklog, OutboxAdmin};
pub use publish::{OutgoingMessage, Publish, PublishError};
pub use rechecks::{DueRecheck, Rechecks};
pub use source::{Disposition, Message, SettleError, Settlement, Source, SourceError};

/// Error of a store operation.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another worker holds the case, or the lease has ended.
    #[error("the lease on the case is lost")]
    LeaseLost,
    /// No case has this id, or the short id is ambiguous.
    #[error(
        "no case, or more than one, has an id that begins with {0:?} (four characters at least); `nightshift cases list` shows those there are"
    )]
    NoSuchCase(String),
    /// A person agreed with a case that has no verdict.
    #[error("case {0} has no verdict yet; disagree with --verdict once it is over, or wait for it")]
    NoVerdict(String),
    /// A case that is still being triaged cannot be run again.
    #[error(
        "case {0} is {status} and still being triaged; cancel it first, or rerun it after it ends",
        status = .1.as_str()
    )]
    NotOver(String, CaseStatus),
    /// A case that is over cannot be cancelled.
    #[error(
        "case {0} is {status} already; `nightshift cases retry {0}` runs it again",
        status = .1.as_str()
    )]
    AlreadyOver(String, CaseStatus),
    /// No removable mute has this name.
    #[error("no active mute {0:?}; see `nightshift mutes list`")]
    NoSuchMute(String),
    /// The stored data was written by a newer version or is damaged.
    #[error("case {0} cannot be read by this version")]
    Unreadable(String, #[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database is available, but refuses the write permanently.
    #[error("the store failed to {doing}")]
    Refused {
        /// Operation that failed.
        doing: &'static str,
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The database is unavailable, full, locked or damaged.
    #[error("the store failed to {doing}")]
    Database {
        /// Operation that failed.
        doing: &'static str,
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Outcome of one arrival.
#[derive(Debug, Clone, PartialEq)]
pub struct AcceptedAlert {
    /// The case of the arrival; `None` if the alert is muted or set aside.
    pub case_id: Option<CaseId>,
    /// Key of the alert, as text.
    pub key: String,
    /// Title of the alert.
    pub title: String,
    /// Feed of the alert.
    pub feed: String,
    pub admission: Admission,
    /// Number of the dead letter, if the message could not be read.
    pub dead_letter: Option<i64>,
}

impl AcceptedAlert {
    /// Returns whether the arrival leads to a triage of its own.
    pub(crate) const fn opens_triage(&self) -> bool {
        matches!(self.admission, Admission::New | Admission::Revision(..))
    }
}

/// Store of accepted alerts.
#[async_trait]
pub trait Inbox: Send + Sync {
    /// Commits all arrivals of a batch in one transaction, and returns their outcomes in order.
    ///
    /// # Errors
    ///
    /// Returns an error when nothing was committed. The messages must not be acked then.
    async fn accept(&self, batch: Arc<[Arrival]>) -> Result<Vec<AcceptedAlert>, StoreError>;
}

/// A case that a worker has claimed.
#[derive(Debug, Clone)]
pub struct ClaimedCase {
    pub lease: Lease,
    pub alert: Arc<Alert>,
    /// Journal so far; empty for a case that was not started.
    pub events: Vec<Event>,
    /// Number of workers that crashed with the case.
    pub crashes: u32,
    /// Contents of the previous report, for a case that was not started.
    pub previous_run: Option<Box<PreviousRun>>,
}

/// Data that is written when a case ends.
#[derive(Debug, Clone)]
pub struct CaseClosure {
    /// Last events of the journal.
    pub events: Vec<Event>,
    /// Cost of the events.
    pub charge: Charge,
    /// Final status: concluded or failed.
    pub status: CaseStatus,
    pub conclusion: Conclusion,
    pub report: Report,
    /// Destinations that should show the report.
    pub destinations: Vec<String>,
    /// True if the case was concluded without a model because all were down. It is triaged again when they are back.
    pub wants_model: bool,
    /// Time of the next re-evaluation of a benign case; `None` if there is none.
    pub recheck_at: Option<DateTime<Utc>>,
}

impl CaseClosure {
    /// Returns the time for which the case is cleared, or `None` if it is not benign.
    #[must_use]
    pub fn clearance(&self) -> Option<ClearancePeriod> {
        self.conclusion
            .verdict
            .is_benign()
            .then(|| ClearancePeriod {
                from: self.report.cleared_from(),
                until: self.report.cleared_until(),
            })
    }
}

/// The time for which a case was cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClearancePeriod {
    /// Beginning; `None` if open.
    pub from: Option<DateTime<Utc>>,
    /// End; `None` if open.
    pub until: Option<DateTime<Utc>>,
}

impl ClearancePeriod {
    /// Returns whether events from the first to the last were within this time.
    #[must_use]
    pub fn covers(&self, first: Option<DateTime<Utc>>, last: Option<DateTime<Utc>>) -> bool {
        let begins = self
            .from
            .zip(first)
            .is_none_or(|(from, first)| from <= first);
        begins
            && self
                .until
                .zip(last)
                .is_none_or(|(until, last)| last <= until)
    }
}

/// Store of cases, their journals and their leases.
#[async_trait]
pub trait Cases: Send + Sync {
    /// Claims up to this many cases, the most urgent first. A case whose journal this version cannot fold is left for
    /// a newer worker.
    async fn claim(&self, lane: Lane, most: usize) -> Result<Vec<ClaimedCase>, StoreError>;

    /// Claims up to this many canaries, and cases that have waited this long by the store's clock since they were
    /// accepted or first released.
    async fn claim_overdue(
        &self,
        lane: Lane,
        most: usize,
        waited: OutageWait,
    ) -> Result<Vec<ClaimedCase>, StoreError>;

    /// Queues a new revision of up to this many cases that were concluded without a model because all were down. The
    /// most severe come first. Returns how many; 0 means that none is left.
    async fn requeue_degraded(&self, most: usize) -> Result<u64, StoreError>;

    /// Claims this case if it is not over and nobody holds it.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Unreadable`] when this version cannot fold the journal; the case then waits for a newer
    /// worker.
    async fn claim_one(&self, id: &CaseId) -> Result<Option<ClaimedCase>, StoreError>;

    /// Extends these leases and returns those that are lost, because the case was cancelled or another worker holds
    /// it.
    async fn renew(&self, leases: &[Lease]) -> Result<Vec<Lease>, StoreError>;

    /// Releases a case, so that it continues elsewhere or later. A release counts neither as an attempt nor as a
    /// crash. If the lease was lost before, because the store was away or the worker frozen, the counted crash is
    /// reverted.
    async fn release(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Appends events to the journal, and adds their cost to the sums of the case and the day, in one transaction.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::LeaseLost`] when the lease is gone. Nothing is written then.
    async fn append(
        &self,
        lease: &Lease,
        events: &[Event],
        charge: Charge,
    ) -> Result<(), StoreError>;

    /// Ends a case: writes the last events, conclusion, report and deliveries in one transaction.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::LeaseLost`] when the lease is gone. Nothing is written then.
    async fn conclude(&self, lease: &Lease, closing: &CaseClosure) -> Result<(), StoreError>;

    /// Queues a new revision of a case that is over, with its present alert, because a person asked for it. `id` is
    /// an id or an unambiguous prefix.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NoSuchCase`] or [`StoreError::NotOver`] if the case cannot be run again.
    async fn retry(&self, id: &str) -> Result<CaseId, StoreError>;

    /// Cancels the triage of a waiting or running case. The worker that runs it can write nothing further. Changes
    /// that waited for the end of that triage are triaged next.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NoSuchCase`] or [`StoreError::AlreadyOver`] if the case cannot be cancelled.
    async fn cancel(
        &self,
        id: &str,
        who: &str,
        at: DateTime<Utc>,
    ) -> Result<Cancellation, StoreError>;

    /// Returns the cases of a list, newest first.
    async fn list(&self, filter: &CaseFilter) -> Result<Vec<CaseRow>, StoreError>;

    /// Returns all data of one case. `id` is an id or an unambiguous prefix.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NoSuchCase`] if no case fits.
    async fn view(&self, id: &str) -> Result<CaseView, StoreError>;

    /// Returns the events of a case as they were written, in order: of all revisions, or of this one.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NoSuchCase`] if no case fits.
    async fn journal(
        &self,
        id: &CaseId,
        revision: Option<u32>,
    ) -> Result<Vec<JournalLine>, StoreError>;

    /// Returns whether a write failed lately because the disk of the database is full.
    fn is_disk_full(&self) -> bool {
        false
    }

    /// Returns why the store must not be relied on although its server answers, in half a sentence without addresses.
    async fn connection_problem(&self) -> Option<&'static str> {
        None
    }

    /// Returns the number of waiting and running cases by severity, the highest first.
    async fn waiting(&self) -> Result<BTreeMap<Severity, u64>, StoreError>;

    /// Returns the amount of pending work. The query is cheap enough for every few seconds.
    async fn backlog(&self) -> Result<Backlog, StoreError>;
}

/// Notifies when there may be work: a case to claim, or a report to deliver.
#[async_trait]
pub trait WorkNotifier: Send + Sync {
    /// Waits for a notification after `heard` (0 for none), but no longer than about a second, because some work
    /// starts without a notification. Returns the number to pass with the next call.
    async fn wait_for_work(&self, heard: u64) -> u64;
}

/// Costs of the cases per day.
#[async_trait]
pub trait DaySpendStore: Send + Sync {
    /// Returns the sum of all charges of this UTC day, including running cases.
    async fn spent_on(&self, day: NaiveDate) -> Result<DaySpend, StoreError>;
}

/// Store of messages that could not be read.
#[async_trait]
pub trait DeadLetters: Send + Sync {
    /// Returns the latest dead letters.
    async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, StoreError>;

    /// Returns a dead letter with its bytes, or their beginning if the message was too large to keep.
    async fn dead_letter(&self, id: i64) -> Result<Option<(DeadLetter, Vec<u8>)>, StoreError>;

    /// Returns the numbers of dead letters that were not read again yet, oldest first, after this number.
    async fn unretried_dead_letters(
        &self,
        after: Option<i64>,
        most: usize,
    ) -> Result<Vec<i64>, StoreError>;

    /// Notes that a dead letter was read again, after the result is committed. The dead letter stays listed. Returns
    /// `false` if that was noted before or there is no such dead letter.
    ///
    /// # Errors
    ///
    /// Returns an error when the store cannot be written. The dead letter is read again later, which is a sighting
    /// then.
    async fn mark_dead_letter_retried(
        &self,
        id: i64,
        at: DateTime<Utc>,
    ) -> Result<bool, StoreError>;
}

/// Store of decisions of people about cases.
#[async_trait]
pub trait Feedback: Send + Sync {
    /// Notes a person's verdict on the latest conclusion of a case. `id` is an id or an unambiguous prefix.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NoSuchCase`] or [`StoreError::NoVerdict`] if the verdict does not apply.
    async fn add_verdict(
        &self,
        id: &str,
        new: NewPersonVerdict,
    ) -> Result<PersonVerdict, StoreError>;

    /// Notes another action of a person on a case, and returns the new state of the workflow. `id` is an id or an
    /// unambiguous prefix. [`Self::add_verdict`] notes verdicts.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NoSuchCase`] if no case fits.
    async fn record_action(
        &self,
        id: &str,
        act: CaseAction,
    ) -> Result<(CaseId, CaseWorkflow), StoreError>;

    /// Returns the trace of the message of this revision, for log lines about the case.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NoSuchCase`] if no case fits.
    async fn trace_context(
        &self,
        id: &CaseId,
        revision: u32,
    ) -> Result<Option<TraceContext>, StoreError>;

    /// Returns decisions of people after this number, oldest first, up to this many.
    async fn verdicts_after(
        &self,
        after: i64,
        most: usize,
    ) -> Result<Vec<FeedbackRecord>, StoreError>;
}

/// Store of mutes: those of the configuration and those that people added.
#[async_trait]
pub trait Mutes: Send + Sync {
    /// Returns all mutes with their counts, including ended and removed ones.
    async fn mutes(&self) -> Result<Vec<MuteRow>, StoreError>;

    /// Adds a mute under a new name.
    async fn add_mute(&self, mute: NewMute, at: DateTime<Utc>) -> Result<Mute, StoreError>;

    /// Ends a mute that was added. Its hidden alerts stay counted.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NoSuchMute`] if no removable mute has this name.
    async fn remove_mute(&self, name: &str, at: DateTime<Utc>) -> Result<(), StoreError>;

    /// Returns the alerts since this time that the mute would have hidden.
    async fn preview_mute(
        &self,
        mute: &NewMute,
        since: DateTime<Utc>,
    ) -> Result<MutePreview, StoreError>;
}

/// Store of the numbers for digests.
#[async_trait]
pub trait Digests: Send + Sync {
    /// Returns the parts of a digest that the store knows: all but its day, time zone and mutes.
    async fn collect_digest(
        &self,
        since: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Digest, StoreError>;
}

/// The ledger of alerts: each accepted alert is in exactly one place.
#[async_trait]
pub trait AlertLedger: Send + Sync {
    /// Returns the number of alerts per place and reason since this time. The whole ledger is too long to count while a
    /// person waits.
    async fn ledger_counts(&self, since: DateTime<Utc>) -> Result<Vec<LedgerCount>, StoreError>;
}
