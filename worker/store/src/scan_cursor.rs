//! Where a round over many rows left off: the next batch goes on from there, and does not begin at the oldest again.

use std::sync::Arc;

use parking_lot::Mutex;

/// The row that was looked at last; none at the beginning of a round. One for all handles of a store.
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
