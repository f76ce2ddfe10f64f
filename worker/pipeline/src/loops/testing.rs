//! Provides shared helpers for tests of the loops.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::admission::RevisionReason;
use crate::port::{DueRecheck, Rechecks, StoreError};

/// A store without due cases that records its calls.
#[derive(Default)]
pub(crate) struct RecordedRechecks {
    /// Number of queries for due cases.
    pub(crate) takes: AtomicUsize,
    /// Noted fingerprints of registers.
    pub(crate) noted: Mutex<Vec<String>>,
}

#[async_trait]
impl Rechecks for RecordedRechecks {
    async fn take_due_rechecks(
        &self,
        _: DateTime<Utc>,
        _: DateTime<Utc>,
        _: usize,
    ) -> Result<Vec<DueRecheck>, StoreError> {
        self.takes.fetch_add(1, Ordering::Relaxed);
        Ok(Vec::new())
    }

    async fn note_recheck(
        &self,
        _: &DueRecheck,
        _: DateTime<Utc>,
        _: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    async fn queue_recheck(
        &self,
        _: &DueRecheck,
        _: RevisionReason,
        _: Option<DateTime<Utc>>,
    ) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn note_registers(&self, fingerprint: &str, _: DateTime<Utc>) -> Result<u64, StoreError> {
        self.noted.lock().unwrap().push(fingerprint.to_owned());
        Ok(0)
    }
}
