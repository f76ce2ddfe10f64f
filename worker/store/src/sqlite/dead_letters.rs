//! Reads dead letters, which are messages that could not be parsed, with their bytes.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_pipeline::case::{CaseId, DeadLetter};
use nightshift_pipeline::port::{DeadLetters, StoreError};
use rusqlite::{Error, OptionalExtension, Row, params};

use super::SqliteStore;
use super::row::{get_time, get_time_or_none, time};
use crate::blobs;

const LIST: &str = "SELECT id, source, received_at, error, size_bytes, sha256, case_id, retried_at FROM dead_letters \
     ORDER BY id DESC LIMIT ?1";
const LETTER: &str = "SELECT d.id, d.source, d.received_at, d.error, d.size_bytes, d.sha256, d.case_id, d.retried_at, r.bytes, r.blob \
     FROM dead_letters d LEFT JOIN raw_messages r ON r.id = d.raw_id WHERE d.id = ?1";
const UNREAD: &str =
    "SELECT id FROM dead_letters WHERE retried_at IS NULL AND id > ?1 ORDER BY id LIMIT ?2";
const SETTLE: &str = "UPDATE dead_letters SET retried_at = ?2 WHERE id = ?1 AND retried_at IS NULL";

#[async_trait]
impl DeadLetters for SqliteStore {
    async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, StoreError> {
        self.thread
            .run("list dead letters", move |connection| {
                let limit = i64::try_from(limit).unwrap_or(i64::MAX);
                let mut statement = connection.prepare_cached(LIST)?;
                let rows = statement.query_map([limit], to_letter)?;
                Ok(rows.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn dead_letter(&self, id: i64) -> Result<Option<(DeadLetter, Vec<u8>)>, StoreError> {
        let found = self.thread.run("read a dead letter", move |connection| {
            Ok(connection
                .prepare_cached(LETTER)?
                .query_row([id], |row| {
                    let bytes: Option<Vec<u8>> = row.get(8)?;
                    Ok((to_letter(row)?, bytes.unwrap_or_default(), row.get(9)?))
                })
                .optional()?)
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
        let (after, most) = (after.unwrap_or(0), i64::try_from(most).unwrap_or(i64::MAX));
        self.thread
            .run("list dead letters", move |connection| {
                let mut statement = connection.prepare_cached(UNREAD)?;
                let ids = statement.query_map([after, most], |row| row.get(0))?;
                Ok(ids.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn mark_dead_letter_retried(
        &self,
        id: i64,
        at: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        let settled = self
            .thread
            .run("settle a dead letter", move |connection| {
                let mut statement = connection.prepare_cached(SETTLE)?;
                Ok(statement.execute(params![id, time(at)])?)
            })
            .await?;
        Ok(settled > 0)
    }
}

fn to_letter(row: &Row<'_>) -> Result<DeadLetter, Error> {
    let size: i64 = row.get(4)?;
    let case_id: Option<String> = row.get(6)?;
    Ok(DeadLetter {
        id: row.get(0)?,
        source: row.get(1)?,
        at: get_time(row, 2)?,
        error: row.get(3)?,
        size_bytes: u64::try_from(size).unwrap_or_default(),
        sha256: row.get(5)?,
        case_id: case_id.map(CaseId),
        retried_at: get_time_or_none(row, 7)?,
    })
}
