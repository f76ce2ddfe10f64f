//! Lists and gives up pending reports by destination. The counts match those of [`super::backlog`].

use async_trait::async_trait;
use nightshift_pipeline::case::CaseId;
use nightshift_pipeline::port::{DestinationBacklog, OutboxAdmin, StoreError};
use tokio_postgres::Row;

use super::PostgresStore;
use super::failure::PostgresFailure;
use super::row::{count, limit, text};

pub(super) const OWED: &str = "SELECT destination, count(*), min(requested_at) FROM deliveries \
     WHERE sent_version < wanted_version AND sent_version < major_version AND NOT given_up GROUP BY destination ORDER BY destination";
const OWED_TO: &str = "SELECT case_id FROM deliveries \
     WHERE destination = $1 AND sent_version < wanted_version AND sent_version < major_version AND NOT given_up ORDER BY requested_at, case_id LIMIT $2";
const GIVE_UP: &str = "UPDATE deliveries SET given_up = true, retry_at = NULL, error = $3 \
     WHERE case_id = ANY($1) AND destination = $2 AND sent_version < wanted_version AND sent_version < major_version AND NOT given_up";
const FORGET: &str =
    "UPDATE deliveries SET shown = NULL WHERE destination = $1 AND shown IS NOT NULL";

/// Parses a destination with pending reports.
pub(super) fn one(row: &Row) -> Result<DestinationBacklog, PostgresFailure> {
    Ok(DestinationBacklog {
        destination: row.try_get(0)?,
        reports: count(row, 1)?,
        since: row.try_get(2)?,
    })
}

#[async_trait]
impl OutboxAdmin for PostgresStore {
    async fn backlogs(&self) -> Result<Vec<DestinationBacklog>, StoreError> {
        self.retry_read("count what is owed", |session| async move {
            session.rows(OWED, []).await?.iter().map(one).collect()
        })
        .await
    }

    async fn undelivered_cases(
        &self,
        destination: &str,
        most: usize,
    ) -> Result<Vec<CaseId>, StoreError> {
        let name = text(destination);
        let name = &name;
        self.retry_read("read what is owed", |session| async move {
            let rows = session.rows(OWED_TO, [name, &limit(most)]).await?;
            let id = |row: &Row| Ok(CaseId(row.try_get(0)?));
            rows.iter().map(id).collect()
        })
        .await
    }

    async fn give_up(
        &self,
        destination: &str,
        cases: &[CaseId],
        why: &str,
    ) -> Result<u64, StoreError> {
        let ids: Vec<&str> = cases.iter().map(|case| case.0.as_str()).collect();
        let (name, why) = (text(destination), text(why));
        self.retry_change("give up what is owed", GIVE_UP, [&ids, &name, &why])
            .await
    }

    async fn forget_delivered(&self, destination: &str) -> Result<(), StoreError> {
        let name = text(destination);
        self.retry_change("forget what is shown", FORGET, [&name])
            .await?;
        Ok(())
    }
}
