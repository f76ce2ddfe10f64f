//! The outbox: what a destination should show and does not.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_pipeline::{CaseId, DeliveryError, Due, Outbox, Report, Sent, StoreError};
use rusqlite::params;

use super::SqliteStore;
use super::row::time;
use super::thread::Failure;

const DUE: &str = "SELECT d.case_id, d.wanted, d.remote_id, d.attempts, c.report FROM deliveries d \
     JOIN cases s ON s.id = d.case_id JOIN conclusions c ON c.case_id = d.case_id \
         AND c.revision = (SELECT max(revision) FROM conclusions WHERE case_id = d.case_id) \
     WHERE d.destination = ?1 AND d.sent < d.wanted AND d.given_up = 0 \
         AND (d.retry_at IS NULL OR d.retry_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) \
     ORDER BY coalesce(s.assessed_severity, s.severity) DESC, d.wished_at, d.case_id LIMIT ?2";
const SENT: &str = "UPDATE deliveries SET sent = max(sent, ?3), remote_id = coalesce(?4, remote_id), attempts = 0, \
     retry_at = NULL, error = NULL WHERE case_id = ?1 AND destination = ?2";
const FAILED: &str = "UPDATE deliveries SET attempts = attempts + 1, error = ?3, retry_at = ?4, given_up = ?5 \
     WHERE case_id = ?1 AND destination = ?2";

#[async_trait]
impl Outbox for SqliteStore {
    async fn due(&self, destination: &str, most: usize) -> Result<Vec<Due>, StoreError> {
        let destination = destination.to_owned();
        self.thread
            .run("read the outbox", move |connection| {
                let mut statement = connection.prepare_cached(DUE)?;
                let limit = i64::try_from(most).unwrap_or(i64::MAX);
                let mut rows = statement.query(params![destination, limit])?;
                let mut due = Vec::new();
                while let Some(row) = rows.next()? {
                    let id: String = row.get(0)?;
                    let version: i64 = row.get(1)?;
                    let text = row.get_ref(4)?.as_str().map_err(rusqlite::Error::from)?;
                    let report: Report = serde_json::from_str(text)
                        .map_err(|cause| Failure::Unreadable(id.clone(), cause))?;
                    due.push(Due {
                        case_id: CaseId(id),
                        version: u64::try_from(version).unwrap_or_default(),
                        remote_id: row.get(2)?,
                        attempts: row.get(3)?,
                        report,
                    });
                }
                Ok(due)
            })
            .await
    }

    async fn sent(&self, destination: &str, due: &Due, sent: &Sent) -> Result<(), StoreError> {
        let (destination, id) = (destination.to_owned(), due.case_id.0.clone());
        let version = i64::try_from(due.version).unwrap_or(i64::MAX);
        let remote_id = sent.remote_id.clone();
        self.thread
            .run("note a delivery", move |connection| {
                connection.prepare_cached(SENT)?.execute(params![
                    id,
                    destination,
                    version,
                    remote_id
                ])?;
                Ok(())
            })
            .await
    }

    async fn failed(
        &self,
        destination: &str,
        due: &Due,
        error: &DeliveryError,
        retry_at: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError> {
        let (destination, id) = (destination.to_owned(), due.case_id.0.clone());
        let (error, retry_at) = (error.to_string(), retry_at.map(time));
        self.thread
            .run("note a failed delivery", move |connection| {
                let given_up = retry_at.is_none();
                connection.prepare_cached(FAILED)?.execute(params![
                    id,
                    destination,
                    error,
                    retry_at,
                    given_up
                ])?;
                Ok(())
            })
            .await
    }
}
