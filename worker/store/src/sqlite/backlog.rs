//! Counts pending work over partial indexes that contain only unfinished rows.

use std::collections::BTreeMap;

use nightshift_alert::Severity;
use nightshift_pipeline::case::Backlog;
use rusqlite::{Connection, Row};

use super::row::get_severity;
use super::thread::SqliteFailure;

const WAITING: &str =
    "SELECT severity, count(*) FROM cases WHERE status IN ('queued', 'running') GROUP BY severity";

const CASES: &str = "SELECT count(*) FILTER (WHERE severity >= 3), count(*) FILTER (WHERE severity < 3), \
     coalesce(max(0.0, unixepoch('now', 'subsec') - unixepoch(min(waiting_since), 'subsec')), 0.0), \
     coalesce(max(0.0, unixepoch('now', 'subsec') - \
         unixepoch(min(waiting_since) FILTER (WHERE severity >= 3), 'subsec')), 0.0), \
     (SELECT count(*) FROM cases WHERE status = 'running') \
     FROM cases WHERE status = 'queued'";
const OUTBOX: &str = "SELECT count(*), \
     coalesce(max(0.0, unixepoch('now', 'subsec') - unixepoch(min(requested_at), 'subsec')), 0.0) \
     FROM deliveries WHERE sent_version < wanted_version AND sent_version < major_version AND given_up = 0";
const DEAD_LETTERS: &str = "SELECT count(*) FROM dead_letters WHERE retried_at IS NULL";

/// Returns the number of waiting and running cases by severity.
pub(super) fn waiting(connection: &Connection) -> Result<BTreeMap<Severity, u64>, SqliteFailure> {
    let mut statement = connection.prepare_cached(WAITING)?;
    let rows = statement.query_map([], |row| Ok((get_severity(row, 0)?, count(row, 1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns the backlog.
pub(super) fn read(connection: &Connection) -> Result<Backlog, SqliteFailure> {
    let backlog = connection.prepare_cached(CASES)?.query_row([], |row| {
        Ok(Backlog {
            urgent: count(row, 0)?,
            others: count(row, 1)?,
            oldest_secs: row.get(2)?,
            urgent_oldest_secs: row.get(3)?,
            running: count(row, 4)?,
            ..Backlog::default()
        })
    })?;
    let backlog = connection.prepare_cached(OUTBOX)?.query_row([], |row| {
        Ok(Backlog {
            outbox: count(row, 0)?,
            outbox_oldest_secs: row.get(1)?,
            ..backlog
        })
    })?;
    let dead_letters = connection
        .prepare_cached(DEAD_LETTERS)?
        .query_row([], |row| count(row, 0))?;
    Ok(Backlog {
        dead_letters,
        ..backlog
    })
}

fn count(row: &Row<'_>, column: usize) -> Result<u64, rusqlite::Error> {
    let count: i64 = row.get(column)?;
    Ok(u64::try_from(count).unwrap_or_default())
}
