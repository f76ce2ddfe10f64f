//! What is owed to destinations, whether anybody serves them or not: a name that the configuration has no more is nobody's,
//! and its reports wait for ever.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::{CaseId, StoreError};

/// Reports that a destination should show and does not, as [`crate::Backlog`] counts them: none that was given up, and
/// nothing that only counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Owed {
    /// The destination's name.
    pub destination: String,
    /// How many.
    pub reports: u64,
    /// Since when the oldest of them is wished.
    pub since: DateTime<Utc>,
}

/// What is owed to destinations, and its end. Only the process that serves a destination gives up or forgets there.
#[async_trait]
pub trait Owing: Send + Sync {
    /// Destinations to which reports are owed, by name.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    async fn owed(&self) -> Result<Vec<Owed>, StoreError>;

    /// Cases whose reports are owed to this destination, the longest wished first.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    async fn owed_to(&self, destination: &str, most: usize) -> Result<Vec<CaseId>, StoreError>;

    /// Gives up what is owed of these cases to this destination; how many reports. A try that is in doubt stays so: it is
    /// looked up if a route ever names the destination again for that case.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    async fn give_up(
        &self,
        destination: &str,
        cases: &[CaseId],
        why: &str,
    ) -> Result<u64, StoreError>;

    /// Forgets what this destination shows, so that nobody who read there is told how a case went on. What it calls a
    /// case stays known.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    async fn forget_shown(&self, destination: &str) -> Result<(), StoreError>;
}
