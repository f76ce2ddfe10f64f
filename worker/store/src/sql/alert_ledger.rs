//! Counts accepted alerts by their state in the ledger.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_pipeline::mutes::LedgerCount;
use nightshift_pipeline::port::{AlertLedger, StoreError};

use super::{Row, SqlStore, Statement, Tx, statement, values};
use crate::failure::Failure;

static COUNTS: Statement = statement!(
    "alert_ledger/counts.postgres.sql",
    "alert_ledger/counts.sqlite.sql"
);

#[async_trait]
impl AlertLedger for SqlStore {
    async fn ledger_counts(&self, since: DateTime<Utc>) -> Result<Vec<LedgerCount>, StoreError> {
        let count = async move |tx: Tx<'_>| {
            let rows = tx.all(&COUNTS, values![since]).await?;
            rows.iter().map(to_count).collect()
        };
        self.backend.read("count alerts by state", count).await
    }
}

fn to_count(row: &Row) -> Result<LedgerCount, Failure> {
    Ok(LedgerCount {
        place: row.get("state")?,
        why: row.get("reason")?,
        alerts: row.get("alerts")?,
    })
}
