//! What a day cost.

use async_trait::async_trait;
use chrono::NaiveDate;
use nightshift_pipeline::{DaySpent, Spending, StoreError};

use super::PostgresStore;

const SPENT_ON: &str = "SELECT coalesce(sum(usd) FILTER (WHERE urgent), 0), \
         coalesce(sum(usd) FILTER (WHERE NOT urgent), 0) \
     FROM spending WHERE day = $1";

#[async_trait]
impl Spending for PostgresStore {
    async fn spent_on(&self, day: NaiveDate) -> Result<DaySpent, StoreError> {
        self.look("read what a day cost", |session| async move {
            let row = session.row(SPENT_ON, [&day]).await?;
            row.map_or(Ok(DaySpent::default()), |row| {
                Ok(DaySpent {
                    urgent_usd: row.try_get(0)?,
                    other_usd: row.try_get(1)?,
                })
            })
        })
        .await
    }
}
