//! When a canary came through last.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_pipeline::{CANARY_CLOSER, Canaries, StoreError};
use rusqlite::OptionalExtension as _;

use super::SqliteStore;
use super::row::get_time;

/// Read off the index of storms, from its end: not all canaries that ever were.
const LAST: &str = "SELECT acts.at FROM cases JOIN acts ON acts.case_id = cases.id \
     WHERE cases.feed = 'canary' AND cases.type = 'Nightshift:Canary' AND cases.account IS NULL \
         AND acts.act = 'closed' AND acts.by_whom = ?1 ORDER BY cases.opened_at DESC LIMIT 1";

#[async_trait]
impl Canaries for SqliteStore {
    async fn last_canary(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        self.thread
            .run("look for the last canary", |connection| {
                let mut statement = connection.prepare_cached(LAST)?;
                let found = statement.query_row([CANARY_CLOSER], |row| get_time(row, 0));
                Ok(found.optional()?)
            })
            .await
    }
}
