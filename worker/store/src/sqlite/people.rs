//! Implements actions of people on triages: run one again, or cancel one.

use chrono::{DateTime, Utc};
use nightshift_engine::event::{Event, EventBody};
use nightshift_pipeline::case::{Cancellation, CaseId, CaseRow, CaseStatus, Lease};
use rusqlite::{Connection, params};

use super::row::{get_status, time};
use super::thread::{SqliteConnection, SqliteFailure};
use super::{case_workflow, cases, revisions};
use crate::sql::cases::find;
use crate::sql::{Tx, at_once, spending};

const CANCEL: &str = "UPDATE cases SET status = 'cancelled', epoch = epoch + 1, lease_holder = NULL, lease_until = NULL, \
     crashes = 0, needs_model = 0, concluded_at = ?2 WHERE id = ?1 RETURNING epoch";
const BY_WHOM: &str = "UPDATE alerts SET cancelled_by = ?3 WHERE case_id = ?1 AND revision = ?2";
const IS_BEGUN: &str = "SELECT 1 FROM journal WHERE case_id = ?1 AND revision = ?2 LIMIT 1";
const LATEST: &str = "SELECT status, revision FROM cases WHERE id = ?1";

/// Triages a case that is over once more.
pub(super) fn retry(shared: &SqliteConnection, id: &str) -> Result<CaseId, SqliteFailure> {
    let case = at_once(find(Tx::Sqlite(shared), id))?;
    if !case.status.is_over() {
        return Err(SqliteFailure::NotOver(case.id.0, case.status));
    }
    revisions::repeat(&shared.lock(), &case.id, "asked")?;
    Ok(case.id)
}

/// Cancels a triage. The epoch grows, so a worker that runs the case loses its lease. The next waiting alert of the
/// case follows.
pub(super) fn cancel(
    shared: &SqliteConnection,
    id: &str,
    who: String,
    at: DateTime<Utc>,
) -> Result<Cancellation, SqliteFailure> {
    let connection = &*shared.lock();
    let case = at_once(find(Tx::Sqlite(shared), id))?;
    if case.status.is_over() {
        return Err(SqliteFailure::AlreadyOver(case.id.0, case.status));
    }
    at_once(spending::add_running(
        Tx::Sqlite(shared),
        &case.id,
        case.revision,
        at,
    ))?;
    let epoch: i64 = connection
        .prepare_cached(CANCEL)?
        .query_row(params![case.id.0, time(at)], |row| row.get(0))?;
    connection
        .prepare_cached(BY_WHOM)?
        .execute(params![case.id.0, case.revision, who])?;
    tell(connection, &case, epoch, who, at)?;
    revisions::start_queued_revision(connection, &case.id)?;
    case_workflow::mark_cancelled(connection, &case.id.0)?;
    let (status, revision) = connection
        .prepare_cached(LATEST)?
        .query_row([&case.id.0], |row| Ok((get_status(row, 0)?, row.get(1)?)))?;
    Ok(Cancellation {
        case_id: case.id,
        next: (status == CaseStatus::Queued).then_some(revision),
    })
}

/// Ends a journal that has events. An empty one stays empty, because its first event must name the alert.
fn tell(
    connection: &Connection,
    case: &CaseRow,
    epoch: i64,
    by: String,
    at: DateTime<Utc>,
) -> Result<(), SqliteFailure> {
    let is_begun = connection
        .prepare_cached(IS_BEGUN)?
        .exists(params![case.id.0, case.revision])?;
    if !is_begun {
        return Ok(());
    }
    let lease = Lease {
        case_id: case.id.clone(),
        revision: case.revision,
        epoch: u64::try_from(epoch).unwrap_or_default(),
    };
    cases::add_events(
        connection,
        &lease,
        &[Event::new(at, EventBody::Cancelled { by })],
    )
}
