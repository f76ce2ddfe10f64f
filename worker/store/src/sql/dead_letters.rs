//! Reads dead letters, which are messages that could not be parsed, with their bytes.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_pipeline::case::DeadLetter;
use nightshift_pipeline::port::{DeadLetters, StoreError};

use super::{Row, SqlStore, Statement, Tx, statement, values};
use crate::blobs;
use crate::failure::Failure;

static LIST: Statement = statement!("dead_letters/list.sql");
static LETTER: Statement = statement!("dead_letters/letter.sql");
static UNRETRIED: Statement = statement!("dead_letters/unretried.sql");
static MARK_RETRIED: Statement = statement!("dead_letters/mark_retried.sql");

#[async_trait]
impl DeadLetters for SqlStore {
    async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, StoreError> {
        let list = async move |tx: Tx<'_>| {
            let rows = tx.all(&LIST, values![limit]).await?;
            rows.iter().map(to_letter).collect()
        };
        self.backend.read("list dead letters", list).await
    }

    async fn dead_letter(&self, id: i64) -> Result<Option<(DeadLetter, Vec<u8>)>, StoreError> {
        let read = async move |tx: Tx<'_>| {
            let Some(row) = tx.optional(&LETTER, values![id]).await? else {
                return Ok(None);
            };
            let bytes: Option<Vec<u8>> = row.get("bytes")?;
            let blob: Option<String> = row.get("blob")?;
            Ok(Some((to_letter(&row)?, bytes.unwrap_or_default(), blob)))
        };
        let found = self.backend.read("read a dead letter", read).await?;
        let Some((letter, bytes, blob)) = found else {
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
        let list = async move |tx: Tx<'_>| {
            let rows = tx.all(&UNRETRIED, values![after, most]).await?;
            rows.iter().map(|row| row.get("id")).collect()
        };
        self.backend.read("list dead letters", list).await
    }

    async fn mark_dead_letter_retried(
        &self,
        id: i64,
        at: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        let mark =
            async move |tx: Tx<'_>| Ok(tx.execute(&MARK_RETRIED, values![id, at]).await? > 0);
        self.backend.write("settle a dead letter", mark).await
    }
}

fn to_letter(row: &Row) -> Result<DeadLetter, Failure> {
    Ok(DeadLetter {
        id: row.get("id")?,
        source: row.get("source")?,
        at: row.get("received_at")?,
        error: row.get("error")?,
        size_bytes: row.get("size_bytes")?,
        sha256: row.get("sha256")?,
        case_id: row.get("case_id")?,
        retried_at: row.get("retried_at")?,
    })
}
