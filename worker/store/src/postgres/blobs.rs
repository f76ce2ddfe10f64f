//! Records the blobs of a batch. A trigger deletes the record when a message refers to a blob, because statements that are
//! sent together cannot wait for an answer in between.

use nightshift_pipeline::port::StoreError;

use super::PostgresStore;

const ANNOUNCE: &str =
    "INSERT INTO orphaned_blobs (key) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING";

impl PostgresStore {
    pub(super) async fn announce(&self, keys: Vec<String>) -> Result<(), StoreError> {
        let noted = self.retry_change("note blobs", ANNOUNCE, [&keys]);
        noted.await.map(|_| ())
    }
}
