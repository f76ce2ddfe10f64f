//! Selects benign cases that are due for a recheck, and stores the results.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_pipeline::admission::RevisionReason;
use nightshift_pipeline::case::CaseId;
use nightshift_pipeline::port::{DueRecheck, Rechecks, StoreError};
use tokio_postgres::Row;
use uuid::Uuid;

use super::PostgresStore;
use super::case_workflow::REOPEN;
use super::database::SqlValue;
use super::failure::PostgresFailure;
use super::row::{get_revision, limit, parse, revision};

/// Takes due cases. A retry after a lost answer takes other cases, and the first ones become due again later.
pub(super) const TAKE: &str = "WITH chosen AS ( \
         SELECT id FROM cases WHERE status = 'concluded' AND recheck_at <= $1 \
         ORDER BY recheck_at LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED \
     ), taken AS ( \
         UPDATE cases SET recheck_at = $2 FROM chosen WHERE cases.id = chosen.id \
         RETURNING cases.id, cases.revision, cases.logs_complete_until, cases.events_until \
     ) \
     SELECT taken.id, taken.revision, alerts.alert::text, conclusions.report::text, taken.logs_complete_until, taken.events_until \
     FROM taken JOIN alerts ON alerts.case_id = taken.id AND alerts.revision = taken.revision \
         JOIN conclusions ON conclusions.case_id = taken.id AND conclusions.revision = taken.revision";
const NOTE: &str = "UPDATE cases SET logs_complete_until = $3, recheck_at = $4 \
     WHERE id = $1 AND revision = $2 AND status = 'concluded'";
/// Queues the same alert again, and extends the period of its events to `$4`.
const QUEUE: &str = "WITH again AS ( \
         UPDATE cases SET revision = revision + 1, status = 'queued', journal_seq = 0, crashes = 0, needs_model = false, \
             recheck_at = NULL, last_write_id = $5, revised_at = clock_timestamp(), waiting_since = clock_timestamp(), \
             first_event = least(first_event, $4), last_event = greatest(last_event, $4) \
         WHERE id = $1 AND revision = $2 AND status = 'concluded' RETURNING id, revision \
     ), copied AS ( \
         INSERT INTO alerts (case_id, revision, raw_id, source, received_at, reason, alert) \
         SELECT again.id, again.revision, raw_id, source, received_at, $3, alert \
         FROM again JOIN alerts ON case_id = again.id AND alerts.revision = again.revision - 1 \
     ) \
     SELECT pg_notify('nightshift-work', '')::text FROM again";
const IS_QUEUED: &str = "SELECT FROM cases WHERE id = $1 AND last_write_id = $2";
/// Makes cases due only if the fingerprint of the registers changed.
const REGISTERS: &str = "WITH changed AS ( \
         INSERT INTO registers (fingerprint, changed_at) VALUES ($1, $2) \
         ON CONFLICT (singleton) DO UPDATE SET fingerprint = excluded.fingerprint, changed_at = excluded.changed_at \
             WHERE registers.fingerprint <> excluded.fingerprint \
         RETURNING singleton \
     ), due AS ( \
         UPDATE cases SET recheck_at = $2 \
         WHERE status = 'concluded' AND recheck_at > $2 AND EXISTS (SELECT FROM changed) RETURNING 1 \
     ) \
     SELECT count(*) FROM due";

#[async_trait]
impl Rechecks for PostgresStore {
    async fn take_due_rechecks(
        &self,
        now: DateTime<Utc>,
        again_at: DateTime<Utc>,
        most: usize,
    ) -> Result<Vec<DueRecheck>, StoreError> {
        let most = limit(most);
        self.retry_read("look for cases to evaluate again", |session| async move {
            let rows = session.rows(TAKE, [&now, &again_at, &most]).await?;
            Ok(rows.iter().filter_map(due).collect())
        })
        .await
    }

    async fn note_recheck(
        &self,
        due: &DueRecheck,
        whole_until: DateTime<Utc>,
        next: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError> {
        let (id, revision) = (&due.case_id.0, revision(due.revision));
        let values: [SqlValue<'_>; 4] = [id, &revision, &whole_until, &next];
        self.retry_change("note that a case was evaluated again", NOTE, values)
            .await
            .map(drop)
    }

    async fn queue_recheck(
        &self,
        due: &DueRecheck,
        why: RevisionReason,
        at: Option<DateTime<Utc>>,
    ) -> Result<bool, StoreError> {
        let (id, revision, name) = (&due.case_id.0, revision(due.revision), Uuid::new_v4());
        let (why, ours) = (why.as_str(), Some(name));
        let queued = self
            .retry_read("queue a case that is not covered", |session| async move {
                let values: [SqlValue<'_>; 5] = [id, &revision, &why, &at, &name];
                let is_queued = session.row(QUEUE, values).await?.is_some()
                    || session.row(IS_QUEUED, [id, &name]).await?.is_some();
                if is_queued {
                    session.change(REOPEN, [id, &ours]).await?;
                }
                Ok(is_queued)
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
        let doing = "note what the registers hold";
        self.retry_count(doing, REGISTERS, [&fingerprint, &due_at])
            .await
    }
}

/// Parses a due case. A case that this version cannot read waits for a version that can.
fn due(row: &Row) -> Option<DueRecheck> {
    read(row)
        .inspect_err(|error| {
            tracing::warn!(
                error = error as &dyn std::error::Error,
                "a benign case cannot be evaluated again by this version"
            );
        })
        .ok()
}

fn read(row: &Row) -> Result<DueRecheck, PostgresFailure> {
    let id: String = row.try_get("id")?;
    Ok(DueRecheck {
        revision: get_revision(row, 1)?,
        alert: Arc::new(parse(&id, row.try_get(2)?)?),
        report: Box::new(parse(&id, row.try_get(3)?)?),
        whole_until: row.try_get("logs_complete_until")?,
        events_until: row.try_get("events_until")?,
        case_id: CaseId(id),
    })
}
