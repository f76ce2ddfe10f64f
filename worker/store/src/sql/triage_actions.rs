//! Implements actions of people on triages: run one again, or cancel one.

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use nightshift_engine::event::{Event, EventBody};
use nightshift_pipeline::admission::RevisionReason;
use nightshift_pipeline::case::{Cancellation, CaseId, CaseStatus, Lease};
use nightshift_pipeline::port::StoreError;

use super::write_id::WriteId;
use super::{NOW, SqlStore, Statement, Tx, cases, journal, revisions, spending, statement, values};
use crate::failure::Failure;

static STATE: Statement = statement!("triage_actions/state.sql");
static CANCEL: LazyLock<Statement> = LazyLock::new(|| {
    let count_event = Statement::new(
        "journal_seq = CASE WHEN journal_seq > 0 THEN journal_seq + 1 ELSE 0 END,",
        "",
    );
    statement!("triage_actions/cancel.sql").with("count_event", &count_event)
});
static CANCELLED_BY: Statement = statement!("triage_actions/cancelled_by.sql");
static IS_BEGUN: Statement = statement!("triage_actions/is_begun.sql");
static SHOW_CANCELLED: LazyLock<Statement> =
    LazyLock::new(|| statement!("triage_actions/show_cancelled.sql").with("now", &NOW));

impl SqlStore {
    /// Implements [`nightshift_pipeline::port::Cases::retry`].
    pub(super) async fn retry_triage(&self, id: &str) -> Result<CaseId, StoreError> {
        let (id, write_id) = (id.to_owned(), WriteId::random());
        let retry = async move |tx: Tx<'_>| retry(tx, &id, &write_id).await;
        let retried = self.backend.write("run a case again", retry).await?;
        self.notifier.notify();
        Ok(retried)
    }

    /// Implements [`nightshift_pipeline::port::Cases::cancel`].
    pub(super) async fn cancel_triage(
        &self,
        id: &str,
        who: &str,
        at: DateTime<Utc>,
    ) -> Result<Cancellation, StoreError> {
        let (id, who, write_id) = (id.to_owned(), who.to_owned(), WriteId::random());
        let cancel = async move |tx: Tx<'_>| {
            let case_id = cases::find(tx, &id).await?.id;
            if write_id.begin(tx, &case_id.0).await? {
                cancel(tx, &case_id, &who, at).await?;
            }
            let (status, revision) = state(tx, &case_id).await?;
            Ok(Cancellation {
                case_id,
                next: (status == CaseStatus::Queued).then_some(revision),
            })
        };
        let cancelled = self.backend.write("cancel a case", cancel).await?;
        self.notifier.notify();
        Ok(cancelled)
    }
}

/// Triages a case that is over once more.
async fn retry(tx: Tx<'_>, id: &str, write_id: &WriteId) -> Result<CaseId, Failure> {
    let case_id = cases::find(tx, id).await?.id;
    if write_id.begin(tx, &case_id.0).await? {
        let (status, _) = state(tx, &case_id).await?;
        if !status.is_over() {
            return Err(Failure::NotOver(case_id.0, status));
        }
        revisions::repeat(tx, &case_id.0, RevisionReason::Asked.as_str()).await?;
        tx.notify().await?;
    }
    Ok(case_id)
}

/// Cancels a triage. The epoch grows, so a worker that runs the case loses its lease. The next waiting alert of the
/// case follows.
async fn cancel(tx: Tx<'_>, case_id: &CaseId, who: &str, at: DateTime<Utc>) -> Result<(), Failure> {
    let id = case_id.0.as_str();
    let (status, revision) = state(tx, case_id).await?;
    if status.is_over() {
        return Err(Failure::AlreadyOver(id.to_owned(), status));
    }
    spending::add_running(tx, case_id, revision, at).await?;
    let lease = Lease {
        epoch: tx.one(&CANCEL, values![id, at]).await?.get("epoch")?,
        case_id: case_id.clone(),
        revision,
    };
    tx.execute(&CANCELLED_BY, values![id, revision, who])
        .await?;
    // An empty journal stays empty, because its first event must name the alert.
    if tx
        .optional(&IS_BEGUN, values![id, revision])
        .await?
        .is_some()
    {
        let by = who.to_owned();
        let event = Event::new(at, EventBody::Cancelled { by });
        journal::add_events(tx, &lease, &[event]).await?;
    }
    revisions::start_pending(tx, id).await?;
    tx.execute(&SHOW_CANCELLED, values![id]).await?;
    tx.notify().await
}

async fn state(tx: Tx<'_>, id: &CaseId) -> Result<(CaseStatus, u32), Failure> {
    let row = tx.optional(&STATE, values![&id.0]).await?;
    let row = row.ok_or_else(|| Failure::NoSuchCase(id.0.clone()))?;
    Ok((row.get("status")?, row.get("revision")?))
}
