//! The outbox and where it goes: which destination should show which report, and how far that is.
//!
//! How a report is sent, looked up and paced is for the delivery loop and the destinations; here is only what they need
//! from a store, and what the loop needs from a destination.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::{CaseId, Report, StoreError};

/// A report that a destination does not show yet.
#[derive(Debug, Clone)]
pub struct Due {
    /// The case.
    pub case_id: CaseId,
    /// The version that should be shown.
    pub version: u64,
    /// What the destination called it when it was shown last.
    pub remote_id: Option<String>,
    /// Tries so far.
    pub attempts: u32,
    /// The report.
    pub report: Report,
}

/// The deliveries that are not yet fulfilled.
#[async_trait]
pub trait Outbox: Send + Sync {
    /// What this destination should show and does not: the most severe first, then the longest wished.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    async fn due(&self, destination: &str, most: usize) -> Result<Vec<Due>, StoreError>;

    /// Notes that a version is shown.
    ///
    /// # Errors
    ///
    /// When the store cannot be written; the version will be sent again.
    async fn sent(&self, destination: &str, due: &Due, sent: &Sent) -> Result<(), StoreError>;

    /// Notes that a try failed, and when to try again.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    async fn failed(
        &self,
        destination: &str,
        due: &Due,
        error: &DeliveryError,
        retry_at: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError>;
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
    /// It never will.
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

    /// Shows a report: posts it, or edits what `remote_id` names. The same report twice shows once.
    ///
    /// # Errors
    ///
    /// When it is not shown.
    async fn deliver(
        &self,
        report: &Report,
        remote_id: Option<&str>,
    ) -> Result<Sent, DeliveryError>;
}
