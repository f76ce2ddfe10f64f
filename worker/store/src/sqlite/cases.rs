//! Writes journals and conclusions. Every write of a case checks its lease in the same transaction. Claims and leases
//! are in `claim`, reads for people in [`crate::sql`].

use std::sync::Arc;

use chrono::{DateTime, Utc};
use nightshift_engine::event::Event;
use nightshift_pipeline::budget::Charge;
use nightshift_pipeline::case::{Cancellation, CaseId, Lane, Lease, OutageWait};
use nightshift_pipeline::port::{CaseClosure, ClaimedCase, StoreError};
use rusqlite::{Connection, params};

use super::claim::epoch;
use super::host::{LeaseHolder, uptime_secs};
use super::row::{severity, time};
use super::thread::{SqliteConnection, SqliteFailure};
use super::{SqliteStore, case_workflow, people, revisions};
use crate::sql::{Tx, at_once, spending};

const HOLDS: &str = "SELECT 1 FROM cases \
     WHERE id = ?1 AND epoch = ?2 AND revision = ?3 AND lease_holder = ?4 AND status = 'running' AND lease_until >= ?5";
const ADD_EVENT: &str = "INSERT INTO journal (case_id, revision, seq, epoch, at, kind, command, event) \
     VALUES (?1, ?2, (SELECT coalesce(max(seq), 0) + 1 FROM journal WHERE case_id = ?1 AND revision = ?2), \
     ?3, ?4, ?5, ?6, ?7)";
const ADD_CONCLUSION: &str = "INSERT INTO conclusions \
     (case_id, revision, concluded_at, verdict, leaning, reason, confidence, assessed_severity, report) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
const END: &str = "UPDATE cases SET status = ?2, verdict = ?3, leaning = ?4, assessed_severity = ?5, concluded_at = ?6, \
     needs_model = ?7, recheck_at = ?8, logs_complete_until = NULL, crashes = 0, lease_holder = NULL, lease_until = NULL WHERE id = ?1";
const ARRIVED: &str = "SELECT sightings, members FROM cases WHERE id = ?1";
const WISH: &str = "INSERT INTO deliveries (case_id, destination, wanted_version, major_version, requested_at) VALUES (?1, ?2, 1, 1, ?3) \
     ON CONFLICT (case_id, destination) DO UPDATE \
     SET wanted_version = wanted_version + 1, major_version = wanted_version + 1, requested_at = ?3, attempts = 0, retry_at = NULL, given_up = 0, error = NULL, \
         instead_of = NULL";
/// Requests a delivery to each destination that shows the case or may show it, whatever the route says now, so that its
/// readers learn the result. A delivery that a person gave up while its send was ambiguous belongs to a removed
/// destination.
const WISH_SHOWN: &str = "UPDATE deliveries SET wanted_version = wanted_version + 1, major_version = wanted_version + 1, requested_at = ?2, attempts = 0, \
     retry_at = NULL, given_up = 0, error = NULL, instead_of = NULL WHERE case_id = ?1 AND (shown IS NOT NULL OR begun_at IS NOT NULL AND given_up = 0) \
     AND destination NOT IN (SELECT value FROM json_each(?3))";

impl SqliteStore {
    pub(crate) async fn claim(
        &self,
        lane: Lane,
        most: usize,
    ) -> Result<Vec<ClaimedCase>, StoreError> {
        self.claim_best(lane, most, None).await
    }

    pub(crate) async fn claim_overdue(
        &self,
        lane: Lane,
        most: usize,
        waited: OutageWait,
    ) -> Result<Vec<ClaimedCase>, StoreError> {
        self.claim_best(lane, most, Some(waited)).await
    }

    pub(crate) async fn requeue_degraded(&self, most: usize) -> Result<u64, StoreError> {
        let queued = self
            .thread
            .run("queue cases for models", move |connection| {
                revisions::with_models(connection, most)
            })
            .await?;
        self.notifier.notify();
        Ok(queued)
    }

    pub(crate) async fn claim_one(&self, id: &CaseId) -> Result<Option<ClaimedCase>, StoreError> {
        self.claim_this(id).await
    }

    pub(crate) async fn renew(&self, leases: &[Lease]) -> Result<Vec<Lease>, StoreError> {
        self.renew_all(leases).await
    }

    pub(crate) async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.release_lease(lease).await
    }

    pub(crate) async fn append(
        &self,
        lease: &Lease,
        events: &[Event],
        charge: Charge,
    ) -> Result<(), StoreError> {
        let written = Arc::new((lease.clone(), self.holder.clone(), events.to_vec()));
        self.while_held("write a journal", || {
            let written = Arc::clone(&written);
            move |shared: &SqliteConnection| {
                let connection = &*shared.lock();
                let (lease, holder, events) = written.as_ref();
                check_lease(connection, lease, holder)?;
                add_events(connection, lease, events)?;
                at_once(spending::add(Tx::Sqlite(shared), &lease.case_id, charge))
            }
        })
        .await
    }

    pub(crate) async fn conclude(
        &self,
        lease: &Lease,
        closing: &CaseClosure,
    ) -> Result<(), StoreError> {
        let written = Arc::new((lease.clone(), self.holder.clone(), closing.clone()));
        self.while_held("conclude a case", || {
            let written = Arc::clone(&written);
            move |shared: &SqliteConnection| {
                let connection = &*shared.lock();
                let (lease, holder, closing) = written.as_ref();
                check_lease(connection, lease, holder)?;
                add_events(connection, lease, &closing.events)?;
                at_once(spending::add(
                    Tx::Sqlite(shared),
                    &lease.case_id,
                    closing.charge,
                ))?;
                close(connection, lease, closing)
            }
        })
        .await?;
        self.notifier.notify();
        Ok(())
    }

    pub(crate) async fn retry(&self, id: &str) -> Result<CaseId, StoreError> {
        let id = id.to_owned();
        let retried = self
            .thread
            .transaction("run a case again", move |connection| {
                people::retry(connection, &id)
            })
            .await
            .map_err(|undone| undone.into_store_error("run a case again"))?;
        self.notifier.notify();
        Ok(retried)
    }

    pub(crate) async fn cancel(
        &self,
        id: &str,
        who: &str,
        at: DateTime<Utc>,
    ) -> Result<Cancellation, StoreError> {
        let (id, who) = (id.to_owned(), who.to_owned());
        let called_off = self
            .thread
            .transaction("cancel a case", move |connection| {
                people::cancel(connection, &id, who, at)
            })
            .await
            .map_err(|undone| undone.into_store_error("cancel a case"))?;
        self.notifier.notify();
        Ok(called_off)
    }

    pub(crate) fn is_disk_full(&self) -> bool {
        self.thread.disk.is_recent()
    }
}

fn check_lease(
    connection: &Connection,
    lease: &Lease,
    holder: &LeaseHolder,
) -> Result<(), SqliteFailure> {
    let holds = connection.prepare_cached(HOLDS)?.exists(params![
        lease.case_id.0,
        epoch(lease),
        lease.revision,
        holder.0,
        uptime_secs()
    ])?;
    if holds {
        Ok(())
    } else {
        Err(SqliteFailure::LeaseLost)
    }
}

/// Adds events to the journal of a revision, with this epoch.
pub(super) fn add_events(
    connection: &Connection,
    lease: &Lease,
    events: &[Event],
) -> Result<(), SqliteFailure> {
    let mut statement = connection.prepare_cached(ADD_EVENT)?;
    for event in events {
        let text = serde_json::to_string(event)
            .map_err(|cause| SqliteFailure::Unwritable(lease.case_id.0.clone(), cause))?;
        statement.execute(params![
            lease.case_id.0,
            lease.revision,
            epoch(lease),
            time(event.at),
            event.body.kind(),
            event.body.command().map(|id| &id.0),
            text
        ])?;
    }
    Ok(())
}

fn close(
    connection: &Connection,
    lease: &Lease,
    closing: &CaseClosure,
) -> Result<(), SqliteFailure> {
    let conclusion = &closing.conclusion;
    let mut report = closing.report.clone();
    let (sightings, members): (i64, i64) = connection
        .prepare_cached(ARRIVED)?
        .query_row([&lease.case_id.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
    report.alert.sightings = u64::try_from(sightings).unwrap_or_default();
    report.alert.members = u64::try_from(members).unwrap_or_default();
    let at = time(report.concluded_at);
    let text = serde_json::to_string(&report)
        .map_err(|cause| SqliteFailure::Unwritable(lease.case_id.0.clone(), cause))?;
    connection.prepare_cached(ADD_CONCLUSION)?.execute(params![
        lease.case_id.0,
        lease.revision,
        at,
        conclusion.verdict.as_str(),
        conclusion.leaning.as_str(),
        conclusion.reason.as_str(),
        conclusion.confidence.as_str(),
        severity(conclusion.assessed_severity),
        text
    ])?;
    connection.prepare_cached(END)?.execute(params![
        lease.case_id.0,
        closing.status.as_str(),
        conclusion.verdict.as_str(),
        conclusion.leaning.as_str(),
        severity(conclusion.assessed_severity),
        at,
        closing.wants_model,
        closing.recheck_at.map(time)
    ])?;
    let mut wish = connection.prepare_cached(WISH)?;
    for destination in &closing.destinations {
        wish.execute(params![lease.case_id.0, destination, at])?;
    }
    let named = serde_json::to_string(&closing.destinations)
        .map_err(|cause| SqliteFailure::Unwritable(lease.case_id.0.clone(), cause))?;
    let mut wish = connection.prepare_cached(WISH_SHOWN)?;
    wish.execute(params![lease.case_id.0, at, named])?;
    let goes_on = revisions::start_queued_revision(connection, &lease.case_id)?;
    revisions::settle(connection, &lease.case_id, closing.clearance(), goes_on)?;
    case_workflow::reopen_unseen(connection, &lease.case_id.0)
}
