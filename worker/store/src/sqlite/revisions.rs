//! Changes the alert that a case triages: the first alert, one that replaces a waiting alert, and further ones, at once
//! or after the current triage.

use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, Indicator};
use nightshift_pipeline::admission::RevisionReason;
use nightshift_pipeline::case::CaseId;
use rusqlite::{Connection, params};

use super::case_workflow;
use super::row::{get_status, severity, time};
use super::thread::SqliteFailure;

const STATUS: &str = "SELECT status FROM cases WHERE id = ?1";
const REVISE: &str = "UPDATE cases SET revision = revision + 1, status = 'queued', severity = coalesce(?2, severity), \
     content = coalesce(?3, content), title = coalesce(?4, title), type = coalesce(?5, type), revised_at = ?6, crashes = 0, needs_model = 0, lease_holder = NULL, lease_until = NULL, \
     waiting_since = strftime('%Y-%m-%dT%H:%M:%f000Z', 'now') WHERE id = ?1";
/// Records the latest alert of the case, which clears an earlier state at the feed.
const NOTE: &str = "UPDATE cases SET feed_state = NULL, updated_at = coalesce(?2, updated_at), \
     severity = max(severity, ?3) WHERE id = ?1";
const ADD_ALERT: &str = "INSERT INTO alerts (case_id, revision, raw_id, source, received_at, alert, reason) \
     SELECT id, revision, ?2, ?3, ?4, ?5, ?6 FROM cases WHERE id = ?1";
const ADD_INDICATOR: &str = "INSERT OR IGNORE INTO indicators (type, value, case_id, role, noted_at) VALUES (?1, ?2, ?3, ?4, ?5)";
/// If the waiting alert only repeated a triage, the reason becomes that of the new alert.
const REPLACE: &str = "UPDATE alerts SET raw_id = ?2, source = ?3, alert = ?4, \
         reason = CASE WHEN reason IN ('asked', 'models_back') THEN ?5 ELSE reason END \
     WHERE case_id = ?1 AND revision = (SELECT revision FROM cases WHERE id = ?1)";
const REPLACE_CASE: &str =
    "UPDATE cases SET severity = ?2, content = ?3, title = ?4, type = ?5 WHERE id = ?1";
const REPLACE_PENDING: &str = "UPDATE pending_revisions SET raw_id = ?2, source = ?3, alert = ?4, \
         reason = CASE WHEN reason IN ('asked', 'models_back') THEN ?5 ELSE reason END \
     WHERE case_id = ?1 AND seq = (SELECT max(seq) FROM pending_revisions WHERE case_id = ?1)";
const ADD_PENDING: &str = "INSERT INTO pending_revisions (case_id, seq, raw_id, source, received_at, reason, alert) \
     VALUES (?1, (SELECT coalesce(max(seq), 0) + 1 FROM pending_revisions WHERE case_id = ?1), ?2, ?3, ?4, ?5, ?6)";

/// The next alert of a case.
pub(super) struct SqliteNextAlert<'a> {
    /// The source of the alert.
    pub(super) source: &'a str,
    /// The time of arrival.
    pub(super) at: DateTime<Utc>,
    /// The id of the stored message.
    pub(super) raw_id: Option<i64>,
    /// The alert in the form that is triaged.
    pub(super) alert: &'a Alert,
    /// The reason for the triage, or `None` for the first of a case.
    pub(super) why: Option<&'a str>,
}

/// Triages the case again: at once if it is over, else after the current and pending triages.
pub(super) fn queue_revision(
    connection: &Connection,
    id: &CaseId,
    coming: &SqliteNextAlert<'_>,
) -> Result<(), SqliteFailure> {
    let status = connection
        .prepare_cached(STATUS)?
        .query_row([&id.0], |row| get_status(row, 0))?;
    if status.is_over() {
        revise(connection, id, coming)?;
    } else {
        connection.prepare_cached(ADD_PENDING)?.execute(params![
            id.0,
            coming.raw_id,
            coming.source,
            time(coming.at),
            coming.why.unwrap_or_default(),
            json(id, coming.alert)?
        ])?;
    }
    note(connection, id, coming.alert)
}

/// Replaces the alert that waits last.
pub(super) fn replace(
    connection: &Connection,
    id: &CaseId,
    coming: &SqliteNextAlert<'_>,
) -> Result<(), SqliteFailure> {
    let text = json(id, coming.alert)?;
    let values = params![id.0, coming.raw_id, coming.source, text, coming.why];
    if connection
        .prepare_cached(REPLACE_PENDING)?
        .execute(values)?
        == 0
    {
        connection.prepare_cached(REPLACE)?.execute(values)?;
        let alert = coming.alert;
        connection.prepare_cached(REPLACE_CASE)?.execute(params![
            id.0,
            severity(alert.severity),
            alert.content.0,
            alert.title,
            alert.kind
        ])?;
        add_indicators(connection, id, coming.at, &alert.indicators)?;
        case_workflow::reopen(connection, &id.0, coming.source)?;
    }
    note(connection, id, coming.alert)
}

/// Adds the alert of the case's revision.
pub(super) fn add_alert(
    connection: &Connection,
    id: &CaseId,
    coming: &SqliteNextAlert<'_>,
) -> Result<(), SqliteFailure> {
    connection.prepare_cached(ADD_ALERT)?.execute(params![
        id.0,
        coming.raw_id,
        coming.source,
        time(coming.at),
        json(id, coming.alert)?,
        coming.why
    ])?;
    add_indicators(connection, id, coming.at, &coming.alert.indicators)
}

fn revise(
    connection: &Connection,
    id: &CaseId,
    coming: &SqliteNextAlert<'_>,
) -> Result<(), SqliteFailure> {
    let alert = coming.alert;
    connection.prepare_cached(REVISE)?.execute(params![
        id.0,
        severity(alert.severity),
        alert.content.0,
        alert.title,
        alert.kind,
        time(coming.at)
    ])?;
    add_alert(connection, id, coming)?;
    reopen(connection, id, coming.source, coming.why)
}

/// Reopens the case if a source sent the next alert. A triage that a person asked for does not reopen it.
fn reopen(
    connection: &Connection,
    id: &CaseId,
    source: &str,
    why: Option<&str>,
) -> Result<(), SqliteFailure> {
    if why == Some(RevisionReason::Asked.as_str()) {
        return Ok(());
    }
    case_workflow::reopen(connection, &id.0, source)
}

/// Records the latest alert. A case that waits for a more severe alert gets its severity.
fn note(connection: &Connection, id: &CaseId, alert: &Alert) -> Result<(), SqliteFailure> {
    connection.prepare_cached(NOTE)?.execute(params![
        id.0,
        alert.times.updated.map(time),
        severity(alert.severity)
    ])?;
    Ok(())
}

fn add_indicators(
    connection: &Connection,
    id: &CaseId,
    at: DateTime<Utc>,
    indicators: &[Indicator],
) -> Result<(), SqliteFailure> {
    let mut statement = connection.prepare_cached(ADD_INDICATOR)?;
    let noted_at = time(at);
    for indicator in indicators {
        statement.execute(params![
            indicator.kind.as_str(),
            indicator.value,
            id.0,
            indicator.role.as_str(),
            noted_at
        ])?;
    }
    Ok(())
}

fn json(id: &CaseId, alert: &Alert) -> Result<String, SqliteFailure> {
    serde_json::to_string(alert).map_err(|cause| SqliteFailure::Unwritable(id.0.clone(), cause))
}
