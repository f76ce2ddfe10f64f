//! What a store knows of canaries.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::{CaseId, StoreError};

/// What a store knows of canaries.
#[async_trait]
pub trait Canaries: Send + Sync {
    /// When the newest canary that came through was seen to: its destination had shown it by then. None where none has.
    /// What lies in the future by the store's clock does not count: a clock that was ahead for a while would hide until
    /// then that none come any more.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    async fn last_canary(&self) -> Result<Option<DateTime<Utc>>, StoreError>;

    /// Canaries that a destination shows and that nobody has closed, each with when it was shown by the store's clock;
    /// the newest first, and no more than so many.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    async fn open_canaries(&self, most: usize) -> Result<Vec<(CaseId, DateTime<Utc>)>, StoreError>;
}
