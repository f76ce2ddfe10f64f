//! Counts accepted alerts by their place, over the ledger of arrivals.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_pipeline::mutes::LedgerCount;
use nightshift_pipeline::port::{AlertLedger, StoreError};

use super::SqliteStore;
use super::row::time;

const PLACES: &str = "SELECT state, alert_ledger.reason, count(*) FROM arrivals JOIN alert_ledger ON alert_ledger.id = arrivals.id \
     WHERE arrivals.received_at >= ?1 GROUP BY state, alert_ledger.reason ORDER BY state, alert_ledger.reason";

#[async_trait]
impl AlertLedger for SqliteStore {
    async fn ledger_counts(&self, since: DateTime<Utc>) -> Result<Vec<LedgerCount>, StoreError> {
        self.thread
            .run("count where alerts are", move |connection| {
                let mut statement = connection.prepare_cached(PLACES)?;
                let rows = statement.query_map([time(since)], |row| {
                    let alerts: i64 = row.get(2)?;
                    Ok(LedgerCount {
                        place: row.get(0)?,
                        why: row.get(1)?,
                        alerts: u64::try_from(alerts).unwrap_or_default(),
                    })
                })?;
                Ok(rows.collect::<Result<_, _>>()?)
            })
            .await
    }
}
