//! Starts the next triage of a case: of the same alert, or of one that waited for the end of the current triage.

use std::sync::LazyLock;

use chrono::{DateTime, SubsecRound, Utc};
use nightshift_alert::Severity;
use nightshift_pipeline::admission::RevisionReason;
use nightshift_pipeline::port::{ClearancePeriod, StoreError};

use super::{LOCK_TO_UPDATE, NOW, SqlStore, Statement, Tx, case_workflow, statement, values};
use crate::failure::Failure;

static REPEAT: LazyLock<Statement> = LazyLock::new(|| {
    let repeat = statement!("revisions/repeat.sql").with("now", &NOW);
    repeat.with("empty_journal", &EMPTY_JOURNAL)
});
/// Counts no events of the new revision. SQLite counts events in the journal.
static EMPTY_JOURNAL: Statement = Statement::new("journal_seq = 0,", "");
static COPY_ALERT: Statement = statement!("revisions/copy_alert.sql");
static DEGRADED: LazyLock<Statement> =
    LazyLock::new(|| statement!("revisions/degraded.sql").with("lock_to_update", &LOCK_TO_UPDATE));
static NEXT_PENDING: Statement = statement!(
    "revisions/next_pending.postgres.sql",
    "revisions/next_pending.sqlite.sql"
);
static START: LazyLock<Statement> = LazyLock::new(|| {
    statement!("revisions/start.sql")
        .with("empty_journal", &EMPTY_JOURNAL)
        .with("revised_at", &Statement::new("{now}", "$6"))
        .with("now", &NOW)
});
static MOVE_PENDING: Statement = statement!("revisions/move_pending.sql");
static DELETE_PENDING: Statement = statement!("revisions/delete_pending.sql");
/// PostgreSQL has the indicators since the alert arrived.
static ADD_INDICATORS: Statement = statement!("revisions/add_indicators.sqlite.sql");
static UNCLEARED_EVENTS: Statement = statement!("revisions/uncleared_events.sql");
static CLEAR_EVENTS: Statement = statement!("revisions/clear_events.sql");

impl SqlStore {
    /// Implements [`nightshift_pipeline::port::Cases::requeue_degraded`].
    pub(super) async fn requeue_without_model(&self, most: usize) -> Result<u64, StoreError> {
        let requeue = async move |tx: Tx<'_>| {
            let degraded = tx.all(&DEGRADED, values![most]).await?;
            for row in &degraded {
                let id: String = row.get("id")?;
                repeat(tx, &id, "models_back").await?;
            }
            if !degraded.is_empty() {
                tx.notify().await?;
            }
            Ok(u64::try_from(degraded.len()).unwrap_or(u64::MAX))
        };
        let doing = "queue cases for models";
        let queued = self.backend.write(doing, requeue).await?;
        self.notifier.notify();
        Ok(queued)
    }
}

/// Triages the alert of a case that is over once more.
pub(super) async fn repeat(tx: Tx<'_>, id: &str, why: &str) -> Result<(), Failure> {
    tx.execute(&REPEAT, values![id]).await?;
    tx.execute(&COPY_ALERT, values![id, why]).await.map(drop)
}

/// Starts the next pending triage after the end of one. Returns whether there was one. The alert is moved unchanged: if
/// this version cannot read it, its triage waits for a version that can.
pub(super) async fn start_pending(tx: Tx<'_>, id: &str) -> Result<bool, Failure> {
    let Some(next) = tx.optional(&NEXT_PENDING, values![id]).await? else {
        return Ok(false);
    };
    let (seq, reason): (i64, String) = (next.get("seq")?, next.get("reason")?);
    let received_at: DateTime<Utc> = next.get("received_at")?;
    let severity: Option<Severity> = next.known("severity")?;
    let text = |name| next.known::<String>(name);
    let (content, title, kind) = (text("content")?, text("title")?, text("type")?);
    let values = values![
        id,
        severity,
        content.as_deref(),
        title.as_deref(),
        kind.as_deref(),
        received_at,
    ];
    tx.execute(&START, values).await?;
    tx.execute(&MOVE_PENDING, values![id, seq]).await?;
    if let Tx::Sqlite(_) = tx {
        tx.execute(&ADD_INDICATORS, values![id, seq]).await?;
    }
    tx.execute(&DELETE_PENDING, values![id, seq]).await?;
    // A triage that a person asked for does not mean that a source sent something new.
    if reason != RevisionReason::Asked.as_str() {
        case_workflow::reopen(tx, id).await?;
    }
    Ok(true)
}

/// Handles the sightings during a triage at its end. They are cleared with it, or the same alert is triaged once more
/// together with them.
pub(super) async fn settle_sightings(
    tx: Tx<'_>,
    id: &str,
    cleared: ClearancePeriod,
    is_pending_started: bool,
) -> Result<(), Failure> {
    // Both databases store microseconds.
    let stored = |at: Option<DateTime<Utc>>| at.map(|at| at.trunc_subsecs(6));
    let cleared = ClearancePeriod {
        from: stored(cleared.from),
        until: stored(cleared.until),
    };
    let events = tx.one(&UNCLEARED_EVENTS, values![id]).await?;
    if cleared.covers(events.known("first_event")?, events.known("last_event")?) {
        tx.execute(&CLEAR_EVENTS, values![id]).await?;
    } else if !is_pending_started {
        repeat(tx, id, RevisionReason::NoLongerCleared.as_str()).await?;
        case_workflow::reopen(tx, id).await?;
    }
    Ok(())
}
