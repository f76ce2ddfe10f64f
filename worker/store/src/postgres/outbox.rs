//! The outbox: what a destination should show and does not.

use std::time::Duration;

use async_trait::async_trait;
use nightshift_pipeline::{CaseId, DeliveryError, Desk, Due, Outbox, Sent, Showing, StoreError};

use super::PostgresStore;
use super::database::Session;
use super::failure::Failure;
use super::row::{count, limit, number, parse, text};

const DUE: &str = "SELECT d.case_id, d.wanted, d.remote_id, d.attempts, c.report::text, \
         extract(epoch FROM clock_timestamp() - d.begun_at)::double precision \
     FROM deliveries d \
     JOIN cases s ON s.id = d.case_id \
     JOIN LATERAL (SELECT report FROM conclusions WHERE case_id = d.case_id ORDER BY revision DESC LIMIT 1) AS c ON true \
     WHERE d.destination = $1 AND d.sent < d.wanted AND NOT d.given_up AND (d.retry_at IS NULL OR d.retry_at <= now()) \
     ORDER BY coalesce(s.assessed_severity, s.severity) DESC, d.wished_at, d.case_id LIMIT $2";
const SERVE: &str = "INSERT INTO served_destinations (destination, holder, lease_until) \
     VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3)) ON CONFLICT (destination) DO UPDATE \
     SET holder = excluded.holder, lease_until = clock_timestamp() + make_interval(secs => $3) \
     WHERE served_destinations.holder = excluded.holder OR served_destinations.lease_until < clock_timestamp()";
const LEAVE: &str = "DELETE FROM served_destinations WHERE destination = $1 AND holder = $2";
/// Only as it was read: whoever was frozen since then sends nothing.
const BEGIN: &str = "UPDATE deliveries SET attempts = attempts + 1, begun_at = clock_timestamp() \
     WHERE case_id = $1 AND destination = $2 AND wanted = $3 AND sent < $3 AND NOT given_up AND attempts = $4 \
         AND (begun_at IS NOT NULL) = $5";
const SENT: &str = "UPDATE deliveries SET sent = greatest(sent, $3), remote_id = coalesce($4, remote_id), attempts = 0, \
     retry_at = NULL, begun_at = NULL, error = NULL WHERE case_id = $1 AND destination = $2";
/// What is wished since is not put off by what became of the version before it.
const FAILED: &str = "UPDATE deliveries SET error = $5, begun_at = NULL, remote_id = coalesce($7, remote_id), \
         attempts = CASE WHEN wanted = $3 THEN $4 ELSE attempts END, \
         retry_at = CASE WHEN wanted = $3 THEN clock_timestamp() + make_interval(secs => $6) ELSE retry_at END, \
         given_up = CASE WHEN wanted = $3 THEN $6 IS NULL ELSE given_up END \
     WHERE case_id = $1 AND destination = $2 AND attempts <= $4";
const UNCLEAR: &str = "UPDATE deliveries SET error = $5, remote_id = coalesce($7, remote_id), \
         begun_at = coalesce(begun_at, clock_timestamp()), \
         attempts = CASE WHEN wanted = $3 THEN $4 ELSE attempts END, \
         retry_at = CASE WHEN wanted = $3 THEN clock_timestamp() + make_interval(secs => $6) ELSE retry_at END \
     WHERE case_id = $1 AND destination = $2 AND attempts <= $4";
const ALSO: &str = "INSERT INTO deliveries (case_id, destination, wanted, wished_at) \
     SELECT id, $2, $3, clock_timestamp() FROM cases WHERE id = $1 ON CONFLICT (case_id, destination) DO UPDATE \
     SET wanted = excluded.wanted, wished_at = excluded.wished_at, attempts = 0, retry_at = NULL, given_up = false \
     WHERE deliveries.wanted < excluded.wanted";

#[async_trait]
impl Outbox for PostgresStore {
    async fn due(&self, destination: &str, most: usize) -> Result<Vec<Due>, StoreError> {
        self.look("read the outbox", |session| async move {
            due(&session, destination, most).await
        })
        .await
    }

    async fn serve(
        &self,
        destination: &str,
        holder: &str,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        let secs = lease.as_secs_f64();
        let ours = self
            .change("serve a destination", SERVE, [&destination, &holder, &secs])
            .await?;
        Ok(ours > 0)
    }

    async fn leave(&self, destination: &str, holder: &str) -> Result<(), StoreError> {
        self.change("leave a destination", LEAVE, [&destination, &holder])
            .await?;
        Ok(())
    }

    async fn begin(&self, destination: &str, due: &Due) -> Result<bool, StoreError> {
        let (id, version) = (&due.case_id.0, number(due.showing.version));
        let begun = self
            .change(
                "begin a delivery",
                BEGIN,
                [id, &destination, &version, &tries(due), &due.in_doubt],
            )
            .await?;
        Ok(begun > 0)
    }

    async fn sent(&self, destination: &str, due: &Due, sent: &Sent) -> Result<(), StoreError> {
        let (id, version) = (&due.case_id.0, number(due.showing.version));
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
        retry_in: Option<Duration>,
    ) -> Result<(), StoreError> {
        self.note(
            "note a failed delivery",
            FAILED,
            (destination, due),
            error,
            retry_in,
        )
        .await
    }

    async fn unclear(
        &self,
        destination: &str,
        due: &Due,
        error: &DeliveryError,
        retry_in: Duration,
    ) -> Result<(), StoreError> {
        let doing = "note a delivery that is in doubt";
        self.note(doing, UNCLEAR, (destination, due), error, Some(retry_in))
            .await
    }

    async fn also(
        &self,
        case_id: &CaseId,
        destination: &str,
        version: u64,
    ) -> Result<(), StoreError> {
        let (name, version) = (text(destination), number(version));
        self.change("wish a delivery", ALSO, [&case_id.0, &name, &version])
            .await?;
        self.bell.ring();
        Ok(())
    }
}

impl PostgresStore {
    /// How a try ended that did not succeed.
    async fn note(
        &self,
        doing: &'static str,
        sql: &str,
        (destination, due): (&str, &Due),
        error: &DeliveryError,
        retry_in: Option<Duration>,
    ) -> Result<(), StoreError> {
        let (id, version) = (&due.case_id.0, number(due.showing.version));
        let retry_secs = retry_in.map(|wait| wait.as_secs_f64());
        let named = match error {
            DeliveryError::Partly { remote_id, .. } => Some(text(remote_id)),
            _ => None,
        };
        let (error, tries) = (error.to_string(), tries(due) + 1);
        self.change(
            doing,
            sql,
            [
                id,
                &destination,
                &version,
                &tries,
                &text(&error),
                &retry_secs,
                &named,
            ],
        )
        .await?;
        Ok(())
    }
}

/// The tries before this one.
fn tries(due: &Due) -> i32 {
    i32::try_from(due.attempts).unwrap_or(i32::MAX - 1)
}

async fn due(session: &Session, destination: &str, most: usize) -> Result<Vec<Due>, Failure> {
    let rows = session.rows(DUE, [&destination, &limit(most)]).await?;
    rows.iter()
        .map(|row| {
            let id: String = row.try_get(0)?;
            let attempts: i32 = row.try_get(3)?;
            let begun: Option<f64> = row.try_get(5)?;
            Ok(Due {
                in_doubt: begun.is_some(),
                begun_ago: Duration::try_from_secs_f64(begun.unwrap_or(0.0)).unwrap_or_default(),
                showing: Showing {
                    version: count(row, 1)?,
                    remote_id: row.try_get(2)?,
                    report: parse(&id, row.try_get(4)?)?,
                    shown: None,
                    desk: Desk::default(),
                    minor: false,
                },
                case_id: CaseId(id),
                attempts: u32::try_from(attempts).unwrap_or_default(),
            })
        })
        .collect()
}
