//! Selects benign cases that are due for a recheck, and stores the results.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_pipeline::admission::RevisionReason;
use nightshift_pipeline::port::{DueRecheck, Rechecks, StoreError};

use super::write_id::WriteId;
use super::{
    GREATEST, LEAST, LOCK_TO_UPDATE, Row, SINGLETON, SqlStore, Statement, Tx, case_workflow,
    revisions, statement, values,
};
use crate::failure::Failure;

pub(crate) static TAKE: LazyLock<Statement> =
    LazyLock::new(|| statement!("rechecks/take.sql").with("lock_to_update", &LOCK_TO_UPDATE));
static ALERT_AND_REPORT: Statement = statement!("rechecks/alert_and_report.sql");
static NOTE: Statement = statement!("rechecks/note.sql");
static EXTEND_EVENTS: LazyLock<Statement> = LazyLock::new(|| {
    let extend_events = statement!("rechecks/extend_events.sql").with("least", &LEAST);
    extend_events.with("greatest", &GREATEST)
});
static NOTE_REGISTERS: LazyLock<Statement> =
    LazyLock::new(|| statement!("rechecks/note_registers.sql").with("singleton", &SINGLETON));
static MAKE_DUE: Statement = statement!("rechecks/make_due.sql");

#[async_trait]
impl Rechecks for SqlStore {
    /// A retry after a lost answer takes other cases, and the first ones become due again later.
    async fn take_due_rechecks(
        &self,
        now: DateTime<Utc>,
        again_at: DateTime<Utc>,
        most: usize,
    ) -> Result<Vec<DueRecheck>, StoreError> {
        let take = async move |tx: Tx<'_>| take(tx, now, again_at, most).await;
        let doing = "look for cases to evaluate again";
        self.backend.write(doing, take).await
    }

    async fn note_recheck(
        &self,
        due: &DueRecheck,
        whole_until: DateTime<Utc>,
        next: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError> {
        let (id, revision) = (due.case_id.0.clone(), due.revision);
        let note = async move |tx: Tx<'_>| {
            let values = values![&id, revision, whole_until, next];
            tx.execute(&NOTE, values).await.map(drop)
        };
        let doing = "note that a case was evaluated again";
        self.backend.write(doing, note).await
    }

    async fn queue_recheck(
        &self,
        due: &DueRecheck,
        why: RevisionReason,
        at: Option<DateTime<Utc>>,
    ) -> Result<bool, StoreError> {
        let (id, revision, write_id) = (due.case_id.0.clone(), due.revision, WriteId::random());
        let queue = async move |tx: Tx<'_>| {
            let values = values![&id, revision, at];
            if tx.execute(&EXTEND_EVENTS, values).await? == 0 {
                return write_id.is_committed(tx, &id).await;
            }
            write_id.begin(tx, &id).await?;
            revisions::repeat(tx, &id, why.as_str()).await?;
            case_workflow::reopen(tx, &id).await?;
            tx.notify().await?;
            Ok(true)
        };
        let doing = "queue a case that is not covered";
        let queued = self.backend.write(doing, queue).await?;
        self.notifier.notify();
        Ok(queued)
    }

    async fn note_registers(
        &self,
        fingerprint: &str,
        due_at: DateTime<Utc>,
    ) -> Result<u64, StoreError> {
        let fingerprint = fingerprint.to_owned();
        let note = async move |tx: Tx<'_>| {
            let values = values![&fingerprint, due_at];
            if tx.execute(&NOTE_REGISTERS, values).await? == 0 {
                return Ok(0);
            }
            tx.execute(&MAKE_DUE, values![due_at]).await
        };
        let doing = "note what the registers hold";
        self.backend.write(doing, note).await
    }
}

/// Takes due cases. A case that this version cannot read waits for a version that can.
async fn take(
    tx: Tx<'_>,
    now: DateTime<Utc>,
    again_at: DateTime<Utc>,
    most: usize,
) -> Result<Vec<DueRecheck>, Failure> {
    let mut due = Vec::new();
    for row in tx.all(&TAKE, values![now, again_at, most]).await? {
        match to_due(tx, &row).await {
            Ok(found) => due.extend(found),
            Err(Failure::Unreadable(id, cause)) => tracing::warn!(
                case.id = id,
                error = &cause as &dyn std::error::Error,
                "a benign case cannot be evaluated again by this version"
            ),
            Err(failure) => return Err(failure),
        }
    }
    Ok(due)
}

async fn to_due(tx: Tx<'_>, row: &Row) -> Result<Option<DueRecheck>, Failure> {
    let (id, revision): (String, u32) = (row.get("id")?, row.get("revision")?);
    let stored = tx
        .optional(&ALERT_AND_REPORT, values![&id, revision])
        .await?;
    let Some(stored) = stored else {
        return Ok(None);
    };
    Ok(Some(DueRecheck {
        alert: Arc::new(stored.json("alert", &id)?),
        report: Box::new(stored.json("report", &id)?),
        whole_until: row.get("logs_complete_until")?,
        events_until: row.get("events_until")?,
        case_id: row.get("id")?,
        revision,
    }))
}
