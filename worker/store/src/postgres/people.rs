//! Implements actions of people on triages: run one again, or cancel one. Each has a unique id, by which a retry finds
//! an attempt with a lost answer.

use chrono::{DateTime, Utc};
use nightshift_engine::event::{Event, EventBody};
use nightshift_pipeline::case::{Cancellation, CaseId, CaseStatus};
use nightshift_pipeline::port::StoreError;
use tokio_postgres::Row;
use uuid::Uuid;

use super::PostgresStore;
use super::case_workflow::REOPEN;
use super::database::Session;
use super::failure::PostgresFailure;
use super::row::{get_revision, get_status, json, text};
use crate::sql::{Tx, cases, spending};

/// Locks the case, so that nobody claims, concludes or writes it before the commit.
const HOLD: &str = "SELECT status, revision, last_write_id IS NOT DISTINCT FROM $2 FROM cases WHERE id = $1 \
     FOR NO KEY UPDATE";
/// Triages the same alert again. It keeps its arrival time, and waits from now on.
const AGAIN: &str = "WITH again AS ( \
         UPDATE cases SET revision = revision + 1, status = 'queued', journal_seq = 0, crashes = 0, needs_model = false, \
             last_write_id = $2, revised_at = clock_timestamp(), waiting_since = clock_timestamp() \
         WHERE id = $1 RETURNING id, revision \
     ), copied AS ( \
         INSERT INTO alerts (case_id, revision, raw_id, source, received_at, reason, alert) \
         SELECT again.id, again.revision, raw_id, source, received_at, 'asked', alert \
         FROM again JOIN alerts ON case_id = again.id AND alerts.revision = again.revision - 1 \
     ) \
     SELECT pg_notify('nightshift-work', '')::text FROM again";
/// Cancels a triage. The epoch grows, so a worker that runs the case loses its lease. A journal with events gets a
/// final event; an empty one stays empty, because its first event must name the alert. The next waiting alert of the
/// case follows.
const CANCEL: &str = "WITH held AS ( \
         SELECT id, revision, journal_seq, epoch FROM cases WHERE id = $1 \
     ), noted AS ( \
         UPDATE alerts SET cancelled_by = $2 FROM held WHERE case_id = held.id AND alerts.revision = held.revision \
     ), told AS ( \
         INSERT INTO journal (case_id, revision, seq, epoch, at, kind, event) \
         SELECT id, revision, journal_seq + 1, epoch + 1, $3, 'cancelled', $4::text::jsonb FROM held WHERE journal_seq > 0 \
     ), next AS ( \
         DELETE FROM pending_revisions WHERE (case_id, seq) = \
             (SELECT case_id, min(seq) FROM pending_revisions WHERE case_id = $1 GROUP BY case_id) RETURNING * \
     ), ended AS ( \
         UPDATE cases SET epoch = cases.epoch + 1, last_write_id = $5, lease_holder = NULL, lease_until = NULL, crashes = 0, \
             needs_model = false, concluded_at = $3, waiting_since = clock_timestamp(), \
             status = CASE WHEN next.case_id IS NULL THEN 'cancelled' ELSE 'queued' END, \
             revision = held.revision + CASE WHEN next.case_id IS NULL THEN 0 ELSE 1 END, \
             journal_seq = CASE WHEN next.case_id IS NOT NULL OR held.journal_seq = 0 THEN 0 ELSE held.journal_seq + 1 END, \
             severity = coalesce(next.severity, cases.severity), content = coalesce(next.content, cases.content), \
             title = coalesce(next.title, cases.title), type = coalesce(next.type, cases.type), \
             revised_at = CASE WHEN next.case_id IS NULL THEN revised_at ELSE clock_timestamp() END \
         FROM held LEFT JOIN next ON true WHERE cases.id = held.id RETURNING cases.id, cases.revision \
     ), added AS ( \
         INSERT INTO alerts (case_id, revision, raw_id, source, received_at, reason, alert) \
         SELECT ended.id, ended.revision, next.raw_id, next.source, next.received_at, next.reason, next.alert \
         FROM ended JOIN next ON true \
     ) \
     SELECT pg_notify('nightshift-work', '')::text FROM ended";

/// Updates destinations that show the case as running. A shown report remains.
const TELL: &str = "UPDATE deliveries SET wanted_version = wanted_version + 1, major_version = wanted_version + 1, requested_at = clock_timestamp(), \
         attempts = 0, retry_at = NULL \
     FROM cases WHERE cases.id = $1 AND cases.status = 'cancelled' AND case_id = $1 AND NOT given_up \
         AND NOT EXISTS (SELECT FROM conclusions WHERE conclusions.case_id = $1)";

/// The state of a case, which is locked until the end of the transaction.
struct LockedCase {
    id: CaseId,
    status: CaseStatus,
    revision: u32,
    /// True if an earlier attempt did this already and its answer was lost.
    is_done: bool,
}

impl LockedCase {
    async fn find(session: &Session, id: &str, name: Uuid) -> Result<Self, PostgresFailure> {
        let id = cases::find(Tx::Postgres(session), id).await?.id;
        Self::lock(session, id, name).await
    }

    async fn lock(session: &Session, id: CaseId, name: Uuid) -> Result<Self, PostgresFailure> {
        let none = || PostgresFailure::NoSuchCase(id.0.clone());
        let row: Row = session.row(HOLD, [&id.0, &name]).await?.ok_or_else(none)?;
        Ok(Self {
            status: get_status(&row, 0)?,
            revision: get_revision(&row, 1)?,
            is_done: row.try_get(2)?,
            id,
        })
    }
}

impl PostgresStore {
    /// Implements [`nightshift_pipeline::port::Cases::retry`].
    pub(super) async fn retriage(&self, id: &str) -> Result<CaseId, StoreError> {
        let name = Uuid::new_v4();
        let mut tries = self.database.tries("run a case again");
        loop {
            match self.database.within(self.try_again(id, name)).await {
                Ok(id) => {
                    self.notifier.notify();
                    return Ok(id);
                }
                Err(failure) => tries.backoff(failure).await?,
            }
        }
    }

    async fn try_again(&self, id: &str, name: Uuid) -> Result<CaseId, PostgresFailure> {
        let session = self.database.session(&[]).await?;
        session.begin().await?;
        let held = LockedCase::find(&session, id, name).await?;
        if !held.is_done {
            if !held.status.is_over() {
                return Err(PostgresFailure::NotOver(held.id.0, held.status));
            }
            session.row(AGAIN, [&held.id.0, &name]).await?;
        }
        session.commit().await?;
        session.done();
        Ok(held.id)
    }

    /// Implements [`nightshift_pipeline::port::Cases::cancel`].
    pub(super) async fn cancel_triage(
        &self,
        id: &str,
        who: &str,
        at: DateTime<Utc>,
    ) -> Result<Cancellation, StoreError> {
        let doing = "cancel a case";
        let (name, by) = (Uuid::new_v4(), text(who).into_owned());
        let event = Event::new(at, EventBody::Cancelled { by: by.clone() });
        let event = json(id, &event).map_err(|failure| failure.into_store_error(doing))?;
        let mut tries = self.database.tries(doing);
        loop {
            let one = self.try_call_off(id, (&by, at), &event, name);
            match self.database.within(one).await {
                Ok(called_off) => {
                    self.notifier.notify();
                    return Ok(called_off);
                }
                Err(failure) => tries.backoff(failure).await?,
            }
        }
    }

    async fn try_call_off(
        &self,
        id: &str,
        (by, at): (&str, DateTime<Utc>),
        event: &str,
        name: Uuid,
    ) -> Result<Cancellation, PostgresFailure> {
        let session = self.database.session(&[]).await?;
        session.begin().await?;
        let held = LockedCase::find(&session, id, name).await?;
        if !held.is_done {
            if held.status.is_over() {
                return Err(PostgresFailure::AlreadyOver(held.id.0, held.status));
            }
            spending::add_running(Tx::Postgres(&session), &held.id, held.revision, at).await?;
            session
                .row(CANCEL, [&held.id.0, &by, &at, &event, &name])
                .await?;
            session.change(TELL, [&held.id.0]).await?;
            let ours = Some(name);
            session.change(REOPEN, [&held.id.0, &ours]).await?;
        }
        let now = LockedCase::lock(&session, held.id, name).await?;
        session.commit().await?;
        session.done();
        Ok(Cancellation {
            next: (now.status == CaseStatus::Queued).then_some(now.revision),
            case_id: now.id,
        })
    }
}
