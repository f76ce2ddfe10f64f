//! The inbox: a batch is accepted whole, in one transaction, or not at all.
//!
//! What becomes of each alert is for `admit` to say, over what `ground` reads of all of them at once; `wave` asks it, and
//! `write` writes what it said, at once too. Two round trips for a batch of alerts with different keys, however many.
//! Batches that share a key or a storm wait for one another: two that come together cannot both be the first. So do those
//! that share but one of a thousand numbers, which two full ones always do: small batches are accepted side by side, full
//! ones one at a time. A batch that is larger than that is accepted in parts, each in a transaction of its own.

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

use super::database::{Session, within_at_most};
use super::failure::{PostgresFailure, Remedy};
use super::{PostgresStore, mutes};
use crate::blobs;
use crate::split::{self, CommitError};
use admission_lookup::{AdmissionLookup, PostgresAdmissionData};
use batch_part::{BatchMessages, BatchPart, ReservedIds};

const DOING: &str = "accept a batch";
/// Most alerts of a transaction. Messages may hold thousands together, and the locks of a transaction hold up others.
const MOST_TOGETHER: usize = 256;

/// Keys and storms, by a number that all workers give them, always in the same order. A thousand numbers: the table of
/// locks of a server has room for them, whatever comes.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7226003, number) \
     FROM (SELECT DISTINCT hashtext(name) & 1023 AS number FROM unnest($1::text[]) AS name ORDER BY 1) AS numbers";
/// Whether this batch was committed by a try whose answer was lost.
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
                // It may refer to a message twice, and keeps it in its rows.
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
    /// What became of the alerts, and where their messages are now.
    async fn accept_whole(
        &self,
        batch: &[Arrival],
        messages: BatchMessages,
    ) -> Result<BatchDecision, CommitError> {
        let name = Uuid::new_v4();
        let mut tries = self.database.tries(DOING);
        let mut decided = BatchDecision::default();
        loop {
            // On the heap: it holds a dozen statements that are sent together.
            let one = Box::pin(self.try_accept(batch, &messages, name, &mut decided));
            let Err(failure) = self.database.within(one).await else {
                self.bell.notify();
                return Ok(decided);
            };
            // What takes too long may go in parts. One alert that does waits for a faster database: it is no fault of it.
            let is_too_much = batch.len() > 1 && self.is_too_much(&failure).await;
            if is_too_much || failure.remedy() == Remedy::Split {
                return Err(CommitError::Batch(failure.into_store_error(DOING)));
            }
            tries.backoff(failure).await.map_err(CommitError::Store)?;
        }
    }

    /// Whether less may be done in time. A server that did not answer may be away: only where it answers others was it too
    /// much.
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

    /// One try. `decided` is what an earlier try had decided when it was cut off: it counts if that one was committed.
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
            session.batch_execute("ROLLBACK").await?;
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

    /// The transaction, its locks, and what does not depend on single alerts.
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
            session.batch_execute("BEGIN"),
            session.rows(LOCK, [&locks]),
            session.row(IS_ACCEPTED, [&name]),
            session.rows(mutes::HOLDING, []),
            session.rows(NEW_IDS, [&most]),
            session.rows(NEW_LETTERS, [&letters]),
        )?;
        Ok(TransactionStart {
            is_accepted: accepted.is_some(),
            mutes: mutes::in_force(&self.admission, &added, &self.told)?,
            ids: ReservedIds::from_rows(&raw, &letters, messages.clone())?,
        })
    }
}

/// What became of alerts, and where their messages are then.
type BatchDecision = (Vec<AcceptedAlert>, BatchMessages);

/// What a transaction begins with.
struct TransactionStart {
    is_accepted: bool,
    mutes: Vec<Mute>,
    ids: ReservedIds,
}
