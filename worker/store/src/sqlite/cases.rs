//! Claims, leases, journals, conclusions. Every write of a case checks its lease in the same transaction.

use std::collections::BTreeMap;

use async_trait::async_trait;
use nightshift_alert::Severity;
use nightshift_engine::{Event, JOURNAL_VERSION};
use nightshift_pipeline::{
    CaseFilter, CaseId, CaseRow, CaseView, Cases, Charge, Claimed, Closing, JournalLine, Lane,
    Lease, StoreError,
};
use rusqlite::{Connection, OptionalExtension, params};

use super::host::{Holder, uptime_secs};
use super::row::{severity, time};
use super::thread::{Failure, store_error};
use super::{SqliteStore, read, revisions, spending};

const HOLDERS: &str = "SELECT DISTINCT lease_holder FROM cases WHERE status = 'running'";
/// A running case whose worker is gone, or whose lease has ended, waits again.
const FREE: &str = "UPDATE cases SET status = 'queued', crashes = crashes + 1, lease_holder = NULL, lease_until = NULL \
     WHERE status = 'running' AND (lease_holder IS ?1 OR lease_until < ?2)";
/// Rank: severity plus one level per half hour of waiting, never into critical.
const NEXT: &str = "SELECT id FROM cases WHERE status = 'queued' AND severity >= ?1 \
     AND NOT EXISTS (SELECT 1 FROM unread_journals AS unread WHERE unread.case_id = cases.id \
         AND unread.revision = cases.revision AND unread.version >= ?3) \
     ORDER BY CASE severity WHEN 4 THEN 4.0 \
         ELSE min(severity + (unixepoch('now') - unixepoch(touched_at)) / 1800.0, 3.99) END DESC, touched_at \
     LIMIT ?2";
const QUEUED: &str = "SELECT revision FROM cases WHERE id = ?1 AND status = 'queued'";
const NOTE_UNREAD: &str = "INSERT INTO unread_journals (case_id, revision, version, error, noted_at) \
     VALUES (?1, ?2, ?3, ?4, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) ON CONFLICT (case_id, revision) DO UPDATE \
     SET version = max(version, excluded.version), error = excluded.error, noted_at = excluded.noted_at";
const TAKE: &str = "UPDATE cases SET status = 'running', epoch = epoch + 1, lease_holder = ?2, lease_until = ?3 \
     WHERE id = ?1 AND status = 'queued' RETURNING epoch, crashes";
const RENEW: &str = "UPDATE cases SET lease_until = ?4 \
     WHERE id = ?1 AND epoch = ?2 AND lease_holder = ?3 AND status = 'running' AND lease_until >= ?5";
const HOLDS: &str = "SELECT 1 FROM cases \
     WHERE id = ?1 AND epoch = ?2 AND revision = ?3 AND lease_holder = ?4 AND status = 'running' AND lease_until >= ?5";
const RELEASE: &str = "UPDATE cases SET status = 'queued', lease_holder = NULL, lease_until = NULL \
     WHERE id = ?1 AND epoch = ?2 AND lease_holder = ?3 AND status = 'running'";
const ADD_EVENT: &str = "INSERT INTO journal (case_id, revision, seq, epoch, at, kind, command, event) \
     VALUES (?1, ?2, (SELECT coalesce(max(seq), 0) + 1 FROM journal WHERE case_id = ?1 AND revision = ?2), \
     ?3, ?4, ?5, ?6, ?7)";
const ADD_CONCLUSION: &str = "INSERT INTO conclusions \
     (case_id, revision, concluded_at, verdict, leaning, reason, confidence, assessed_severity, report) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
const END: &str = "UPDATE cases SET status = ?2, verdict = ?3, leaning = ?4, assessed_severity = ?5, concluded_at = ?6, \
     lease_holder = NULL, lease_until = NULL WHERE id = ?1";
const ARRIVED: &str = "SELECT sightings, members FROM cases WHERE id = ?1";
const WISH: &str = "INSERT INTO deliveries (case_id, destination, wanted, wished_at) VALUES (?1, ?2, 1, ?3) \
     ON CONFLICT (case_id, destination) DO UPDATE \
     SET wanted = wanted + 1, wished_at = ?3, attempts = 0, retry_at = NULL, given_up = 0, error = NULL";
const WAITING: &str =
    "SELECT severity, count(*) FROM cases WHERE status IN ('queued', 'running') GROUP BY severity";

#[async_trait]
impl Cases for SqliteStore {
    async fn claim(&self, lane: Lane, most: usize) -> Result<Vec<Claimed>, StoreError> {
        let least = match lane {
            Lane::Urgent => severity(Severity::High),
            Lane::Any => severity(Severity::Informational),
        };
        let (holder, lease_secs) = (self.holder.clone(), self.lease_secs);
        self.thread
            .run("claim cases", move |connection| {
                free(connection)?;
                let mut claimed = Vec::new();
                // Those that cannot be read are noted at the first look, and leave their place to others.
                loop {
                    let ids = next(connection, least, most - claimed.len())?;
                    if ids.is_empty() {
                        return Ok(claimed);
                    }
                    for id in ids {
                        match take(connection, &id, &holder, lease_secs)? {
                            Ok(taken) => claimed.extend(taken),
                            Err(why) => tracing::warn!(
                                case = %id, error = &why as &dyn std::error::Error,
                                "a case waits for a newer worker"
                            ),
                        }
                    }
                }
            })
            .await
    }

    async fn claim_one(&self, id: &CaseId) -> Result<Option<Claimed>, StoreError> {
        let (id, holder, lease_secs) = (id.clone(), self.holder.clone(), self.lease_secs);
        self.thread
            .run("claim a case", move |connection| {
                free(connection)?;
                take(connection, &id, &holder, lease_secs)
            })
            .await?
            .map_err(|why| store_error("claim a case", why))
    }

    async fn renew(&self, leases: &[Lease]) -> Result<(), StoreError> {
        let leases = leases.to_vec();
        let (holder, lease_secs) = (self.holder.clone(), self.lease_secs);
        self.thread
            .run("renew leases", move |connection| {
                let now = uptime_secs();
                let mut statement = connection.prepare_cached(RENEW)?;
                for lease in &leases {
                    statement.execute(params![
                        lease.case_id.0,
                        epoch(lease),
                        holder.0,
                        now + lease_secs,
                        now
                    ])?;
                }
                Ok(())
            })
            .await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let (lease, holder) = (lease.clone(), self.holder.clone());
        self.thread
            .run("release a case", move |connection| {
                connection.prepare_cached(RELEASE)?.execute(params![
                    lease.case_id.0,
                    epoch(&lease),
                    holder.0
                ])?;
                Ok(())
            })
            .await
    }

    async fn append(
        &self,
        lease: &Lease,
        events: &[Event],
        charge: Charge,
    ) -> Result<(), StoreError> {
        let (lease, holder, events) = (lease.clone(), self.holder.clone(), events.to_vec());
        self.thread
            .run("write a journal", move |connection| {
                check_lease(connection, &lease, &holder)?;
                add_events(connection, &lease, &events)?;
                spending::add(connection, &lease.case_id, charge)
            })
            .await
    }

    async fn conclude(&self, lease: &Lease, closing: &Closing) -> Result<(), StoreError> {
        let (lease, holder, closing) = (lease.clone(), self.holder.clone(), closing.clone());
        self.thread
            .run("conclude a case", move |connection| {
                check_lease(connection, &lease, &holder)?;
                add_events(connection, &lease, &closing.events)?;
                spending::add(connection, &lease.case_id, closing.charge)?;
                close(connection, &lease, &closing)
            })
            .await
    }

    async fn list(&self, filter: &CaseFilter) -> Result<Vec<CaseRow>, StoreError> {
        let filter = filter.clone();
        self.thread
            .run("list cases", move |connection| {
                read::list(connection, &filter)
            })
            .await
    }

    async fn view(&self, id: &str) -> Result<CaseView, StoreError> {
        let id = id.to_owned();
        self.thread
            .run("read a case", move |connection| read::view(connection, &id))
            .await
    }

    async fn journal(
        &self,
        id: &CaseId,
        revision: Option<u32>,
    ) -> Result<Vec<JournalLine>, StoreError> {
        let id = id.clone();
        self.thread
            .run("read a journal", move |connection| {
                read::journal(connection, &id, revision)
            })
            .await
    }

    async fn waiting(&self) -> Result<BTreeMap<Severity, u64>, StoreError> {
        self.thread
            .run("count waiting cases", |connection| {
                let mut statement = connection.prepare_cached(WAITING)?;
                let rows = statement.query_map([], |row| {
                    let count: i64 = row.get(1)?;
                    let severity = super::row::get_severity(row, 0)?;
                    Ok((severity, u64::try_from(count).unwrap_or_default()))
                })?;
                Ok(rows.collect::<Result<_, _>>()?)
            })
            .await
    }
}

fn epoch(lease: &Lease) -> i64 {
    i64::try_from(lease.epoch).unwrap_or(i64::MAX)
}

/// Gives back what dead processes hold, and what no one has renewed.
fn free(connection: &Connection) -> Result<(), Failure> {
    let holders: Vec<Option<String>> = connection
        .prepare_cached(HOLDERS)?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let now = uptime_secs();
    let mut statement = connection.prepare_cached(FREE)?;
    for holder in holders {
        let gone = holder
            .as_ref()
            .is_none_or(|holder| Holder(holder.clone()).is_gone());
        let dead = if gone { holder } else { Some(String::new()) };
        statement.execute(params![dead, now])?;
    }
    Ok(())
}

fn next(connection: &Connection, least: i64, most: usize) -> Result<Vec<CaseId>, Failure> {
    let limit = i64::try_from(most).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(NEXT)?;
    let ids = statement.query_map(params![least, limit, JOURNAL_VERSION], |row| {
        Ok(CaseId(row.get(0)?))
    })?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// Takes a case that waits. What cannot be folded is told, noted, and left as it is.
fn take(
    connection: &Connection,
    id: &CaseId,
    holder: &Holder,
    lease_secs: f64,
) -> Result<Result<Option<Claimed>, Failure>, Failure> {
    let queued = connection
        .prepare_cached(QUEUED)?
        .query_row([&id.0], |row| row.get(0));
    let Some(revision): Option<u32> = queued.optional()? else {
        return Ok(Ok(None));
    };
    let read = || -> Result<_, Failure> {
        Ok((
            read::alert(connection, &id.0, revision)?,
            read::events(connection, &id.0, revision)?,
        ))
    };
    let (alert, events) = match read() {
        Ok(read) => read,
        Err(why @ (Failure::Unreadable(..) | Failure::Journal { .. })) => {
            note_unread(connection, id, revision, &why)?;
            return Ok(Err(why));
        }
        Err(other) => return Err(other),
    };
    let until = uptime_secs() + lease_secs;
    let taken: Option<(i64, u32)> = connection
        .prepare_cached(TAKE)?
        .query_row(params![id.0, holder.0, until], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    Ok(Ok(taken.map(|(epoch, crashes)| Claimed {
        alert,
        events,
        lease: Lease {
            case_id: id.clone(),
            revision,
            epoch: u64::try_from(epoch).unwrap_or_default(),
        },
        crashes,
    })))
}

fn note_unread(
    connection: &Connection,
    id: &CaseId,
    revision: u32,
    why: &Failure,
) -> Result<(), Failure> {
    connection.prepare_cached(NOTE_UNREAD)?.execute(params![
        id.0,
        revision,
        JOURNAL_VERSION,
        why.to_string()
    ])?;
    Ok(())
}

fn check_lease(connection: &Connection, lease: &Lease, holder: &Holder) -> Result<(), Failure> {
    let holds = connection.prepare_cached(HOLDS)?.exists(params![
        lease.case_id.0,
        epoch(lease),
        lease.revision,
        holder.0,
        uptime_secs()
    ])?;
    if holds {
        Ok(())
    } else {
        Err(Failure::LeaseLost)
    }
}

fn add_events(connection: &Connection, lease: &Lease, events: &[Event]) -> Result<(), Failure> {
    let mut statement = connection.prepare_cached(ADD_EVENT)?;
    for event in events {
        let text = serde_json::to_string(event)
            .map_err(|cause| Failure::Unreadable(lease.case_id.0.clone(), cause))?;
        statement.execute(params![
            lease.case_id.0,
            lease.revision,
            epoch(lease),
            time(event.at),
            event.body.kind(),
            event.body.command().map(|id| &id.0),
            text
        ])?;
    }
    Ok(())
}

fn close(connection: &Connection, lease: &Lease, closing: &Closing) -> Result<(), Failure> {
    let conclusion = &closing.conclusion;
    let mut report = closing.report.clone();
    let (sightings, members): (i64, i64) = connection
        .prepare_cached(ARRIVED)?
        .query_row([&lease.case_id.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
    report.alert.sightings = u64::try_from(sightings).unwrap_or_default();
    report.alert.members = u64::try_from(members).unwrap_or_default();
    let at = time(report.concluded_at);
    let text = serde_json::to_string(&report)
        .map_err(|cause| Failure::Unreadable(lease.case_id.0.clone(), cause))?;
    connection.prepare_cached(ADD_CONCLUSION)?.execute(params![
        lease.case_id.0,
        lease.revision,
        at,
        conclusion.verdict.as_str(),
        conclusion.leaning.as_str(),
        conclusion.reason.as_str(),
        conclusion.confidence.as_str(),
        severity(conclusion.assessed_severity),
        text
    ])?;
    connection.prepare_cached(END)?.execute(params![
        lease.case_id.0,
        closing.status.as_str(),
        conclusion.verdict.as_str(),
        conclusion.leaning.as_str(),
        severity(conclusion.assessed_severity),
        at
    ])?;
    let mut wish = connection.prepare_cached(WISH)?;
    for destination in &closing.destinations {
        wish.execute(params![lease.case_id.0, destination, at])?;
    }
    revisions::go_on(connection, &lease.case_id)
}
