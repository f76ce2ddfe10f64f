//! Removes data whose retention is not configurable.

use std::sync::LazyLock;

use chrono::NaiveDate;
use nightshift_pipeline::port::StoreError;

use super::{IN_LIST, Rest, SqlStore, Statement, Tx, spending, statement, values};
use crate::blobs;
use crate::failure::Failure;

const DOING: &str = "sweep the store";
/// The maximum number of rows in one transaction.
const SLICE: usize = 5000;
/// The maximum number of transactions of a kind in one sweep.
const MOST_TOGETHER: usize = 200;

static OLDEST_DAY: LazyLock<Statement> = LazyLock::new(|| {
    let sixty_days_ago = Statement::new("current_date - 60", "date('now', '-60 days')");
    statement!("sweep/oldest_day.sql").with("sixty_days_ago", &sixty_days_ago)
});
static DELETE_SPENDING: Statement = statement!("sweep/delete_spending.sql");
static ORPHANED_BLOBS: Statement = statement!(
    "sweep/orphaned_blobs.postgres.sql",
    "sweep/orphaned_blobs.sqlite.sql"
);
static FORGET_BLOBS: LazyLock<Statement> =
    LazyLock::new(|| statement!("sweep/forget_blobs.sql").with("in_list", &IN_LIST));
/// Only PostgreSQL has batches, whose answer may be lost.
static DELETE_BATCHES: Statement = statement!("sweep/delete_batches.postgres.sql");

impl SqlStore {
    /// Implements [`nightshift_pipeline::maintenance::StoreMaintenance::sweep`].
    pub(super) async fn sweep_all(&self) -> Result<u64, StoreError> {
        let swept = self.sweep_rows().await;
        let blobs = blobs::sweep(
            self.blobs.as_ref(),
            |most| self.orphaned_blobs(most),
            |keys| self.forget_blobs(keys),
        )
        .await?;
        // Blobs are swept whatever the result of the other steps.
        if blobs == 0 {
            swept?;
            if let Rest::Sqlite(store) = &self.rest {
                store.erase_removed(false).await?;
            }
        }
        Ok(blobs)
    }

    async fn sweep_rows(&self) -> Result<(), StoreError> {
        if let Rest::Postgres(_) = &self.rest {
            let delete = async move |tx: Tx<'_>| tx.execute(&DELETE_BATCHES, values![SLICE]).await;
            for _ in 0..MOST_TOGETHER {
                if self.backend.write(DOING, delete).await? == 0 {
                    break;
                }
            }
        }
        for _ in 0..MOST_TOGETHER {
            let merge = async move |tx: Tx<'_>| merge_old_spending(tx).await;
            if !self.backend.write(DOING, merge).await? {
                break;
            }
        }
        Ok(())
    }

    async fn orphaned_blobs(&self, most: usize) -> Result<Vec<String>, StoreError> {
        let read = async move |tx: Tx<'_>| {
            let rows = tx.all(&ORPHANED_BLOBS, values![most]).await?;
            rows.iter().map(|row| row.get("key")).collect()
        };
        self.backend.read("look for orphaned blobs", read).await
    }

    async fn forget_blobs(&self, keys: Vec<String>) -> Result<(), StoreError> {
        let forget = async move |tx: Tx<'_>| {
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            tx.execute(&FORGET_BLOBS, values![keys]).await.map(drop)
        };
        self.backend.write("forget removed blobs", forget).await
    }
}

/// Merges costs of the oldest day into one row per urgency, because nobody needs the costs by case any more. Returns
/// whether there were any.
async fn merge_old_spending(tx: Tx<'_>) -> Result<bool, Failure> {
    let day: Option<NaiveDate> = tx.one(&OLDEST_DAY, &[]).await?.get("day")?;
    let Some(day) = day else {
        return Ok(false);
    };
    let (mut urgent_usd, mut other_usd) = (0.0, 0.0);
    for row in tx.all(&DELETE_SPENDING, values![day, SLICE]).await? {
        let usd: f64 = row.get("usd")?;
        if row.get("urgent")? {
            urgent_usd += usd;
        } else {
            other_usd += usd;
        }
    }
    for (urgent, usd) in [(true, urgent_usd), (false, other_usd)] {
        if usd > 0.0 {
            let values = values![day, "", urgent, usd];
            tx.execute(&spending::CHARGE_DAY, values).await?;
        }
    }
    Ok(true)
}
