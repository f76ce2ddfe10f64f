//! Claims cases and manages leases. A lease ends by a clock of the host that nobody can set, or with the process that
//! holds it.

use std::sync::Arc;

use nightshift_alert::{Alert, Severity};
use nightshift_engine::event::JOURNAL_VERSION;
use nightshift_engine::previous_run::PreviousRun;
use nightshift_pipeline::case::{CaseId, Lane, Lease, OutageWait};
use nightshift_pipeline::port::{ClaimedCase, StoreError};
use rusqlite::{Connection, OptionalExtension, params};

use super::host::{LeaseHolder, uptime_secs};
use super::row::{get_time_or_none, severity};
use super::thread::SqliteFailure;
use super::{SqliteStore, read};
use crate::previous_run::parse_previous_run;

const HOLDERS: &str = "SELECT DISTINCT lease_holder FROM cases WHERE status = 'running'";
/// Requeues running cases whose worker is gone or whose lease has expired.
const FREE: &str = "UPDATE cases SET status = 'queued', crashes = crashes + 1, lease_holder = NULL, lease_until = NULL, \
         waiting_since = strftime('%Y-%m-%dT%H:%M:%f000Z', 'now') \
     WHERE status = 'running' AND lease_holder IS ?1 AND coalesce(lease_until, 0) NOT BETWEEN ?2 AND ?3";
/// Records each as a crash of its case, until the process that held the lease reappears.
const NOTE_LOST: &str = "INSERT OR IGNORE INTO lost_leases (case_id, epoch, revision) \
     SELECT id, epoch, revision FROM cases WHERE status = 'running' AND lease_holder IS ?1 AND coalesce(lease_until, 0) NOT BETWEEN ?2 AND ?3";
/// Selects the next case. The rank is the severity plus one level per half hour of waiting, but never critical. Cases
/// that a lost worker had begun go before all others but critical ones. Of the cases that crashed twice, each process
/// runs one at a time, the most severe first. Canaries do not wait for models, because rules triage them. The waiting
/// time is an absolute value: a case from before the clock was set back waits at most twice as long.
const NEXT: &str = "SELECT id FROM cases WHERE status = 'queued' AND severity >= ?1 \
     AND NOT EXISTS (SELECT 1 FROM unreadable_journals AS unread WHERE unread.case_id = cases.id \
         AND unread.revision = cases.revision AND unread.version >= ?3) \
     AND (crashes < 2 OR id = (SELECT id FROM cases AS suspect \
         WHERE status = 'queued' AND crashes >= 2 AND severity >= ?1 \
             AND NOT EXISTS (SELECT 1 FROM cases AS other \
                 WHERE other.status = 'running' AND other.crashes >= 2 AND other.lease_holder = ?6) \
             AND NOT EXISTS (SELECT 1 FROM unreadable_journals AS unread WHERE unread.case_id = suspect.id \
                 AND unread.revision = suspect.revision AND unread.version >= ?3) \
             AND (?4 IS NULL OR feed = 'canary' OR abs(unixepoch('now', 'subsec') - unixepoch(waiting_since, 'subsec')) \
                 >= CASE WHEN severity >= 3 THEN ?4 ELSE ?5 END) \
         ORDER BY severity DESC, revised_at LIMIT 1)) \
     AND (?4 IS NULL OR feed = 'canary' OR abs(unixepoch('now', 'subsec') - unixepoch(waiting_since, 'subsec')) \
         >= CASE WHEN severity >= 3 THEN ?4 ELSE ?5 END) \
     ORDER BY CASE severity WHEN 4 THEN 4.0 \
         ELSE min(severity + 4 * min(crashes, 1) + abs(unixepoch('now') - unixepoch(revised_at)) / 1800.0, 3.99) END DESC, revised_at \
     LIMIT ?2";
const QUEUED: &str =
    "SELECT revision, first_event, last_event FROM cases WHERE id = ?1 AND status = 'queued'";
const WIDEN: &str = "UPDATE alerts SET alert = json_set(alert, '$.times.first_seen', json(?3), '$.times.last_seen', json(?4)) \
     WHERE case_id = ?1 AND revision = ?2";
const NOTE_UNREAD: &str = "INSERT INTO unreadable_journals (case_id, revision, version, error, noted_at) \
     VALUES (?1, ?2, ?3, ?4, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) ON CONFLICT (case_id, revision) DO UPDATE \
     SET version = max(version, excluded.version), error = excluded.error, noted_at = excluded.noted_at";
/// Selects the result of the last report, and its alert.
const AGAIN: &str = "SELECT json_object('revision', before.revision, \
         'failed', json(CASE json_extract(before.report, '$.status') WHEN 'failed' THEN 'true' ELSE 'false' END), \
         'verdict', before.verdict, 'leaning', before.leaning, \
         'severity', json_extract(before.report, '$.assessed_severity'), \
         'urgency', json_extract(before.report, '$.urgency'), 'why', now.reason), last.alert \
     FROM alerts AS now JOIN conclusions AS before ON before.case_id = now.case_id AND before.revision < now.revision \
         LEFT JOIN alerts AS last ON last.case_id = before.case_id AND last.revision = before.revision \
     WHERE now.case_id = ?1 AND now.revision = ?2 ORDER BY before.revision DESC LIMIT 1";
const TAKE: &str = "UPDATE cases SET status = 'running', epoch = epoch + 1, lease_holder = ?2, lease_until = ?3 \
     WHERE id = ?1 AND status = 'queued' RETURNING epoch, crashes";
const RENEW: &str = "UPDATE cases SET lease_until = ?4 \
     WHERE id = ?1 AND epoch = ?2 AND lease_holder = ?3 AND status = 'running' AND lease_until >= ?5";
/// Releases a case. A case that is released repeatedly, because models come and go, waits since the first release.
const RELEASE: &str = "UPDATE cases SET status = 'queued', lease_holder = NULL, lease_until = NULL, released_revision = revision, \
         waiting_since = CASE WHEN released_revision = revision THEN waiting_since ELSE strftime('%Y-%m-%dT%H:%M:%f000Z', 'now') END \
     WHERE id = ?1 AND epoch = ?2 AND lease_holder = ?3 AND status = 'running'";
const HEARD_OF: &str =
    "DELETE FROM lost_leases WHERE case_id = ?1 AND epoch = ?2 RETURNING revision";
const NO_CRASH: &str =
    "UPDATE cases SET crashes = max(crashes - 1, 0) WHERE id = ?1 AND revision = ?2";

impl SqliteStore {
    /// Implements [`nightshift_pipeline::port::Cases::claim`].
    pub(super) async fn claim_best(
        &self,
        lane: Lane,
        most: usize,
        waited: Option<OutageWait>,
    ) -> Result<Vec<ClaimedCase>, StoreError> {
        let least = match lane {
            Lane::Urgent => severity(Severity::High),
            Lane::Any => severity(Severity::Informational),
        };
        let (holder, lease_secs) = (self.holder.clone(), self.lease.as_secs_f64());
        self.thread
            .run("claim cases", move |connection| {
                free(connection, lease_secs)?;
                let mut claimed = Vec::new();
                // Unreadable cases are recorded and skipped, and others are taken instead.
                loop {
                    let ids = next(connection, least, most - claimed.len(), waited, &holder)?;
                    if ids.is_empty() {
                        return Ok(claimed);
                    }
                    for id in ids {
                        match take(connection, &id, &holder, lease_secs)? {
                            Ok(taken) => claimed.extend(taken),
                            Err(why) => tracing::warn!(
                                case.id = %id, error = &why as &dyn std::error::Error,
                                "a case waits for a newer worker"
                            ),
                        }
                    }
                }
            })
            .await
    }

    /// Implements [`nightshift_pipeline::port::Cases::claim_one`].
    pub(super) async fn claim_this(&self, id: &CaseId) -> Result<Option<ClaimedCase>, StoreError> {
        let (id, holder, lease_secs) = (id.clone(), self.holder.clone(), self.lease.as_secs_f64());
        self.thread
            .run("claim a case", move |connection| {
                free(connection, lease_secs)?;
                take(connection, &id, &holder, lease_secs)
            })
            .await?
            .map_err(|why| why.into_store_error("claim a case"))
    }

    /// Implements [`nightshift_pipeline::port::Cases::renew`].
    pub(super) async fn renew_all(&self, leases: &[Lease]) -> Result<Vec<Lease>, StoreError> {
        let leases = leases.to_vec();
        let (holder, lease_secs) = (self.holder.clone(), self.lease.as_secs_f64());
        self.thread
            .run("renew leases", move |connection| {
                let now = uptime_secs();
                let mut statement = connection.prepare_cached(RENEW)?;
                let mut lost = Vec::new();
                for lease in leases {
                    let renewed = statement.execute(params![
                        lease.case_id.0,
                        epoch(&lease),
                        holder.0,
                        now + lease_secs,
                        now
                    ])?;
                    if renewed == 0 {
                        lost.push(lease);
                    }
                }
                Ok(lost)
            })
            .await
    }

    /// Implements [`nightshift_pipeline::port::Cases::release`].
    pub(super) async fn release_lease(&self, lease: &Lease) -> Result<(), StoreError> {
        let (lease, holder) = (lease.clone(), self.holder.clone());
        self.thread
            .run("release a case", move |connection| {
                let (id, epoch) = (&lease.case_id.0, epoch(&lease));
                let mut statement = connection.prepare_cached(RELEASE)?;
                if statement.execute(params![id, epoch, holder.0])? == 0 {
                    take_back(connection, id, epoch)?;
                }
                Ok(())
            })
            .await?;
        self.notifier.notify();
        Ok(())
    }
}

/// Converts the epoch of a lease for a column.
pub(super) fn epoch(lease: &Lease) -> i64 {
    i64::try_from(lease.epoch).unwrap_or(i64::MAX)
}

/// Requeues the cases of dead processes and of leases that were not renewed.
fn free(connection: &Connection, lease_secs: f64) -> Result<(), SqliteFailure> {
    let holders: Vec<Option<String>> = connection
        .prepare_cached(HOLDERS)?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let now = uptime_secs();
    let mut note = connection.prepare_cached(NOTE_LOST)?;
    let mut statement = connection.prepare_cached(FREE)?;
    for holder in holders {
        let latest = match &holder {
            Some(name) => LeaseHolder(name.clone()).latest(now, lease_secs),
            None => f64::NEG_INFINITY,
        };
        note.execute(params![holder, now, latest])?;
        statement.execute(params![holder, now, latest])?;
    }
    Ok(())
}

/// Takes a crash back, because the process of a lost lease reappeared.
fn take_back(connection: &Connection, id: &str, epoch: i64) -> Result<(), SqliteFailure> {
    let revision: Option<u32> = connection
        .prepare_cached(HEARD_OF)?
        .query_row(params![id, epoch], |row| row.get(0))
        .optional()?;
    if let Some(revision) = revision {
        connection
            .prepare_cached(NO_CRASH)?
            .execute(params![id, revision])?;
    }
    Ok(())
}

fn next(
    connection: &Connection,
    least: i64,
    most: usize,
    waited: Option<OutageWait>,
    holder: &LeaseHolder,
) -> Result<Vec<CaseId>, SqliteFailure> {
    let limit = i64::try_from(most).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(NEXT)?;
    let urgent = waited.map(|waited| waited.urgent.as_secs_f64());
    let others = waited.map(|waited| waited.others.as_secs_f64());
    let values = params![least, limit, JOURNAL_VERSION, urgent, others, holder.0];
    let ids = statement.query_map(values, |row| Ok(CaseId(row.get(0)?)))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// Takes a waiting case. A case that cannot be folded is logged, recorded and left unchanged.
fn take(
    connection: &Connection,
    id: &CaseId,
    holder: &LeaseHolder,
    lease_secs: f64,
) -> Result<Result<Option<ClaimedCase>, SqliteFailure>, SqliteFailure> {
    let queued = connection
        .prepare_cached(QUEUED)?
        .query_row([&id.0], |row| {
            let time = |column| get_time_or_none(row, column).unwrap_or_default();
            Ok((row.get(0)?, time(1).zip(time(2))))
        });
    let Some((revision, noted)) = queued.optional()? else {
        return Ok(Ok(None));
    };
    let read = || -> Result<_, SqliteFailure> {
        Ok((
            read::alert(connection, &id.0, revision)?,
            read::events(connection, &id.0, revision)?,
        ))
    };
    let (mut alert, events) = match read() {
        Ok(read) => read,
        Err(why @ (SqliteFailure::Unreadable(..) | SqliteFailure::Journal { .. })) => {
            note_unread(connection, id, revision, &why)?;
            return Ok(Err(why));
        }
        Err(other) => return Err(other),
    };
    let noted = noted.filter(|_| events.is_empty());
    if noted.is_some_and(|(first, last)| alert.times.widen(first, last)) {
        let (first, last) = (alert.times.first_seen, alert.times.last_seen);
        let json = |time| serde_json::to_string(&time).unwrap_or_default();
        connection.prepare_cached(WIDEN)?.execute(params![
            id.0,
            revision,
            json(first),
            json(last)
        ])?;
    }
    let again = match events.is_empty() && revision > 1 {
        true => said_before(connection, id, revision, &alert)?,
        false => None,
    };
    let until = uptime_secs() + lease_secs;
    let taken: Option<(i64, u32)> = connection
        .prepare_cached(TAKE)?
        .query_row(params![id.0, holder.0, until], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    Ok(Ok(taken.map(|(epoch, crashes)| ClaimedCase {
        alert: Arc::new(alert),
        events,
        lease: Lease {
            case_id: id.clone(),
            revision,
            epoch: u64::try_from(epoch).unwrap_or_default(),
        },
        crashes,
        previous_run: again,
    })))
}

fn said_before(
    connection: &Connection,
    id: &CaseId,
    revision: u32,
    alert: &Alert,
) -> Result<Option<Box<PreviousRun>>, SqliteFailure> {
    let said: Option<(String, Option<String>)> = connection
        .prepare_cached(AGAIN)?
        .query_row(params![id.0, revision], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    Ok(said.and_then(|(said, last)| parse_previous_run(&id.0, &said, last.as_deref(), alert)))
}

fn note_unread(
    connection: &Connection,
    id: &CaseId,
    revision: u32,
    why: &SqliteFailure,
) -> Result<(), SqliteFailure> {
    connection.prepare_cached(NOTE_UNREAD)?.execute(params![
        id.0,
        revision,
        JOURNAL_VERSION,
        why.to_string()
    ])?;
    Ok(())
}
