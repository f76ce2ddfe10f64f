//! What the pipeline needs from outside, as traits: stores, sources and destinations.

mod canaries;
mod outbox;
mod owed;
mod publish;
mod rechecks;
mod source;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, NaiveDate, Utc};
use nightshift_alert::{Alert, Severity, TraceContext};
use nightshift_engine::{Again, Conclusion, Event};

use crate::{
    Act, Admission, Arrival, Backlog, CalledOff, CaseFilter, CaseId, CaseRow, CaseStatus, CaseView,
    Charge, DaySpent, DeadLetter, Decided, Desk, Digest, JournalLine, Lane, Lease, Mute,
    MutePreview, MuteRow, NewMute, NewPersonVerdict, PersonVerdict, PlaceCount, Report, Waited,
};

pub use canaries::Canaries;
pub use outbox::{DeliveryError, Destination, Doubt, Due, Outbox, Sent};
pub use owed::{Owed, Owing};
pub use publish::{Outgoing, Publish, PublishError};
pub use rechecks::{DueRecheck, Rechecks};
pub use source::{Fate, Message, Settled, Source, SourceError, Unsettled};

/// A store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The case is another worker's, or the lease has ended.
    #[error("the lease on the case is lost")]
    LeaseLost,
    /// There is no such case, or the short id fits several.
    #[error(
        "no case, or more than one, has an id that begins with {0:?} (four characters at least); `nightshift cases list` shows those there are"
    )]
    NoSuchCase(String),
    /// Nobody can agree with what is not decided.
    #[error("case {0} has no verdict yet; disagree with --verdict once it is over, or wait for it")]
    NoVerdict(String),
    /// A case that goes on by itself is not run again.
    #[error(
        "case {0} is {status}; it is triaged anyway. Cancel it first, or run it again once it is over",
        status = .1.as_str()
    )]
    NotOver(String, CaseStatus),
    /// A case that is over cannot be called off.
    #[error(
        "case {0} is {status} already; `nightshift cases retry {0}` runs it again",
        status = .1.as_str()
    )]
    AlreadyOver(String, CaseStatus),
    /// There is no such mute that could be removed.
    #[error("there is no mute {0:?} that holds; `nightshift mutes list` shows those there are")]
    NoSuchMute(String),
    /// What is stored was written by a newer version, or is broken.
    #[error("case {0} cannot be read by this version")]
    Unreadable(String, #[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database is there, and takes what was to be written at no other try either.
    #[error("the store failed to {doing}")]
    Refused {
        /// What was attempted.
        doing: &'static str,
        /// Why.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The database is away, full, locked or broken.
    #[error("the store failed to {doing}")]
    Database {
        /// What was attempted.
        doing: &'static str,
        /// Why.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// What became of one arrival.
#[derive(Debug, Clone, PartialEq)]
pub struct Accepted {
    /// The case it belongs to; none for what is muted or set aside.
    pub case_id: Option<CaseId>,
    /// Its key, as text.
    pub key: String,
    /// Its title.
    pub title: String,
    /// Its feed.
    pub feed: String,
    /// What became of it.
    pub admission: Admission,
    /// Set for a message that could not be read: the number of its dead letter.
    pub dead_letter: Option<i64>,
}

impl Accepted {
    /// Whether it leads to a triage of its own.
    pub(crate) const fn opens(&self) -> bool {
        matches!(self.admission, Admission::New | Admission::Revision(..))
    }
}

/// Where accepted alerts wait.
#[async_trait]
pub trait Inbox: Send + Sync {
    /// Commits all arrivals of a batch in one transaction, and says what became of each, in order.
    ///
    /// # Errors
    ///
    /// When nothing was committed; nothing may be acked then.
    async fn accept(&self, batch: Arc<[Arrival]>) -> Result<Vec<Accepted>, StoreError>;
}

/// A case that a worker has taken.
#[derive(Debug, Clone)]
pub struct Claimed {
    /// The right to write it.
    pub lease: Lease,
    /// Its alert.
    pub alert: Arc<Alert>,
    /// Its journal so far; empty for a case that nobody has opened.
    pub events: Vec<Event>,
    /// How often a worker died with it.
    pub crashes: u32,
    /// Of a case that nobody has opened: what the report of its last triage said, if there is one.
    pub again: Option<Box<Again>>,
}

/// Everything that is written when a case ends.
#[derive(Debug, Clone)]
pub struct Closing {
    /// The last events.
    pub events: Vec<Event>,
    /// What they cost.
    pub charge: Charge,
    /// How it ended: concluded or failed.
    pub status: CaseStatus,
    /// The conclusion.
    pub conclusion: Conclusion,
    /// The report.
    pub report: Report,
    /// The destinations that should show it.
    pub destinations: Vec<String>,
    /// It was concluded without a model because all were down: it is triaged again when they are back.
    pub wants_model: bool,
    /// When its records and logs are looked up again, where it is benign; none: never.
    pub recheck_at: Option<DateTime<Utc>>,
}

impl Closing {
    /// From when and until when all that clears the case holds, where that has an end; none where it is not cleared.
    #[must_use]
    pub fn cleared(&self) -> Option<Cleared> {
        self.conclusion.verdict.is_benign().then(|| Cleared {
            from: self.report.cleared_from(),
            until: self.report.cleared_until(),
        })
    }
}

/// The time for which a case was cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleared {
    /// From when; open where none.
    pub from: Option<DateTime<Utc>>,
    /// Until when; open where none.
    pub until: Option<DateTime<Utc>>,
}

impl Cleared {
    /// Whether events from the first to the last were within it.
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

/// Cases, their journals and their leases.
#[async_trait]
pub trait Cases: Send + Sync {
    /// Takes up to this many cases, the most urgent first. A case whose journal this version cannot fold is not
    /// touched: it waits for a newer worker, and the others go on.
    ///
    /// # Errors
    ///
    /// When the store cannot be read or written.
    async fn claim(&self, lane: Lane, most: usize) -> Result<Vec<Claimed>, StoreError>;

    /// The same, of canaries, and of cases that have waited so long, by the store's clock, since they were accepted or first
    /// given back.
    ///
    /// # Errors
    ///
    /// When the store cannot be read or written.
    async fn claim_waited(
        &self,
        lane: Lane,
        most: usize,
        waited: Waited,
    ) -> Result<Vec<Claimed>, StoreError>;

    /// Queues a new revision of up to this many of the cases that were concluded without a model because all were down,
    /// the most severe first; how many. 0: none is left.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    async fn again_with_models(&self, most: usize) -> Result<u64, StoreError>;

    /// Takes this case, if it is not over and nobody else has it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unreadable`] when this version cannot fold its journal; it waits for a newer worker then. Or when
    /// the store cannot be read or written.
    async fn claim_one(&self, id: &CaseId) -> Result<Option<Claimed>, StoreError>;

    /// Lengthens these leases; which of them are lost: somebody called the case off, or it is another's.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    async fn renew(&self, leases: &[Lease]) -> Result<Vec<Lease>, StoreError>;

    /// Gives a case back, so that it goes on elsewhere or later. That is neither an attempt nor a crash of it: where the
    /// lease was lost before, because the store was away or the worker frozen, the crash that was counted is taken back.
    ///
    /// # Errors
    ///
    /// When the store cannot be written; the lease then ends by itself.
    async fn release(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Adds to the journal of a case, and what the events cost to the sums of its case and its day, in one transaction.
    ///
    /// # Errors
    ///
    /// [`StoreError::LeaseLost`] when the lease is gone; nothing is written then.
    async fn append(
        &self,
        lease: &Lease,
        events: &[Event],
        charge: Charge,
    ) -> Result<(), StoreError>;

    /// Ends a case: its last events, conclusion, report and deliveries in one transaction.
    ///
    /// # Errors
    ///
    /// [`StoreError::LeaseLost`] when the lease is gone; nothing is written then.
    async fn conclude(&self, lease: &Lease, closing: &Closing) -> Result<(), StoreError>;

    /// Queues a new revision of a case that is over, with the alert that it has, because somebody asks for it; by its id or
    /// a beginning of it that fits no other.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSuchCase`], [`StoreError::NotOver`], or when the store cannot be written.
    async fn retry(&self, id: &str) -> Result<CaseId, StoreError>;

    /// Calls off the triage of a case that waits or runs; a worker that runs it can write nothing any more. News of the
    /// case that waited for the end of that triage are triaged next.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSuchCase`], [`StoreError::AlreadyOver`], or when the store cannot be written.
    async fn cancel(&self, id: &str, who: &str, at: DateTime<Utc>)
    -> Result<CalledOff, StoreError>;

    /// Cases in a list, the newest first.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    async fn list(&self, filter: &CaseFilter) -> Result<Vec<CaseRow>, StoreError>;

    /// Everything about one case, by its id or a beginning of it that fits no other.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSuchCase`], or when the store cannot be read.
    async fn view(&self, id: &str) -> Result<CaseView, StoreError>;

    /// The events of a case as they were written, in order: of all its revisions, or of this one.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSuchCase`], or when the store cannot be read.
    async fn journal(
        &self,
        id: &CaseId,
        revision: Option<u32>,
    ) -> Result<Vec<JournalLine>, StoreError>;

    /// How many cases wait or run, high and critical ones first.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    async fn waiting(&self) -> Result<BTreeMap<Severity, u64>, StoreError>;

    /// How much there is to do. Cheap enough to be asked every few seconds.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    async fn backlog(&self) -> Result<Backlog, StoreError>;
}

/// A bell that rings when there may be work: a case to claim, or a report to deliver.
#[async_trait]
pub trait Wake: Send + Sync {
    /// Waits for a ring after the one that was heard last (0: none), but for no longer than about a second: some
    /// work begins without a ring. Gives the number to wait with the next time.
    async fn wait_for_work(&self, heard: u64) -> u64;
}

/// What the cases of a day cost.
#[async_trait]
pub trait Spending: Send + Sync {
    /// The sum of all charges of this UTC day, those of running cases included.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    async fn spent_on(&self, day: NaiveDate) -> Result<DaySpent, StoreError>;
}

/// Messages that could not be read.
#[async_trait]
pub trait DeadLetters: Send + Sync {
    /// The latest ones.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    async fn letters(&self, limit: usize) -> Result<Vec<DeadLetter>, StoreError>;

    /// One of them, with its bytes (their head, where the message was too large to keep).
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    async fn letter(&self, id: i64) -> Result<Option<(DeadLetter, Vec<u8>)>, StoreError>;

    /// Numbers of those that were not read again yet, the oldest first: those after this one, page by page.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    async fn unread(&self, after: Option<i64>, most: usize) -> Result<Vec<i64>, StoreError>;

    /// Notes that one was read again, after what came of it is committed; it stays listed. False: it was noted before, or
    /// there is none.
    ///
    /// # Errors
    ///
    /// When the store cannot be written; it will be read again, which is a sighting then.
    async fn settle_letter(&self, id: i64, at: DateTime<Utc>) -> Result<bool, StoreError>;
}

/// What people decide over cases.
#[async_trait]
pub trait Feedback: Send + Sync {
    /// Notes what a person says of the latest conclusion of a case, by its id or a beginning of it that fits no other.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSuchCase`], [`StoreError::NoVerdict`], or when the store cannot be written.
    async fn add_verdict(
        &self,
        id: &str,
        new: NewPersonVerdict,
    ) -> Result<PersonVerdict, StoreError>;

    /// Notes what else a person did with a case, by its id or a beginning of it that fits no other; where it stands then.
    /// Verdicts are noted by [`Self::add_verdict`].
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSuchCase`], or when the store cannot be written.
    async fn act(&self, id: &str, act: Act) -> Result<(CaseId, Desk), StoreError>;

    /// The trace that the message of this revision came with, for the lines of the log that are about it.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSuchCase`], or when the store cannot be read.
    async fn came_with(
        &self,
        id: &CaseId,
        revision: u32,
    ) -> Result<Option<TraceContext>, StoreError>;

    /// What people decided, the oldest first: up to this many after this number.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    async fn verdicts_after(&self, after: i64, most: usize) -> Result<Vec<Decided>, StoreError>;
}

/// Mutes: those of the configuration and those that people added.
#[async_trait]
pub trait Mutes: Send + Sync {
    /// All of them with what they hid, also those that ended or were removed.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    async fn mutes(&self) -> Result<Vec<MuteRow>, StoreError>;

    /// Adds one, and gives it a name.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    async fn add_mute(&self, mute: NewMute, at: DateTime<Utc>) -> Result<Mute, StoreError>;

    /// Ends one that was added; what it hid stays counted.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSuchMute`], or when the store cannot be written.
    async fn remove_mute(&self, name: &str, at: DateTime<Utc>) -> Result<(), StoreError>;

    /// What it would have hidden of all that came since.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    async fn preview_mute(
        &self,
        mute: &NewMute,
        since: DateTime<Utc>,
    ) -> Result<MutePreview, StoreError>;
}

/// What a day brought.
#[async_trait]
pub trait Digests: Send + Sync {
    /// Everything of a digest that the store knows: all but its day, its time zone and the mutes.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    async fn brought(
        &self,
        since: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Digest, StoreError>;
}

/// Where accepted alerts ended: each in exactly one place.
#[async_trait]
pub trait Places: Send + Sync {
    /// How many of the alerts that came since are where, and why. The ledger of all of them is too long to be counted while
    /// somebody waits.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    async fn places(&self, since: DateTime<Utc>) -> Result<Vec<PlaceCount>, StoreError>;
}
