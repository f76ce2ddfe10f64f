//! Counts accepted alerts by their place, over the ledger of arrivals.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_pipeline::mutes::LedgerCount;
use nightshift_pipeline::port::{AlertLedger, StoreError};

use super::PostgresStore;
use super::row::count;

pub(super) const PLACES: &str = "SELECT state, reason, count(*) FROM alert_ledger WHERE received_at >= $1 \
     GROUP BY state, reason ORDER BY state COLLATE \"C\", reason COLLATE \"C\"";

#[async_trait]
impl AlertLedger for PostgresStore {
    async fn ledger_counts(&self, since: DateTime<Utc>) -> Result<Vec<LedgerCount>, StoreError> {
        self.retry_read("count where alerts are", |session| async move {
            let rows = session.rows(PLACES, [&since]).await?;
            rows.iter()
                .map(|row| {
                    Ok(LedgerCount {
                        place: row.try_get(0)?,
                        why: row.try_get(1)?,
                        alerts: count(row, 2)?,
                    })
                })
                .collect()
        })
        .await
    }
}
