//! Writes the ledger of arrivals. Every accepted alert has one row with its place and the reason.

use nightshift_pipeline::admission::Admission;
use nightshift_pipeline::case::CaseId;
use nightshift_pipeline::intake::Arrival;
use rusqlite::{Connection, params};

use crate::sqlite::row::{severity, time};
use crate::sqlite::thread::SqliteFailure;

const ADD: &str = "INSERT INTO arrivals (raw_id, source, received_at, key, feed, type, title, account, severity, \
     outcome, reason, case_id, dead_letter_id, alert) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";

/// Adds the row of an alert.
pub(super) fn add(
    connection: &Connection,
    arrival: &Arrival,
    raw_id: i64,
    key: &str,
    admission: &Admission,
    case_id: Option<&CaseId>,
    dead_letter: Option<i64>,
) -> Result<(), SqliteFailure> {
    let alert = &arrival.alert;
    let is_kept_here = matches!(
        admission,
        Admission::Member(_) | Admission::Muted(_) | Admission::SetAside(_)
    );
    let text = if is_kept_here {
        let text = serde_json::to_string(alert);
        Some(text.map_err(|cause| SqliteFailure::Unwritable(key.to_owned(), cause))?)
    } else {
        None
    };
    connection.prepare_cached(ADD)?.execute(params![
        raw_id,
        arrival.source,
        time(arrival.at),
        key,
        alert.feed,
        alert.kind,
        alert.title,
        alert.account,
        severity(alert.severity),
        admission.as_str(),
        admission.reason(),
        case_id.map(|id| &id.0),
        dead_letter,
        text
    ])?;
    Ok(())
}
