//! Reads a case with all its data, and its journal.

use nightshift_alert::Alert;
use nightshift_engine::event::Event;
use nightshift_engine::journal::read_event;
use nightshift_pipeline::case::{CaseId, CaseView, DeliveryRow, Sighting, StormMember};
use nightshift_pipeline::export::JournalLine;
use nightshift_pipeline::report::Report;
use tokio_postgres::Row;

use super::database::Session;
use super::failure::PostgresFailure;
use super::row::{self, count, get_revision, get_severity, parse};
use crate::sql::{Tx, case_workflow, cases, feedback};

/// The maximum number of sightings of a case that are read.
const MOST_SIGHTINGS: i64 = 100;
/// The maximum number of members of a storm that are read.
const MOST_MEMBERS: i64 = 100;

const EVENTS: &str =
    "SELECT event::text, seq FROM journal WHERE case_id = $1 AND revision = $2 ORDER BY seq";
const LINES: &str = "SELECT revision, seq, epoch, event::text FROM journal \
     WHERE case_id = $1 AND ($2::integer IS NULL OR revision = $2) ORDER BY revision, seq";
const ALERT: &str = "SELECT alert::text FROM alerts WHERE case_id = $1 AND revision = $2";
const CANCELLED_BY: &str = "SELECT cancelled_by FROM alerts WHERE case_id = $1 AND revision = $2";
const REPORT: &str =
    "SELECT report::text FROM conclusions WHERE case_id = $1 ORDER BY revision DESC LIMIT 1";
/// `+ 0`, here and below, selects the index by case. Otherwise the planner scans all rows by id until it finds some of
/// the case.
const SIGHTINGS: &str = "SELECT received_at, source, count, note FROM sightings WHERE case_id = $1 ORDER BY id + 0 DESC LIMIT $2";
const MEMBERS: &str = "SELECT received_at, source, key, severity::text, title FROM arrivals \
     WHERE case_id = $1 AND outcome = 'member' ORDER BY id + 0 DESC LIMIT $2";
const DELIVERIES: &str = "SELECT destination, wanted_version, sent_version, attempts, error, given_up, begun_at IS NOT NULL, remote_id, shown::text FROM deliveries \
     WHERE case_id = $1 ORDER BY destination";

/// Returns all data of the case with this id or id prefix.
pub(super) async fn view(session: &Session, id: &str) -> Result<CaseView, PostgresFailure> {
    let tx = Tx::Postgres(session);
    let found = cases::find(tx, id).await?;
    let id = found.id.0.as_str();
    let revision = row::revision(found.revision);
    let report = session.row(REPORT, [&id]).await?;
    let report = report
        .map(|row| parse::<Report>(id, row.try_get(0)?))
        .transpose()?;
    let mut events = Vec::new();
    let rows = session.rows(EVENTS, [&id, &revision]).await?;
    let unreadable = match read_events(id, &rows, &mut events) {
        Err(PostgresFailure::Journal { seq, cause, .. }) => Some(format!("event {seq}: {cause}")),
        read => read.map(|()| None)?,
    };
    let cancelled_by = session.row(CANCELLED_BY, [&id, &revision]).await?;
    let cancelled_by = cancelled_by.map_or(Ok(None), |row| row.try_get(0))?;
    Ok(CaseView {
        alert: alert(session, id, revision).await?,
        events,
        unreadable,
        cancelled_by,
        report,
        sightings: sightings(session, id).await?,
        members: members(session, id).await?,
        person_verdicts: feedback::of_case(tx, id).await?,
        workflow: case_workflow::case_workflow(tx, id).await?,
        deliveries: deliveries(session, id).await?,
        row: found,
    })
}

pub(super) async fn alert(
    session: &Session,
    id: &str,
    revision: i32,
) -> Result<Alert, PostgresFailure> {
    let row = session.row(ALERT, [&id, &revision]).await?;
    let row = row.ok_or_else(|| PostgresFailure::NoSuchCase(id.to_owned()))?;
    parse(id, row.try_get(0)?)
}

/// Reads the journal of a revision up to its end, or to the first event that this version cannot read.
fn read_events(id: &str, rows: &[Row], events: &mut Vec<Event>) -> Result<(), PostgresFailure> {
    for row in rows {
        let (text, seq): (&str, i32) = (row.try_get(0)?, row.try_get(1)?);
        events.push(read_event(text).map_err(|cause| PostgresFailure::Journal {
            case_id: id.to_owned(),
            seq: i64::from(seq),
            cause,
        })?);
    }
    Ok(())
}

/// Returns the events of a case as they were written.
pub(super) async fn journal(
    session: &Session,
    id: &CaseId,
    revision: Option<u32>,
) -> Result<Vec<JournalLine>, PostgresFailure> {
    let rows = session
        .rows(LINES, [&id.0, &revision.map(row::revision)])
        .await?;
    rows.iter()
        .map(|row| {
            let (seq, epoch): (i32, i64) = (row.try_get(1)?, row.try_get(2)?);
            Ok(JournalLine {
                revision: get_revision(row, 0)?,
                seq: u64::try_from(seq).unwrap_or_default(),
                epoch: u64::try_from(epoch).unwrap_or_default(),
                event: row.try_get(3)?,
            })
        })
        .collect()
}

async fn sightings(session: &Session, id: &str) -> Result<Vec<Sighting>, PostgresFailure> {
    let rows = session.rows(SIGHTINGS, [&id, &MOST_SIGHTINGS]).await?;
    rows.iter()
        .map(|row| {
            Ok(Sighting {
                at: row.try_get(0)?,
                source: row.try_get(1)?,
                count: count(row, 2)?,
                note: row.try_get(3)?,
            })
        })
        .collect()
}

async fn members(session: &Session, id: &str) -> Result<Vec<StormMember>, PostgresFailure> {
    let rows = session.rows(MEMBERS, [&id, &MOST_MEMBERS]).await?;
    rows.iter()
        .map(|row| {
            Ok(StormMember {
                at: row.try_get(0)?,
                source: row.try_get(1)?,
                key: row.try_get(2)?,
                severity: get_severity(row, 3)?,
                title: row.try_get(4)?,
            })
        })
        .collect()
}

async fn deliveries(session: &Session, id: &str) -> Result<Vec<DeliveryRow>, PostgresFailure> {
    let rows = session.rows(DELIVERIES, [&id]).await?;
    rows.iter()
        .map(|row| {
            let attempts: i32 = row.try_get(3)?;
            let shown: Option<&str> = row.try_get(8)?;
            Ok(DeliveryRow {
                destination: row.try_get(0)?,
                wanted: count(row, 1)?,
                sent: count(row, 2)?,
                attempts: u32::try_from(attempts).unwrap_or_default(),
                error: row.try_get(4)?,
                given_up: row.try_get(5)?,
                in_doubt: row.try_get(6)?,
                remote_id: row.try_get(7)?,
                shown: shown.and_then(|text| serde_json::from_str(text).ok()),
            })
        })
        .collect()
}
