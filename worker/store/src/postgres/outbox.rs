//! Implements the outbox of deliveries that are requested and not done.

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

use super::{PostgresStore, case_workflow};
use tokio_postgres::Row;

use super::database::Session;
use super::failure::PostgresFailure;
use super::row::{count, get_revision, get_status, json, limit, number, parse, text};
use crate::logged_once::log_unreadable_report;
use crate::sql::Tx;

/// Selects due deliveries. Reports are read only for the selected rows, however many wait. The rank is a subquery and
/// not a join: the planner cannot know how few rows have `sent < wanted`, and would read all cases. No wait is longer
/// than an hour ([`MAX_WAIT`](nightshift_pipeline::delivery::MAX_WAIT)); a longer one comes from a clock that was set
/// back since.
pub(super) const DUE: &str = "SELECT d.case_id, d.wanted_version, d.remote_id, d.attempts, c.report::text, \
         extract(epoch FROM clock_timestamp() - d.begun_at)::double precision, d.sent_version >= d.major_version, d.shown::text, \
         s.sightings, s.members, s.revision, s.status, s.opened_at, \
         CASE WHEN c.report IS NULL THEN a.alert::text END, a.cancelled_by, d.instead_of::text \
     FROM (SELECT d.*, (SELECT CASE s.feed WHEN 'canary' THEN s.severity ELSE coalesce(s.assessed_severity, s.severity) END \
             FROM cases s WHERE s.id = d.case_id) AS rank FROM deliveries d \
         WHERE d.destination = $1 AND d.sent_version < d.wanted_version AND NOT d.given_up AND (d.retry_at IS NULL OR d.retry_at <= now() OR d.retry_at > now() + interval '1 hour') \
         ORDER BY d.sent_version >= d.major_version, rank DESC, d.requested_at, d.case_id LIMIT $2) AS d \
     JOIN cases s ON s.id = d.case_id \
     JOIN alerts a ON a.case_id = s.id AND a.revision = s.revision \
     LEFT JOIN LATERAL \
         (SELECT report FROM conclusions WHERE case_id = d.case_id ORDER BY revision DESC LIMIT 1) AS c ON true \
     ORDER BY d.sent_version >= d.major_version, d.rank DESC, d.requested_at, d.case_id";
const SERVE: &str = "INSERT INTO destination_leases (destination, holder, lease_until) \
     VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3)) ON CONFLICT (destination) DO UPDATE \
     SET holder = excluded.holder, lease_until = clock_timestamp() + make_interval(secs => $3) \
     WHERE destination_leases.holder = excluded.holder OR destination_leases.lease_until < clock_timestamp()";
const LEAVE: &str = "DELETE FROM destination_leases WHERE destination = $1 AND holder = $2";
/// Begins an attempt only if the row is as it was read, so a worker that was frozen in between sends nothing. Later
/// counts are sent along.
const BEGIN: &str = "UPDATE deliveries SET attempts = attempts + 1, begun_at = clock_timestamp() \
     WHERE case_id = $1 AND destination = $2 AND wanted_version >= $3 AND major_version <= $3 AND sent_version < $3 AND NOT given_up AND attempts = $4 \
         AND (begun_at IS NOT NULL) = $5";
const SENT: &str = "UPDATE deliveries SET sent_version = greatest(sent_version, $3), remote_id = coalesce($4, remote_id), attempts = 0, \
     shown = coalesce($5::text::jsonb, shown), sent_at = clock_timestamp(), begun_at = NULL, error = NULL, \
     retry_at = CASE WHEN wanted_version > $3 AND major_version <= $3 THEN clock_timestamp() + interval '60 seconds' END WHERE case_id = $1 AND destination = $2";
/// The failure of an earlier version does not delay a newer one.
const FAILED: &str = "UPDATE deliveries SET error = $5, begun_at = NULL, remote_id = coalesce($7, remote_id), \
         attempts = CASE WHEN major_version <= $3 THEN $4 ELSE attempts END, \
         retry_at = CASE WHEN major_version <= $3 THEN clock_timestamp() + make_interval(secs => $6) ELSE retry_at END, \
         given_up = CASE WHEN major_version <= $3 THEN $6 IS NULL ELSE given_up END \
     WHERE case_id = $1 AND destination = $2 AND attempts <= $4";
/// Records an attempt with an unknown result. The expression is the time since which the result is unknown.
macro_rules! unclear {
    ($since:literal) => {
        concat!(
            "UPDATE deliveries SET error = $5, remote_id = coalesce($7, remote_id), begun_at = ",
            $since,
            ", \
                 attempts = CASE WHEN major_version <= $3 THEN $4 ELSE attempts END, \
                 retry_at = CASE WHEN major_version <= $3 THEN clock_timestamp() + make_interval(secs => $6) ELSE retry_at END \
             WHERE case_id = $1 AND destination = $2 AND attempts <= $4"
        )
    };
}
const ANSWER_LOST: &str = unclear!("clock_timestamp()");
/// An attempt with a later begin was begun before the clock was set back.
const NOT_TOLD: &str = unclear!("least(begun_at, clock_timestamp())");
const ALSO: &str = "INSERT INTO deliveries (case_id, destination, wanted_version, major_version, requested_at, instead_of) \
     SELECT id, $2, 1, 1, clock_timestamp(), $3::text::jsonb FROM cases WHERE id = $1 ON CONFLICT (case_id, destination) DO UPDATE \
     SET wanted_version = deliveries.wanted_version + 1, major_version = deliveries.wanted_version + 1, requested_at = excluded.requested_at, attempts = 0, \
         retry_at = NULL, given_up = false \
     WHERE deliveries.sent_version >= deliveries.major_version AND coalesce((deliveries.shown ->> 'revision')::bigint < \
             (SELECT max(revision) FROM conclusions WHERE case_id = $1), true) \
         OR deliveries.given_up AND deliveries.requested_at < (SELECT max(concluded_at) FROM conclusions WHERE case_id = $1)";
/// Adds the failed destinations to a delivery that happens anyway. It gets its own version, because the previous one
/// may be in flight.
const SAY: &str = "UPDATE deliveries SET wanted_version = wanted_version + 1, \
         instead_of = coalesce(instead_of, '{}'::jsonb) || $3::text::jsonb \
     WHERE case_id = $1 AND destination = $2 AND NOT given_up AND NOT coalesce(instead_of, '{}'::jsonb) @> $3::text::jsonb";
const ANNOUNCE: &str = "INSERT INTO deliveries (case_id, destination, wanted_version, major_version, requested_at) \
     SELECT id, destination, 1, 1, clock_timestamp() FROM cases CROSS JOIN unnest($2::text[]) AS destination \
     WHERE id = $1 ON CONFLICT DO NOTHING";
/// Leaves a report to workers of the version that wrote it.
const UNREADABLE: &str = "UPDATE deliveries SET error = $3, retry_at = clock_timestamp() + interval '60 seconds' \
     WHERE case_id = $1 AND destination = $2";

#[async_trait]
impl Outbox for PostgresStore {
    async fn due_deliveries(
        &self,
        destination: &str,
        most: usize,
    ) -> Result<Vec<PendingDelivery>, StoreError> {
        self.retry_read("read the outbox", |session| async move {
            due(&session, destination, most).await
        })
        .await
    }

    async fn acquire_lease(
        &self,
        destination: &str,
        holder: &str,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        let secs = lease.as_secs_f64();
        let ours = self
            .retry_change("serve a destination", SERVE, [&destination, &holder, &secs])
            .await?;
        Ok(ours > 0)
    }

    async fn release_lease(&self, destination: &str, holder: &str) -> Result<(), StoreError> {
        self.retry_change("leave a destination", LEAVE, [&destination, &holder])
            .await?;
        Ok(())
    }

    async fn begin_attempt(
        &self,
        destination: &str,
        due: &PendingDelivery,
    ) -> Result<bool, StoreError> {
        let (id, version) = (&due.case_id.0, number(due.payload.version));
        let begun = self
            .retry_change(
                "begin a delivery",
                BEGIN,
                [id, &destination, &version, &tries(due), &due.in_doubt],
            )
            .await?;
        Ok(begun > 0)
    }

    async fn record_sent(
        &self,
        destination: &str,
        due: &PendingDelivery,
        sent: Option<&DeliveryReceipt>,
    ) -> Result<(), StoreError> {
        let (id, version) = (&due.case_id.0, number(due.payload.version));
        // A remote id that the look-up found is stored, even if nothing was sent.
        let found = due.payload.remote_id.as_deref();
        let remote_id = sent.and_then(|sent| sent.remote_id.as_deref()).or(found);
        let remote_id = remote_id.map(text);
        let shown = sent.map(|_| DeliveredReport::from_report(&due.payload.report));
        let shown = shown
            .map(|shown| json(id, &shown))
            .transpose()
            .map_err(|failure| failure.into_store_error("note a delivery"))?;
        self.retry_change(
            "note a delivery",
            SENT,
            [id, &destination, &version, &remote_id, &shown],
        )
        .await?;
        Ok(())
    }

    async fn record_failed(
        &self,
        destination: &str,
        due: &PendingDelivery,
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

    async fn record_ambiguous(
        &self,
        destination: &str,
        due: &PendingDelivery,
        error: &DeliveryError,
        doubt: AmbiguousSend,
        retry_in: Duration,
    ) -> Result<(), StoreError> {
        let doing = "note a delivery that is in doubt";
        let sql = match doubt {
            AmbiguousSend::AnswerLost => ANSWER_LOST,
            AmbiguousSend::LookupInconclusive => NOT_TOLD,
        };
        self.note(doing, sql, (destination, due), error, Some(retry_in))
            .await
    }

    async fn add_fallback(
        &self,
        case_id: &CaseId,
        destination: &str,
        instead_of: &FailoverSources,
    ) -> Result<(), StoreError> {
        let (doing, name) = ("wish a delivery", text(destination));
        let written =
            json(&case_id.0, instead_of).map_err(|failure| failure.into_store_error(doing))?;
        for sql in [ALSO, SAY] {
            self.retry_change(doing, sql, [&case_id.0, &name, &written])
                .await?;
        }
        self.bell.notify();
        Ok(())
    }

    async fn enqueue_announcement(
        &self,
        case_id: &CaseId,
        destinations: &[String],
    ) -> Result<(), StoreError> {
        let names: Vec<_> = destinations.iter().map(|name| text(name)).collect();
        self.retry_change("announce a case", ANNOUNCE, [&case_id.0, &names])
            .await?;
        self.bell.notify();
        Ok(())
    }

    async fn begin_digest(
        &self,
        destination: &str,
        day: NaiveDate,
    ) -> Result<Option<bool>, StoreError> {
        self.retry_read("begin a digest", |session| async move {
            case_workflow::begin_digest(&session, destination, day).await
        })
        .await
    }

    async fn record_digest_posted(
        &self,
        destination: &str,
        day: NaiveDate,
    ) -> Result<(), StoreError> {
        let name = text(destination);
        self.retry_change("note a digest", case_workflow::DIGEST_POSTED, [&name, &day])
            .await?;
        Ok(())
    }
}

impl PostgresStore {
    /// Records the failure of an attempt.
    async fn note(
        &self,
        doing: &'static str,
        sql: &str,
        (destination, due): (&str, &PendingDelivery),
        error: &DeliveryError,
        retry_in: Option<Duration>,
    ) -> Result<(), StoreError> {
        let (id, version) = (&due.case_id.0, number(due.payload.version));
        let retry_secs = retry_in.map(|wait| wait.as_secs_f64());
        let named = due.remote_id_after(error).map(text);
        let (error, tries) = (error.to_string(), tries(due) + 1);
        self.retry_change(
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

/// Returns the number of earlier attempts.
fn tries(due: &PendingDelivery) -> i32 {
    i32::try_from(due.attempts).unwrap_or(i32::MAX - 1)
}

async fn due(
    session: &Session,
    destination: &str,
    most: usize,
) -> Result<Vec<PendingDelivery>, PostgresFailure> {
    let rows = session.rows(DUE, [&destination, &limit(most)]).await?;
    let mut all = Vec::with_capacity(rows.len());
    for row in &rows {
        match one(row) {
            Ok(due) => all.push(due),
            // This version cannot render the report. The other due reports are returned.
            Err(PostgresFailure::Unreadable(id, cause)) => {
                let error = log_unreadable_report(&id, destination, &cause);
                session
                    .change(UNREADABLE, [&id, &destination, &text(&error)])
                    .await?;
            }
            Err(failure) => return Err(failure),
        }
    }
    let ids: Vec<&str> = all.iter().map(|due| due.case_id.0.as_str()).collect();
    let desks = crate::sql::case_workflow::actions(Tx::Postgres(session), ids).await?;
    for (id, acts) in desks {
        for due in all.iter_mut().filter(|due| due.case_id.0 == id) {
            due.payload.workflow = CaseWorkflow::from_actions(acts.clone());
        }
    }
    Ok(all)
}

fn one(row: &Row) -> Result<PendingDelivery, PostgresFailure> {
    let id: String = row.try_get(0)?;
    let attempts: i32 = row.try_get(3)?;
    let begun: Option<f64> = row.try_get(5)?;
    let (written, shown): (Option<&str>, Option<&str>) = (row.try_get(4)?, row.try_get(7)?);
    let mut report: Report = match written {
        Some(text) => parse(&id, text)?,
        None => early_report(
            &parse(&id, row.try_get(13)?)?,
            EarlyReportInput {
                case_id: CaseId(id.clone()),
                revision: get_revision(row, 10)?,
                status: get_status(row, 11)?,
                opened_at: row.try_get(12)?,
                cancelled_by: row.try_get(14)?,
            },
        ),
    };
    report.alert.sightings = count(row, 8)?;
    report.alert.members = count(row, 9)?;
    report.instead_of = parse_failover_sources(row.try_get(15)?, report.revision);
    Ok(PendingDelivery {
        in_doubt: begun.is_some(),
        attempt_age: Duration::try_from_secs_f64(begun.unwrap_or(0.0)).unwrap_or_default(),
        payload: DeliveryPayload {
            version: count(row, 1)?,
            remote_id: row.try_get(2)?,
            report,
            delivered: shown.and_then(|text| serde_json::from_str(text).ok()),
            workflow: CaseWorkflow::default(),
            is_minor: row.try_get(6)?,
            in_doubt: begun.is_some(),
        },
        case_id: CaseId(id),
        attempts: u32::try_from(attempts).unwrap_or_default(),
    })
}
