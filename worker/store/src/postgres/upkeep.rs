//! Removes old data in small batches.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_pipeline::maintenance::{Purge, RetentionClass, StoreMaintenance};
use nightshift_pipeline::port::StoreError;

use super::failure::PostgresFailure;
use super::row::{count, limit};
use super::{PostgresArrivalCursor, PostgresStore, migrate};
use crate::blobs;

pub(super) const DOING: &str = "remove what grew old";
/// Deletes old messages. Messages of dead letters are kept for longer, and may be millions. The statement examines `$5`
/// messages after the position of the previous one. It returns its own position: the last deleted message, or the last
/// examined one.
const RAW: &str = "WITH looked AS MATERIALIZED ( \
         SELECT id, received_at, (SELECT true FROM dead_letters WHERE raw_id = raw.id LIMIT 1) AS is_kept FROM raw_messages AS raw \
         WHERE received_at < $1 AND received_at >= $3 AND (received_at, id) > ($3, $4) ORDER BY received_at, id LIMIT $5 \
     ), old AS MATERIALIZED ( \
         SELECT id, received_at FROM looked WHERE is_kept IS NULL ORDER BY received_at, id LIMIT $2 \
     ), gone AS ( \
         DELETE FROM raw_messages WHERE id = ANY(ARRAY(SELECT id FROM old)) RETURNING id \
     ) \
     SELECT (SELECT count(*) FROM gone), received_at, id FROM ( \
         (SELECT received_at, id FROM looked ORDER BY received_at DESC, id DESC LIMIT 1) UNION ALL \
         (SELECT received_at, id FROM old ORDER BY received_at, id OFFSET $2 - 1) \
     ) AS ends ORDER BY received_at, id LIMIT 1";
/// The number of messages that a statement examines for each that it may delete.
const LOOKED_AT: i64 = 10;
/// Deletes only whole journals, because the rest of one could not be folded. Each case is handled once until it is
/// triaged again.
const JOURNALS: &str = "WITH old AS (UPDATE cases SET journals_removed_to = revision WHERE id = ANY(ARRAY( \
         SELECT id FROM cases \
         WHERE status IN ('concluded', 'failed', 'cancelled') AND journals_removed_to < revision AND concluded_at < $1 \
         ORDER BY concluded_at LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED)) RETURNING id), \
     gone AS (DELETE FROM journal WHERE case_id = ANY(ARRAY(SELECT id FROM old))) \
     SELECT count(*) FROM old";
/// Deletes the messages of deleted arrivals if they are kept for longer, because nothing could find them any more.
/// Messages of dead letters stay, as do those with other arrivals. All arrivals of a message have the same time.
macro_rules! messages_of_what_went {
    () => {
        "messages AS (DELETE FROM raw_messages AS raw WHERE raw.id IN (SELECT raw_id FROM went) \
             AND NOT EXISTS (SELECT FROM dead_letters WHERE dead_letters.raw_id = raw.id) \
             AND NOT EXISTS (SELECT FROM arrivals AS other WHERE other.received_at = raw.received_at AND other.raw_id = raw.id \
                 AND other.id NOT IN (SELECT id FROM went)))"
    };
}
pub(super) use messages_of_what_went;

/// Skips locked cases, because they may be queued again.
const CASES: &str = concat!(
    "WITH gone AS (DELETE FROM cases WHERE id = ANY(ARRAY(SELECT id FROM cases \
         WHERE status IN ('concluded', 'failed', 'cancelled') AND concluded_at < $1 \
         ORDER BY concluded_at LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING id), \
     went AS MATERIALIZED (SELECT id, raw_id FROM arrivals WHERE case_id IN (SELECT id FROM gone)), ",
    messages_of_what_went!(),
    ", indicated AS (DELETE FROM indicators WHERE case_id IN (SELECT id FROM gone)) \
     SELECT count(*) FROM gone"
);
pub(super) const DEAD_LETTERS: &str = "WITH gone AS (DELETE FROM dead_letters WHERE id IN \
         (SELECT id FROM dead_letters WHERE received_at < $1 ORDER BY received_at LIMIT $2) RETURNING raw_id), \
     bytes AS (DELETE FROM raw_messages WHERE id IN (SELECT raw_id FROM gone)) \
     SELECT count(*) FROM gone";
const HIDDEN: &str = concat!(
    "WITH went AS (DELETE FROM arrivals WHERE id IN \
         (SELECT id FROM arrivals WHERE case_id IS NULL AND received_at < $1 ORDER BY received_at LIMIT $2) \
         RETURNING id, raw_id), ",
    messages_of_what_went!(),
    " SELECT count(*) FROM went"
);
/// Deletes arrivals of a case that is too large for one statement, before the case itself. Such a case had many
/// repeated alerts.
const ARRIVALS_OF_ONE: &str = concat!(
    "WITH oldest AS MATERIALIZED (SELECT id FROM cases \
         WHERE status IN ('concluded', 'failed', 'cancelled') AND concluded_at < $1 \
         ORDER BY concluded_at LIMIT 1 FOR UPDATE SKIP LOCKED), \
     went AS (DELETE FROM arrivals WHERE id = ANY(ARRAY(SELECT arrivals.id FROM arrivals \
         WHERE case_id = (SELECT id FROM oldest) LIMIT $2)) RETURNING id, raw_id), ",
    messages_of_what_went!(),
    " SELECT count(*) FROM went"
);
const SIGHTINGS_OF_ONE: &str = "WITH oldest AS MATERIALIZED (SELECT id FROM cases \
         WHERE status IN ('concluded', 'failed', 'cancelled') AND concluded_at < $1 \
         ORDER BY concluded_at LIMIT 1 FOR UPDATE SKIP LOCKED), \
     gone AS (DELETE FROM sightings WHERE id = ANY(ARRAY(SELECT sightings.id FROM sightings \
         WHERE case_id = (SELECT id FROM oldest) LIMIT $2)) RETURNING id) \
     SELECT count(*) FROM gone";
/// The maximum number of such rows in one statement.
pub(super) const SLICE: i64 = 5000;
/// Deletes old batch ids, which no retry asks for any more.
const BATCHES: &str = "DELETE FROM batches WHERE id = ANY(ARRAY( \
     SELECT id FROM batches WHERE accepted_at < now() - interval '1 day' ORDER BY accepted_at LIMIT 10000))";
/// Merges the oldest day of costs into one row per urgency, because nobody needs the costs by case any more. Each
/// statement merges a part.
const OLD_SPENDING: &str = "WITH old AS ( \
         SELECT day, case_id, urgent FROM spending WHERE case_id <> '' AND day = ( \
             SELECT min(day) FROM spending WHERE case_id <> '' AND day < current_date - 60) LIMIT 10000 \
     ), gone AS ( \
         DELETE FROM spending USING old WHERE spending.day = old.day AND spending.case_id = old.case_id \
             AND spending.urgent = old.urgent RETURNING spending.day, spending.urgent, spending.usd \
     ) \
     INSERT INTO spending (day, case_id, urgent, usd) SELECT day, '', urgent, sum(usd) FROM gone GROUP BY day, urgent \
     ON CONFLICT (day, case_id, urgent) DO UPDATE SET usd = spending.usd + excluded.usd";
/// Uses the earlier of both clocks. Either may have jumped ahead, so retention advances at most a day per run.
const ADVANCE: &str = "INSERT INTO retention_clock (reached_at) VALUES (least($1, clock_timestamp())) \
     ON CONFLICT (singleton) DO UPDATE \
     SET reached_at = least(excluded.reached_at, retention_clock.reached_at + interval '1 day') RETURNING reached_at";
/// The maximum number of statements of a kind in one sweep.
const MOST_TOGETHER: usize = 100;

#[async_trait]
impl StoreMaintenance for PostgresStore {
    async fn advance_retention_time(
        &self,
        now: DateTime<Utc>,
    ) -> Result<DateTime<Utc>, StoreError> {
        self.retry_read("read the clock of the database", |session| async move {
            let row = session.row(ADVANCE, [&now]).await?;
            row.map_or(Ok(now), |row| Ok(row.try_get(0)?))
        })
        .await
    }

    async fn migrations(&self) -> Result<Vec<String>, StoreError> {
        self.retry_read("read the migrations", |session| async move {
            migrate::applied(&session).await
        })
        .await
    }

    async fn expire(
        &self,
        kind: RetentionClass,
        before: DateTime<Utc>,
        most: usize,
    ) -> Result<u64, StoreError> {
        let sql = match kind {
            RetentionClass::Raw => return self.expire_raw(before, most).await,
            RetentionClass::Hidden => HIDDEN,
            RetentionClass::Journals => JOURNALS,
            RetentionClass::Cases => CASES,
            RetentionClass::DeadLetters => DEAD_LETTERS,
        };
        match (kind, self.expire_whole(kind, sql, before, most).await?) {
            (RetentionClass::Journals, 0) => self.expire_earlier_journals(before, most).await,
            (RetentionClass::Cases, 0) => self.expire_earlier_rows(before, most).await,
            (_, removed) => Ok(removed),
        }
    }

    async fn purge(&self, what: &Purge, most: usize) -> Result<u64, StoreError> {
        match (&what.account, what.before) {
            (Some(account), before) => self.purge_account(account, before, most).await,
            (None, Some(before)) => self.purge_before(before, most).await,
            (None, None) => Ok(0),
        }
    }

    async fn count_kept_cases(&self, what: &Purge) -> Result<u64, StoreError> {
        match (&what.account, what.before) {
            (None, Some(before)) => self.kept_before(before).await,
            _ => Ok(0),
        }
    }

    /// Removes data whose retention is not configurable.
    async fn sweep(&self) -> Result<u64, StoreError> {
        let tidied = self.tidy().await;
        let swept = blobs::sweep(
            self.blobs.as_ref(),
            |most| self.loose(most),
            |keys| self.forget(keys),
        )
        .await?;
        // Blobs are swept last, whatever the result of the other steps.
        if swept > 0 {
            Ok(swept)
        } else {
            tidied.map(|()| 0)
        }
    }
}

impl PostgresStore {
    async fn tidy(&self) -> Result<(), StoreError> {
        for sql in [BATCHES, OLD_SPENDING] {
            for _ in 0..MOST_TOGETHER {
                if self.retry_change(DOING, sql, []).await? == 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Deletes rows of this kind with all dependent rows.
    async fn expire_whole(
        &self,
        kind: RetentionClass,
        sql: &str,
        before: DateTime<Utc>,
        most: usize,
    ) -> Result<u64, StoreError> {
        let asked = u64::try_from(most).unwrap_or(u64::MAX);
        let (mut most, mut removed, mut is_thin) = (limit(most), 0, false);
        loop {
            match self.remove(sql, before, most).await? {
                // The next rows are probably as large, so they are deleted in the same small batches.
                Ok(some) => {
                    removed += some;
                    if some == 0 || removed >= asked || u64::try_from(most) == Ok(asked) {
                        return Ok(removed);
                    }
                    is_thin = false;
                }
                Err(_) if most > 1 => most /= 2,
                Err(_) if kind == RetentionClass::Cases && !is_thin => {
                    self.thin(before).await?;
                    is_thin = true;
                }
                Err(failure) => return Err(failure.into_store_error(DOING)),
            }
        }
    }

    /// Continues where the previous call stopped. After the last row, the next call starts again.
    async fn expire_raw(&self, before: DateTime<Utc>, most: usize) -> Result<u64, StoreError> {
        let asked = u64::try_from(most).unwrap_or(u64::MAX);
        let (mut most, mut removed) = (limit(most), 0);
        while removed < asked {
            let from = self.raw_until.get();
            match self.remove_raw(before, most, from).await? {
                Ok(Some((some, until))) => {
                    removed += some;
                    self.raw_until.set(Some(until));
                }
                Ok(None) => {
                    self.raw_until.set(from.filter(|_| removed > 0));
                    break;
                }
                Err(_) if most > 1 => most /= 2,
                Err(failure) => return Err(failure.into_store_error(DOING)),
            }
        }
        Ok(removed)
    }

    /// Runs a statement. Returns how many messages it deleted and its position, if there were any, or that they were
    /// too many for it.
    async fn remove_raw(
        &self,
        before: DateTime<Utc>,
        most: i64,
        from: Option<PostgresArrivalCursor>,
    ) -> Result<Result<Option<(u64, PostgresArrivalCursor)>, PostgresFailure>, StoreError> {
        let (at, id) = from.unwrap_or((DateTime::UNIX_EPOCH, 0));
        let looked_at = most.saturating_mul(LOOKED_AT);
        let mut tries = self.database.tries(DOING);
        loop {
            let one = async {
                let session = self.database.session(&[]).await?;
                let row = session
                    .row(RAW, [&before, &most, &at, &id, &looked_at])
                    .await?;
                let ended =
                    row.map(|row| Ok((count(&row, 0)?, (row.try_get(1)?, row.try_get(2)?))));
                session.done();
                ended.transpose()
            };
            match self.database.within(one).await {
                Ok(ended) => return Ok(Ok(ended)),
                Err(failure) if failure.is_too_slow() => return Ok(Err(failure)),
                Err(failure) => tries.backoff(failure).await?,
            }
        }
    }

    /// Runs a statement. Returns how many rows it deleted, or that they were too many for it.
    async fn remove(
        &self,
        sql: &str,
        before: DateTime<Utc>,
        most: i64,
    ) -> Result<Result<u64, PostgresFailure>, StoreError> {
        let mut tries = self.database.tries(DOING);
        loop {
            let one = async {
                let session = self.database.session(&[]).await?;
                let row = session.row(sql, [&before, &most]).await?;
                let removed = row.map_or(Ok(0), |row| count(&row, 0))?;
                session.done();
                Ok(removed)
            };
            match self.database.within(one).await {
                Ok(removed) => return Ok(Ok(removed)),
                Err(failure) if failure.is_too_slow() => return Ok(Err(failure)),
                Err(failure) => tries.backoff(failure).await?,
            }
        }
    }

    /// Deletes a part of the many rows of the oldest case.
    async fn thin(&self, before: DateTime<Utc>) -> Result<(), StoreError> {
        for sql in [ARRIVALS_OF_ONE, SIGHTINGS_OF_ONE] {
            while self.retry_count(DOING, sql, [&before, &SLICE]).await? > 0 {}
        }
        Ok(())
    }
}
