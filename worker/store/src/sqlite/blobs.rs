//! Finds blobs that no row refers to.

use nightshift_pipeline::port::StoreError;
use rusqlite::Connection;

use super::SqliteStore;
use super::thread::SqliteFailure;

const ANNOUNCE: &str = "INSERT OR IGNORE INTO orphaned_blobs (key, since) VALUES (?1, unixepoch())";
/// A sweep deletes blobs after an hour. A request that was delayed for more than half an hour can no longer refer to
/// its blob.
const OWN: &str = "DELETE FROM orphaned_blobs WHERE key = ?1 AND since > unixepoch() - 1800";
const LOOSE: &str =
    "SELECT key FROM orphaned_blobs WHERE since < unixepoch() - 3600 ORDER BY since LIMIT ?1";
const FORGET: &str = "DELETE FROM orphaned_blobs WHERE key = ?1";

/// Deletes the record of this blob, because a row of this transaction refers to it.
pub(super) fn own(connection: &Connection, key: &str) -> Result<(), SqliteFailure> {
    match connection.prepare_cached(OWN)?.execute([key])? {
        1 => Ok(()),
        _ => Err(SqliteFailure::BlobGone),
    }
}

impl SqliteStore {
    pub(super) async fn announce(&self, keys: Vec<String>) -> Result<(), StoreError> {
        self.each("note blobs", ANNOUNCE, keys).await
    }

    pub(super) async fn loose(&self, most: usize) -> Result<Vec<String>, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.thread
            .run("look for blobs", move |connection| {
                let mut statement = connection.prepare_cached(LOOSE)?;
                let keys = statement.query_map([most], |row| row.get(0))?;
                Ok(keys.collect::<Result<_, _>>()?)
            })
            .await
    }

    pub(super) async fn forget(&self, keys: Vec<String>) -> Result<(), StoreError> {
        self.each("note that blobs are gone", FORGET, keys).await
    }

    async fn each(
        &self,
        doing: &'static str,
        sql: &'static str,
        keys: Vec<String>,
    ) -> Result<(), StoreError> {
        self.thread
            .run(doing, move |connection| {
                let mut statement = connection.prepare_cached(sql)?;
                for key in &keys {
                    statement.execute([key])?;
                }
                Ok(())
            })
            .await
    }
}
