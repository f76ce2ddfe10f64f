//! Finds blobs that no row refers to. A trigger deletes the record when a message refers to a blob, because statements
//! that are sent together cannot wait for an answer in between.

use nightshift_pipeline::port::StoreError;

use super::PostgresStore;
use super::row::limit;

const ANNOUNCE: &str =
    "INSERT INTO orphaned_blobs (key) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING";
/// Skips blobs that an open transaction is about to refer to.
const LOOSE: &str = "SELECT key FROM orphaned_blobs WHERE since < clock_timestamp() - interval '1 hour' \
     ORDER BY since LIMIT $1 FOR UPDATE SKIP LOCKED";
const FORGET: &str = "DELETE FROM orphaned_blobs WHERE key = ANY($1)";

impl PostgresStore {
    pub(super) async fn announce(&self, keys: Vec<String>) -> Result<(), StoreError> {
        let noted = self.retry_change("note blobs", ANNOUNCE, [&keys]);
        noted.await.map(|_| ())
    }

    pub(super) async fn loose(&self, most: usize) -> Result<Vec<String>, StoreError> {
        self.retry_read("look for blobs", |session| async move {
            let rows = session.rows(LOOSE, [&limit(most)]).await?;
            rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
        })
        .await
    }

    pub(super) async fn forget(&self, keys: Vec<String>) -> Result<(), StoreError> {
        let forgotten = self.retry_change("note that blobs are gone", FORGET, [&keys]);
        forgotten.await.map(|_| ())
    }
}
