//! The outbox: what a destination should show and does not.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_pipeline::{CaseId, DeliveryError, Due, Outbox, Sent, StoreError};

use super::PostgresStore;
use super::database::Session;
use super::failure::Failure;
use super::row::{count, limit, number, parse, text};

const DUE: &str = "SELECT d.case_id, d.wanted, d.remote_id, d.attempts, c.report::text FROM deliveries d \
     JOIN cases s ON s.id = d.case_id \
     JOIN LATERAL (SELECT report FROM conclusions WHERE case_id = d.case_id ORDER BY revision DESC LIMIT 1) AS c ON true \
     WHERE d.destination = $1 AND d.sent < d.wanted AND NOT d.given_up AND (d.retry_at IS NULL OR d.retry_at <= now()) \
     ORDER BY coalesce(s.assessed_severity, s.severity) DESC, d.wished_at, d.case_id LIMIT $2";
const SENT: &str = "UPDATE deliveries SET sent = greatest(sent, $3), remote_id = coalesce($4, remote_id), attempts = 0, \
     retry_at = NULL, error = NULL WHERE case_id = $1 AND destination = $2";
const FAILED: &str = "UPDATE deliveries SET attempts = attempts + 1, error = $3, retry_at = $4, given_up = $5 \
     WHERE case_id = $1 AND destination = $2";

#[async_trait]
impl Outbox for PostgresStore {
    async fn due(&self, destination: &str, most: usize) -> Result<Vec<Due>, StoreError> {
        self.look("read the outbox", |session| async move {
            due(&session, destination, most).await
        })
        .await
    }

    async fn sent(&self, destination: &str, due: &Due, sent: &Sent) -> Result<(), StoreError> {
        let (id, version) = (&due.case_id.0, number(due.version));
        let remote_id = sent.remote_id.as_deref().map(text);
        self.change(
            "note a delivery",
            SENT,
            [id, &destination, &version, &remote_id],
        )
        .await?;
        Ok(())
    }

    async fn failed(
        &self,
        destination: &str,
        due: &Due,
        error: &DeliveryError,
        retry_at: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError> {
        let (id, error) = (&due.case_id.0, error.to_string());
        let given_up = retry_at.is_none();
        self.change(
            "note a failed delivery",
            FAILED,
            [id, &destination, &text(&error), &retry_at, &given_up],
        )
        .await?;
        Ok(())
    }
}

async fn due(session: &Session, destination: &str, most: usize) -> Result<Vec<Due>, Failure> {
    let rows = session.rows(DUE, [&destination, &limit(most)]).await?;
    rows.iter()
        .map(|row| {
            let id: String = row.try_get(0)?;
            let attempts: i32 = row.try_get(3)?;
            Ok(Due {
                report: parse(&id, row.try_get(4)?)?,
                case_id: CaseId(id),
                version: count(row, 1)?,
                remote_id: row.try_get(2)?,
                attempts: u32::try_from(attempts).unwrap_or_default(),
            })
        })
        .collect()
}
