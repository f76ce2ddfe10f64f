//! Claims cases and releases them. On PostgreSQL, leases end by the clock of the database. On SQLite, they end by a clock
//! of the host that nobody can set, or with the process that holds them.

use std::collections::BTreeSet;
use std::slice;
use std::sync::{Arc, LazyLock};

use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, Severity};
use nightshift_engine::event::{Event, JOURNAL_VERSION};
use nightshift_engine::previous_run::PreviousRun;
use nightshift_pipeline::case::{CaseId, Lane, Lease, OutageWait};
use nightshift_pipeline::port::{ClaimedCase, StoreError};
use parking_lot::Mutex;

use super::{
    GREATEST, LeaseTerms, NOW, Row, SqlStore, Statement, Tx, Value, cases, journal, statement,
    values,
};
use crate::failure::Failure;
use crate::previous_run::parse_previous_run;
use crate::sqlite::{LeaseHolder, uptime_secs};

static MAY_TAKE_SUSPECT: Statement = statement!("claim/may_take_suspect.postgres.sql");
static REQUEUE_LOST: Statement = statement!("claim/requeue_lost.postgres.sql");
static HOLDERS: Statement = statement!("claim/holders.sqlite.sql");
static ADD_LOST_LEASES: Statement = statement!("claim/add_lost_leases.sqlite.sql");
static REQUEUE_LOST_OF: Statement = statement!("claim/requeue_lost_of.sqlite.sql");
pub(crate) static NEXT: LazyLock<Statement> = LazyLock::new(|| {
    let may_take = statement!("claim/may_take.postgres.sql", "claim/may_take.sqlite.sql");
    statement!("claim/next.postgres.sql", "claim/next.sqlite.sql").with("may_take", &may_take)
});
static QUEUED: LazyLock<Statement> = LazyLock::new(|| {
    let lock = Statement::new("FOR NO KEY UPDATE", "");
    statement!("claim/queued.sql").with("lock", &lock)
});
static WIDEN: Statement = statement!("claim/widen.postgres.sql", "claim/widen.sqlite.sql");
static PREVIOUS_RUN: Statement = statement!(
    "claim/previous_run.postgres.sql",
    "claim/previous_run.sqlite.sql"
);
static TAKE: LazyLock<Statement> = LazyLock::new(|| {
    let lease = Statement::new(
        "leased_at = clock_timestamp(), lease_until = clock_timestamp() + make_interval(secs => $3)",
        "lease_until = $4 + $3",
    );
    statement!("claim/take.sql").with("lease", &lease)
});
static NOTE_UNREADABLE: LazyLock<Statement> = LazyLock::new(|| {
    let note = statement!("claim/note_unreadable.sql").with("now", &NOW);
    note.with("greatest", &GREATEST)
});
pub(crate) static CONFIRM: Statement = statement!("claim/confirm.postgres.sql");
static RELEASE: LazyLock<Statement> = LazyLock::new(|| {
    let release = statement!("claim/release.sql").with("now", &NOW);
    release.with(
        "and_is_holder",
        &Statement::new("", "AND lease_holder = $3"),
    )
});
static DELETE_LOST_LEASE: Statement = statement!("claim/delete_lost_lease.sql");
static REVERT_CRASH: LazyLock<Statement> =
    LazyLock::new(|| statement!("claim/revert_crash.sql").with("greatest", &GREATEST));

/// The conditions for cases that a claim may take.
struct ClaimFilter {
    least: Severity,
    /// The least waiting time, or `None` for any.
    waited: Option<OutageWait>,
}

impl SqlStore {
    /// Implements [`nightshift_pipeline::port::Cases::claim`].
    pub(super) async fn claim_best(
        &self,
        lane: Lane,
        most: usize,
        waited: Option<OutageWait>,
    ) -> Result<Vec<ClaimedCase>, StoreError> {
        let least = match lane {
            Lane::Urgent => Severity::High,
            Lane::Any => Severity::Informational,
        };
        let (terms, wanted) = (self.leases.clone(), ClaimFilter { least, waited });
        let attempt = ClaimAttempt::default();
        let claimed = attempt.clone();
        let claim = async move |tx: Tx<'_>| {
            if !attempt.is_confirmed(tx, &terms.holder).await? {
                attempt.set(claim_best(tx, &terms, &wanted, most).await?);
            }
            Ok(())
        };
        self.backend.write("claim cases", claim).await?;
        Ok(claimed.take())
    }

    /// Implements [`nightshift_pipeline::port::Cases::claim_one`].
    pub(super) async fn claim_case(&self, id: &CaseId) -> Result<Option<ClaimedCase>, StoreError> {
        let (terms, id) = (self.leases.clone(), id.clone());
        let attempt = ClaimAttempt::default();
        let claimed = attempt.clone();
        let claim = async move |tx: Tx<'_>| {
            if attempt.is_confirmed(tx, &terms.holder).await? {
                return Ok(Ok(()));
            }
            requeue_lost(tx, &terms).await?;
            let (claimed, unreadable) = take(tx, &terms, slice::from_ref(&id)).await?;
            attempt.set(claimed);
            Ok(unreadable.into_iter().next().map_or(Ok(()), Err))
        };
        let doing = "claim a case";
        let readable = self.backend.write(doing, claim).await?;
        readable.map_err(|why| why.into_store_error(doing))?;
        Ok(claimed.take().pop())
    }

    /// Implements [`nightshift_pipeline::port::Cases::release`].
    pub(super) async fn release_case(&self, lease: &Lease) -> Result<(), StoreError> {
        let (lease, holder) = (lease.clone(), self.leases.holder.clone());
        let release = async move |tx: Tx<'_>| {
            let values = values![&lease.case_id.0, lease.epoch, &holder];
            if tx.execute(&RELEASE, values).await? == 0 {
                revert_crash(tx, &lease).await?;
            }
            Ok(())
        };
        self.backend.write("release a case", release).await?;
        self.notifier.notify();
        Ok(())
    }
}

/// The cases that the last attempt of a claim took. Its answer may be lost although it was committed.
#[derive(Clone, Default)]
struct ClaimAttempt(Arc<Mutex<Vec<ClaimedCase>>>);

impl ClaimAttempt {
    fn set(&self, claimed: Vec<ClaimedCase>) {
        *self.0.lock() = claimed;
    }

    fn take(&self) -> Vec<ClaimedCase> {
        std::mem::take(&mut *self.0.lock())
    }

    /// Returns whether an earlier attempt was committed. Only the cases that it still holds are kept: others were
    /// cancelled since.
    async fn is_confirmed(&self, tx: Tx<'_>, holder: &str) -> Result<bool, Failure> {
        let leases: Vec<Lease> = self.0.lock().iter().map(|one| one.lease.clone()).collect();
        if leases.is_empty() {
            return Ok(false);
        }
        let (ids, epochs) = lease_columns(&leases);
        let rows = tx.all(&CONFIRM, values![ids, epochs, holder]).await?;
        let held: Result<BTreeSet<String>, Failure> =
            rows.iter().map(|row| row.get("id")).collect();
        let held = held?;
        let mut claimed = self.0.lock();
        claimed.retain(|one| held.contains(&one.lease.case_id.0));
        Ok(!claimed.is_empty())
    }
}

/// Returns the case ids and epochs of leases.
pub(super) fn lease_columns(leases: &[Lease]) -> (Vec<&str>, Vec<i64>) {
    let epoch = |lease: &Lease| i64::try_from(lease.epoch).unwrap_or(i64::MAX);
    let columns = leases.iter();
    columns
        .map(|lease| (lease.case_id.0.as_str(), epoch(lease)))
        .unzip()
}

/// Takes the best cases. Cases that this version cannot read are recorded and skipped, and others are taken instead.
async fn claim_best(
    tx: Tx<'_>,
    terms: &LeaseTerms,
    wanted: &ClaimFilter,
    most: usize,
) -> Result<Vec<ClaimedCase>, Failure> {
    let may_take_suspect = may_take_suspect(tx, &terms.holder).await?;
    requeue_lost(tx, terms).await?;
    let mut claimed = Vec::new();
    loop {
        let waited = wanted.waited.as_ref();
        let values = values![
            wanted.least,
            most - claimed.len(),
            JOURNAL_VERSION,
            &terms.holder,
            waited.map(|waited| waited.urgent.as_secs_f64()),
            waited.map(|waited| waited.others.as_secs_f64()),
            may_take_suspect,
        ];
        let next = tx.all(&NEXT, values).await?;
        let ids: Vec<CaseId> = next
            .iter()
            .map(|row| row.get("id"))
            .collect::<Result<_, _>>()?;
        let (taken, unreadable) = take(tx, terms, &ids).await?;
        claimed.extend(taken);
        if unreadable.is_empty() {
            return Ok(claimed);
        }
    }
}

/// Checks whether this transaction may take a suspect, which is a case that crashed twice. Only one claim of a worker
/// at a time may look for suspects. The next statement sees what the previous claim took.
async fn may_take_suspect(tx: Tx<'_>, holder: &str) -> Result<bool, Failure> {
    match tx {
        Tx::Postgres(_) => {
            let row = tx.one(&MAY_TAKE_SUSPECT, values![holder]).await?;
            row.get("may_take_suspect")
        }
        Tx::Sqlite(_) => Ok(true),
    }
}

/// Requeues the cases of dead processes and of leases that were not renewed. Each counts as crashed until its worker
/// reappears.
async fn requeue_lost(tx: Tx<'_>, terms: &LeaseTerms) -> Result<(), Failure> {
    if let Tx::Postgres(_) = tx {
        let requeued = tx.execute(&REQUEUE_LOST, &[]).await?;
        if requeued > 0 {
            tracing::warn!(cases = requeued, "leases had ended; their cases go on");
        }
        return Ok(());
    }
    let now = uptime_secs();
    for row in tx.all(&HOLDERS, &[]).await? {
        let holder: Option<String> = row.get("lease_holder")?;
        let latest = holder.clone().map_or(f64::NEG_INFINITY, |holder| {
            LeaseHolder(holder).latest(now, terms.duration.as_secs_f64())
        });
        let values = values![holder.as_deref(), now, latest];
        tx.execute(&ADD_LOST_LEASES, values).await?;
        tx.execute(&REQUEUE_LOST_OF, values).await?;
    }
    Ok(())
}

/// Takes those of these cases that wait. Those that this version cannot read are recorded and returned with the reason;
/// they wait for a newer version.
async fn take(
    tx: Tx<'_>,
    terms: &LeaseTerms,
    ids: &[CaseId],
) -> Result<(Vec<ClaimedCase>, Vec<Failure>), Failure> {
    let (mut readable, mut unreadable) = (Vec::new(), Vec::new());
    for waiting in read_waiting(tx, ids).await? {
        match waiting.alert_and_events {
            Ok(content) => readable.push((waiting.id, waiting.revision, waiting.seen, content)),
            Err(
                why @ (Failure::Unreadable(..) | Failure::Journal { .. } | Failure::NoSuchCase(_)),
            ) => {
                note_unreadable(tx, &waiting.id.0, waiting.revision, &why).await?;
                unreadable.push(why);
            }
            Err(other) => return Err(other),
        }
    }
    let lease_secs = terms.duration.as_secs_f64();
    let take = |id| values![id, &terms.holder, lease_secs, uptime_secs()].to_vec();
    let runs: Vec<_> = readable.iter().map(|(id, ..)| take(&id.0)).collect();
    let taken = tx.batch(&TAKE, &runs).await?;
    let mut claimed = Vec::new();
    for ((case_id, revision, seen, (alert, events)), rows) in readable.into_iter().zip(taken) {
        let row = rows.first().ok_or(Failure::NoRow)?;
        let lease = Lease {
            case_id,
            revision,
            epoch: row.get("epoch")?,
        };
        let (alert, previous_run) = prepare(tx, &lease, seen, alert, &events).await?;
        claimed.push(ClaimedCase {
            alert: Arc::new(alert),
            events,
            lease,
            crashes: row.get("crashes")?,
            previous_run,
        });
    }
    Ok((claimed, unreadable))
}

/// A case that waits for a worker.
struct WaitingCase {
    id: CaseId,
    revision: u32,
    /// The times of the first and the last event that arrived since the last triage.
    seen: Option<(DateTime<Utc>, DateTime<Utc>)>,
    /// The alert and the journal of the revision, or why this version cannot read them.
    alert_and_events: Result<(Alert, Vec<Event>), Failure>,
}

/// Reads those of these cases that wait, in their order.
async fn read_waiting(tx: Tx<'_>, ids: &[CaseId]) -> Result<Vec<WaitingCase>, Failure> {
    let runs: Vec<_> = ids.iter().map(|id| values![&id.0].to_vec()).collect();
    let queued = tx.batch(&QUEUED, &runs).await?;
    let mut waiting = Vec::new();
    for (id, rows) in ids.iter().zip(&queued) {
        if let Some(row) = rows.first() {
            waiting.push((id, row.get::<u32>("revision")?, row));
        }
    }
    let runs: Vec<_> = waiting
        .iter()
        .map(|(id, revision, _)| values![&id.0, *revision].to_vec())
        .collect();
    let alerts = tx.batch(&cases::ALERT, &runs).await?;
    let journals = tx.batch(&journal::EVENTS, &runs).await?;
    let contents = alerts.iter().zip(&journals);
    let cases = waiting.iter().zip(contents).map(|(case, (alert, events))| {
        let (id, revision, row) = case;
        let first: Option<DateTime<Utc>> = row.known("first_event")?;
        Ok(WaitingCase {
            id: CaseId::clone(id),
            revision: *revision,
            seen: first.zip(row.known("last_event")?),
            alert_and_events: read(&id.0, alert, events),
        })
    });
    cases.collect()
}

/// Reads the alert and the journal of a revision from their rows.
fn read(id: &str, alert: &[Row], events: &[Row]) -> Result<(Alert, Vec<Event>), Failure> {
    let row = alert.first();
    let row = row.ok_or_else(|| Failure::NoSuchCase(id.to_owned()))?;
    Ok((row.json("alert", id)?, journal::to_events(id, events)?))
}

/// Adds to the alert of a triage that begins the events that arrived since. Returns it with the report before.
async fn prepare(
    tx: Tx<'_>,
    lease: &Lease,
    seen: Option<(DateTime<Utc>, DateTime<Utc>)>,
    mut alert: Alert,
    events: &[Event],
) -> Result<(Alert, Option<Box<PreviousRun>>), Failure> {
    let (id, revision) = (lease.case_id.0.as_str(), lease.revision);
    let mut previous_run = None;
    if events.is_empty() {
        widen(tx, (id, revision), &mut alert, seen).await?;
        if revision > 1 {
            previous_run = read_previous_run(tx, id, revision, &alert).await?;
        }
    }
    Ok((alert, previous_run))
}

/// Widens the times of an alert by the sightings that arrived while it waited.
async fn widen(
    tx: Tx<'_>,
    (id, revision): (&str, u32),
    alert: &mut Alert,
    events: Option<(DateTime<Utc>, DateTime<Utc>)>,
) -> Result<(), Failure> {
    if events.is_some_and(|(first, last)| alert.times.widen(first, last)) {
        let (first, last) = (alert.times.first_seen, alert.times.last_seen);
        let values = values![
            id,
            revision,
            Value::json(id, &first)?,
            Value::json(id, &last)?
        ];
        tx.execute(&WIDEN, values).await?;
    }
    Ok(())
}

/// Returns the result of the last report, with what changed in the alert since.
async fn read_previous_run(
    tx: Tx<'_>,
    id: &str,
    revision: u32,
    alert: &Alert,
) -> Result<Option<Box<PreviousRun>>, Failure> {
    let Some(row) = tx.optional(&PREVIOUS_RUN, values![id, revision]).await? else {
        return Ok(None);
    };
    let (previous, last): (String, Option<String>) = (row.get("previous_run")?, row.get("alert")?);
    Ok(parse_previous_run(id, &previous, last.as_deref(), alert))
}

async fn note_unreadable(
    tx: Tx<'_>,
    id: &str,
    revision: u32,
    why: &Failure,
) -> Result<(), Failure> {
    tracing::warn!(
        case.id = id,
        error = why as &dyn std::error::Error,
        "a case waits for a newer worker"
    );
    let error = why.to_string();
    let values = values![id, revision, JOURNAL_VERSION, &error];
    tx.execute(&NOTE_UNREADABLE, values).await.map(drop)
}

/// Takes a crash back, because the worker of a lost lease reappeared.
async fn revert_crash(tx: Tx<'_>, lease: &Lease) -> Result<(), Failure> {
    let id = &lease.case_id.0;
    let values = values![id, lease.epoch];
    if let Some(lost) = tx.optional(&DELETE_LOST_LEASE, values).await? {
        let revision: u32 = lost.get("revision")?;
        tx.execute(&REVERT_CRASH, values![id, revision]).await?;
    }
    Ok(())
}
