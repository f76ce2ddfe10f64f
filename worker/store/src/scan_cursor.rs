//! Stores the position of a scan over many rows. The next batch continues there instead of at the oldest row.

use std::sync::Arc;

use parking_lot::Mutex;

/// The last row that was examined, or `None` at the start of a scan. All handles of a store share the cursor.
#[derive(Debug)]
pub(crate) struct ScanCursor<T>(Arc<Mutex<Option<T>>>);

impl<T: Clone> ScanCursor<T> {
    pub(crate) fn get(&self) -> Option<T> {
        let row = self.0.lock();
        row.clone()
    }

    pub(crate) fn set(&self, row: Option<T>) {
        *self.0.lock() = row;
    }
}

impl<T> Clone for ScanCursor<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for ScanCursor<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}
