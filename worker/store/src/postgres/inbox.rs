//! Implements the inbox: a batch is accepted whole, in one transaction, or not at all.
//!
//! `admission_lookup` reads the context of all alerts at once, admission decides about each alert in `batch_part`, and
//! `write` writes all decisions at once. A batch of alerts with different keys takes two round trips, whatever its
//! size.
//!
//! Batches with a common key or storm wait for one another, because two simultaneous alerts cannot both be the first.
//! Keys and storms are hashed to one of about a thousand lock numbers. Two full batches always share one, so full
//! batches are accepted one at a time, and small ones in parallel. A larger batch is accepted in parts, each in its own
//! transaction.

mod admission_lookup;
mod batch_part;
mod case_change;
mod columns;
mod write;

use std::sync::Arc;

use async_trait::async_trait;
use nightshift_pipeline::admission::Mute;
use nightshift_pipeline::intake::Arrival;
use nightshift_pipeline::port::{AcceptedAlert, Inbox, StoreError};
use parking_lot::Mutex;
use uuid::Uuid;

use super::PostgresStore;
use super::database::{Session, within_at_most};
use super::failure::{PostgresFailure, Remedy};
use crate::blobs;
use crate::split::{self, CommitError};
use crate::sql::{Row, mutes};
use admission_lookup::{AdmissionLookup, PostgresAdmissionData};
use batch_part::{BatchMessages, BatchPart, ReservedIds};

const DOING: &str = "accept a batch";
/// The maximum number of alerts in a transaction. Messages may contain thousands, and the locks of a transaction block
/// others.
const MOST_TOGETHER: usize = 256;

/// Locks keys and storms by a hash that is the same in all workers, in ascending order. There are about a thousand
/// numbers, so the lock table of the server always has room.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7226003, number) \
     FROM (SELECT DISTINCT hashtext(name) & 1023 AS number FROM unnest($1::text[]) AS name ORDER BY 1) AS numbers";
/// Checks whether an attempt with a lost answer committed this batch.
const IS_ACCEPTED: &str = "SELECT FROM batches WHERE id = $1";
const NEW_IDS: &str =
    "SELECT nextval(pg_get_serial_sequence('raw_messages', 'id')) FROM generate_series(1, $1)";
const NEW_LETTERS: &str =
    "SELECT nextval(pg_get_serial_sequence('dead_letters', 'id')) FROM generate_series(1, $1)";

#[async_trait]
impl Inbox for PostgresStore {
    async fn accept(&self, batch: Arc<[Arrival]>) -> Result<Vec<AcceptedAlert>, StoreError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let placed =
            blobs::write_large_messages(self.blobs.as_ref(), &batch, |keys| self.announce(keys))
                .await?;
        let messages = &Mutex::new(BatchMessages::new(placed));
        let messages = || messages.lock();
        split::accept(batch, MOST_TOGETHER, |part, is_split| async move {
            if is_split {
                // A split part may refer to a message twice, and keeps it in its rows.
                return Ok(self.accept_whole(&part, BatchMessages::default()).await?.0);
            }
            let before = messages().clone();
            let (accepted, after) = self.accept_whole(&part, before).await?;
            *messages() = after;
            Ok(accepted)
        })
        .await
    }
}

impl PostgresStore {
    /// Accepts a part. Returns the outcome of each alert and the current places of their messages.
    async fn accept_whole(
        &self,
        batch: &[Arrival],
        messages: BatchMessages,
    ) -> Result<BatchDecision, CommitError> {
        let name = Uuid::new_v4();
        let mut tries = self.database.tries(DOING);
        let mut decided = BatchDecision::default();
        loop {
            // The future is boxed because it holds a dozen statements that are sent together.
            let one = Box::pin(self.try_accept(batch, &messages, name, &mut decided));
            let Err(failure) = self.database.within(one).await else {
                self.notifier.notify();
                return Ok(decided);
            };
            // A part that takes too long is split. A single alert that does so waits for a faster database, because it
            // is not at fault.
            let is_too_much = batch.len() > 1 && self.is_too_much(&failure).await;
            if is_too_much || failure.remedy() == Remedy::Split {
                return Err(CommitError::Batch(failure.into_store_error(DOING)));
            }
            tries.backoff(failure).await.map_err(CommitError::Store)?;
        }
    }

    /// Returns whether a smaller request may succeed in time. If the server did not answer, it may be unavailable; the
    /// request was too large only if the server answers others.
    pub(super) async fn is_too_much(&self, failure: &PostgresFailure) -> bool {
        let PostgresFailure::Silent(_) = failure else {
            return failure.is_too_slow();
        };
        let most = self.database.waits.pool + self.database.waits.connect;
        let asked = within_at_most(most, async {
            let session = self.database.session(&[]).await?;
            session.batch_execute("SELECT").await?;
            session.done();
            Ok(())
        });
        asked.await.is_ok()
    }

    /// Makes one attempt. `decided` contains the decisions of an earlier attempt that was cut off; they apply if it was
    /// committed.
    async fn try_accept(
        &self,
        batch: &[Arrival],
        messages: &BatchMessages,
        name: Uuid,
        decided: &mut BatchDecision,
    ) -> Result<(), PostgresFailure> {
        let statements = [
            &admission_lookup::STATEMENTS[..],
            &write::STATEMENTS,
            &case_change::STATEMENTS,
        ]
        .concat();
        let session = self.database.session(&statements).await?;
        let wanted = AdmissionLookup::from_arrivals(batch, &self.admission);
        let (start, facts) = tokio::try_join!(
            biased;
            self.start(&session, batch, messages, &wanted, name),
            PostgresAdmissionData::read(&session, &wanted),
        )?;
        if start.is_accepted {
            session.rollback().await?;
            session.done();
            return Ok(());
        }
        let (mut ids, mut facts, mut rest) = (start.ids, facts, batch);
        decided.0.clear();
        loop {
            let wave =
                BatchPart::decide(rest, &mut facts, &start.mutes, &self.admission, &mut ids)?;
            rest = rest.get(wave.accepted.len()..).unwrap_or_default();
            decided.0.extend(wave.accepted);
            if rest.is_empty() {
                decided.1 = ids.messages;
                let last = write::BatchEnd {
                    name,
                    alerts: batch.len(),
                };
                wave.writes.send(&session, Some(last)).await?;
                session.done();
                return Ok(());
            }
            wave.writes.send(&session, None).await?;
            let wanted = AdmissionLookup::from_arrivals(rest, &self.admission);
            facts = PostgresAdmissionData::read(&session, &wanted).await?;
        }
    }

    /// Begins the transaction, takes its locks, and reads what does not depend on single alerts.
    async fn start(
        &self,
        session: &Session,
        batch: &[Arrival],
        messages: &BatchMessages,
        wanted: &AdmissionLookup,
        name: Uuid,
    ) -> Result<TransactionStart, PostgresFailure> {
        let locks = wanted.locks();
        let most = i32::try_from(batch.len()).unwrap_or(i32::MAX);
        let letters = batch.iter().filter(|one| one.unreadable.is_some()).count();
        let letters = i32::try_from(letters).unwrap_or(i32::MAX);
        let (_, _, accepted, added, raw, letters) = tokio::try_join!(
            biased;
            session.begin(),
            session.rows(LOCK, [&locks]),
            session.row(IS_ACCEPTED, [&name]),
            session.rows(mutes::IN_FORCE.postgres(), []),
            session.rows(NEW_IDS, [&most]),
            session.rows(NEW_LETTERS, [&letters]),
        )?;
        let added: Vec<Row> = added.into_iter().map(Row::Postgres).collect();
        Ok(TransactionStart {
            is_accepted: accepted.is_some(),
            mutes: mutes::in_force(&self.admission, &added, &self.logged)?,
            ids: ReservedIds::from_rows(&raw, &letters, messages.clone())?,
        })
    }
}

/// The outcomes of alerts, and the places of their messages after that.
type BatchDecision = (Vec<AcceptedAlert>, BatchMessages);

/// The initial data of a transaction.
struct TransactionStart {
    is_accepted: bool,
    mutes: Vec<Mute>,
    ids: ReservedIds,
}
