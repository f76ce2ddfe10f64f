//! Removes old data of cases that are still in use. Such cases are triaged again or have repeated alerts, so they are
//! never deleted for their age. The last conclusion stays, and the last arrival, by which an account is found.

use chrono::{DateTime, Utc};
use nightshift_pipeline::port::StoreError;

use super::failure::PostgresFailure;
use super::row::{count, limit};
use super::upkeep::{DOING, SLICE, messages_of_what_went};
use super::{PostgresCaseCursor, PostgresStore};
use crate::scan_cursor::ScanCursor;

/// Deletes whole journals up to the last triage that ended before the time. A cancelled triage has no conclusion; its
/// journal goes with that of the next concluded one.
const JOURNALS: &str = "WITH looked AS MATERIALIZED ( \
         SELECT opened_at, id, revision, journals_removed_to FROM cases \
         WHERE journals_removed_to < revision - 1 AND opened_at < $1 AND (opened_at, id) > ($2, $3) ORDER BY opened_at, id LIMIT $4 \
     ), old AS MATERIALIZED ( \
         SELECT looked.id, ended.revision FROM looked CROSS JOIN LATERAL ( \
             SELECT max(one.revision) AS revision FROM conclusions AS one WHERE one.case_id = looked.id \
                 AND one.revision > looked.journals_removed_to AND one.revision < looked.revision AND one.concluded_at < $1 \
         ) AS ended WHERE ended.revision IS NOT NULL LIMIT $5 \
     ), held AS MATERIALIZED ( \
         SELECT cases.id, old.revision FROM old JOIN cases ON cases.id = old.id FOR NO KEY UPDATE OF cases SKIP LOCKED \
     ), noted AS ( \
         UPDATE cases SET journals_removed_to = held.revision FROM held WHERE cases.id = held.id \
     ), gone AS ( \
         DELETE FROM journal USING held WHERE case_id = held.id AND journal.revision <= held.revision \
     ) \
     SELECT (SELECT count(*) FROM held), true, opened_at, id FROM looked ORDER BY opened_at DESC, id DESC LIMIT 1";
/// Deletes old rows of a case, `$5` of each kind at a time. A conclusion that a person judged stays. A journal is
/// deleted with its conclusion. `+ 0` selects the index by case; otherwise the planner scans the ledger until it finds
/// the case.
const ROWS: &str = concat!(
    "WITH looked AS MATERIALIZED ( \
         SELECT opened_at, id FROM cases WHERE opened_at < $1 AND (opened_at, id) > ($2, $3) ORDER BY opened_at, id LIMIT $4 \
     ), went AS MATERIALIZED ( \
         SELECT one.id, one.case_id, one.raw_id FROM looked \
             CROSS JOIN LATERAL (SELECT max(arrivals.id + 0) AS id FROM arrivals WHERE case_id = looked.id) AS newest \
             JOIN arrivals AS one ON one.case_id = looked.id AND one.id < newest.id \
         WHERE one.received_at < $1 LIMIT $5 \
     ), seen AS MATERIALIZED ( \
         SELECT one.id, one.case_id FROM looked JOIN sightings AS one ON one.case_id = looked.id \
         WHERE one.received_at < $1 LIMIT $5 \
     ), said AS MATERIALIZED ( \
         SELECT one.case_id, one.revision FROM looked \
             CROSS JOIN LATERAL (SELECT max(revision) AS revision FROM conclusions WHERE case_id = looked.id) AS last \
             JOIN conclusions AS one ON one.case_id = looked.id AND one.revision < last.revision \
         WHERE one.concluded_at < $1 AND NOT EXISTS (SELECT FROM person_verdicts AS judged \
             WHERE judged.case_id = one.case_id AND judged.revision = one.revision) LIMIT $5 \
     ), ended AS MATERIALIZED ( \
         SELECT cases.id, last.revision FROM (SELECT case_id, max(revision) AS revision FROM said GROUP BY case_id) AS last \
             JOIN cases ON cases.id = last.case_id FOR NO KEY UPDATE OF cases SKIP LOCKED \
     ), noted AS ( \
         UPDATE cases SET journals_removed_to = greatest(journals_removed_to, ended.revision) FROM ended WHERE cases.id = ended.id \
     ), told AS ( \
         DELETE FROM journal USING ended WHERE journal.case_id = ended.id AND journal.revision <= ended.revision \
     ), arrived AS ( \
         DELETE FROM arrivals WHERE id = ANY(ARRAY(SELECT id FROM went)) \
     ), sighted AS ( \
         DELETE FROM sightings WHERE id = ANY(ARRAY(SELECT id FROM seen)) \
     ), concluded AS ( \
         DELETE FROM conclusions USING said JOIN ended ON ended.id = said.case_id \
         WHERE conclusions.case_id = said.case_id AND conclusions.revision = said.revision \
     ), ",
    messages_of_what_went!(),
    " SELECT (SELECT count(*) FROM (SELECT case_id FROM went UNION SELECT case_id FROM seen UNION SELECT case_id FROM said) AS of), \
         (SELECT count(*) FROM went) < $5 AND (SELECT count(*) FROM seen) < $5 AND (SELECT count(*) FROM said) < $5, \
         opened_at, id FROM looked ORDER BY opened_at DESC, id DESC LIMIT 1"
);

/// The result of a statement: the number of affected cases, whether it deleted everything that it examined, and the
/// last examined case.
type RemovedBatch = Option<(u64, bool, PostgresCaseCursor)>;

impl PostgresStore {
    /// Deletes journals of triages before the last. Returns the number of cases.
    pub(super) async fn expire_earlier_journals(
        &self,
        before: DateTime<Utc>,
        most: usize,
    ) -> Result<u64, StoreError> {
        self.go_through(JOURNALS, &self.journals_until, before, most)
            .await
    }

    /// Deletes arrivals, sightings and conclusions before the last. Returns the number of cases.
    pub(super) async fn expire_earlier_rows(
        &self,
        before: DateTime<Utc>,
        most: usize,
    ) -> Result<u64, StoreError> {
        self.go_through(ROWS, &self.rows_until, before, most).await
    }

    /// Continues where the previous call stopped. After the last case, the next call starts again.
    async fn go_through(
        &self,
        sql: &str,
        left_off: &ScanCursor<PostgresCaseCursor>,
        before: DateTime<Utc>,
        most: usize,
    ) -> Result<u64, StoreError> {
        let asked = u64::try_from(most).unwrap_or(u64::MAX);
        let (mut most, mut removed) = (limit(most), 0);
        while removed < asked {
            let from = left_off.get();
            match self.remove_after(sql, before, most, from.clone()).await? {
                Ok(Some((some, is_all, until))) => {
                    removed += some;
                    if is_all {
                        left_off.set(Some(until));
                    }
                }
                Ok(None) => {
                    left_off.set(from.filter(|_| removed > 0));
                    break;
                }
                Err(_) if most > 1 => most /= 2,
                Err(failure) => return Err(failure.into_store_error(DOING)),
            }
        }
        Ok(removed)
    }

    /// Runs a statement. Returns its result, or that the rows were too many for it.
    async fn remove_after(
        &self,
        sql: &str,
        before: DateTime<Utc>,
        most: i64,
        from: Option<PostgresCaseCursor>,
    ) -> Result<Result<RemovedBatch, PostgresFailure>, StoreError> {
        let (at, id) = from.unwrap_or((DateTime::UNIX_EPOCH, String::new()));
        let mut tries = self.database.tries(DOING);
        loop {
            let one = async {
                let session = self.database.session(&[]).await?;
                let row = session.row(sql, [&before, &at, &id, &most, &SLICE]).await?;
                let removed = row.map(|row| {
                    let until = (row.try_get(2)?, row.try_get(3)?);
                    Ok((count(&row, 0)?, row.try_get(1)?, until))
                });
                session.done();
                removed.transpose()
            };
            match self.database.within(one).await {
                Ok(removed) => return Ok(Ok(removed)),
                Err(failure) if failure.is_too_slow() => return Ok(Err(failure)),
                Err(failure) => tries.backoff(failure).await?,
            }
        }
    }
}
