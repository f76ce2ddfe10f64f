//! The inbox: a batch is accepted whole, in one transaction, or not at all.
//!
//! What becomes of each alert is for `admit` to say, over what `ground` reads of all of them at once; `wave` asks it, and
//! `write` writes what it said, at once too. Two round trips for a batch of alerts with different keys, however many.
//! Batches that share a key or a storm wait for one another: two that come together cannot both be the first. So do those
//! that share but one of a thousand numbers, which two full ones always do: small batches are accepted side by side, full
//! ones one at a time. A batch that is larger than that is accepted in parts, each in a transaction of its own.

mod columns;
mod ground;
mod turn;
mod wave;
mod write;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use nightshift_pipeline::admission::Mute;
use nightshift_pipeline::intake::Arrival;
use nightshift_pipeline::port::{Accepted, Inbox, StoreError};
use uuid::Uuid;

use super::database::{Session, within_at_most};
use super::failure::{Failure, Remedy};
use super::{PostgresStore, mutes};
use crate::blobs;
use crate::split::{self, Refusal};
use ground::{Facts, Wanted};
use wave::{Ids, Messages, Wave};

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
    async fn accept(&self, batch: Arc<[Arrival]>) -> Result<Vec<Accepted>, StoreError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let placed = blobs::place(self.blobs.as_ref(), &batch, |keys| self.announce(keys)).await?;
        let messages = &Mutex::new(Messages::of(placed));
        let messages = || messages.lock().unwrap_or_else(PoisonError::into_inner);
        split::accept(batch, MOST_TOGETHER, |part, is_split| async move {
            if is_split {
                // It may refer to a message twice, and keeps it in its rows.
                return Ok(self.accept_whole(&part, Messages::default()).await?.0);
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
        messages: Messages,
    ) -> Result<Decided, Refusal> {
        let name = Uuid::new_v4();
        let mut tries = self.database.tries(DOING);
        let mut decided = Decided::default();
        loop {
            // On the heap: it holds a dozen statements that are sent together.
            let one = Box::pin(self.try_accept(batch, &messages, name, &mut decided));
            let Err(failure) = self.database.within(one).await else {
                self.bell.ring();
                return Ok(decided);
            };
            // What takes too long may go in parts. One alert that does waits for a faster database: it is no fault of it.
            let is_too_much = batch.len() > 1 && self.is_too_much(&failure).await;
            if is_too_much || failure.remedy() == Remedy::Split {
                return Err(Refusal::Batch(failure.told(DOING)));
            }
            tries.again(failure).await.map_err(Refusal::Store)?;
        }
    }

    /// Whether less may be done in time. A server that did not answer may be away: only where it answers others was it too
    /// much.
    pub(super) async fn is_too_much(&self, failure: &Failure) -> bool {
        let Failure::Silent(_) = failure else {
            return failure.is_too_slow();
        };
        let most = self.database.waits.pool + self.database.waits.connect;
        let asked = within_at_most(most, async {
            let session = self.database.session(&[]).await?;
            session.say("SELECT").await?;
            session.done();
            Ok(())
        });
        asked.await.is_ok()
    }

    /// One try. `decided` is what an earlier try had decided when it was cut off: it counts if that one was committed.
    async fn try_accept(
        &self,
        batch: &[Arrival],
        messages: &Messages,
        name: Uuid,
        decided: &mut Decided,
    ) -> Result<(), Failure> {
        let statements = [
            &ground::STATEMENTS[..],
            &write::STATEMENTS,
            &turn::STATEMENTS,
        ]
        .concat();
        let session = self.database.session(&statements).await?;
        let wanted = Wanted::of(batch, &self.admission);
        let (start, facts) = tokio::try_join!(
            biased;
            self.start(&session, batch, messages, &wanted, name),
            Facts::read(&session, &wanted),
        )?;
        if start.is_accepted {
            session.say("ROLLBACK").await?;
            session.done();
            return Ok(());
        }
        let (mut ids, mut facts, mut rest) = (start.ids, facts, batch);
        decided.0.clear();
        loop {
            let wave = Wave::decide(rest, &mut facts, &start.mutes, &self.admission, &mut ids)?;
            rest = rest.get(wave.accepted.len()..).unwrap_or_default();
            decided.0.extend(wave.accepted);
            if rest.is_empty() {
                decided.1 = ids.messages;
                let last = write::Last {
                    name,
                    alerts: batch.len(),
                };
                wave.writes.send(&session, Some(last)).await?;
                session.done();
                return Ok(());
            }
            wave.writes.send(&session, None).await?;
            let wanted = Wanted::of(rest, &self.admission);
            facts = Facts::read(&session, &wanted).await?;
        }
    }

    /// The transaction, its locks, and what does not depend on single alerts.
    async fn start(
        &self,
        session: &Session,
        batch: &[Arrival],
        messages: &Messages,
        wanted: &Wanted,
        name: Uuid,
    ) -> Result<Start, Failure> {
        let locks = wanted.locks();
        let most = i32::try_from(batch.len()).unwrap_or(i32::MAX);
        let letters = batch.iter().filter(|one| one.unreadable.is_some()).count();
        let letters = i32::try_from(letters).unwrap_or(i32::MAX);
        let (_, _, accepted, added, raw, letters) = tokio::try_join!(
            biased;
            session.say("BEGIN"),
            session.rows(LOCK, [&locks]),
            session.row(IS_ACCEPTED, [&name]),
            session.rows(mutes::HOLDING, []),
            session.rows(NEW_IDS, [&most]),
            session.rows(NEW_LETTERS, [&letters]),
        )?;
        Ok(Start {
            is_accepted: accepted.is_some(),
            mutes: mutes::in_force(&self.admission, &added, &self.told)?,
            ids: Ids::of(&raw, &letters, messages.clone())?,
        })
    }
}

/// What became of alerts, and where their messages are then.
type Decided = (Vec<Accepted>, Messages);

/// What a transaction begins with.
struct Start {
    is_accepted: bool,
    mutes: Vec<Mute>,
    ids: Ids,
}
