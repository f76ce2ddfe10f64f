//! Purges what a person asks to remove: everything about an account, or everything that was over before a day.

use chrono::{DateTime, Utc};
use nightshift_pipeline::port::StoreError;
use tokio_postgres::Row;

use super::database::Session;
use super::failure::PostgresFailure;
use super::row::{count, limit, text};
use super::upkeep::SLICE;
use super::{PostgresCaseCursor, PostgresStore};

const DOING: &str = "remove what somebody wants to have removed";
/// Uses an index, so the length of the ledger does not matter.
pub(super) const OF_ACCOUNT: &str = "SELECT id, case_id FROM arrivals \
     WHERE account = $2::text AND received_at < coalesce($1::timestamptz, 'infinity') ORDER BY id LIMIT $3";
/// Selects those of them that still exist.
const THESE: &str =
    "SELECT id, raw_id, case_id, dead_letter_id FROM arrivals WHERE id = ANY($2::bigint[])";
/// Locks the cases, so that nothing arrives for them until the transaction ends. The next statement sees what arrived
/// before.
const HOLD_THESE: &str = "SELECT FROM cases WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE";
/// Locks cases as above if they are over and nobody else has locked them.
const HOLD: &str = "SELECT opened_at, id FROM cases \
     WHERE opened_at < $1 AND (opened_at, id) > ($2, $3) AND status IN ('concluded', 'failed', 'cancelled') \
     ORDER BY opened_at, id LIMIT $4 FOR UPDATE SKIP LOCKED";
/// Selects one arrival of each locked case without arrivals since then, and arrivals without a case.
const BEFORE: &str = "SELECT one.id, one.raw_id, old.id AS case_id, one.dead_letter_id FROM unnest($3::text[]) AS old (id) \
         LEFT JOIN LATERAL (SELECT id, raw_id, dead_letter_id FROM arrivals WHERE case_id = old.id LIMIT 1) AS one ON true \
         WHERE NOT EXISTS (SELECT FROM arrivals AS later WHERE later.case_id = old.id AND later.received_at >= $2) \
     UNION ALL \
     (SELECT id, raw_id, case_id, dead_letter_id FROM arrivals WHERE case_id IS NULL AND received_at < $2 \
         ORDER BY received_at LIMIT $4)";
const KEPT: &str = "SELECT count(*) FROM cases WHERE opened_at < $1";
/// Deletes cases with all rows that refer to them, and arrivals without a case. A message with alerts of several
/// accounts is deleted with the first of them. If these cases have more rows than one statement should delete, those go
/// first, `$1` at a time. The cases, and the arrivals by which they were selected, go with the last of them.
const PURGE: &str = "beside AS ( \
         SELECT id, raw_id, dead_letter_id FROM arrivals \
         WHERE case_id IN (SELECT case_id FROM chosen) \
             AND NOT EXISTS (SELECT FROM chosen WHERE chosen.id = arrivals.id) LIMIT $1 \
     ), seen AS ( \
         SELECT id FROM sightings WHERE case_id IN (SELECT case_id FROM chosen) LIMIT $1 \
     ), all_of_it AS ( \
         SELECT (SELECT count(*) FROM beside) < $1 AND (SELECT count(*) FROM seen) < $1 AS is_here \
     ), last AS ( \
         SELECT chosen.* FROM chosen CROSS JOIN all_of_it WHERE is_here \
     ), ledger AS ( \
         DELETE FROM arrivals WHERE id IN (SELECT id FROM last UNION SELECT id FROM beside) RETURNING id \
     ), sighted AS ( \
         DELETE FROM sightings WHERE id IN (SELECT id FROM seen) \
     ), letters AS ( \
         DELETE FROM dead_letters \
         WHERE id IN (SELECT dead_letter_id FROM last UNION SELECT dead_letter_id FROM beside) \
     ), raw AS ( \
         DELETE FROM raw_messages WHERE id IN (SELECT raw_id FROM last UNION SELECT raw_id FROM beside) \
     ), gone AS ( \
         DELETE FROM cases WHERE id IN (SELECT case_id FROM last) \
     ), indicated AS ( \
         DELETE FROM indicators WHERE case_id IN (SELECT case_id FROM last) \
     ) \
     SELECT count(*), (SELECT is_here FROM all_of_it) FROM ledger";

/// The result of one statement of a purge.
struct PurgedBatch {
    arrivals: u64,
    /// True if nothing is left of the selected cases.
    is_all: bool,
    /// The last examined case, if there was one.
    until: Option<PostgresCaseCursor>,
}

impl PostgresStore {
    /// Purges the cases of an account, whatever their status.
    pub(super) async fn purge_account(
        &self,
        account: &str,
        before: Option<DateTime<Utc>>,
        most: usize,
    ) -> Result<u64, StoreError> {
        let sql = &format!("WITH chosen AS ({THESE}), {PURGE}");
        let (account, most) = (&text(account), limit(most));
        let mut removed = 0;
        loop {
            let (some, is_all) = self
                .retry_read(DOING, |session| async move {
                    session.begin().await?;
                    let chosen = session.rows(OF_ACCOUNT, [&before, account, &most]).await?;
                    let (ids, cases) = ids_of(&chosen)?;
                    session.rows(HOLD_THESE, [&cases]).await?;
                    let row = session.row(sql, [&SLICE, &ids]).await?;
                    let removed = row.map_or(Ok((0, true)), |row| to_removed(&row))?;
                    session.commit().await?;
                    Ok(removed)
                })
                .await?;
            removed += some;
            if is_all {
                return Ok(removed);
            }
        }
    }

    /// Continues where the previous call stopped. After the last case, the next call starts again.
    pub(super) async fn purge_before(
        &self,
        before: DateTime<Utc>,
        most: usize,
    ) -> Result<u64, StoreError> {
        let (sql, most) = (&format!("WITH chosen AS ({BEFORE}), {PURGE}"), limit(most));
        let mut removed = 0;
        loop {
            let from = &self.purged_until.get();
            let some = self
                .retry_read(DOING, |session| async move {
                    purge_some(&session, sql, before, most, from.as_ref()).await
                })
                .await?;
            removed += some.arrivals;
            if !some.is_all {
                continue;
            }
            let is_end = some.until.is_none();
            self.purged_until
                .set(some.until.or_else(|| from.clone().filter(|_| removed > 0)));
            if is_end || removed > 0 {
                return Ok(removed);
            }
        }
    }

    pub(super) async fn kept_before(&self, before: DateTime<Utc>) -> Result<u64, StoreError> {
        self.retry_count("count what is kept", KEPT, [&before])
            .await
    }
}

/// Returns how many arrivals a statement deleted, and whether nothing is left of the selected cases.
fn to_removed(row: &Row) -> Result<(u64, bool), PostgresFailure> {
    Ok((count(row, 0)?, row.try_get(1)?))
}

/// Returns the ids of arrivals and of their cases.
fn ids_of(chosen: &[Row]) -> Result<(Vec<i64>, Vec<String>), PostgresFailure> {
    let mut cases = Vec::new();
    let ids = chosen.iter().map(|row| {
        cases.extend(row.try_get::<_, Option<String>>(1)?);
        Ok(row.try_get(0)?)
    });
    let ids = ids.collect::<Result<_, PostgresFailure>>()?;
    Ok((ids, cases))
}

async fn purge_some(
    session: &Session,
    sql: &str,
    before: DateTime<Utc>,
    most: i64,
    from: Option<&PostgresCaseCursor>,
) -> Result<PurgedBatch, PostgresFailure> {
    let first = (DateTime::UNIX_EPOCH, String::new());
    let (at, id) = from.unwrap_or(&first);
    session.begin().await?;
    let held = session.rows(HOLD, [&before, at, id, &most]).await?;
    let held = held
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
    let held = held.collect::<Result<Vec<PostgresCaseCursor>, PostgresFailure>>()?;
    let ids: Vec<&str> = held.iter().map(|(_, id)| id.as_str()).collect();
    let row = session.row(sql, [&SLICE, &before, &ids, &most]).await?;
    let (arrivals, is_all) = row.map_or(Ok((0, true)), |row| to_removed(&row))?;
    session.commit().await?;
    Ok(PurgedBatch {
        arrivals,
        is_all,
        until: held.into_iter().next_back(),
    })
}
