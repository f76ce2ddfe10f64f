//! When a canary came through last.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_pipeline::{CANARY_CLOSER, Canaries, StoreError};

use super::PostgresStore;

/// Read off the index of storms, from its end: not all canaries that ever were.
const LAST: &str = "SELECT acts.at FROM cases JOIN acts ON acts.case_id = cases.id \
     WHERE cases.feed = 'canary' AND cases.type = 'Nightshift:Canary' AND coalesce(cases.account, '') = '' \
         AND acts.act = 'closed' AND acts.by_whom = $1 ORDER BY cases.opened_at DESC LIMIT 1";

#[async_trait]
impl Canaries for PostgresStore {
    async fn last_canary(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        self.look("look for the last canary", |session| async move {
            let row = session.row(LAST, [&CANARY_CLOSER]).await?;
            row.map(|row| Ok(row.try_get(0)?)).transpose()
        })
        .await
    }
}
