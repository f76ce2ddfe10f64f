//! Purges what a person asks to remove: everything about an account, or everything that was over before a day.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use nightshift_pipeline::port::StoreError;
use rusqlite::{Connection, params};

use super::row::time;
use super::thread::SqliteFailure;
use super::{SqliteCaseCursor, SqliteStore};

const DOING: &str = "remove what somebody wants to have removed";
const OF_ACCOUNT: &str = "SELECT case_id, raw_id, dead_letter_id, id FROM arrivals \
     WHERE account = ?1 AND (?2 IS NULL OR received_at < ?2) LIMIT ?3";
const OVER: &str = "SELECT opened_at, id, EXISTS (SELECT 1 FROM arrivals WHERE case_id = cases.id AND received_at >= ?1) FROM cases \
     WHERE opened_at < ?1 AND (opened_at, id) > (?2, ?3) AND status IN ('concluded', 'failed', 'cancelled') \
     ORDER BY opened_at, id LIMIT ?4";
const WITHOUT_CASE: &str = "SELECT case_id, raw_id, dead_letter_id, id FROM arrivals INDEXED BY arrivals_without_case \
     WHERE case_id IS NULL AND received_at < ?1 ORDER BY received_at LIMIT ?2";
const KEPT: &str = "SELECT count(*) FROM cases WHERE opened_at < ?1";
const OF_CASE: &str = "SELECT case_id, raw_id, dead_letter_id, id FROM arrivals WHERE case_id = ?1";
const DROP_ARRIVAL: &str = "DELETE FROM arrivals WHERE id = ?1";
pub(super) const DROP_LETTER: &str = "DELETE FROM dead_letters WHERE id = ?1";
pub(super) const DROP_RAW: &str = "DELETE FROM raw_messages WHERE id = ?1";
const DROP_CASE: &str = "DELETE FROM cases WHERE id = ?1";

impl SqliteStore {
    /// Purges the cases of an account, whatever their status.
    pub(super) async fn purge_account(
        &self,
        account: &str,
        before: Option<DateTime<Utc>>,
        most: usize,
    ) -> Result<u64, StoreError> {
        let (before, account) = (before.map(time), account.to_owned());
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let run = self.thread.run(DOING, move |connection| {
            let chosen = arrivals(connection, OF_ACCOUNT, params![account, before, most])?;
            let cases = chosen
                .iter()
                .filter_map(|one| one.case_id.clone())
                .collect();
            drop_all(connection, chosen, &cases)
        });
        run.await
    }

    /// Continues where the previous call stopped. After the last case, the next call starts again.
    pub(super) async fn purge_before(
        &self,
        before: DateTime<Utc>,
        most: usize,
    ) -> Result<u64, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        loop {
            let (from, before) = (self.purged_until.get(), time(before));
            let after = from.clone().unwrap_or_default();
            let run = self.thread.run(DOING, move |connection| {
                purge_some(connection, &before, after, most)
            });
            let (removed, until) = run.await?;
            let is_end = until.is_none();
            self.purged_until
                .set(until.or_else(|| from.filter(|_| removed > 0)));
            if is_end || removed > 0 {
                return Ok(removed);
            }
        }
    }

    pub(super) async fn kept_before(&self, before: DateTime<Utc>) -> Result<u64, StoreError> {
        let before = time(before);
        let run = self.thread.run("count what is kept", move |connection| {
            let mut statement = connection.prepare_cached(KEPT)?;
            let kept: i64 = statement.query_row([before], |row| row.get(0))?;
            Ok(u64::try_from(kept).unwrap_or_default())
        });
        run.await
    }
}

/// Returns how many arrivals were deleted, and the last examined case, if there was one.
fn purge_some(
    connection: &Connection,
    before: &str,
    (at, id): SqliteCaseCursor,
    most: i64,
) -> Result<(u64, Option<SqliteCaseCursor>), SqliteFailure> {
    let mut statement = connection.prepare_cached(OVER)?;
    let looked = statement.query_map(params![before, at, id, most], |row| {
        Ok(((row.get(0)?, row.get(1)?), row.get(2)?))
    })?;
    let looked: Vec<(SqliteCaseCursor, bool)> = looked.collect::<Result<_, _>>()?;
    let until = looked.last().map(|(until, _)| until.clone());
    let gone = looked.into_iter().filter(|(_, came_again)| !came_again);
    let cases = gone.map(|((_, id), _)| id).collect();
    let chosen = arrivals(connection, WITHOUT_CASE, params![before, most])?;
    Ok((drop_all(connection, chosen, &cases)?, until))
}

/// A row of the ledger with its references.
struct PurgeRow {
    case_id: Option<String>,
    raw_id: Option<i64>,
    letter: Option<i64>,
    id: i64,
}

fn arrivals(
    connection: &Connection,
    sql: &str,
    values: &[&dyn rusqlite::ToSql],
) -> Result<Vec<PurgeRow>, SqliteFailure> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(values, |row| {
        Ok(PurgeRow {
            case_id: row.get(0)?,
            raw_id: row.get(1)?,
            letter: row.get(2)?,
            id: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Deletes the cases with all their arrivals, and the other selected rows.
fn drop_all(
    connection: &Connection,
    mut chosen: Vec<PurgeRow>,
    cases: &BTreeSet<String>,
) -> Result<u64, SqliteFailure> {
    for id in cases {
        chosen.extend(arrivals(connection, OF_CASE, params![id])?);
    }
    let mut gone = 0;
    for one in &chosen {
        gone += connection.prepare_cached(DROP_ARRIVAL)?.execute([one.id])?;
        connection
            .prepare_cached(DROP_LETTER)?
            .execute([one.letter])?;
        connection.prepare_cached(DROP_RAW)?.execute([one.raw_id])?;
    }
    for id in cases {
        connection.prepare_cached(DROP_CASE)?.execute([id])?;
    }
    Ok(u64::try_from(gone).unwrap_or_default())
}
