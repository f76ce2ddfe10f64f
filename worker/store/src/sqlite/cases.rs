//! Claims, leases, journals, conclusions. Every write of a case checks its lease in the same transaction.

use std::collections::BTreeMap;

use async_trait::async_trait;
use nightshift_alert::Severity;
use nightshift_engine::{Event, EventBody};
use nightshift_pipeline::{
    CaseFilter, CaseId, CaseRow, CaseView, Cases, Claimed, Closing, Lane, Lease, StoreError,
};
use rusqlite::{Connection, OptionalExtension, params};

use super::host::{Holder, uptime_secs};
use super::row::{severity, time};
use super::thread::Failure;
use super::{SqliteStore, read, revisions};

const HOLDERS: &str = "SELECT DISTINCT lease_holder FROM cases WHERE status = 'running'";
/// A running case whose worker is gone, or whose lease has ended, waits again.
const FREE: &str = "UPDATE cases SET status = 'queued', crashes = crashes + 1, lease_holder = NULL, lease_until = NULL \
     WHERE status = 'running' AND (lease_holder IS ?1 OR lease_until < ?2)";
/// Rank: severity plus one level per half hour of waiting, never into critical.
const NEXT: &str = "SELECT id FROM cases WHERE status = 'queued' AND severity >= ?1 \
     ORDER BY CASE severity WHEN 4 THEN 4.0 \
         ELSE min(severity + (unixepoch('now') - unixepoch(touched_at)) / 1800.0, 3.99) END DESC, touched_at \
     LIMIT ?2";
const TAKE: &str = "UPDATE cases SET status = 'running', epoch = epoch + 1, lease_holder = ?2, lease_until = ?3 \
     WHERE id = ?1 AND status = 'queued' RETURNING revision, epoch, crashes";
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
     usd = usd + ?7, lease_holder = NULL, lease_until = NULL WHERE id = ?1";
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
                let limit = i64::try_from(most).unwrap_or(i64::MAX);
                let ids: Vec<String> = connection
                    .prepare_cached(NEXT)?
                    .query_map(params![least, limit], |row| row.get(0))?
                    .collect::<Result<_, _>>()?;
                let mut claimed = Vec::with_capacity(ids.len());
                for id in ids {
                    claimed.extend(take(connection, &CaseId(id), &holder, lease_secs)?);
                }
                Ok(claimed)
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
            .await
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

    async fn append(&self, lease: &Lease, events: &[Event]) -> Result<(), StoreError> {
        let (lease, holder, events) = (lease.clone(), self.holder.clone(), events.to_vec());
        self.thread
            .run("write a journal", move |connection| {
                check_lease(connection, &lease, &holder)?;
                add_events(connection, &lease, &events)
            })
            .await
    }

    async fn conclude(&self, lease: &Lease, closing: &Closing) -> Result<(), StoreError> {
        let (lease, holder, closing) = (lease.clone(), self.holder.clone(), closing.clone());
        self.thread
            .run("conclude a case", move |connection| {
                check_lease(connection, &lease, &holder)?;
                add_events(connection, &lease, &closing.events)?;
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

fn take(
    connection: &Connection,
    id: &CaseId,
    holder: &Holder,
    lease_secs: f64,
) -> Result<Option<Claimed>, Failure> {
    let until = uptime_secs() + lease_secs;
    let taken: Option<(u32, i64, u32)> = connection
        .prepare_cached(TAKE)?
        .query_row(params![id.0, holder.0, until], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    let Some((revision, epoch, crashes)) = taken else {
        return Ok(None);
    };
    Ok(Some(Claimed {
        alert: read::alert(connection, &id.0, revision)?,
        events: read::events(connection, &id.0, revision)?,
        lease: Lease {
            case_id: id.clone(),
            revision,
            epoch: u64::try_from(epoch).unwrap_or_default(),
        },
        crashes,
    }))
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
        let (kind, command) = name(&event.body);
        let text = serde_json::to_string(event)
            .map_err(|cause| Failure::Unreadable(lease.case_id.0.clone(), cause))?;
        statement.execute(params![
            lease.case_id.0,
            lease.revision,
            epoch(lease),
            time(event.at),
            kind,
            command,
            text
        ])?;
    }
    Ok(())
}

fn name(body: &EventBody) -> (&'static str, Option<&str>) {
    match body {
        EventBody::Opened(_) => ("opened", None),
        EventBody::Claimed { .. } => ("claimed", None),
        EventBody::Started { id, .. } => ("started", Some(&id.0)),
        EventBody::Finished { id, .. } => ("finished", Some(&id.0)),
        EventBody::Withdrawn { id } => ("withdrawn", Some(&id.0)),
        EventBody::TimeUp => ("time_up", None),
        EventBody::Cancelled { .. } => ("cancelled", None),
        EventBody::Concluded(_) => ("concluded", None),
    }
}

fn close(connection: &Connection, lease: &Lease, closing: &Closing) -> Result<(), Failure> {
    let (report, conclusion) = (&closing.report, &closing.conclusion);
    let at = time(report.concluded_at);
    let text = serde_json::to_string(report)
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
        at,
        report.cost.usd
    ])?;
    let mut wish = connection.prepare_cached(WISH)?;
    for destination in &closing.destinations {
        wish.execute(params![lease.case_id.0, destination, at])?;
    }
    revisions::go_on(connection, &lease.case_id)
}
