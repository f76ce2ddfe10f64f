//! Defines the stored facts about canaries.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::case::CaseId;
use crate::port::StoreError;

/// Store of canaries.
#[async_trait]
pub trait Canaries: Send + Sync {
    /// Returns when the newest canary that came through was closed, after its destination had shown it, or `None`.
    ///
    /// Times in the future by the store's clock do not count. Otherwise a clock that was ahead for a while would hide
    /// until then that canaries no longer arrive.
    async fn last_canary(&self) -> Result<Option<DateTime<Utc>>, StoreError>;

    /// Returns up to this many canaries that a destination shows and nobody has closed, newest first, each with the
    /// time when it was shown by the store's clock.
    async fn open_canaries(&self, most: usize) -> Result<Vec<(CaseId, DateTime<Utc>)>, StoreError>;
}
