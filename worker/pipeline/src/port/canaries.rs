//! What a store knows of canaries.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::StoreError;

/// What a store knows of canaries.
#[async_trait]
pub trait Canaries: Send + Sync {
    /// When the newest canary that came through was seen to: its destination had shown it by then. None where none has.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    async fn last_canary(&self) -> Result<Option<DateTime<Utc>>, StoreError>;
}
