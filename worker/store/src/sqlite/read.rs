//! Reads a case with all its data, and its journal.

use nightshift_alert::Alert;
use nightshift_engine::event::Event;
use nightshift_engine::journal::read_event;
use nightshift_pipeline::case::{CaseId, CaseView, DeliveryRow, Sighting, StormMember};
use nightshift_pipeline::export::JournalLine;
use nightshift_pipeline::report::Report;
use rusqlite::{Connection, OptionalExtension, params};

use super::row::{get_severity, get_time};
use super::thread::{SqliteConnection, SqliteFailure};
use crate::sql::{Tx, at_once, case_workflow, cases, feedback};

/// The maximum number of sightings of a case that are read.
const MOST_SIGHTINGS: i64 = 100;
/// The maximum number of members of a storm that are read.
const MOST_MEMBERS: i64 = 100;

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
pub(super) fn view(shared: &SqliteConnection, id: &str) -> Result<CaseView, SqliteFailure> {
    let (connection, tx) = (&*shared.lock(), Tx::Sqlite(shared));
    let row = at_once(cases::find(tx, id))?;
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
        person_verdicts: at_once(feedback::of_case(tx, &id))?,
        workflow: at_once(case_workflow::case_workflow(tx, &id))?,
        deliveries: deliveries(connection, &id)?,
        row,
    })
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
