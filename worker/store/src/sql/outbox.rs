//! Implements the outbox of deliveries that are requested and not done.

use std::sync::LazyLock;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, NaiveDate, Utc};
use nightshift_pipeline::case::CaseId;
use nightshift_pipeline::case_workflow::CaseWorkflow;
use nightshift_pipeline::delivery_payload::{DeliveredReport, DeliveryPayload};
use nightshift_pipeline::port::{
    AmbiguousSend, DeliveryError, DeliveryReceipt, Outbox, PendingDelivery, StoreError,
};
use nightshift_pipeline::report::{
    EarlyReportInput, FailoverSources, Report, early_report, parse_failover_sources,
};
use tokio_postgres::types::Type;

use super::{
    NAMES, NOW, Rest, Row, SqlStore, Statement, Tx, Value, case_workflow, statement, values,
};
use crate::failure::Failure;
use crate::logged_once::log_unreadable_report;

pub(crate) static DUE: LazyLock<Statement> = LazyLock::new(|| {
    let due = statement!("outbox/due.sql").with("now", &NOW);
    due.with("in_an_hour", &after_secs("3600"))
});
/// The leases of SQLite are in [`crate::sqlite`], because a dead process loses them.
static ACQUIRE_LEASE: Statement = statement!("outbox/acquire_lease.postgres.sql");
static RELEASE_LEASE: Statement = statement!("outbox/release_lease.sql");
static BEGIN_ATTEMPT: LazyLock<Statement> =
    LazyLock::new(|| statement!("outbox/begin_attempt.sql").with("now", &NOW));
static SENT: LazyLock<Statement> = LazyLock::new(|| {
    let sent = statement!("outbox/sent.sql").with("now", &NOW);
    sent.with("in_a_minute", &after_secs("60"))
});
static FAILED: LazyLock<Statement> =
    LazyLock::new(|| statement!("outbox/failed.sql").with("after_secs", &after_secs("$6")));
static ANSWER_LOST: LazyLock<Statement> = LazyLock::new(|| {
    let ambiguous = statement!("outbox/ambiguous.sql").with("after_secs", &after_secs("$6"));
    ambiguous.with("unknown_since", &NOW)
});
static LOOKUP_INCONCLUSIVE: LazyLock<Statement> = LazyLock::new(|| {
    // An attempt with a later begin was begun before the clock was set back.
    let begun_at = "CASE WHEN begun_at < {now} THEN begun_at ELSE {now} END";
    statement!("outbox/ambiguous.sql")
        .with("after_secs", &after_secs("$6"))
        .with("unknown_since", &Statement::new(begun_at, begun_at))
        .with("now", &NOW)
});
static UNREADABLE: LazyLock<Statement> =
    LazyLock::new(|| statement!("outbox/unreadable.sql").with("in_a_minute", &after_secs("60")));
static ADD_FALLBACK: LazyLock<Statement> =
    LazyLock::new(|| statement!("outbox/add_fallback.sql").with("now", &NOW));
static ADD_SOURCES: LazyLock<Statement> = LazyLock::new(|| {
    let merged = Statement::new(
        "coalesce(instead_of, '{}') || $3",
        "json_patch(coalesce(instead_of, '{}'), $3)",
    );
    statement!("outbox/add_sources.sql").with("merged", &merged)
});
static ANNOUNCE: LazyLock<Statement> = LazyLock::new(|| {
    let announce = statement!("outbox/announce.sql").with("now", &NOW);
    announce.with("names", &NAMES)
});
static BEGIN_DIGEST: LazyLock<Statement> =
    LazyLock::new(|| statement!("outbox/begin_digest.sql").with("now", &NOW));
static DIGEST_STATE: Statement = statement!("outbox/digest_state.sql");
static DIGEST_POSTED: LazyLock<Statement> =
    LazyLock::new(|| statement!("outbox/digest_posted.sql").with("now", &NOW));

/// Returns the expression of the time in so many seconds, which are a number or a parameter.
fn after_secs(secs: &'static str) -> Statement {
    let after = Statement::new(
        "clock_timestamp() + make_interval(secs => {secs})",
        "strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', {secs} || ' seconds')",
    );
    after.with("secs", &Statement::new(secs, secs))
}

#[async_trait]
impl Outbox for SqlStore {
    async fn acquire_lease(
        &self,
        destination: &str,
        holder: &str,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        if let Rest::Sqlite(store) = &self.rest {
            return store.acquire_lease(destination, holder, lease).await;
        }
        let (destination, holder) = (destination.to_owned(), holder.to_owned());
        let acquire = async move |tx: Tx<'_>| {
            let values = values![&destination, &holder, lease.as_secs_f64()];
            Ok(tx.execute(&ACQUIRE_LEASE, values).await? > 0)
        };
        let doing = "acquire the lease of a destination";
        self.backend.write(doing, acquire).await
    }

    async fn release_lease(&self, destination: &str, holder: &str) -> Result<(), StoreError> {
        let (destination, holder) = (destination.to_owned(), holder.to_owned());
        let release = async move |tx: Tx<'_>| {
            let values = values![&destination, &holder];
            tx.execute(&RELEASE_LEASE, values).await.map(drop)
        };
        let doing = "release the lease of a destination";
        self.backend.write(doing, release).await
    }

    async fn due_deliveries(
        &self,
        destination: &str,
        most: usize,
    ) -> Result<Vec<PendingDelivery>, StoreError> {
        let destination = destination.to_owned();
        let read = async move |tx: Tx<'_>| due_deliveries(tx, &destination, most).await;
        self.backend.read("read the outbox", read).await
    }

    async fn begin_attempt(
        &self,
        destination: &str,
        due: &PendingDelivery,
    ) -> Result<bool, StoreError> {
        let (id, destination) = (due.case_id.0.clone(), destination.to_owned());
        let (version, attempts, in_doubt) = (due.payload.version, due.attempts, due.in_doubt);
        let begin = async move |tx: Tx<'_>| {
            let values = values![&id, &destination, version, attempts, in_doubt];
            Ok(tx.execute(&BEGIN_ATTEMPT, values).await? > 0)
        };
        self.backend.write("begin a delivery", begin).await
    }

    async fn record_sent(
        &self,
        destination: &str,
        due: &PendingDelivery,
        sent: Option<&DeliveryReceipt>,
    ) -> Result<(), StoreError> {
        let (id, destination) = (due.case_id.0.clone(), destination.to_owned());
        let version = due.payload.version;
        // A remote id that the look-up found is stored, even if nothing was sent.
        let found = due.payload.remote_id.as_ref();
        let remote_id = sent.and_then(|sent| sent.remote_id.as_ref()).or(found);
        let remote_id = remote_id.cloned();
        let shown = sent.map(|_| DeliveredReport::from_report(&due.payload.report));
        let record = async move |tx: Tx<'_>| {
            let shown = match &shown {
                Some(shown) => Value::json(&id, shown)?,
                None => Value::Null(Type::JSONB),
            };
            let values = values![&id, &destination, version, remote_id.as_deref(), shown];
            tx.execute(&SENT, values).await.map(drop)
        };
        self.backend.write("record a delivery", record).await
    }

    async fn record_failed(
        &self,
        destination: &str,
        due: &PendingDelivery,
        error: &DeliveryError,
        retry_in: Option<Duration>,
    ) -> Result<(), StoreError> {
        self.record_failure(&FAILED, destination, due, error, retry_in)
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
        let statement = match doubt {
            AmbiguousSend::AnswerLost => &ANSWER_LOST,
            AmbiguousSend::LookupInconclusive => &LOOKUP_INCONCLUSIVE,
        };
        self.record_failure(statement, destination, due, error, Some(retry_in))
            .await
    }

    async fn add_fallback(
        &self,
        case_id: &CaseId,
        destination: &str,
        instead_of: &FailoverSources,
    ) -> Result<(), StoreError> {
        let (id, destination) = (case_id.0.clone(), destination.to_owned());
        let instead_of = instead_of.clone();
        let add = async move |tx: Tx<'_>| {
            let values = values![&id, &destination, Value::json(&id, &instead_of)?];
            tx.execute(&ADD_FALLBACK, values).await?;
            tx.execute(&ADD_SOURCES, values).await.map(drop)
        };
        self.backend.write("request a delivery", add).await?;
        self.notifier.notify();
        Ok(())
    }

    async fn enqueue_announcement(
        &self,
        case_id: &CaseId,
        destinations: &[String],
    ) -> Result<(), StoreError> {
        let (id, destinations) = (case_id.0.clone(), destinations.to_vec());
        let enqueue = async move |tx: Tx<'_>| {
            let names: Vec<&str> = destinations.iter().map(String::as_str).collect();
            tx.execute(&ANNOUNCE, values![&id, names]).await.map(drop)
        };
        self.backend.write("announce a case", enqueue).await?;
        self.notifier.notify();
        Ok(())
    }

    async fn begin_digest(
        &self,
        destination: &str,
        day: NaiveDate,
    ) -> Result<Option<bool>, StoreError> {
        let destination = destination.to_owned();
        let begin = async move |tx: Tx<'_>| {
            let values = values![&destination, day];
            if tx.execute(&BEGIN_DIGEST, values).await? > 0 {
                return Ok(Some(false));
            }
            let is_posted: bool = tx.one(&DIGEST_STATE, values).await?.get("is_posted")?;
            Ok((!is_posted).then_some(true))
        };
        self.backend.write("begin a digest", begin).await
    }

    async fn record_digest_posted(
        &self,
        destination: &str,
        day: NaiveDate,
    ) -> Result<(), StoreError> {
        let destination = destination.to_owned();
        let record = async move |tx: Tx<'_>| {
            let values = values![&destination, day];
            tx.execute(&DIGEST_POSTED, values).await.map(drop)
        };
        self.backend.write("record a digest", record).await
    }
}

impl SqlStore {
    /// Records the failure of an attempt.
    async fn record_failure(
        &self,
        statement: &Statement,
        destination: &str,
        due: &PendingDelivery,
        error: &DeliveryError,
        retry_in: Option<Duration>,
    ) -> Result<(), StoreError> {
        let (statement, destination) = (statement.clone(), destination.to_owned());
        let (id, version) = (due.case_id.0.clone(), due.payload.version);
        let attempts = due.attempts.saturating_add(1);
        let remote_id = due.remote_id_after(error).map(str::to_owned);
        let error = error.to_string();
        let record = async move |tx: Tx<'_>| {
            let values = values![
                &id,
                &destination,
                version,
                attempts,
                &error,
                retry_in.map(|wait| wait.as_secs_f64()),
                remote_id.as_deref(),
            ];
            tx.execute(&statement, values).await.map(drop)
        };
        self.backend.write("record a failed delivery", record).await
    }
}

async fn due_deliveries(
    tx: Tx<'_>,
    destination: &str,
    most: usize,
) -> Result<Vec<PendingDelivery>, Failure> {
    let mut due = Vec::new();
    for row in tx.all(&DUE, values![destination, most]).await? {
        match to_delivery(&row) {
            Ok(one) => due.push(one),
            // This version cannot render the report. The other due reports are returned.
            Err(Failure::Unreadable(id, cause)) => {
                let error = log_unreadable_report(&id, destination, &cause);
                let values = values![&id, destination, &error];
                tx.execute(&UNREADABLE, values).await?;
            }
            Err(failure) => return Err(failure),
        }
    }
    let ids = due.iter().map(|due| due.case_id.0.as_str()).collect();
    let actions = case_workflow::actions(tx, ids).await?;
    for (id, actions) in actions {
        if let Some(due) = due.iter_mut().find(|due| due.case_id.0 == id) {
            due.payload.workflow = CaseWorkflow::from_actions(actions);
        }
    }
    Ok(due)
}

fn to_delivery(row: &Row) -> Result<PendingDelivery, Failure> {
    let id: String = row.get("case_id")?;
    let shown: Option<String> = row.get("shown")?;
    let begun_at: Option<DateTime<Utc>> = row.get("begun_at")?;
    let now: DateTime<Utc> = row.get("now")?;
    let attempt_age = begun_at.and_then(|begun_at| (now - begun_at).to_std().ok());
    Ok(PendingDelivery {
        attempts: row.get("attempts")?,
        in_doubt: begun_at.is_some(),
        attempt_age: attempt_age.unwrap_or_default(),
        payload: DeliveryPayload {
            version: row.get("wanted_version")?,
            remote_id: row.get("remote_id")?,
            report: to_report(row, &id)?,
            delivered: shown.and_then(|text| serde_json::from_str(&text).ok()),
            workflow: CaseWorkflow::default(),
            is_minor: row.get("is_minor")?,
            in_doubt: begun_at.is_some(),
        },
        case_id: CaseId(id),
    })
}

/// Returns the report of the last triage, or an early one before the first triage ended.
fn to_report(row: &Row, id: &str) -> Result<Report, Failure> {
    let concluded: Option<Report> = row.json("report", id)?;
    let mut report = match concluded {
        Some(report) => report,
        None => early_report(
            &row.json("alert", id)?,
            EarlyReportInput {
                case_id: CaseId(id.to_owned()),
                revision: row.get("revision")?,
                status: row.get("status")?,
                opened_at: row.get("opened_at")?,
                cancelled_by: row.get("cancelled_by")?,
            },
        ),
    };
    report.alert.sightings = row.get("sightings")?;
    report.alert.members = row.get("members")?;
    let instead_of: Option<String> = row.get("instead_of")?;
    report.instead_of = parse_failover_sources(instead_of.as_deref(), report.revision);
    Ok(report)
}
