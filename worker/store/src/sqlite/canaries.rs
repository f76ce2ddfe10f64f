//! Reads when the last canary arrived at its destination, and which canaries are still open.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_pipeline::canary::CANARY_CLOSER;
use nightshift_pipeline::case::CaseId;
use nightshift_pipeline::port::{Canaries, StoreError};
use rusqlite::{OptionalExtension as _, Row};

use super::SqliteStore;
use super::row::get_time;

/// Finds the last canary that arrived. A failed canary is shown and removed too, but proves nothing, because its triage
/// did not end normally. The query reads the index of storms from its end, and not all canaries. The clock may have
/// been ahead for a while.
const LAST: &str = "SELECT case_actions.at FROM cases JOIN case_actions ON case_actions.case_id = cases.id \
     WHERE cases.feed = 'canary' AND cases.type = 'Nightshift:Canary' AND cases.account IS NULL \
         AND cases.status = 'concluded' AND case_actions.action = 'closed' AND case_actions.actor = ?1 AND case_actions.at <= strftime('%Y-%m-%dT%H:%M:%f000Z', 'now') \
         AND cases.opened_at <= strftime('%Y-%m-%dT%H:%M:%f000Z', 'now') \
     ORDER BY cases.opened_at DESC LIMIT 1";
/// A delivery that was skipped because it was too late has no remote id.
const OPEN: &str = "SELECT cases.id, min(deliveries.sent_at) \
     FROM cases JOIN deliveries ON deliveries.case_id = cases.id \
     WHERE cases.feed = 'canary' AND cases.type = 'Nightshift:Canary' AND cases.account IS NULL \
         AND cases.workflow_status = 'open' AND deliveries.sent_version > 0 AND deliveries.remote_id IS NOT NULL AND deliveries.sent_at IS NOT NULL \
     GROUP BY cases.id ORDER BY cases.opened_at DESC LIMIT ?1";

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

    async fn open_canaries(&self, most: usize) -> Result<Vec<(CaseId, DateTime<Utc>)>, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.thread
            .run("look for open canaries", move |connection| {
                let mut statement = connection.prepare_cached(OPEN)?;
                let one = |row: &Row<'_>| Ok((CaseId(row.get(0)?), get_time(row, 1)?));
                let found = statement.query_map([most], one)?;
                Ok(found.collect::<Result<_, rusqlite::Error>>()?)
            })
            .await
    }
}
