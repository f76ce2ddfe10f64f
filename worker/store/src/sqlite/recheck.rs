//! Selects benign cases that are due for a recheck, and stores the results.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_pipeline::admission::RevisionReason;
use nightshift_pipeline::case::CaseId;
use nightshift_pipeline::port::{DueRecheck, Rechecks, StoreError};
use rusqlite::{Connection, Row, params};
use serde::de::DeserializeOwned;

use super::row::{get_time_or_none, time};
use super::thread::SqliteFailure;
use super::{SqliteStore, case_workflow, revisions};

const DUE: &str = "SELECT cases.id, cases.revision, alerts.alert, conclusions.report, logs_complete_until, events_until \
     FROM cases JOIN alerts ON alerts.case_id = cases.id AND alerts.revision = cases.revision \
         JOIN conclusions ON conclusions.case_id = cases.id AND conclusions.revision = cases.revision \
     WHERE status = 'concluded' AND recheck_at <= ?1 ORDER BY recheck_at LIMIT ?2";
const TAKE: &str = "UPDATE cases SET recheck_at = ?2 WHERE id = ?1";
const NOTE: &str = "UPDATE cases SET logs_complete_until = ?3, recheck_at = ?4 \
     WHERE id = ?1 AND revision = ?2 AND status = 'concluded'";
/// Extends the period of events of the case to `?3`.
const LAST: &str = "UPDATE cases SET recheck_at = NULL, first_event = coalesce(min(first_event, ?3), first_event, ?3), \
         last_event = coalesce(max(last_event, ?3), last_event, ?3) \
     WHERE id = ?1 AND revision = ?2 AND status = 'concluded'";
const SOURCE: &str = "SELECT source FROM alerts WHERE case_id = ?1 AND revision = ?2";
/// Makes cases due only if the fingerprint of the registers changed.
const REGISTERS: &str = "INSERT INTO registers (singleton, fingerprint, changed_at) VALUES (1, ?1, ?2) \
     ON CONFLICT (singleton) DO UPDATE SET fingerprint = excluded.fingerprint, changed_at = excluded.changed_at \
         WHERE fingerprint <> excluded.fingerprint";
const ALL_DUE: &str =
    "UPDATE cases SET recheck_at = ?1 WHERE status = 'concluded' AND recheck_at > ?1";

#[async_trait]
impl Rechecks for SqliteStore {
    async fn take_due_rechecks(
        &self,
        now: DateTime<Utc>,
        again_at: DateTime<Utc>,
        most: usize,
    ) -> Result<Vec<DueRecheck>, StoreError> {
        self.thread
            .run("look for cases to evaluate again", move |connection| {
                take(connection, now, again_at, most)
            })
            .await
    }

    async fn note_recheck(
        &self,
        due: &DueRecheck,
        whole_until: DateTime<Utc>,
        next: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError> {
        let (id, revision) = (due.case_id.clone(), due.revision);
        self.thread
            .run("note that a case was evaluated again", move |connection| {
                let values = params![id.0, revision, time(whole_until), next.map(time)];
                connection.prepare_cached(NOTE)?.execute(values)?;
                Ok(())
            })
            .await
    }

    async fn queue_recheck(
        &self,
        due: &DueRecheck,
        why: RevisionReason,
        at: Option<DateTime<Utc>>,
    ) -> Result<bool, StoreError> {
        let (id, revision) = (due.case_id.clone(), due.revision);
        let queued = self
            .thread
            .run("queue a case that is not covered", move |connection| {
                let values = params![id.0, revision, at.map(time)];
                if connection.prepare_cached(LAST)?.execute(values)? == 0 {
                    return Ok(false);
                }
                let mut source = connection.prepare_cached(SOURCE)?;
                let source: String = source.query_row(params![id.0, revision], |row| row.get(0))?;
                revisions::repeat(connection, &id, why.as_str())?;
                case_workflow::reopen(connection, &id.0, &source)?;
                Ok(true)
            })
            .await?;
        self.notifier.notify();
        Ok(queued)
    }

    async fn note_registers(
        &self,
        fingerprint: &str,
        due_at: DateTime<Utc>,
    ) -> Result<u64, StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.thread
            .run("note what the registers hold", move |connection| {
                let due_at = time(due_at);
                let values = params![fingerprint, due_at];
                if connection.prepare_cached(REGISTERS)?.execute(values)? == 0 {
                    return Ok(0);
                }
                let due = connection.prepare_cached(ALL_DUE)?.execute([due_at])?;
                Ok(u64::try_from(due).unwrap_or_default())
            })
            .await
    }
}

/// Takes a due case. A case that this version cannot read waits for a version that can.
fn take(
    connection: &Connection,
    now: DateTime<Utc>,
    again_at: DateTime<Utc>,
    most: usize,
) -> Result<Vec<DueRecheck>, SqliteFailure> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(DUE)?;
    let found = statement.query_map(params![time(now), most], |row| {
        let id: String = row.get(0)?;
        Ok((read(row, &id), id))
    })?;
    let mut due = Vec::new();
    let mut take = connection.prepare_cached(TAKE)?;
    for one in found.collect::<Result<Vec<_>, _>>()? {
        let (read, id) = one;
        take.execute(params![id, time(again_at)])?;
        match read {
            Ok(one) => due.push(one),
            Err(error) => tracing::warn!(
                case.id = id,
                error = &error as &dyn std::error::Error,
                "a benign case cannot be evaluated again by this version"
            ),
        }
    }
    Ok(due)
}

fn read(row: &Row<'_>, id: &str) -> Result<DueRecheck, SqliteFailure> {
    Ok(DueRecheck {
        case_id: CaseId(id.to_owned()),
        revision: row.get(1)?,
        alert: Arc::new(parse(id, &row.get::<_, String>(2)?)?),
        report: Box::new(parse(id, &row.get::<_, String>(3)?)?),
        whole_until: get_time_or_none(row, 4)?,
        events_until: get_time_or_none(row, 5)?,
    })
}

fn parse<T: DeserializeOwned>(id: &str, text: &str) -> Result<T, SqliteFailure> {
    serde_json::from_str(text).map_err(|cause| SqliteFailure::Unreadable(id.to_owned(), cause))
}
