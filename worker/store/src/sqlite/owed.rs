//! Lists and gives up pending reports by destination. The counts match those of [`super::backlog`].

use async_trait::async_trait;
use nightshift_pipeline::case::CaseId;
use nightshift_pipeline::port::{DestinationBacklog, OutboxAdmin, StoreError};
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::row::get_time;

const OWED: &str = "SELECT destination, count(*), min(requested_at) FROM deliveries \
     WHERE sent_version < wanted_version AND sent_version < major_version AND given_up = 0 GROUP BY destination ORDER BY destination";
const OWED_TO: &str = "SELECT case_id FROM deliveries \
     WHERE destination = ?1 AND sent_version < wanted_version AND sent_version < major_version AND given_up = 0 ORDER BY requested_at, case_id LIMIT ?2";
const GIVE_UP: &str = "UPDATE deliveries SET given_up = 1, retry_at = NULL, error = ?3 \
     WHERE case_id = ?1 AND destination = ?2 AND sent_version < wanted_version AND sent_version < major_version AND given_up = 0";
const FORGET: &str =
    "UPDATE deliveries SET shown = NULL WHERE destination = ?1 AND shown IS NOT NULL";

/// Returns the destinations with pending reports.
pub(super) fn owed(connection: &Connection) -> rusqlite::Result<Vec<DestinationBacklog>> {
    let mut statement = connection.prepare_cached(OWED)?;
    let rows = statement.query_map([], |row| {
        let reports: i64 = row.get(1)?;
        Ok(DestinationBacklog {
            destination: row.get(0)?,
            reports: u64::try_from(reports).unwrap_or_default(),
            since: get_time(row, 2)?,
        })
    })?;
    rows.collect()
}

#[async_trait]
impl OutboxAdmin for SqliteStore {
    async fn backlogs(&self) -> Result<Vec<DestinationBacklog>, StoreError> {
        self.thread
            .run("count what is owed", |connection| Ok(owed(connection)?))
            .await
    }

    async fn undelivered_cases(
        &self,
        destination: &str,
        most: usize,
    ) -> Result<Vec<CaseId>, StoreError> {
        let destination = destination.to_owned();
        let limit = i64::try_from(most).unwrap_or(i64::MAX);
        self.thread
            .run("read what is owed", move |connection| {
                let mut statement = connection.prepare_cached(OWED_TO)?;
                let rows = statement
                    .query_map(params![destination, limit], |row| row.get(0).map(CaseId))?;
                Ok(rows.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn give_up(
        &self,
        destination: &str,
        cases: &[CaseId],
        why: &str,
    ) -> Result<u64, StoreError> {
        let (destination, why) = (destination.to_owned(), why.to_owned());
        let cases = cases.to_vec();
        self.thread
            .run("give up what is owed", move |connection| {
                let mut statement = connection.prepare_cached(GIVE_UP)?;
                let mut reports = 0;
                for case in &cases {
                    reports += statement.execute(params![case.0, destination, why])?;
                }
                Ok(u64::try_from(reports).unwrap_or(u64::MAX))
            })
            .await
    }

    async fn forget_delivered(&self, destination: &str) -> Result<(), StoreError> {
        let destination = destination.to_owned();
        self.thread
            .run("forget what is shown", move |connection| {
                connection.prepare_cached(FORGET)?.execute([destination])?;
                Ok(())
            })
            .await
    }
}
