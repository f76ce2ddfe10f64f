//! Reads dead letters, which are messages that could not be parsed, with their bytes.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_pipeline::case::{CaseId, DeadLetter};
use nightshift_pipeline::port::{DeadLetters, StoreError};
use tokio_postgres::Row;

use super::PostgresStore;
use super::failure::PostgresFailure;
use super::row::{count, limit};
use crate::blobs;

const LIST: &str = "SELECT id, source, received_at, error, size_bytes, sha256, case_id, retried_at FROM dead_letters \
     ORDER BY id DESC LIMIT $1";
const LETTER: &str = "SELECT d.id, d.source, d.received_at, d.error, d.size_bytes, d.sha256, d.case_id, d.retried_at, r.bytes, r.blob \
     FROM dead_letters d LEFT JOIN raw_messages r ON r.id = d.raw_id WHERE d.id = $1";
const UNREAD: &str =
    "SELECT id FROM dead_letters WHERE retried_at IS NULL AND id > $1 ORDER BY id LIMIT $2";
const SETTLE: &str = "UPDATE dead_letters SET retried_at = $2 WHERE id = $1 AND retried_at IS NULL";

#[async_trait]
impl DeadLetters for PostgresStore {
    async fn dead_letters(&self, most: usize) -> Result<Vec<DeadLetter>, StoreError> {
        self.retry_read("list dead letters", |session| async move {
            let rows = session.rows(LIST, [&limit(most)]).await?;
            rows.iter().map(to_letter).collect()
        })
        .await
    }

    async fn dead_letter(&self, id: i64) -> Result<Option<(DeadLetter, Vec<u8>)>, StoreError> {
        let found = self.retry_read("read a dead letter", |session| async move {
            let row = session.row(LETTER, [&id]).await?;
            row.map(|row| {
                let bytes: Option<Vec<u8>> = row.try_get(8)?;
                Ok((to_letter(&row)?, bytes.unwrap_or_default(), row.try_get(9)?))
            })
            .transpose()
        });
        let Some((letter, bytes, blob)) = found.await? else {
            return Ok(None);
        };
        let bytes = blobs::message_bytes(self.blobs.as_ref(), bytes, blob).await?;
        Ok(Some((letter, bytes)))
    }

    async fn unretried_dead_letters(
        &self,
        after: Option<i64>,
        most: usize,
    ) -> Result<Vec<i64>, StoreError> {
        let after = after.unwrap_or(0);
        self.retry_read("list dead letters", |session| async move {
            let rows = session.rows(UNREAD, [&after, &limit(most)]).await?;
            rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
        })
        .await
    }

    async fn mark_dead_letter_retried(
        &self,
        id: i64,
        at: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        let settled = self.retry_change("settle a dead letter", SETTLE, [&id, &at]);
        Ok(settled.await? > 0)
    }
}

fn to_letter(row: &Row) -> Result<DeadLetter, PostgresFailure> {
    let case_id: Option<String> = row.try_get(6)?;
    Ok(DeadLetter {
        id: row.try_get(0)?,
        source: row.try_get(1)?,
        at: row.try_get(2)?,
        error: row.try_get(3)?,
        size_bytes: count(row, 4)?,
        sha256: row.try_get(5)?,
        case_id: case_id.map(CaseId),
        retried_at: row.try_get(7)?,
    })
}
