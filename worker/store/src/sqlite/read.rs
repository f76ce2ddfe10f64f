//! Reads the alert of a revision.

use rusqlite::{Connection, OptionalExtension, params};

use super::thread::SqliteFailure;

const ALERT: &str = "SELECT alert FROM alerts WHERE case_id = ?1 AND revision = ?2";

/// Returns the alert that a revision triages, as it is stored.
pub(super) fn alert_text(
    connection: &Connection,
    id: &str,
    revision: u32,
) -> Result<String, SqliteFailure> {
    let mut alert = connection.prepare_cached(ALERT)?;
    let text = alert.query_row(params![id, revision], |row| row.get(0));
    text.optional()?
        .ok_or_else(|| SqliteFailure::NoSuchCase(id.to_owned()))
}
