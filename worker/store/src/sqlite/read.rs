//! Reads the alert and the journal of a revision.

use nightshift_alert::Alert;
use nightshift_engine::event::Event;
use nightshift_engine::journal::read_event;
use rusqlite::{Connection, OptionalExtension, params};

use super::thread::SqliteFailure;

const EVENTS: &str =
    "SELECT event, seq FROM journal WHERE case_id = ?1 AND revision = ?2 ORDER BY seq";
const ALERT: &str = "SELECT alert FROM alerts WHERE case_id = ?1 AND revision = ?2";

/// Returns the alert that a revision triages.
pub(super) fn alert(
    connection: &Connection,
    id: &str,
    revision: u32,
) -> Result<Alert, SqliteFailure> {
    let text = alert_text(connection, id, revision)?;
    serde_json::from_str(&text).map_err(|cause| SqliteFailure::Unreadable(id.to_owned(), cause))
}

/// Returns that alert as it is stored.
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

/// Returns the journal of a revision.
pub(super) fn events(
    connection: &Connection,
    id: &str,
    revision: u32,
) -> Result<Vec<Event>, SqliteFailure> {
    let mut events = Vec::new();
    let mut statement = connection.prepare_cached(EVENTS)?;
    let mut rows = statement.query(params![id, revision])?;
    while let Some(row) = rows.next()? {
        let text = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
        let event = read_event(text);
        events.push(event.map_err(|cause| SqliteFailure::Journal {
            case_id: id.to_owned(),
            seq: row.get(1).unwrap_or_default(),
            cause,
        })?);
    }
    Ok(events)
}
