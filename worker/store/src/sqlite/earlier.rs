//! Removes old data of cases that are still in use. Such cases are triaged again or have repeated alerts, so they are
//! never deleted for their age. The last conclusion stays, and the last arrival, by which an account is found.

use rusqlite::{Connection, params};

use super::SqliteCaseCursor;
use super::thread::SqliteFailure;
use super::upkeep::drop_unheld;

/// Selects the last triage that ended before the time. A cancelled triage has no conclusion; its journal goes with that
/// of the next concluded one.
const WITH_JOURNALS: &str = "SELECT opened_at, id, (SELECT max(one.revision) FROM conclusions AS one WHERE one.case_id = cases.id \
         AND one.revision > journals_removed_to AND one.revision < cases.revision AND one.concluded_at < ?1) \
     FROM cases WHERE journals_removed_to < revision - 1 AND opened_at < ?1 AND (opened_at, id) > (?2, ?3) ORDER BY opened_at, id LIMIT ?4";
const DROP_JOURNALS: &str = "DELETE FROM journal WHERE case_id = ?1 AND revision <= ?2";
const JOURNALS_GONE: &str = "UPDATE cases SET journals_removed_to = ?2 WHERE id = ?1";
const OLD: &str = "SELECT opened_at, id, NULL FROM cases WHERE opened_at < ?1 AND (opened_at, id) > (?2, ?3) \
     ORDER BY opened_at, id LIMIT ?4";
/// Selects the last triage whose conclusion is deleted. Its journal and the earlier ones are deleted with it.
const LAST_OLD: &str = "SELECT max(revision) FROM conclusions WHERE case_id = ?1 AND concluded_at < ?2 \
     AND revision < (SELECT max(revision) FROM conclusions WHERE case_id = ?1) \
     AND NOT EXISTS (SELECT 1 FROM person_verdicts AS judged \
         WHERE judged.case_id = ?1 AND judged.revision = conclusions.revision)";
const NO_EARLIER_JOURNALS: &str =
    "UPDATE cases SET journals_removed_to = max(journals_removed_to, ?2) WHERE id = ?1";
const DROP_ARRIVALS: &str = "DELETE FROM arrivals WHERE case_id = ?1 AND received_at < ?2 \
     AND id < (SELECT max(id) FROM arrivals WHERE case_id = ?1) RETURNING raw_id";
const DROP_ROWS: [&str; 2] = [
    "DELETE FROM sightings WHERE case_id = ?1 AND received_at < ?2",
    // A conclusion that a person judged stays.
    "DELETE FROM conclusions WHERE case_id = ?1 AND concluded_at < ?2 \
         AND revision < (SELECT max(revision) FROM conclusions WHERE case_id = ?1) \
         AND NOT EXISTS (SELECT 1 FROM person_verdicts AS judged \
             WHERE judged.case_id = ?1 AND judged.revision = conclusions.revision)",
];

/// The number of cases from which something was removed, and the last examined case, if there was one.
pub(super) type SqliteRemovedBatch = (i64, Option<SqliteCaseCursor>);

/// Deletes journals of triages before the last.
pub(super) fn drop_journals(
    connection: &Connection,
    before: &str,
    after: &SqliteCaseCursor,
    most: i64,
) -> Result<SqliteRemovedBatch, SqliteFailure> {
    let looked = look(connection, WITH_JOURNALS, before, after, most)?;
    let mut removed = 0;
    for ((_, id), revision) in &looked {
        if let Some(revision) = revision {
            connection
                .prepare_cached(DROP_JOURNALS)?
                .execute(params![id, revision])?;
            connection
                .prepare_cached(JOURNALS_GONE)?
                .execute(params![id, revision])?;
            removed += 1;
        }
    }
    Ok((
        removed,
        looked.into_iter().next_back().map(|(until, _)| until),
    ))
}

/// Deletes arrivals, sightings and conclusions before the last.
pub(super) fn drop_rows(
    connection: &Connection,
    before: &str,
    after: &SqliteCaseCursor,
    most: i64,
) -> Result<SqliteRemovedBatch, SqliteFailure> {
    let looked = look(connection, OLD, before, after, most)?;
    let mut removed = 0;
    for ((_, id), _) in &looked {
        let mut statement = connection.prepare_cached(DROP_ARRIVALS)?;
        let messages: Vec<Option<i64>> = statement
            .query_map(params![id, before], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        drop_unheld(connection, &messages)?;
        let mut gone = messages.len();
        let last: Option<i64> = connection
            .prepare_cached(LAST_OLD)?
            .query_row(params![id, before], |row| row.get(0))?;
        if let Some(last) = last {
            for sql in [DROP_JOURNALS, NO_EARLIER_JOURNALS] {
                connection.prepare_cached(sql)?.execute(params![id, last])?;
            }
        }
        for sql in DROP_ROWS {
            gone += connection
                .prepare_cached(sql)?
                .execute(params![id, before])?;
        }
        removed += i64::from(gone > 0);
    }
    Ok((
        removed,
        looked.into_iter().next_back().map(|(until, _)| until),
    ))
}

fn look(
    connection: &Connection,
    sql: &str,
    before: &str,
    (at, id): &SqliteCaseCursor,
    most: i64,
) -> Result<Vec<(SqliteCaseCursor, Option<i64>)>, SqliteFailure> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![before, at, id, most], |row| {
        Ok(((row.get(0)?, row.get(1)?), row.get(2)?))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
