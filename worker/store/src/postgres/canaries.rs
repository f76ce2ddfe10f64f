//! Reads when the last canary arrived at its destination, and which canaries are still open.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_pipeline::canary::CANARY_CLOSER;
use nightshift_pipeline::case::CaseId;
use nightshift_pipeline::port::{Canaries, StoreError};

use super::PostgresStore;
use super::row::limit;

/// Finds the last canary that arrived. A failed canary is shown and removed too, but proves nothing, because its triage
/// did not end normally. The query reads the index of storms from its end, and not all canaries. Times of cases and
/// actions come from workers, whose clocks may have been ahead.
const LAST: &str = "SELECT case_actions.at FROM cases JOIN case_actions ON case_actions.case_id = cases.id \
     WHERE cases.feed = 'canary' AND cases.type = 'Nightshift:Canary' AND coalesce(cases.account, '') = '' \
         AND cases.status = 'concluded' AND case_actions.action = 'closed' AND case_actions.actor = $1 AND case_actions.at <= now() AND cases.opened_at <= now() \
     ORDER BY cases.opened_at DESC LIMIT 1";
/// A delivery that was skipped because it was too late has no remote id.
const OPEN: &str = "SELECT cases.id, min(deliveries.sent_at) \
     FROM cases JOIN deliveries ON deliveries.case_id = cases.id \
     WHERE cases.feed = 'canary' AND cases.type = 'Nightshift:Canary' AND coalesce(cases.account, '') = '' \
         AND cases.workflow_status = 'open' AND deliveries.sent_version > 0 AND deliveries.remote_id IS NOT NULL AND deliveries.sent_at IS NOT NULL \
     GROUP BY cases.id ORDER BY cases.opened_at DESC LIMIT $1";

#[async_trait]
impl Canaries for PostgresStore {
    async fn last_canary(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        self.retry_read("look for the last canary", |session| async move {
            let row = session.row(LAST, [&CANARY_CLOSER]).await?;
            row.map(|row| Ok(row.try_get(0)?)).transpose()
        })
        .await
    }

    async fn open_canaries(&self, most: usize) -> Result<Vec<(CaseId, DateTime<Utc>)>, StoreError> {
        self.retry_read("look for open canaries", |session| async move {
            let rows = session.rows(OPEN, [&limit(most)]).await?;
            let one = |row: &tokio_postgres::Row| Ok((CaseId(row.try_get(0)?), row.try_get(1)?));
            rows.iter().map(one).collect()
        })
        .await
    }
}
