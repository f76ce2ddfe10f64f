//! Where accepted alerts are: counts over the ledger of arrivals.

use async_trait::async_trait;
use nightshift_pipeline::{PlaceCount, Places, StoreError};

use super::SqliteStore;

const PLACES: &str =
    "SELECT place, why, count(*) FROM places GROUP BY place, why ORDER BY place, why";

#[async_trait]
impl Places for SqliteStore {
    async fn places(&self) -> Result<Vec<PlaceCount>, StoreError> {
        self.thread
            .run("count where alerts are", |connection| {
                let mut statement = connection.prepare_cached(PLACES)?;
                let rows = statement.query_map([], |row| {
                    let alerts: i64 = row.get(2)?;
                    Ok(PlaceCount {
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
