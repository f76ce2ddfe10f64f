//! Defines the outbox and the destinations: which destination should show which report, and the progress of that.
//!
//! The delivery loop and the destinations decide how a report is sent, looked up and paced. This module has only what
//! they need from a store, and what the loop needs from a destination.

use std::time::Duration;

use async_trait::async_trait;
use chrono::NaiveDate;
use nightshift_engine::doctor::HealthReport;

use crate::case::CaseId;
use crate::delivery_payload::DeliveryPayload;
use crate::digest::Digest;
use crate::port::StoreError;
use crate::report::FailoverSources;

#[derive(Debug, Clone)]
pub struct PendingDelivery {
    pub case_id: CaseId,
    /// Number of attempts so far.
    pub attempts: u32,
    /// True if an attempt began and its result was not noted. The report may be shown, so the destination is asked
    /// before it is sent again.
    pub in_doubt: bool,
    /// Time since that attempt began or its answer was lost, by the store's clock; zero if nothing is in doubt. A
    /// destination whose look-up lags cannot deny the report reliably before its lag has passed.
    pub attempt_age: Duration,
    /// Content to show.
    pub payload: DeliveryPayload,
}

/// Reason why the result of a send is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AmbiguousSend {
    /// The answer to a send was lost just now. The send may take effect from now on, also if the calls before it took
    /// long.
    AnswerLost,
    /// A look-up gave no result.
    LookupInconclusive,
}

impl PendingDelivery {
    /// Returns the remote id after an attempt that failed with this error, including one that only the look-up found.
    #[must_use]
    pub fn remote_id_after<'a>(&'a self, error: &'a DeliveryError) -> Option<&'a str> {
        match error {
            DeliveryError::Partial { remote_id, .. } => Some(remote_id),
            _ => self.payload.remote_id.as_deref(),
        }
    }
}

/// Store of deliveries that are not fulfilled.
#[async_trait]
pub trait Outbox: Send + Sync {
    /// Takes or renews the lease for a destination, valid by the store's clock. Returns `false` if another process
    /// holds it. `holder` names this process and never a later one. On SQLite the lease of a dead process of this host
    /// is free at once.
    ///
    /// # Errors
    ///
    /// Returns an error when the store cannot be written. Nothing may be sent then.
    async fn acquire_lease(
        &self,
        destination: &str,
        holder: &str,
        lease: Duration,
    ) -> Result<bool, StoreError>;

    /// Releases the lease for a destination, so that another process can take it at once.
    async fn release_lease(&self, destination: &str, holder: &str) -> Result<(), StoreError>;

    /// Returns pending deliveries of a destination: new reports before changed counts, then the most severe, then the
    /// longest requested. A delivery that this version cannot read is deferred for a minute and does not block others.
    async fn due_deliveries(
        &self,
        destination: &str,
        most: usize,
    ) -> Result<Vec<PendingDelivery>, StoreError>;

    /// Notes that an attempt begins, before anything is sent. If the process then dies, the next one knows that the
    /// report may be shown. Returns `false` if the delivery has changed since it was read (another process tried it, or
    /// a newer version is requested). It must not be sent then, and due deliveries are read again.
    ///
    /// # Errors
    ///
    /// Returns an error when the store cannot be written. Nothing may be sent then.
    async fn begin_attempt(
        &self,
        destination: &str,
        due: &PendingDelivery,
    ) -> Result<bool, StoreError>;

    /// Notes that a version is shown. `None` means that the destination does not want it and still shows the previous
    /// one.
    ///
    /// # Errors
    ///
    /// Returns an error when the store cannot be written. The version is sent again later.
    async fn record_sent(
        &self,
        destination: &str,
        due: &PendingDelivery,
        sent: Option<&DeliveryReceipt>,
    ) -> Result<(), StoreError>;

    /// Notes a definite failure and how long to wait before the next attempt, by the store's clock. `None` means no
    /// further attempt before a new version. Nothing is noted for a version that was replaced meanwhile, or if
    /// another process has begun an attempt since.
    async fn record_failed(
        &self,
        destination: &str,
        due: &PendingDelivery,
        error: &DeliveryError,
        retry_in: Option<Duration>,
    ) -> Result<(), StoreError>;

    /// Notes that the result of an attempt is unknown and how long to wait before asking. The delivery stays in
    /// doubt, from now on or since the earlier time.
    async fn record_ambiguous(
        &self,
        destination: &str,
        due: &PendingDelivery,
        error: &DeliveryError,
        doubt: AmbiguousSend,
        retry_in: Duration,
    ) -> Result<(), StoreError>;

    /// Requests that one more destination show the case as it stands, with the note that others will never show it.
    /// If the case is requested or its latest report shown there already, only the note is requested, once. If it was
    /// given up there, nothing is requested.
    async fn add_fallback(
        &self,
        case_id: &CaseId,
        destination: &str,
        instead_of: &FailoverSources,
    ) -> Result<(), StoreError>;

    /// Requests that these destinations show a case without a report, so that people know of the running triage. Does
    /// nothing where the case is shown already.
    async fn enqueue_announcement(
        &self,
        case_id: &CaseId,
        destinations: &[String],
    ) -> Result<(), StoreError>;

    /// Begins or retries the digest of a day at a destination. Returns `None` if the digest is posted, and `true` if an
    /// earlier attempt has an unknown result. Only the process that serves the destination calls this.
    ///
    /// # Errors
    ///
    /// Returns an error when the store cannot be written. Nothing may be sent then.
    async fn begin_digest(
        &self,
        destination: &str,
        day: NaiveDate,
    ) -> Result<Option<bool>, StoreError>;

    /// Notes that a digest is posted, or never will be.
    ///
    /// # Errors
    ///
    /// Returns an error when the store cannot be written. The digest is looked up before it is posted again.
    async fn record_digest_posted(
        &self,
        destination: &str,
        day: NaiveDate,
    ) -> Result<(), StoreError>;
}

/// Result of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeliveryReceipt {
    /// Remote id, to edit the report later.
    pub remote_id: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    /// The destination may take the report later.
    #[error("{what}")]
    Transient {
        /// Error text of the destination.
        what: String,
        /// Minimum seconds before the next attempt.
        after_secs: Option<u64>,
    },
    /// A look-up found nothing, but its index lags behind and cannot be trusted yet. Nothing was refused.
    #[error("{what}")]
    NotVisibleYet {
        /// The event that the look-up waits for.
        what: String,
        /// Seconds until the next look-up.
        after_secs: u64,
    },
    /// The destination shows a part, for example a post without its replies. The rest is delivered later as an edit.
    #[error("{what}")]
    Partial {
        /// Error text of the destination.
        what: String,
        /// Remote id of the part that is shown.
        remote_id: String,
        /// Minimum seconds before the next attempt.
        after_secs: Option<u64>,
    },
    /// The answer was lost, so the result is unknown. It is looked up before the report is sent again.
    #[error("{what}")]
    Ambiguous {
        /// Description of the failure.
        what: String,
    },
    /// The destination will never take the report unless a person fixes the cause. Another destination should take it.
    #[error("{what}")]
    Permanent {
        /// Error text of the destination.
        what: String,
    },
}

/// A place that reports are delivered to.
#[async_trait]
pub trait Destination: Send + Sync {
    /// Returns the name in configuration and metrics.
    fn name(&self) -> &str;

    /// Returns whether the destination wants this payload. A payload that it does not want counts as shown. By default
    /// a destination gets each report once and the end of a canary, but no notice of a running triage and no update of
    /// counts.
    fn wants(&self, showing: &DeliveryPayload) -> bool {
        !showing.is_early() && !showing.is_minor || showing.is_spent_canary()
    }

    /// Returns the shortest time between two sends, which keeps the rate limit. One process serves a destination at a
    /// time.
    fn send_interval(&self) -> Duration {
        Duration::ZERO
    }

    /// Looks up the remote id of a case after a first attempt with an unknown result, by the key that the post carries,
    /// once the lag of the index has passed. The content is then delivered as an edit. Returns `None` if the
    /// destination does not show the case, or if sending twice shows it once anyway.
    ///
    /// # Errors
    ///
    /// Returns an error when the result is not known yet; nothing is sent then. [`DeliveryError::NotVisibleYet`] means
    /// that waiting is enough.
    async fn find(
        &self,
        showing: &DeliveryPayload,
        begun_ago: Duration,
    ) -> Result<Option<String>, DeliveryError> {
        let _ = (showing, begun_ago);
        Ok(None)
    }

    /// Posts the report, or edits the one that `remote_id` names. With a `remote_id` a second call must not show
    /// anything twice: replies and comments are looked up before they are added.
    ///
    /// # Errors
    ///
    /// Returns an error when the report is not shown, or not all of it.
    async fn deliver(&self, showing: &DeliveryPayload) -> Result<DeliveryReceipt, DeliveryError>;

    /// Probes the destination without showing anything: whether it answers, accepts the configured credential, and
    /// permits what a report needs.
    async fn probe(&self) -> HealthReport {
        HealthReport::default()
    }

    /// Returns what would be sent, or `None` if the destination takes reports unchanged.
    fn preview(&self, showing: &DeliveryPayload) -> Option<serde_json::Value> {
        let _ = showing;
        None
    }

    /// Returns the link for a remote id, or `None` if it cannot be known.
    fn link(&self, remote_id: &str) -> Option<String> {
        let _ = remote_id;
        None
    }

    /// Posts the digest of a day unless the destination shows it already. A digest in doubt is looked up by its day
    /// first.
    ///
    /// # Errors
    ///
    /// Returns an error when the digest is not shown. Returns [`DeliveryError::Permanent`] if this destination shows no
    /// digests.
    async fn post_digest(&self, digest: &Digest, in_doubt: bool) -> Result<(), DeliveryError> {
        let _ = (digest, in_doubt);
        Err(DeliveryError::Permanent {
            what: format!("the destination {:?} shows no digests", self.name()),
        })
    }
}
