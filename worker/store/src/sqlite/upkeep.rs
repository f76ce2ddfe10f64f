//! Removes old data in small batches.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_pipeline::maintenance::{Purge, RetentionClass, StoreMaintenance};
use nightshift_pipeline::port::StoreError;
use rusqlite::{Connection, OpenFlags, params};

use super::purge::{DROP_LETTER, DROP_RAW};
use super::row::{get_time, time};
use super::thread::SqliteFailure;
use super::{BUSY_TIMEOUT_MS, SqliteArrivalCursor, SqliteCaseCursor, SqliteStore, earlier};
use crate::blobs;
use crate::scan_cursor::ScanCursor;

const DOING: &str = "remove what grew old";
/// One host has one clock. It may have jumped ahead, so retention advances at most a day per run.
const ADVANCE: &str = "INSERT INTO retention_clock (singleton, reached_at) VALUES (1, ?1) ON CONFLICT (singleton) DO UPDATE \
     SET reached_at = min(excluded.reached_at, strftime('%Y-%m-%dT%H:%M:%f000Z', reached_at, '+1 day')) RETURNING reached_at";
const MIGRATIONS: &str =
    "SELECT 'V' || version || '__' || name FROM refinery_schema_history ORDER BY version";
/// Selects old messages. Messages of dead letters are kept for longer, and may be millions. The statement examines `?4`
/// messages after the position of the previous call.
const LOOK_AT_RAW: &str = "SELECT received_at, id, EXISTS (SELECT 1 FROM dead_letters WHERE raw_id = raw.id) \
     FROM raw_messages AS raw WHERE received_at < ?1 AND (received_at, id) > (?2, ?3) ORDER BY received_at, id LIMIT ?4";
/// The number of messages that are examined for each that may be deleted.
const LOOKED_AT: i64 = 10;
/// Selects only whole journals, because the rest of one could not be folded. Each case is handled once until it is
/// triaged again.
const WITH_JOURNAL: &str = "SELECT id FROM cases \
     WHERE status IN ('concluded', 'failed', 'cancelled') AND journals_removed_to < revision AND concluded_at < ?1 \
     ORDER BY concluded_at LIMIT ?2";
const DROP_JOURNAL: &str = "DELETE FROM journal WHERE case_id = ?1";
const JOURNAL_GONE: &str = "UPDATE cases SET journals_removed_to = revision WHERE id = ?1";
/// Selects the oldest day whose costs can be merged into one row per urgency, because nobody needs the costs by case
/// any more.
const OLD_DAY: &str =
    "SELECT min(day) FROM spending WHERE case_id <> '' AND day < date('now', '-60 days')";
const ADD_DAY: &str = "INSERT INTO spending (day, case_id, urgent, usd) \
     SELECT day, '', urgent, sum(usd) FROM spending WHERE day = ?1 AND case_id <> '' GROUP BY day, urgent \
     ON CONFLICT (day, case_id, urgent) DO UPDATE SET usd = usd + excluded.usd";
const DROP_DAY: &str = "DELETE FROM spending WHERE day = ?1 AND case_id <> ''";
/// The maximum number of days in one sweep.
const MOST_DAYS: usize = 100;
const CASES: &str = "DELETE FROM cases WHERE id IN (SELECT id FROM cases \
     WHERE status IN ('concluded', 'failed', 'cancelled') AND concluded_at < ?1 ORDER BY concluded_at LIMIT ?2)";
const OLD_LETTERS: &str =
    "SELECT id, raw_id FROM dead_letters WHERE received_at < ?1 ORDER BY received_at LIMIT ?2";
const HIDDEN: &str = "DELETE FROM arrivals WHERE id IN \
     (SELECT id FROM arrivals INDEXED BY arrivals_without_case WHERE case_id IS NULL AND received_at < ?1 ORDER BY received_at LIMIT ?2) RETURNING raw_id";
const MESSAGES_OF_CASES: &str = "SELECT DISTINCT raw_id FROM arrivals WHERE raw_id IS NOT NULL AND case_id IN (SELECT id FROM cases \
     WHERE status IN ('concluded', 'failed', 'cancelled') AND concluded_at < ?1 ORDER BY concluded_at LIMIT ?2)";
/// Deletes a message that is kept for longer than its arrivals, because nothing could find it any more.
const DROP_UNHELD: &str = "DELETE FROM raw_messages WHERE id = ?1 \
     AND NOT EXISTS (SELECT 1 FROM dead_letters WHERE raw_id = ?1) AND NOT EXISTS (SELECT 1 FROM arrivals WHERE raw_id = ?1)";

#[async_trait]
impl StoreMaintenance for SqliteStore {
    async fn advance_retention_time(
        &self,
        now: DateTime<Utc>,
    ) -> Result<DateTime<Utc>, StoreError> {
        let run = self.thread.run(DOING, move |connection| {
            let mut statement = connection.prepare_cached(ADVANCE)?;
            Ok(statement.query_row([time(now)], |row| get_time(row, 0))?)
        });
        run.await
    }

    async fn migrations(&self) -> Result<Vec<String>, StoreError> {
        self.thread
            .run("read the migrations", |connection| {
                let mut statement = connection.prepare_cached(MIGRATIONS)?;
                let names = statement.query_map([], |row| row.get(0))?;
                Ok(names.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn expire(
        &self,
        kind: RetentionClass,
        before: DateTime<Utc>,
        most: usize,
    ) -> Result<u64, StoreError> {
        let (before, most) = (time(before), i64::try_from(most).unwrap_or(i64::MAX));
        if kind == RetentionClass::Raw {
            return self.expire_raw(before, most).await;
        }
        let old = before.clone();
        let removed: u64 = self
            .thread
            .run(DOING, move |connection| match kind {
                RetentionClass::Raw => Ok(0),
                RetentionClass::Cases => drop_cases(connection, &before, most),
                RetentionClass::Hidden => drop_hidden(connection, &before, most),
                RetentionClass::Journals => drop_journals(connection, &before, most),
                RetentionClass::DeadLetters => drop_letters(connection, &before, most),
            })
            .await?;
        match (kind, removed) {
            (RetentionClass::Journals, 0) => {
                let until = &self.journals_until;
                self.go_through(earlier::drop_journals, until, old, most)
                    .await
            }
            (RetentionClass::Cases, 0) => {
                let until = &self.rows_until;
                self.go_through(earlier::drop_rows, until, old, most).await
            }
            _ => Ok(removed),
        }
    }

    async fn purge(&self, what: &Purge, most: usize) -> Result<u64, StoreError> {
        let purged = match (&what.account, what.before) {
            (Some(account), before) => self.purge_account(account, before, most).await,
            (None, Some(before)) => self.purge_before(before, most).await,
            (None, None) => return Ok(0),
        }?;
        if purged == 0 {
            self.erase_removed(true).await?;
        }
        Ok(purged)
    }

    async fn count_kept_cases(&self, what: &Purge) -> Result<u64, StoreError> {
        match (&what.account, what.before) {
            (None, Some(before)) => self.kept_before(before).await,
            _ => Ok(0),
        }
    }

    /// Removes data whose retention is not configurable.
    async fn sweep(&self) -> Result<u64, StoreError> {
        let folded = self.thread.run(DOING, fold_spending).await;
        let swept = blobs::sweep(
            self.blobs.as_ref(),
            |most| self.loose(most),
            |keys| self.forget(keys),
        )
        .await?;
        // Blobs are swept last, whatever the result of the other steps.
        if swept > 0 {
            return Ok(swept);
        }
        folded?;
        self.erase_removed(false).await.map(|()| 0)
    }
}

impl SqliteStore {
    /// Checkpoints and truncates the WAL file, which contains removed rows. This cannot run in a transaction, so it uses
    /// its own connection. If another process reads at that moment, a later round does it.
    ///
    /// With `rewrite`, the database file is rewritten first. `secure_delete` overwrites rows where they are, but SQLite
    /// moves rows between and within pages, and leaves parts of them in the unused space of a page.
    async fn erase_removed(&self, rewrite: bool) -> Result<(), StoreError> {
        let path = Arc::clone(&self.path);
        let emptied = tokio::task::spawn_blocking(move || {
            let connection = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            connection.busy_timeout(Duration::from_millis(BUSY_TIMEOUT_MS))?;
            if rewrite && let Err(error) = connection.execute_batch("VACUUM") {
                tracing::warn!(
                    %error, "cannot rewrite the database; parts of removed rows may remain in its file"
                );
            }
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

    /// Removes old data of cases that are still in use. Returns the number of cases. Continues where the previous call
    /// stopped. After the last case, the next call starts again.
    async fn go_through(
        &self,
        drop: fn(
            &Connection,
            &str,
            &SqliteCaseCursor,
            i64,
        ) -> Result<earlier::SqliteRemovedBatch, SqliteFailure>,
        left_off: &ScanCursor<SqliteCaseCursor>,
        before: String,
        most: i64,
    ) -> Result<u64, StoreError> {
        let mut removed = 0;
        while removed < most {
            let (from, rest) = (left_off.get(), most - removed);
            let (after, before) = (from.clone().unwrap_or_default(), before.clone());
            let (some, until) = self
                .thread
                .run(DOING, move |connection| {
                    drop(connection, &before, &after, rest)
                })
                .await?;
            removed += some;
            let is_all = until.is_none();
            left_off.set(until.or(from.filter(|_| removed > 0)));
            if is_all {
                break;
            }
        }
        Ok(u64::try_from(removed).unwrap_or_default())
    }

    /// Continues where the previous call stopped. After the last row, the next call starts again.
    async fn expire_raw(&self, before: String, most: i64) -> Result<u64, StoreError> {
        let mut removed = 0;
        while removed < most {
            let (from, rest) = (self.raw_until.get(), most - removed);
            let (after, before) = (from.clone().unwrap_or_default(), before.clone());
            let (some, until) = self
                .thread
                .run(DOING, move |connection| {
                    drop_raw(connection, &before, after, rest)
                })
                .await?;
            removed += some;
            let is_all = until.is_none();
            self.raw_until.set(until.or(from.filter(|_| removed > 0)));
            if is_all {
                break;
            }
        }
        Ok(u64::try_from(removed).unwrap_or_default())
    }
}

/// Deletes old messages. Returns their number and the last examined message, if there was one.
fn drop_raw(
    connection: &Connection,
    before: &str,
    (at, id): SqliteArrivalCursor,
    most: i64,
) -> Result<(i64, Option<SqliteArrivalCursor>), SqliteFailure> {
    let (mut removed, mut until) = (0, None);
    let mut look = connection.prepare_cached(LOOK_AT_RAW)?;
    let looked_at = most.saturating_mul(LOOKED_AT);
    let mut rows = look.query(params![before, at, id, looked_at])?;
    let mut old = Vec::new();
    while let Some(row) = rows.next()?.filter(|_| removed < most) {
        let id: i64 = row.get(1)?;
        if !row.get(2)? {
            old.push(id);
            removed += 1;
        }
        until = Some((row.get(0)?, id));
    }
    for id in old {
        connection.prepare_cached(DROP_RAW)?.execute([id])?;
    }
    Ok((removed, until))
}

fn drop_journals(connection: &Connection, before: &str, most: i64) -> Result<u64, SqliteFailure> {
    let mut statement = connection.prepare_cached(WITH_JOURNAL)?;
    let old: Vec<String> = statement
        .query_map(params![before, most], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for id in &old {
        connection.prepare_cached(DROP_JOURNAL)?.execute([id])?;
        connection.prepare_cached(JOURNAL_GONE)?.execute([id])?;
    }
    Ok(u64::try_from(old.len()).unwrap_or_default())
}

fn drop_cases(connection: &Connection, before: &str, most: i64) -> Result<u64, SqliteFailure> {
    let mut statement = connection.prepare_cached(MESSAGES_OF_CASES)?;
    let messages: Vec<Option<i64>> = statement
        .query_map(params![before, most], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let gone = connection
        .prepare_cached(CASES)?
        .execute(params![before, most])?;
    drop_unheld(connection, &messages)?;
    Ok(u64::try_from(gone).unwrap_or_default())
}

fn drop_hidden(connection: &Connection, before: &str, most: i64) -> Result<u64, SqliteFailure> {
    let mut statement = connection.prepare_cached(HIDDEN)?;
    let messages: Vec<Option<i64>> = statement
        .query_map(params![before, most], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    drop_unheld(connection, &messages)?;
    Ok(u64::try_from(messages.len()).unwrap_or_default())
}

/// Deletes those of the messages to which nothing refers any more.
pub(super) fn drop_unheld(
    connection: &Connection,
    messages: &[Option<i64>],
) -> Result<(), SqliteFailure> {
    for id in messages.iter().flatten() {
        connection.prepare_cached(DROP_UNHELD)?.execute([id])?;
    }
    Ok(())
}

fn fold_spending(connection: &Connection) -> Result<(), SqliteFailure> {
    for _ in 0..MOST_DAYS {
        let day: Option<String> = connection
            .prepare_cached(OLD_DAY)?
            .query_row([], |row| row.get(0))?;
        let Some(day) = day else {
            break;
        };
        connection.prepare_cached(ADD_DAY)?.execute([&day])?;
        connection.prepare_cached(DROP_DAY)?.execute([&day])?;
    }
    Ok(())
}

fn drop_letters(connection: &Connection, before: &str, most: i64) -> Result<u64, SqliteFailure> {
    let mut statement = connection.prepare_cached(OLD_LETTERS)?;
    let old: Vec<(i64, Option<i64>)> = statement
        .query_map(params![before, most], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (id, raw_id) in &old {
        connection.prepare_cached(DROP_LETTER)?.execute([id])?;
        connection.prepare_cached(DROP_RAW)?.execute([raw_id])?;
    }
    Ok(u64::try_from(old.len()).unwrap_or_default())
}
