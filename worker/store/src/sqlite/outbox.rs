//! Implements the outbox of deliveries that are requested and not done, and the leases of destinations.

use std::time::Duration;

use async_trait::async_trait;
use chrono::NaiveDate;
use nightshift_pipeline::case::CaseId;
use nightshift_pipeline::case_workflow::CaseWorkflow;
use nightshift_pipeline::delivery_payload::{DeliveredReport, DeliveryPayload};
use nightshift_pipeline::port::{
    AmbiguousSend, DeliveryError, DeliveryReceipt, Outbox, PendingDelivery, StoreError,
};
use nightshift_pipeline::report::{
    EarlyReportInput, FailoverSources, Report, early_report, parse_failover_sources,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::host::{LeaseHolder, uptime_secs};
use super::row::{get_status, get_time};
use super::thread::SqliteFailure;
use super::{SqliteStore, case_workflow};
use crate::logged_once::log_unreadable_report;
use crate::sql::{Tx, at_once};

/// Selects due deliveries. Reports are read only for the selected rows, however many wait. No wait is longer than an
/// hour ([`MAX_WAIT`](nightshift_pipeline::delivery::MAX_WAIT)); a longer one comes from a clock that was set back
/// since.
const DUE: &str = "SELECT d.case_id, d.wanted_version, d.remote_id, d.attempts, c.report, \
         unixepoch('now', 'subsec') - unixepoch(d.begun_at, 'subsec'), d.sent_version >= d.major_version, d.shown, s.sightings, s.members, \
         s.revision, s.status, s.opened_at, CASE WHEN c.report IS NULL THEN a.alert END, a.cancelled_by, d.instead_of \
     FROM (SELECT d.* FROM deliveries d JOIN cases s ON s.id = d.case_id \
         WHERE d.destination = ?1 AND d.sent_version < d.wanted_version AND d.given_up = 0 \
             AND (d.retry_at IS NULL OR d.retry_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now') \
                 OR d.retry_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+1 hour')) \
         ORDER BY d.sent_version >= d.major_version, CASE s.feed WHEN 'canary' THEN s.severity ELSE coalesce(s.assessed_severity, s.severity) END DESC, d.requested_at, d.case_id LIMIT ?2) AS d \
     JOIN cases s ON s.id = d.case_id JOIN alerts a ON a.case_id = s.id AND a.revision = s.revision \
     LEFT JOIN conclusions c ON c.case_id = d.case_id \
         AND c.revision = (SELECT max(revision) FROM conclusions WHERE case_id = d.case_id) \
     ORDER BY d.sent_version >= d.major_version, CASE s.feed WHEN 'canary' THEN s.severity ELSE coalesce(s.assessed_severity, s.severity) END DESC, d.requested_at, d.case_id";
const SERVER: &str =
    "SELECT holder, process, lease_until FROM destination_leases WHERE destination = ?1";
const SERVE: &str = "INSERT INTO destination_leases (destination, holder, process, lease_until) \
     VALUES (?1, ?2, ?3, ?4) ON CONFLICT (destination) DO UPDATE \
     SET holder = excluded.holder, process = excluded.process, lease_until = excluded.lease_until";
const LEAVE: &str = "DELETE FROM destination_leases WHERE destination = ?1 AND holder = ?2";
/// Begins an attempt only if the row is as it was read, so a worker that was frozen in between sends nothing. Later
/// counts are sent along.
const BEGIN: &str = "UPDATE deliveries SET attempts = attempts + 1, \
         begun_at = strftime('%Y-%m-%dT%H:%M:%f000Z', 'now') \
     WHERE case_id = ?1 AND destination = ?2 AND wanted_version >= ?3 AND major_version <= ?3 AND sent_version < ?3 AND given_up = 0 AND attempts = ?4 \
         AND (begun_at IS NOT NULL) = ?5";
const SENT: &str = "UPDATE deliveries SET sent_version = max(sent_version, ?3), remote_id = coalesce(?4, remote_id), attempts = 0, \
     shown = coalesce(?5, shown), sent_at = strftime('%Y-%m-%dT%H:%M:%f000Z', 'now'), begun_at = NULL, error = NULL, \
     retry_at = CASE WHEN wanted_version > ?3 AND major_version <= ?3 \
         THEN strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', '+60 seconds') END WHERE case_id = ?1 AND destination = ?2";
/// The failure of an earlier version does not delay a newer one.
const FAILED: &str = "UPDATE deliveries SET error = ?5, begun_at = NULL, remote_id = coalesce(?7, remote_id), \
         attempts = CASE WHEN major_version <= ?3 THEN ?4 ELSE attempts END, \
         retry_at = CASE WHEN major_version <= ?3 THEN strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', ?6) ELSE retry_at END, \
         given_up = CASE WHEN major_version <= ?3 THEN ?6 IS NULL ELSE given_up END \
     WHERE case_id = ?1 AND destination = ?2 AND attempts <= ?4";
/// Records an attempt with an unknown result. The expression is the time since which the result is unknown.
macro_rules! unclear {
    ($since:literal) => {
        concat!(
            "UPDATE deliveries SET error = ?5, remote_id = coalesce(?7, remote_id), begun_at = ",
            $since,
            ", \
                 attempts = CASE WHEN major_version <= ?3 THEN ?4 ELSE attempts END, \
                 retry_at = CASE WHEN major_version <= ?3 THEN strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', ?6) ELSE retry_at END \
             WHERE case_id = ?1 AND destination = ?2 AND attempts <= ?4"
        )
    };
}
const ANSWER_LOST: &str = unclear!("strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')");
/// An attempt with a later begin was begun before the clock was set back.
const NOT_TOLD: &str =
    unclear!("min(coalesce(begun_at, '9'), strftime('%Y-%m-%dT%H:%M:%f000Z', 'now'))");
const ALSO: &str = "INSERT INTO deliveries (case_id, destination, wanted_version, major_version, requested_at, instead_of) \
     SELECT id, ?2, 1, 1, strftime('%Y-%m-%dT%H:%M:%f000Z', 'now'), ?3 FROM cases WHERE id = ?1 \
     ON CONFLICT (case_id, destination) DO UPDATE \
     SET wanted_version = wanted_version + 1, major_version = wanted_version + 1, requested_at = excluded.requested_at, attempts = 0, retry_at = NULL, \
         given_up = 0 WHERE deliveries.sent_version >= deliveries.major_version \
         AND coalesce(json_extract(deliveries.shown, '$.revision') < \
             (SELECT max(revision) FROM conclusions WHERE case_id = ?1), 1) \
         OR deliveries.given_up = 1 AND deliveries.requested_at < (SELECT max(concluded_at) FROM conclusions WHERE case_id = ?1)";
/// Adds the failed destinations to a delivery that happens anyway. It gets its own version, because the previous one
/// may be in flight.
const SAY: &str = "UPDATE deliveries SET wanted_version = wanted_version + 1, \
         instead_of = json_patch(coalesce(instead_of, '{}'), ?3) \
     WHERE case_id = ?1 AND destination = ?2 AND given_up = 0 \
         AND json_patch(coalesce(instead_of, '{}'), ?3) IS NOT instead_of";
const ANNOUNCE: &str = "INSERT OR IGNORE INTO deliveries (case_id, destination, wanted_version, major_version, requested_at) \
     SELECT id, ?2, 1, 1, strftime('%Y-%m-%dT%H:%M:%f000Z', 'now') FROM cases WHERE id = ?1";
/// Leaves a report to workers of the version that wrote it.
const UNREADABLE: &str = "UPDATE deliveries SET error = ?3, \
         retry_at = strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', '+60 seconds') \
     WHERE case_id = ?1 AND destination = ?2";

#[async_trait]
impl Outbox for SqliteStore {
    async fn acquire_lease(
        &self,
        destination: &str,
        holder: &str,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        let (destination, holder) = (destination.to_owned(), holder.to_owned());
        let process = self.holder.clone();
        self.thread
            .run("serve a destination", move |connection| {
                let (now, lease_secs) = (uptime_secs(), lease.as_secs_f64());
                if !is_free(connection, &destination, &holder, (now, lease_secs))? {
                    return Ok(false);
                }
                let until = now + lease_secs;
                connection.prepare_cached(SERVE)?.execute(params![
                    destination,
                    holder,
                    process.0,
                    until
                ])?;
                Ok(true)
            })
            .await
    }

    async fn release_lease(&self, destination: &str, holder: &str) -> Result<(), StoreError> {
        let (destination, holder) = (destination.to_owned(), holder.to_owned());
        self.write("leave a destination", LEAVE, (destination, holder))
            .await?;
        Ok(())
    }

    async fn due_deliveries(
        &self,
        destination: &str,
        most: usize,
    ) -> Result<Vec<PendingDelivery>, StoreError> {
        let destination = destination.to_owned();
        self.thread
            .transaction("read the outbox", move |shared| {
                let connection = &*shared.lock();
                let mut statement = connection.prepare_cached(DUE)?;
                let limit = i64::try_from(most).unwrap_or(i64::MAX);
                let mut rows = statement.query(params![destination, limit])?;
                let mut due = Vec::new();
                let mut unreadable = Vec::new();
                while let Some(row) = rows.next()? {
                    match to_due(row) {
                        Ok(one) => due.push(one),
                        // This version cannot render the report. The other due reports are returned.
                        Err(SqliteFailure::Unreadable(id, cause)) => unreadable.push((id, cause)),
                        Err(failure) => return Err(failure),
                    }
                }
                for (id, cause) in unreadable {
                    let error = log_unreadable_report(&id, &destination, &cause);
                    let values = params![id, destination, error];
                    connection.prepare_cached(UNREADABLE)?.execute(values)?;
                }
                for one in &mut due {
                    let workflow = crate::sql::case_workflow::case_workflow(
                        Tx::Sqlite(shared),
                        &one.case_id.0,
                    );
                    one.payload.workflow = at_once(workflow)?;
                }
                Ok(due)
            })
            .await
            .map_err(|undone| undone.into_store_error("read the outbox"))
    }

    async fn begin_attempt(
        &self,
        destination: &str,
        due: &PendingDelivery,
    ) -> Result<bool, StoreError> {
        let (id, destination) = (due.case_id.0.clone(), destination.to_owned());
        let values = (id, destination, version(due), due.attempts, due.in_doubt);
        Ok(self.write("begin a delivery", BEGIN, values).await? > 0)
    }

    async fn record_sent(
        &self,
        destination: &str,
        due: &PendingDelivery,
        sent: Option<&DeliveryReceipt>,
    ) -> Result<(), StoreError> {
        let (id, destination) = (due.case_id.0.clone(), destination.to_owned());
        // A remote id that the look-up found is stored, even if nothing was sent.
        let found = due.payload.remote_id.clone();
        let remote_id = sent.and_then(|sent| sent.remote_id.clone()).or(found);
        let shown = sent.map(|_| DeliveredReport::from_report(&due.payload.report));
        let shown = shown
            .map(|shown| serde_json::to_string(&shown))
            .transpose()
            .map_err(|cause| StoreError::Unreadable(id.clone(), Box::new(cause)))?;
        let values = (id, destination, version(due), remote_id, shown);
        self.write("note a delivery", SENT, values).await?;
        Ok(())
    }

    async fn record_failed(
        &self,
        destination: &str,
        due: &PendingDelivery,
        error: &DeliveryError,
        retry_in: Option<Duration>,
    ) -> Result<(), StoreError> {
        let values = ended(destination, due, error, retry_in);
        self.write("note a failed delivery", FAILED, values).await?;
        Ok(())
    }

    async fn record_ambiguous(
        &self,
        destination: &str,
        due: &PendingDelivery,
        error: &DeliveryError,
        doubt: AmbiguousSend,
        retry_in: Duration,
    ) -> Result<(), StoreError> {
        let values = ended(destination, due, error, Some(retry_in));
        let sql = match doubt {
            AmbiguousSend::AnswerLost => ANSWER_LOST,
            AmbiguousSend::LookupInconclusive => NOT_TOLD,
        };
        self.write("note a delivery that is in doubt", sql, values)
            .await?;
        Ok(())
    }

    async fn add_fallback(
        &self,
        case_id: &CaseId,
        destination: &str,
        instead_of: &FailoverSources,
    ) -> Result<(), StoreError> {
        let (id, destination) = (case_id.0.clone(), destination.to_owned());
        let written = serde_json::to_string(instead_of)
            .map_err(|cause| StoreError::Unreadable(id.clone(), Box::new(cause)))?;
        self.thread
            .run("wish a delivery", move |connection| {
                for sql in [ALSO, SAY] {
                    let values = params![id, destination, written];
                    connection.prepare_cached(sql)?.execute(values)?;
                }
                Ok(())
            })
            .await?;
        self.bell.notify();
        Ok(())
    }

    async fn enqueue_announcement(
        &self,
        case_id: &CaseId,
        destinations: &[String],
    ) -> Result<(), StoreError> {
        let (id, names) = (case_id.0.clone(), destinations.to_vec());
        self.thread
            .run("announce a case", move |connection| {
                let mut statement = connection.prepare_cached(ANNOUNCE)?;
                for name in &names {
                    statement.execute([&id, name])?;
                }
                Ok(())
            })
            .await?;
        self.bell.notify();
        Ok(())
    }

    async fn begin_digest(
        &self,
        destination: &str,
        day: NaiveDate,
    ) -> Result<Option<bool>, StoreError> {
        let destination = destination.to_owned();
        self.thread
            .run("begin a digest", move |connection| {
                case_workflow::begin_digest(connection, &destination, day)
            })
            .await
    }

    async fn record_digest_posted(
        &self,
        destination: &str,
        day: NaiveDate,
    ) -> Result<(), StoreError> {
        let values = (destination.to_owned(), day.to_string());
        self.write("note a digest", case_workflow::DIGEST_POSTED, values)
            .await?;
        Ok(())
    }
}

impl SqliteStore {
    /// Runs one statement. Returns the number of changed rows.
    async fn write<P: rusqlite::Params + Send + 'static>(
        &self,
        doing: &'static str,
        sql: &'static str,
        values: P,
    ) -> Result<usize, StoreError> {
        self.thread
            .run(doing, move |connection| {
                Ok(connection.prepare_cached(sql)?.execute(values)?)
            })
            .await
    }
}

/// Returns whether this holder may serve a destination: nobody else does, or that lease has expired, or its process is
/// gone.
fn is_free(
    connection: &Connection,
    destination: &str,
    holder: &str,
    (now, lease_secs): (f64, f64),
) -> Result<bool, SqliteFailure> {
    let server: Option<(String, String, f64)> = connection
        .prepare_cached(SERVER)?
        .query_row([destination], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    Ok(server.is_none_or(|(name, process, until)| {
        name == holder || until < now || until > LeaseHolder(process).latest(now, lease_secs)
    }))
}

fn to_due(row: &Row<'_>) -> Result<PendingDelivery, SqliteFailure> {
    let id: String = row.get(0)?;
    let (version, sightings, members): (i64, i64, i64) = (row.get(1)?, row.get(8)?, row.get(9)?);
    let (written, shown): (Option<String>, Option<String>) = (row.get(4)?, row.get(7)?);
    let unreadable = |cause| SqliteFailure::Unreadable(id.clone(), cause);
    let mut report: Report = match written {
        Some(text) => serde_json::from_str(&text).map_err(unreadable)?,
        None => early_report(
            &serde_json::from_str(&row.get::<_, String>(13)?).map_err(unreadable)?,
            EarlyReportInput {
                case_id: CaseId(id.clone()),
                revision: row.get(10)?,
                status: get_status(row, 11)?,
                opened_at: get_time(row, 12)?,
                cancelled_by: row.get(14)?,
            },
        ),
    };
    report.alert.sightings = u64::try_from(sightings).unwrap_or_default();
    report.alert.members = u64::try_from(members).unwrap_or_default();
    let instead_of: Option<String> = row.get(15)?;
    report.instead_of = parse_failover_sources(instead_of.as_deref(), report.revision);
    let begun: Option<f64> = row.get(5)?;
    Ok(PendingDelivery {
        attempts: row.get(3)?,
        in_doubt: begun.is_some(),
        attempt_age: Duration::try_from_secs_f64(begun.unwrap_or(0.0)).unwrap_or_default(),
        payload: DeliveryPayload {
            version: u64::try_from(version).unwrap_or_default(),
            remote_id: row.get(2)?,
            report,
            delivered: shown.and_then(|text| serde_json::from_str(&text).ok()),
            workflow: CaseWorkflow::default(),
            is_minor: row.get(6)?,
            in_doubt: begun.is_some(),
        },
        case_id: CaseId(id),
    })
}

/// Returns the parameters of both statements that record a failed attempt.
fn ended(
    destination: &str,
    due: &PendingDelivery,
    error: &DeliveryError,
    retry_in: Option<Duration>,
) -> impl rusqlite::Params + Send + 'static {
    let named = due.remote_id_after(error).map(str::to_owned);
    (
        due.case_id.0.clone(),
        destination.to_owned(),
        version(due),
        due.attempts.saturating_add(1),
        error.to_string(),
        retry_in.map(|wait| format!("+{:.3} seconds", wait.as_secs_f64())),
        named,
    )
}

fn version(due: &PendingDelivery) -> i64 {
    i64::try_from(due.payload.version).unwrap_or(i64::MAX)
}
