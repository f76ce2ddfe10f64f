//! Reads a case with all its data, and its journal.

use nightshift_alert::Alert;
use nightshift_engine::event::Event;
use nightshift_engine::journal::read_event;
use nightshift_pipeline::case::{CaseId, CaseRow, CaseView, DeliveryRow, Sighting, StormMember};
use nightshift_pipeline::case_workflow::CaseWorkflow;
use nightshift_pipeline::export::JournalLine;
use nightshift_pipeline::report::Report;
use rusqlite::{Connection, OptionalExtension, params};

use super::row::{CASE_COLUMNS, case, get_severity, get_time};
use super::thread::SqliteFailure;
use super::{case_workflow, feedback};

/// The maximum number of sightings of a case that are read.
const MOST_SIGHTINGS: i64 = 100;
/// The maximum number of members of a storm that are read.
const MOST_MEMBERS: i64 = 100;
/// The least length of an id prefix that identifies a case.
const SHORTEST_ID: usize = 4;

const EVENTS: &str =
    "SELECT event, seq FROM journal WHERE case_id = ?1 AND revision = ?2 ORDER BY seq";
const LINES: &str = "SELECT revision, seq, epoch, event FROM journal \
     WHERE case_id = ?1 AND (?2 IS NULL OR revision = ?2) ORDER BY revision, seq";
const ALERT: &str = "SELECT alert FROM alerts WHERE case_id = ?1 AND revision = ?2";
const CANCELLED_BY: &str = "SELECT cancelled_by FROM alerts WHERE case_id = ?1 AND revision = ?2";
const REPORT: &str =
    "SELECT report FROM conclusions WHERE case_id = ?1 ORDER BY revision DESC LIMIT 1";
const SIGHTINGS: &str = "SELECT received_at, source, count, note FROM sightings WHERE case_id = ?1 ORDER BY id DESC LIMIT ?2";
const MEMBERS: &str = "SELECT received_at, source, key, severity, title FROM arrivals \
     WHERE case_id = ?1 AND outcome = 'member' ORDER BY id DESC LIMIT ?2";
const DELIVERIES: &str = "SELECT destination, wanted_version, sent_version, attempts, error, given_up, begun_at IS NOT NULL, remote_id, shown FROM deliveries \
     WHERE case_id = ?1 ORDER BY destination";

/// Returns all data of the case with this id or id prefix.
pub(super) fn view(connection: &Connection, id: &str) -> Result<CaseView, SqliteFailure> {
    let row = find(connection, id)?;
    let id = row.id.0.clone();
    let report: Option<String> = connection
        .prepare_cached(REPORT)?
        .query_row([&id], |row| row.get(0))
        .optional()?;
    let report = report
        .map(|text| serde_json::from_str::<Report>(&text))
        .transpose()
        .map_err(|cause| SqliteFailure::Unreadable(id.clone(), cause))?;
    let mut events = Vec::new();
    let unreadable = match read_events(connection, &id, row.revision, &mut events) {
        Err(SqliteFailure::Journal { seq, cause, .. }) => Some(format!("event {seq}: {cause}")),
        read => read.map(|()| None)?,
    };
    Ok(CaseView {
        alert: alert(connection, &id, row.revision)?,
        events,
        unreadable,
        cancelled_by: connection
            .prepare_cached(CANCELLED_BY)?
            .query_row(params![id, row.revision], |row| row.get(0))?,
        report,
        sightings: sightings(connection, &id)?,
        members: members(connection, &id)?,
        person_verdicts: feedback::of_case(connection, &id)?,
        workflow: CaseWorkflow::from_actions(case_workflow::case_actions(connection, &id)?),
        deliveries: deliveries(connection, &id)?,
        row,
    })
}

/// Returns the only case that the text identifies.
pub(super) fn find(connection: &Connection, id: &str) -> Result<CaseRow, SqliteFailure> {
    let none = || SqliteFailure::NoSuchCase(id.to_owned());
    if id.chars().count() < SHORTEST_ID {
        return Err(none());
    }
    let mut found: Vec<CaseRow> = connection
        .prepare_cached(&by_beginning())?
        .query_map([id.to_lowercase()], case)?
        .collect::<Result<_, _>>()?;
    match (found.pop(), found.pop()) {
        (Some(row), None) => Ok(row),
        _ => Err(none()),
    }
}

/// Returns the query for ids with this prefix.
pub(super) fn by_beginning() -> String {
    format!(
        "SELECT {CASE_COLUMNS} FROM cases \
         WHERE id >= ?1 AND id < ?1 || '~' AND substr(id, 1, length(?1)) = ?1 LIMIT 2"
    )
}

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
    read_events(connection, id, revision, &mut events)?;
    Ok(events)
}

/// Reads the journal of a revision up to its end, or to the first event that this version cannot read.
fn read_events(
    connection: &Connection,
    id: &str,
    revision: u32,
    events: &mut Vec<Event>,
) -> Result<(), SqliteFailure> {
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
    Ok(())
}

/// Returns the events of a case as they were written.
pub(super) fn journal(
    connection: &Connection,
    id: &CaseId,
    revision: Option<u32>,
) -> Result<Vec<JournalLine>, SqliteFailure> {
    let mut statement = connection.prepare_cached(LINES)?;
    let rows = statement.query_map(params![id.0, revision], |row| {
        let (seq, epoch): (i64, i64) = (row.get(1)?, row.get(2)?);
        Ok(JournalLine {
            revision: row.get(0)?,
            seq: u64::try_from(seq).unwrap_or_default(),
            epoch: u64::try_from(epoch).unwrap_or_default(),
            event: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn sightings(connection: &Connection, id: &str) -> Result<Vec<Sighting>, SqliteFailure> {
    let mut statement = connection.prepare_cached(SIGHTINGS)?;
    let rows = statement.query_map(params![id, MOST_SIGHTINGS], |row| {
        let count: i64 = row.get(2)?;
        Ok(Sighting {
            at: get_time(row, 0)?,
            source: row.get(1)?,
            count: u64::try_from(count).unwrap_or_default(),
            note: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn members(connection: &Connection, id: &str) -> Result<Vec<StormMember>, SqliteFailure> {
    let mut statement = connection.prepare_cached(MEMBERS)?;
    let rows = statement.query_map(params![id, MOST_MEMBERS], |row| {
        Ok(StormMember {
            at: get_time(row, 0)?,
            source: row.get(1)?,
            key: row.get(2)?,
            severity: get_severity(row, 3)?,
            title: row.get(4)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn deliveries(connection: &Connection, id: &str) -> Result<Vec<DeliveryRow>, SqliteFailure> {
    let mut statement = connection.prepare_cached(DELIVERIES)?;
    let rows = statement.query_map([id], |row| {
        let (wanted, sent): (i64, i64) = (row.get(1)?, row.get(2)?);
        let shown: Option<String> = row.get(8)?;
        Ok(DeliveryRow {
            destination: row.get(0)?,
            wanted: u64::try_from(wanted).unwrap_or_default(),
            sent: u64::try_from(sent).unwrap_or_default(),
            attempts: row.get(3)?,
            error: row.get(4)?,
            given_up: row.get(5)?,
            in_doubt: row.get(6)?,
            remote_id: row.get(7)?,
            shown: shown.and_then(|text| serde_json::from_str(&text).ok()),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
