//! Removes data whose retention is not configurable.

use nightshift_pipeline::port::StoreError;

use super::{PostgresStore, migrate};
use crate::blobs;

const DOING: &str = "sweep the store";
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
/// The maximum number of statements of a kind in one sweep.
const MOST_TOGETHER: usize = 100;

impl PostgresStore {
    pub(crate) async fn migrations(&self) -> Result<Vec<String>, StoreError> {
        self.retry_read("read the migrations", |session| async move {
            migrate::applied(&session).await
        })
        .await
    }

    /// Removes data whose retention is not configurable.
    pub(crate) async fn sweep(&self) -> Result<u64, StoreError> {
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
}
