//! Records the blobs of a batch, and that a row refers to one.

use nightshift_pipeline::port::StoreError;
use rusqlite::Connection;

use super::SqliteStore;
use super::thread::SqliteFailure;

const ANNOUNCE: &str = "INSERT OR IGNORE INTO orphaned_blobs (key, since) VALUES (?1, unixepoch())";
/// A sweep deletes blobs after an hour. A request that was delayed for more than half an hour can no longer refer to
/// its blob.
const OWN: &str = "DELETE FROM orphaned_blobs WHERE key = ?1 AND since > unixepoch() - 1800";

/// Deletes the record of this blob, because a row of this transaction refers to it.
pub(super) fn own(connection: &Connection, key: &str) -> Result<(), SqliteFailure> {
    match connection.prepare_cached(OWN)?.execute([key])? {
        1 => Ok(()),
        _ => Err(SqliteFailure::BlobGone),
    }
}

impl SqliteStore {
    pub(super) async fn announce(&self, keys: Vec<String>) -> Result<(), StoreError> {
        self.thread
            .run("note blobs", move |connection| {
                let mut statement = connection.prepare_cached(ANNOUNCE)?;
                for key in &keys {
                    statement.execute([key])?;
                }
                Ok(())
            })
            .await
    }
}
