//! Remembers whether writes fail because the disk of the database is full.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The time for which a failure counts. Pending writes are retried within this time and show whether there is room
/// again.
const WINDOW: Duration = Duration::from_secs(30);

/// The time of the last write that failed because the disk is full.
#[derive(Debug, Clone, Default)]
pub(crate) struct FullDisk(Arc<Mutex<Option<Instant>>>);

impl FullDisk {
    /// Records that a write failed now because the disk is full.
    pub(crate) fn note(&self) {
        *self.0.lock() = Some(Instant::now());
    }

    /// Returns whether a write failed for this reason within the last half minute.
    pub(crate) fn is_recent(&self) -> bool {
        self.is_recent_at(Instant::now())
    }

    fn is_recent_at(&self, now: Instant) -> bool {
        let last = *self.0.lock();
        last.is_some_and(|last| now.saturating_duration_since(last) < WINDOW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disk_counts_for_half_a_minute() {
        let disk = FullDisk::default();
        assert!(!disk.is_recent());
        disk.note();
        assert!(disk.is_recent());
        assert!(!disk.is_recent_at(Instant::now() + WINDOW));
    }
}
