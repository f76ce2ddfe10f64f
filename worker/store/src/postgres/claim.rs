//! Claims cases and manages leases by the clock of the database, not by those of workers.
//!
//! The first round trip frees lost cases and takes the most urgent ones, the second reads them, and the third commits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, Severity};
use nightshift_engine::event::{Event, JOURNAL_VERSION};
use nightshift_engine::journal::read_event;
use nightshift_pipeline::case::{CaseId, Lane, Lease, OutageWait};
use nightshift_pipeline::port::{ClaimedCase, StoreError};
use tokio_postgres::Row;

use super::PostgresStore;
use super::database::{Session, SqlValue};
use super::failure::{PostgresFailure, Remedy};
use super::row::{get_revision, json, limit, number, parse, revision};
use crate::previous_run::parse_previous_run;

/// Checks whether this transaction may take a suspect, which is a case that crashed twice. Only one claim of a worker
/// at a time may look for suspects, and the next statement sees what the previous claim took.
const SUSPECTS: &str = "SELECT set_config('nightshift.suspects', \
     pg_try_advisory_xact_lock(7226001, hashtext($1))::text, true)";
/// Requeues running cases with an expired lease. Each counts as crashed, unless the database restarted since its last
/// renewal, when no worker could renew it. A worker that reappears takes the crash back.
const FREE: &str = "WITH ended AS ( \
         UPDATE cases SET status = 'queued', lease_holder = NULL, lease_until = NULL, \
             waiting_since = clock_timestamp(), \
             crashes = crashes + CASE WHEN leased_at < pg_postmaster_start_time() THEN 0 ELSE 1 END \
         WHERE id IN (SELECT id FROM cases WHERE status = 'running' AND lease_until < clock_timestamp() \
             ORDER BY id FOR UPDATE SKIP LOCKED) \
         RETURNING id, revision, epoch, (leased_at < pg_postmaster_start_time()) IS NOT TRUE AS has_crashed \
     ), noted AS ( \
         INSERT INTO lost_leases (case_id, epoch, revision) SELECT id, epoch, revision FROM ended WHERE has_crashed \
         ON CONFLICT DO NOTHING \
     ) \
     SELECT FROM ended";
/// Takes the best cases. The rank is the severity plus one level per half hour of waiting, but never critical. Cases
/// that a lost worker had begun go before all others but critical ones. Each worker runs one suspect at a time. Only
/// the oldest cases of each severity are examined. More are examined than needed, because other workers may take some
/// at the same time. Canaries do not wait for models, because rules triage them.
const TAKE: &str = "WITH best AS MATERIALIZED ( \
         SELECT id, revised_at, CASE severity WHEN 'critical' THEN 4.0 ELSE least(3.99, \
             array_position(enum_range(NULL::severity), severity) - 1 + 4 * least(crashes, 1) \
                 + extract(epoch FROM clock_timestamp() - revised_at) / 1800) END::double precision AS rank \
         FROM ( \
             SELECT one.* FROM unnest(enum_range($1::text::severity, NULL)) AS level (severity) \
             CROSS JOIN LATERAL (SELECT id, severity, revised_at, crashes FROM cases \
                 WHERE status = 'queued' AND cases.severity = level.severity AND crashes < 2 \
                     AND NOT EXISTS (SELECT FROM unreadable_journals AS unread WHERE unread.case_id = cases.id \
                         AND unread.revision = cases.revision AND unread.version >= $3) \
                     AND ($6::double precision IS NULL OR feed = 'canary' OR waiting_since <= clock_timestamp() - make_interval(secs => \
                         CASE WHEN cases.severity >= 'high' THEN $6 ELSE $7::double precision END)) \
                 ORDER BY revised_at LIMIT 2 * $2::bigint + 16) AS one \
             UNION ALL \
             (SELECT id, severity, revised_at, crashes FROM cases \
                 WHERE status = 'queued' AND crashes >= 2 AND severity >= $1::text::severity \
                     AND current_setting('nightshift.suspects') = 'true' \
                     AND NOT EXISTS (SELECT FROM cases AS other \
                         WHERE other.status = 'running' AND other.crashes >= 2 AND other.lease_holder = $4) \
                     AND NOT EXISTS (SELECT FROM unreadable_journals AS unread WHERE unread.case_id = cases.id \
                         AND unread.revision = cases.revision AND unread.version >= $3) \
                     AND ($6::double precision IS NULL OR feed = 'canary' OR waiting_since <= clock_timestamp() - make_interval(secs => \
                         CASE WHEN cases.severity >= 'high' THEN $6 ELSE $7::double precision END)) \
                 ORDER BY severity DESC, revised_at LIMIT 1) \
         ) AS waiting \
     ), locked AS ( \
         SELECT cases.id, best.rank, best.revised_at FROM best JOIN cases ON cases.id = best.id WHERE cases.status = 'queued' \
         ORDER BY best.rank DESC, best.revised_at LIMIT $2::bigint FOR UPDATE OF cases SKIP LOCKED \
     ) \
     UPDATE cases SET status = 'running', epoch = epoch + 1, lease_holder = $4, leased_at = clock_timestamp(), \
         lease_until = clock_timestamp() + make_interval(secs => $5) \
     FROM locked WHERE cases.id = locked.id \
     RETURNING cases.id, revision, epoch, crashes, journal_seq, locked.rank, locked.revised_at";
const TAKE_ONE: &str = "UPDATE cases SET status = 'running', epoch = epoch + 1, lease_holder = $2, \
         leased_at = clock_timestamp(), lease_until = clock_timestamp() + make_interval(secs => $3) \
     WHERE id = $1 AND status = 'queued' RETURNING id, revision, epoch, crashes, journal_seq";
const ALERTS: &str = "SELECT case_id, alert::text, alerts.revision, first_event, last_event FROM alerts JOIN cases ON cases.id = case_id \
     JOIN unnest($1::text[], $2::integer[]) AS taken (id, taken_revision) ON case_id = taken.id AND alerts.revision = taken_revision";
/// Widens the times of an alert by the sightings that arrived while it waited.
const WIDEN: &str = "UPDATE alerts SET alert = jsonb_set(jsonb_set(alert, '{times,first_seen}', first::jsonb), \
         '{times,last_seen}', last::jsonb) \
     FROM unnest($1::text[], $2::integer[], $3::text[], $4::text[]) AS wide (id, wide_revision, first, last) \
     WHERE case_id = wide.id AND revision = wide_revision";
const JOURNALS: &str = "SELECT case_id, seq, event::text FROM journal \
     JOIN unnest($1::text[], $2::integer[]) AS taken (id, taken_revision) ON case_id = taken.id AND revision = taken_revision \
     ORDER BY case_id, seq";
/// Selects the result of the last report, and its alert.
const AGAIN: &str = "SELECT now.case_id, jsonb_build_object('revision', before.revision, \
         'failed', before.status = 'failed', 'verdict', before.verdict, 'leaning', before.leaning, \
         'severity', before.assessed_severity, 'urgency', before.report -> 'urgency', 'why', now.reason)::text, last.alert::text \
     FROM alerts AS now \
         JOIN unnest($1::text[], $2::integer[]) AS taken (id, taken_revision) \
             ON now.case_id = taken.id AND now.revision = taken_revision \
         CROSS JOIN LATERAL (SELECT * FROM conclusions AS one WHERE one.case_id = now.case_id AND one.revision < now.revision \
             ORDER BY one.revision DESC LIMIT 1) AS before \
         LEFT JOIN alerts AS last ON last.case_id = before.case_id AND last.revision = before.revision";
/// Returns a case to the queue without counting a claim, because it could not be read.
const PUT_BACK: &str = "UPDATE cases SET status = 'queued', epoch = epoch - 1, lease_holder = NULL, lease_until = NULL \
     WHERE id = $1";
const NOTE_UNREAD: &str = "INSERT INTO unreadable_journals (case_id, revision, version, error) VALUES ($1, $2, $3, $4) \
     ON CONFLICT (case_id, revision) DO UPDATE SET version = greatest(unreadable_journals.version, excluded.version), \
     error = excluded.error, noted_at = excluded.noted_at";
/// Waits for a claim with a lost answer if it is still running: it locks the rows before it reads what such a claim
/// changes.
pub(super) const CONFIRM: &str = "WITH held AS MATERIALIZED ( \
         SELECT id, epoch, status, lease_holder FROM cases WHERE id = ANY($1::text[]) ORDER BY id FOR NO KEY UPDATE \
     ) \
     SELECT held.id FROM held JOIN unnest($1::text[], $2::bigint[]) AS taken (id, taken_epoch) \
         ON held.id = taken.id AND held.epoch = taken_epoch \
     WHERE held.status = 'running' AND held.lease_holder = $3 ORDER BY held.id";
/// Releases a case. A case that is released repeatedly, because models come and go, waits since the first release.
const RELEASE: &str = "UPDATE cases SET status = 'queued', lease_holder = NULL, lease_until = NULL, released_revision = revision, \
         waiting_since = CASE WHEN released_revision = revision THEN waiting_since ELSE clock_timestamp() END \
     WHERE id = $1 AND epoch = $2 AND status = 'running'";
/// Takes a crash back: the worker of a lost lease reappeared.
const NO_CRASH: &str = "WITH alive AS ( \
         DELETE FROM lost_leases WHERE case_id = $1 AND epoch = $2 RETURNING case_id, revision \
     ) \
     UPDATE cases SET crashes = greatest(crashes - 1, 0) \
     FROM alive WHERE cases.id = alive.case_id AND cases.revision = alive.revision";

/// Returns the version of journals that this program can fold, for a column.
fn journal_version() -> i32 {
    revision(JOURNAL_VERSION)
}

/// The conditions for cases that a claim may take.
struct ClaimFilter {
    least: Severity,
    /// The least waiting time, or `None` for any.
    urgent_secs: Option<f64>,
    other_secs: Option<f64>,
}

impl ClaimFilter {
    fn new(lane: Lane, waited: Option<OutageWait>) -> Self {
        Self {
            least: match lane {
                Lane::Urgent => Severity::High,
                Lane::Any => Severity::Informational,
            },
            urgent_secs: waited.map(|waited| waited.urgent.as_secs_f64()),
            other_secs: waited.map(|waited| waited.others.as_secs_f64()),
        }
    }
}

/// A claimed case before its alert and journal are read.
struct ClaimedRow {
    lease: Lease,
    crashes: u32,
    is_begun: bool,
}

impl ClaimedRow {
    fn from_row(row: &Row) -> Result<Self, PostgresFailure> {
        let (epoch, crashes): (i64, i32) = (row.try_get(2)?, row.try_get(3)?);
        Ok(Self {
            lease: Lease {
                case_id: CaseId(row.try_get(0)?),
                revision: get_revision(row, 1)?,
                epoch: u64::try_from(epoch).unwrap_or_default(),
            },
            crashes: u32::try_from(crashes).unwrap_or_default(),
            is_begun: row.try_get::<_, i32>(4)? > 0,
        })
    }
}

impl PostgresStore {
    /// Implements [`nightshift_pipeline::port::Cases::claim`].
    pub(super) async fn claim_best(
        &self,
        lane: Lane,
        most: usize,
        waited: Option<OutageWait>,
    ) -> Result<Vec<ClaimedCase>, StoreError> {
        let wanted = ClaimFilter::new(lane, waited);
        let mut tries = self.database.tries("claim cases");
        loop {
            match self.database.within(self.try_claim(&wanted, most)).await {
                Ok(claimed) => return Ok(claimed),
                Err(failure) => tries.backoff(failure).await?,
            }
        }
    }

    async fn try_claim(
        &self,
        wanted: &ClaimFilter,
        most: usize,
    ) -> Result<Vec<ClaimedCase>, PostgresFailure> {
        let session = self.database.session(&[SUSPECTS, FREE, TAKE]).await?;
        let first = limit(most);
        let (_, _, freed, rows) = tokio::try_join!(
            biased;
            session.begin(),
            session.row(SUSPECTS, [&self.holder]),
            session.change(FREE, []),
            self.take(&session, wanted, first),
        )?;
        if freed > 0 {
            tracing::warn!(cases = freed, "leases had ended; their cases go on");
        }
        let mut claimed = Vec::new();
        let mut rows = rows;
        // Unreadable cases are recorded and returned, and others are taken instead.
        while !rows.is_empty() {
            let taken = rows
                .iter()
                .map(ClaimedRow::from_row)
                .collect::<Result<Vec<_>, _>>()?;
            for one in read(&session, taken).await? {
                match one {
                    Ok(one) => claimed.push(one),
                    Err((lease, why)) => leave(&session, &lease, &why).await?,
                }
            }
            rows = if claimed.len() < most && claimed.len() < rows.len() {
                let rest = limit(most - claimed.len());
                self.take(&session, wanted, rest).await?
            } else {
                Vec::new()
            };
        }
        self.commit(session, claimed).await
    }

    async fn take(
        &self,
        session: &Session,
        wanted: &ClaimFilter,
        most: i64,
    ) -> Result<Vec<Row>, PostgresFailure> {
        let mut rows = session
            .rows(
                TAKE,
                [
                    &wanted.least.as_str(),
                    &most,
                    &journal_version(),
                    &self.holder,
                    &self.lease_secs,
                    &wanted.urgent_secs,
                    &wanted.other_secs,
                ],
            )
            .await?;
        let rank = |row: &Row| row.try_get::<_, f64>(5).unwrap_or_default();
        rows.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
        Ok(rows)
    }

    /// Commits a claim. If the answer is lost, checks whether it was committed.
    async fn commit(
        &self,
        session: Session,
        claimed: Vec<ClaimedCase>,
    ) -> Result<Vec<ClaimedCase>, PostgresFailure> {
        match session.commit().await {
            Ok(()) => session.done(),
            Err(failure) if failure.remedy() == Remedy::Again && !claimed.is_empty() => {
                drop(session);
                let (ids, epochs) = columns(claimed.iter().map(|one| &one.lease));
                let session = self.database.session(&[CONFIRM]).await?;
                let found = session.rows(CONFIRM, [&ids, &epochs, &self.holder]).await?;
                let found: BTreeSet<String> = found
                    .iter()
                    .map(|row| row.try_get(0))
                    .collect::<Result<_, _>>()?;
                session.done();
                if found.is_empty() {
                    return Err(failure);
                }
                // The claim was committed. Cases that are missing were cancelled since.
                return Ok(claimed
                    .into_iter()
                    .filter(|one| found.contains(&one.lease.case_id.0))
                    .collect());
            }
            Err(failure) => return Err(failure),
        }
        Ok(claimed)
    }

    /// Implements [`nightshift_pipeline::port::Cases::claim_one`].
    pub(super) async fn claim_this(&self, id: &CaseId) -> Result<Option<ClaimedCase>, StoreError> {
        let mut tries = self.database.tries("claim a case");
        loop {
            match self.database.within(self.try_claim_this(id)).await {
                Ok(Ok(claimed)) => return Ok(claimed),
                Ok(Err(why)) => return Err(why.into_store_error("claim a case")),
                Err(failure) => tries.backoff(failure).await?,
            }
        }
    }

    async fn try_claim_this(
        &self,
        id: &CaseId,
    ) -> Result<Result<Option<ClaimedCase>, PostgresFailure>, PostgresFailure> {
        let session = self.database.session(&[FREE, TAKE_ONE]).await?;
        let (_, _, row) = tokio::try_join!(
            biased;
            session.begin(),
            session.change(FREE, []),
            session.row(TAKE_ONE, [&id.0, &self.holder, &self.lease_secs]),
        )?;
        let taken = row
            .iter()
            .map(ClaimedRow::from_row)
            .collect::<Result<Vec<_>, _>>()?;
        match read(&session, taken).await?.pop() {
            Some(Err((lease, why))) => {
                leave(&session, &lease, &why).await?;
                session.commit().await?;
                session.done();
                Ok(Err(why))
            }
            Some(Ok(one)) => Ok(Ok(self.commit(session, vec![one]).await?.pop())),
            None => {
                self.commit(session, Vec::new()).await?;
                Ok(Ok(None))
            }
        }
    }

    /// Implements [`nightshift_pipeline::port::Cases::release`].
    pub(super) async fn release_lease(&self, lease: &Lease) -> Result<(), StoreError> {
        let (id, epoch) = (&lease.case_id.0, number(lease.epoch));
        let doing = "release a case";
        if self.retry_change(doing, RELEASE, [id, &epoch]).await? == 0 {
            // This is a separate statement: one that waited for the claim that took the lease would not see the crash
            // which that claim recorded.
            self.retry_change(doing, NO_CRASH, [id, &epoch]).await?;
        }
        self.notifier.notify();
        Ok(())
    }
}

pub(super) fn columns<'a>(leases: impl Iterator<Item = &'a Lease>) -> (Vec<&'a str>, Vec<i64>) {
    leases
        .map(|lease| (lease.case_id.0.as_str(), number(lease.epoch)))
        .unzip()
}

type ReadClaim = Result<ClaimedCase, (Lease, PostgresFailure)>;

/// Reads the alerts and journals of claimed cases, in the same order.
async fn read(
    session: &Session,
    taken: Vec<ClaimedRow>,
) -> Result<Vec<ReadClaim>, PostgresFailure> {
    if taken.is_empty() {
        return Ok(Vec::new());
    }
    let of = |one: &ClaimedRow| (one.lease.case_id.0.clone(), revision(one.lease.revision));
    let (ids, revisions): (Vec<_>, Vec<_>) = taken.iter().map(of).unzip();
    let (begun, begun_revisions): (Vec<_>, Vec<_>) =
        taken.iter().filter(|one| one.is_begun).map(of).unzip();
    let (mut alerts, mut wide) = (BTreeMap::new(), WidenedTimes::default());
    for row in session.rows(ALERTS, [&ids, &revisions]).await? {
        let (id, text): (String, &str) = (row.try_get(0)?, row.try_get(1)?);
        let mut alert = parse::<Alert>(&id, text);
        let noted: (Option<DateTime<Utc>>, Option<DateTime<Utc>>) =
            (row.try_get(3)?, row.try_get(4)?);
        if let (Ok(alert), (Some(first), Some(last)), false) =
            (&mut alert, noted, begun.contains(&id))
            && alert.times.widen(first, last)
        {
            wide.add(&id, row.try_get(2)?, alert)?;
        }
        alerts.insert(id, alert);
    }
    if !wide.ids.is_empty() {
        let columns: [SqlValue<'_>; 4] = [&wide.ids, &wide.revisions, &wide.first, &wide.last];
        session.change(WIDEN, columns).await?;
    }
    let mut journals: BTreeMap<String, Result<Vec<Event>, PostgresFailure>> = BTreeMap::new();
    if !begun.is_empty() {
        for row in session.rows(JOURNALS, [&begun, &begun_revisions]).await? {
            let (id, seq, text): (String, i32, &str) =
                (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
            let journal = journals.entry(id.clone()).or_insert_with(|| Ok(Vec::new()));
            add(journal, id, seq, text);
        }
    }
    let mut before = said_before(session, &taken).await?;
    let claimed = taken.into_iter().map(|one| {
        let id = &one.lease.case_id.0;
        let none = || Err(PostgresFailure::NoSuchCase(id.clone()));
        let alert = alerts.remove(id).unwrap_or_else(none);
        let events = journals.remove(id).unwrap_or_else(|| Ok(Vec::new()));
        match (alert, events) {
            (Ok(alert), Ok(events)) => Ok(ClaimedCase {
                previous_run: before.remove(id).and_then(|(said, last)| {
                    parse_previous_run(id, &said, last.as_deref(), &alert)
                }),
                lease: one.lease,
                alert: Arc::new(alert),
                events,
                crashes: one.crashes,
            }),
            (Err(why), _) | (_, Err(why)) => Err((one.lease, why)),
        }
    });
    Ok(claimed.collect())
}

/// The columns of alerts whose times were widened.
#[derive(Default)]
struct WidenedTimes {
    ids: Vec<String>,
    revisions: Vec<i32>,
    first: Vec<String>,
    last: Vec<String>,
}

impl WidenedTimes {
    fn add(&mut self, id: &str, revision: i32, alert: &Alert) -> Result<(), PostgresFailure> {
        self.ids.push(id.to_owned());
        self.revisions.push(revision);
        self.first.push(json(id, &alert.times.first_seen)?);
        self.last.push(json(id, &alert.times.last_seen)?);
        Ok(())
    }
}

/// Returns the previous result, and its alert, of each case that is triaged again.
async fn said_before(
    session: &Session,
    taken: &[ClaimedRow],
) -> Result<BTreeMap<String, (String, Option<String>)>, PostgresFailure> {
    let again = taken
        .iter()
        .filter(|one| one.lease.revision > 1 && !one.is_begun);
    let (ids, revisions): (Vec<_>, Vec<_>) = again
        .map(|one| (one.lease.case_id.0.as_str(), revision(one.lease.revision)))
        .unzip();
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let rows = session.rows(AGAIN, [&ids, &revisions]).await?;
    let said = rows
        .iter()
        .map(|row| Ok((row.try_get(0)?, (row.try_get(1)?, row.try_get(2)?))));
    said.collect()
}

/// Appends an event, up to the first one that this version cannot read.
fn add(journal: &mut Result<Vec<Event>, PostgresFailure>, case_id: String, seq: i32, text: &str) {
    if let Ok(events) = journal {
        match read_event(text) {
            Ok(event) => events.push(event),
            Err(cause) => {
                *journal = Err(PostgresFailure::Journal {
                    case_id,
                    seq: i64::from(seq),
                    cause,
                });
            }
        }
    }
}

async fn leave(
    session: &Session,
    lease: &Lease,
    why: &PostgresFailure,
) -> Result<(), PostgresFailure> {
    tracing::warn!(
        case.id = %lease.case_id, error = why as &dyn std::error::Error, "a case waits for a newer worker"
    );
    let (id, revision) = (&lease.case_id.0, revision(lease.revision));
    session.change(PUT_BACK, [id]).await?;
    session
        .change(
            NOTE_UNREAD,
            [id, &revision, &journal_version(), &why.to_string()],
        )
        .await?;
    Ok(())
}
