//! Which connections of this process are open, so that its end can wait until they are closed.
//!
//! The last one to be closed moves into the database file what still stands in the log beside it (`-wal`). A program that
//! ends before leaves a file that is whole only together with that log, and broken where it is copied alone.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

/// Those of this process.
pub(super) static OPEN: OpenConnections = OpenConnections::new();

/// How many connections are open.
#[derive(Debug)]
pub(super) struct OpenConnections {
    count: Mutex<usize>,
    fewer: Condvar,
}

impl OpenConnections {
    pub(super) const fn new() -> Self {
        Self {
            count: Mutex::new(0),
            fewer: Condvar::new(),
        }
    }

    /// Counts this one until it is closed.
    pub(super) fn with(&'static self, connection: Connection) -> CountedConnection {
        *self.count() += 1;
        CountedConnection {
            connection,
            _one: ConnectionGuard(self),
        }
    }

    /// Waits until none is open, no longer than this; whether none is. Blocks.
    pub(super) fn none_within(&self, most: Duration) -> bool {
        let is_open = |count: &mut usize| *count > 0;
        let waited = self.fewer.wait_timeout_while(self.count(), most, is_open);
        let (count, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *count == 0
    }

    fn count(&self) -> MutexGuard<'_, usize> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that is counted. It is closed first, and counted no more then: fields are dropped in their order.
pub(super) struct CountedConnection {
    pub(super) connection: Connection,
    _one: ConnectionGuard,
}

struct ConnectionGuard(&'static OpenConnections);

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        *self.0.count() -= 1;
        self.0.fewer.notify_all();
    }
}
