//! Counts the open connections of this process, so that the end of the program can wait until all are closed.
//!
//! The last connection to close moves the contents of the WAL file (`-wal`) into the database file. If a program ends
//! before that, the database is complete only together with its WAL file, and a copy of the database file alone is
//! broken.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use super::thread::SqliteConnection;

/// The count of this process.
pub(super) static OPEN: OpenConnections = OpenConnections::new();

/// The number of open connections.
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

    /// Counts this connection until it is closed.
    pub(super) fn with(&'static self, connection: Connection) -> CountedConnection {
        *self.count() += 1;
        CountedConnection {
            connection: SqliteConnection::new(connection),
            _one: ConnectionGuard(self),
        }
    }

    /// Waits up to `most` until no connection is open. Returns whether none is. Blocks.
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

/// A counted connection. Fields are dropped in order, so it is closed before the count decreases.
pub(super) struct CountedConnection {
    pub(super) connection: SqliteConnection,
    _one: ConnectionGuard,
}

struct ConnectionGuard(&'static OpenConnections);

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        *self.0.count() -= 1;
        self.0.fewer.notify_all();
    }
}
