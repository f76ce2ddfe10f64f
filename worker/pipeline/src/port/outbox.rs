//! The outbox and where it goes: which destination should show which report, and how far that is.
//!
//! How a report is sent, looked up and paced is for the delivery loop and the destinations; here is only what they need
//! from a store, and what the loop needs from a destination.

use std::time::Duration;

use async_trait::async_trait;
use chrono::NaiveDate;
use nightshift_engine::Checkup;

use crate::{CaseId, Digest, InsteadOf, Showing, StoreError};

/// Something that a destination does not show yet.
#[derive(Debug, Clone)]
pub struct Due {
    /// The case.
    pub case_id: CaseId,
    /// Tries so far.
    pub attempts: u32,
    /// A try began, and nobody noted how it ended: it may be shown, so the destination is asked before it is sent again.
    pub in_doubt: bool,
    /// How long ago that try began, or the answer to it was lost, by the store's clock; zero where nothing is in doubt. A
    /// destination whose look-up lags cannot be believed to not have it before that is over.
    pub begun_ago: Duration,
    /// What is to be shown.
    pub showing: Showing,
}

/// Why nobody knows whether something is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The answer to what was sent just now was lost: it may be at work from now on, however long the calls before it took.
    AnswerLost,
    /// It was looked up, and that did not tell.
    NotTold,
}

impl Due {
    /// What the destination calls the case after a try that failed so: also where that was found only now, when it was
    /// looked up.
    #[must_use]
    pub fn remote_id_after<'a>(&'a self, error: &'a DeliveryError) -> Option<&'a str> {
        match error {
            DeliveryError::Partly { remote_id, .. } => Some(remote_id),
            _ => self.showing.remote_id.as_deref(),
        }
    }
}

/// The deliveries that are not yet fulfilled.
#[async_trait]
pub trait Outbox: Send + Sync {
    /// Becomes, or stays, the one process that serves this destination, for as long as the lease holds by the store's
    /// clock; false: another one does. `holder` names the process, and no later one. On SQLite the lease of a process of
    /// this host that is dead is free at once.
    ///
    /// # Errors
    ///
    /// When the store cannot be written; nothing may be sent then.
    async fn serve(
        &self,
        destination: &str,
        holder: &str,
        lease: Duration,
    ) -> Result<bool, StoreError>;

    /// Serves this destination no more; another one may at once.
    ///
    /// # Errors
    ///
    /// When the store cannot be written; the lease then ends by itself.
    async fn leave(&self, destination: &str, holder: &str) -> Result<(), StoreError>;

    /// What this destination should show and does not: what says something new before what only counts, then the most
    /// severe first, then the longest wished. What cannot be read by this version is put off for a minute, and holds
    /// up nothing else.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    async fn due(&self, destination: &str, most: usize) -> Result<Vec<Due>, StoreError>;

    /// Notes that a try begins, before anything is sent: what then becomes of the process, the next one knows that it
    /// may be shown. False: it is not as it was when it was read (another process tried it, or something newer is
    /// wished), so it must not be sent; what is due is read again.
    ///
    /// # Errors
    ///
    /// When the store cannot be written; nothing may be sent then.
    async fn begin(&self, destination: &str, due: &Due) -> Result<bool, StoreError>;

    /// Notes that a version is shown; none: the destination does not want it, and shows what it did.
    ///
    /// # Errors
    ///
    /// When the store cannot be written; the version will be sent again.
    async fn sent(
        &self,
        destination: &str,
        due: &Due,
        sent: Option<&Sent>,
    ) -> Result<(), StoreError>;

    /// Notes that a try failed for certain, and how long to wait before the next, by the store's clock; none: there is
    /// none until a new version is wished. It is not
    /// noted for a version that was replaced meanwhile, nor where another process has begun a try since.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    async fn failed(
        &self,
        destination: &str,
        due: &Due,
        error: &DeliveryError,
        retry_in: Option<Duration>,
    ) -> Result<(), StoreError>;

    /// Notes that nobody knows how a try ended, and how long to wait before asking: it stays in doubt, since now or as
    /// long as before.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    async fn unclear(
        &self,
        destination: &str,
        due: &Due,
        error: &DeliveryError,
        doubt: Doubt,
        retry_in: Duration,
    ) -> Result<(), StoreError>;

    /// Wishes that a case be shown at one more destination as it stands, because others never will show it, and that this
    /// is said there. Where it is wished there already, or its latest report is shown there, that alone is wished, once;
    /// where that was given up, nothing.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    async fn also(
        &self,
        case_id: &CaseId,
        destination: &str,
        instead_of: &InsteadOf,
    ) -> Result<(), StoreError>;

    /// Wishes that a case which has no report yet be shown at these destinations, so that people know that it is looked
    /// into. Where it is shown already, nothing changes.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    async fn announce(&self, case_id: &CaseId, destinations: &[String]) -> Result<(), StoreError>;

    /// Begins, or tries again, the digest of a day at a destination; none where it is posted. `true`: an earlier try
    /// began, and nobody knows how it ended. Only the process that serves the destination asks.
    ///
    /// # Errors
    ///
    /// When the store cannot be written; nothing may be sent then.
    async fn begin_digest(
        &self,
        destination: &str,
        day: NaiveDate,
    ) -> Result<Option<bool>, StoreError>;

    /// Notes that a digest is posted, or never will be.
    ///
    /// # Errors
    ///
    /// When the store cannot be written; it is looked up before it is posted again.
    async fn digest_posted(&self, destination: &str, day: NaiveDate) -> Result<(), StoreError>;
}

/// A destination shows a report.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sent {
    /// What the destination calls it, to edit it later.
    pub remote_id: Option<String>,
}

/// A destination did not take a report.
#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    /// It may take it later.
    #[error("{what}")]
    Later {
        /// What it said.
        what: String,
        /// Not before this many seconds.
        after_secs: Option<u64>,
    },
    /// A look-up finds nothing, and cannot be believed yet: what it asks lags behind. Nobody has refused anything.
    #[error("{what}")]
    Settling {
        /// What is waited for.
        what: String,
        /// Look again after this many seconds.
        after_secs: u64,
    },
    /// It shows some of it, for example a post without what belongs below it: the rest is delivered later, as an edit.
    #[error("{what}")]
    Partly {
        /// What it said.
        what: String,
        /// What it calls what it shows.
        remote_id: String,
        /// Not before this many seconds.
        after_secs: Option<u64>,
    },
    /// Nobody knows whether it did: the answer was lost. It is looked up before it is sent again.
    #[error("{what}")]
    Unclear {
        /// What was seen.
        what: String,
    },
    /// It never will, unless somebody mends it: another destination is to take it.
    #[error("{what}")]
    Never {
        /// What it said.
        what: String,
    },
}

/// Where reports go.
#[async_trait]
pub trait Destination: Send + Sync {
    /// Its name in configuration and metrics.
    fn name(&self) -> &str;

    /// Whether this is for it. What it does not want counts as shown. As it stands, a destination is told each report
    /// once, and neither that a case is looked into nor that only counts changed; and that a canary is over.
    fn wants(&self, showing: &Showing) -> bool {
        !showing.is_early() && !showing.minor || showing.is_spent_canary()
    }

    /// Shortest time between two sends, so that its rate limit is kept: one process serves it at a time.
    fn pace(&self) -> Duration {
        Duration::ZERO
    }

    /// What it calls a case that it shows already, after a first try whose end nobody heard: looked up by the key that
    /// the post carries, when what it lags behind is waited out. What is to be shown then is delivered as an edit of
    /// that. `None` where it does not show it, or where the same twice shows once by itself.
    ///
    /// # Errors
    ///
    /// When that cannot be told yet; nothing is sent then. [`DeliveryError::Settling`] where it only has to be waited for.
    async fn find(
        &self,
        showing: &Showing,
        begun_ago: Duration,
    ) -> Result<Option<String>, DeliveryError> {
        let _ = (showing, begun_ago);
        Ok(None)
    }

    /// Shows it: posts it, or edits what `remote_id` names. Where there is a `remote_id`, doing it twice shows it once: what
    /// belongs below a post (replies, comments) is looked up before it is added.
    ///
    /// # Errors
    ///
    /// When it is not shown, or not all of it.
    async fn deliver(&self, showing: &Showing) -> Result<Sent, DeliveryError>;

    /// Looks at it without showing anything: whether it answers, takes our credential, and lets us do what a report needs.
    async fn examine(&self) -> Checkup {
        Checkup::default()
    }

    /// What would be sent, as the destination would get it; none where it takes reports as they stand.
    fn preview(&self, showing: &Showing) -> Option<serde_json::Value> {
        let _ = showing;
        None
    }

    /// Where people see what it calls so; none where nobody can know.
    fn link(&self, remote_id: &str) -> Option<String> {
        let _ = remote_id;
        None
    }

    /// Posts the digest of a day, unless it shows that already: it is looked up by its day first where it is in doubt.
    ///
    /// # Errors
    ///
    /// When it is not shown; [`DeliveryError::Never`] where this destination shows no digests.
    async fn post_digest(&self, digest: &Digest, in_doubt: bool) -> Result<(), DeliveryError> {
        let _ = (digest, in_doubt);
        Err(DeliveryError::Never {
            what: format!("the destination {:?} shows no digests", self.name()),
        })
    }
}
