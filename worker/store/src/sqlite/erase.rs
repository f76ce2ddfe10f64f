//! Erases removed rows from the files of the database.

use std::sync::Arc;
use std::time::Duration;

use nightshift_pipeline::port::StoreError;
use rusqlite::{Connection, OpenFlags};

use super::thread::SqliteFailure;
use super::{BUSY_TIMEOUT_MS, SqliteStore};

/// The time that a checkpoint waits for readers. All writes wait with it, and pages and posts for no longer than 7 s.
const CHECKPOINT_WAIT: Duration = Duration::from_secs(2);

impl SqliteStore {
    /// Checkpoints and truncates the WAL file, which contains removed rows. This cannot run in a transaction, so it uses
    /// its own connection. If another process reads at that moment, a later round does it.
    ///
    /// With `rewrite`, the database file is rewritten first. `secure_delete` overwrites rows where they are, but SQLite
    /// moves rows between and within pages, and leaves parts of them in the unused space of a page.
    pub(crate) async fn erase_removed(&self, rewrite: bool) -> Result<(), StoreError> {
        let path = Arc::clone(&self.path);
        let emptied = tokio::task::spawn_blocking(move || {
            let connection = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            connection.busy_timeout(Duration::from_millis(BUSY_TIMEOUT_MS))?;
            if rewrite && let Err(error) = connection.execute_batch("VACUUM") {
                tracing::warn!(
                    %error, "cannot rewrite the database; parts of removed rows may remain in its file"
                );
            }
            connection.busy_timeout(CHECKPOINT_WAIT)?;
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        });
        let is_busy: bool = match emptied.await {
            Ok(done) => done.map_err(SqliteFailure::from),
            Err(_) => return Ok(()),
        }
        .map_err(|failure| failure.into_store_error("empty the log of the database"))?;
        if is_busy {
            tracing::warn!(
                "the database is read just now; what was removed stays in its log for a while"
            );
        }
        Ok(())
    }
}
