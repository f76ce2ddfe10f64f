//! Implements the inbox: a batch is accepted whole, in one transaction, or not at all.
//!
//! Admission decides about each alert with the context that `admission_lookup` reads. This module writes the decisions
//! and records each in the ledger of arrivals, which has one row for every accepted alert.

mod admission_lookup;
mod ledger;

use std::sync::Arc;

use async_trait::async_trait;
use nightshift_alert::Alert;
use nightshift_pipeline::admission::{
    Admission, AdmissionPolicy, Mute, SightingReason, SightingTimes, admit, alert_to_triage,
};
use nightshift_pipeline::case::CaseId;
use nightshift_pipeline::intake::Arrival;
use nightshift_pipeline::port::{AcceptedAlert, Inbox, StoreError};
use rusqlite::{Connection, params};
use sha2::{Digest, Sha256};

use super::blobs::own;
use super::revisions::{self, SqliteNextAlert};
use super::row::{severity, time};
use super::thread::{SqliteFailure, TransactionError};
use super::{SqliteStore, case_workflow};
use crate::blobs::{self, BlobKeys};
use crate::failure::Remedy;
use crate::split::{self, CommitError};
use crate::sql::{Tx, at_once, mutes};
use admission_lookup::SqliteAdmissionData;

const DOING: &str = "accept a batch";

/// The maximum number of bytes of a message that are stored.
const MOST_RAW_BYTES: usize = 16 * 1024 * 1024;

const ADD_RAW: &str = "INSERT INTO raw_messages (source, received_at, size_bytes, sha256, bytes, blob) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const ADD_CASE: &str = "INSERT INTO cases \
     (id, key, feed, type, title, account, severity, content, status, opened_at, revised_at, updated_at, sample, waiting_since) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'queued', ?9, ?9, ?10, ?11, strftime('%Y-%m-%dT%H:%M:%f000Z', 'now'))";
const ADD_SIGHTING: &str = "INSERT INTO sightings (case_id, raw_id, source, received_at, count, content, note) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const COUNT_SIGHTING: &str = "UPDATE cases SET sightings = sightings + 1, \
     first_event = coalesce(min(first_event, ?2), first_event, ?2), \
     last_event = coalesce(max(last_event, ?3), last_event, ?3), \
     events_until = coalesce(max(events_until, ?4), events_until, ?4) WHERE id = ?1";
const COUNT_MEMBER: &str = "UPDATE cases SET members = members + 1 WHERE id = ?1";
/// Compares the key, because a sighting may be that of a member, whose state is not the state of the case.
const NOTE_STATE: &str = "UPDATE cases SET feed_state = ?3, updated_at = coalesce(?4, updated_at) \
     WHERE id = ?1 AND key = ?2";
const ADD_DEAD_LETTER: &str = "INSERT INTO dead_letters (source, received_at, error, size_bytes, sha256, raw_id, case_id) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

#[async_trait]
impl Inbox for SqliteStore {
    async fn accept(&self, batch: Arc<[Arrival]>) -> Result<Vec<AcceptedAlert>, StoreError> {
        let placed =
            blobs::write_large_messages(self.blobs.as_ref(), &batch, |keys| self.announce(keys))
                .await?;
        let accepted = split::accept(batch, usize::MAX, |part, is_split| {
            // A split part may refer to a message twice, and keeps it in its rows.
            let placed = Some(&placed).filter(|_| !is_split);
            self.accept_whole(part, placed.cloned().unwrap_or_default())
        })
        .await?;
        self.notifier.notify();
        Ok(accepted)
    }
}

impl SqliteStore {
    /// Accepts all of a batch or nothing.
    async fn accept_whole(
        &self,
        batch: Arc<[Arrival]>,
        placed: BlobKeys,
    ) -> Result<Vec<AcceptedAlert>, CommitError> {
        let (policy, logged) = (Arc::clone(&self.admission), self.logged.clone());
        let accepted = self.thread.transaction(DOING, move |connection| {
            let added = at_once(Tx::Sqlite(connection).all(&mutes::IN_FORCE, &[]))?;
            let mutes = mutes::in_force(&policy, &added, &logged)?;
            accept_all(&connection.lock(), &batch, placed, &policy, &mutes)
        });
        accepted.await.map_err(|undone| match undone {
            TransactionError::Failed(failure) if failure.remedy() == Remedy::Split => {
                CommitError::Batch(failure.into_store_error(DOING))
            }
            TransactionError::Failed(failure) => {
                CommitError::Store(failure.into_store_error(DOING))
            }
            TransactionError::Store(error) => CommitError::Store(error),
        })
    }
}

fn accept_all(
    connection: &Connection,
    batch: &[Arrival],
    mut placed: BlobKeys,
    policy: &AdmissionPolicy,
    mutes: &[Mute],
) -> Result<Vec<AcceptedAlert>, SqliteFailure> {
    let mut last: Option<(Arc<[u8]>, i64)> = None;
    batch
        .iter()
        .map(|arrival| {
            let raw_id = match &last {
                Some((bytes, id)) if Arc::ptr_eq(bytes, &arrival.raw) => *id,
                _ => add_raw(connection, arrival, placed.take(&arrival.raw))?,
            };
            last = Some((Arc::clone(&arrival.raw), raw_id));
            accept_one(connection, arrival, raw_id, mutes, policy)
        })
        .collect()
}

fn add_raw(
    connection: &Connection,
    arrival: &Arrival,
    blob: Option<String>,
) -> Result<i64, SqliteFailure> {
    let kept = match &blob {
        Some(key) => {
            own(connection, key)?;
            &[]
        }
        None => arrival.raw.get(..MOST_RAW_BYTES).unwrap_or(&arrival.raw),
    };
    connection.prepare_cached(ADD_RAW)?.execute(params![
        arrival.source,
        time(arrival.at),
        size(arrival),
        digest(&arrival.raw),
        kept,
        blob
    ])?;
    Ok(connection.last_insert_rowid())
}

fn accept_one(
    connection: &Connection,
    arrival: &Arrival,
    raw_id: i64,
    mutes: &[Mute],
    policy: &AdmissionPolicy,
) -> Result<AcceptedAlert, SqliteFailure> {
    let alert = &arrival.alert;
    let key = alert.key.to_string();
    let facts = SqliteAdmissionData::read(connection, arrival, &key, policy)?;
    let ground = facts.admission_context(mutes);
    let admission = admit(arrival, &ground, policy);
    let triaged = alert_to_triage(arrival, &admission, ground.known);
    let triaged = triaged.as_ref().unwrap_or(alert);
    let times = SightingTimes::new(arrival, &admission, ground.known);
    let coming = (key.as_str(), triaged, times);
    let case_id = write(connection, arrival, raw_id, coming, &admission)?;
    let dead_letter = add_dead_letter(connection, arrival, raw_id, case_id.as_ref())?;
    ledger::add(
        connection,
        arrival,
        raw_id,
        &key,
        &admission,
        case_id.as_ref(),
        dead_letter,
    )?;
    Ok(AcceptedAlert {
        case_id,
        key,
        title: alert.title.clone(),
        feed: alert.feed.clone(),
        admission,
        dead_letter,
    })
}

/// Writes the decision of admission. Returns the case of the alert, if there is one.
fn write(
    connection: &Connection,
    arrival: &Arrival,
    raw_id: i64,
    (key, triaged, times): (&str, &Alert, SightingTimes),
    admission: &Admission,
) -> Result<Option<CaseId>, SqliteFailure> {
    let coming = |why| SqliteNextAlert {
        source: &arrival.source,
        at: arrival.at,
        raw_id: Some(raw_id),
        alert: triaged,
        why,
    };
    match admission {
        Admission::New => {
            let id = add_case(connection, arrival, key)?;
            revisions::add_alert(connection, &id, &coming(None))?;
            return Ok(Some(id));
        }
        Admission::Revision(id, change) => {
            revisions::queue_revision(connection, id, &coming(Some(change.as_str())))?;
        }
        Admission::Replaced(id, change) => {
            revisions::replace(connection, id, &coming(Some(change.as_str())))?;
        }
        Admission::Sighting(id, seen) => {
            add_sighting(connection, id, arrival, raw_id, (Some(seen), times))?;
            if let SightingReason::AtFeed(_) = seen {
                note_state(connection, id, key, &arrival.alert)?;
            }
        }
        Admission::Resumed(id) => add_sighting(connection, id, arrival, raw_id, (None, times))?,
        Admission::Member(id) => {
            connection.prepare_cached(COUNT_MEMBER)?.execute([&id.0])?;
            case_workflow::touch(connection, &id.0)?;
        }
        Admission::Muted(_) | Admission::SetAside(_) => {}
    }
    Ok(admission.case().cloned())
}

fn add_dead_letter(
    connection: &Connection,
    arrival: &Arrival,
    raw_id: i64,
    case_id: Option<&CaseId>,
) -> Result<Option<i64>, SqliteFailure> {
    let Some(error) = &arrival.unreadable else {
        return Ok(None);
    };
    connection
        .prepare_cached(ADD_DEAD_LETTER)?
        .execute(params![
            arrival.source,
            time(arrival.at),
            error,
            size(arrival),
            digest(&arrival.raw),
            raw_id,
            case_id.map(|id| &id.0)
        ])?;
    Ok(Some(connection.last_insert_rowid()))
}

fn note_state(
    connection: &Connection,
    id: &CaseId,
    key: &str,
    alert: &Alert,
) -> Result<(), SqliteFailure> {
    let state = serde_json::to_string(&alert.state)
        .map_err(|cause| SqliteFailure::Unwritable(id.0.clone(), cause))?;
    connection.prepare_cached(NOTE_STATE)?.execute(params![
        id.0,
        key,
        state,
        alert.times.updated.map(time)
    ])?;
    Ok(())
}

/// Adds a new case. If its random id exists, another one is drawn.
fn add_case(
    connection: &Connection,
    arrival: &Arrival,
    key: &str,
) -> Result<CaseId, SqliteFailure> {
    let alert = &arrival.alert;
    loop {
        let id = CaseId::from_random(uuid::Uuid::new_v4().as_u64_pair().1);
        let added = connection.prepare_cached(ADD_CASE)?.execute(params![
            id.0,
            key,
            alert.feed,
            alert.kind,
            alert.title,
            alert.account,
            severity(alert.lane_severity()),
            alert.content.0,
            time(arrival.at),
            alert.times.updated.map(time),
            alert.is_sample()
        ]);
        match added {
            Ok(_) => return Ok(id),
            Err(error) if is_taken(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn is_taken(error: &rusqlite::Error) -> bool {
    error
        .sqlite_error()
        .is_some_and(|code| code.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_PRIMARYKEY)
}

fn add_sighting(
    connection: &Connection,
    id: &CaseId,
    arrival: &Arrival,
    raw_id: i64,
    (seen, times): (Option<&SightingReason>, SightingTimes),
) -> Result<(), SqliteFailure> {
    connection.prepare_cached(ADD_SIGHTING)?.execute(params![
        id.0,
        raw_id,
        arrival.source,
        time(arrival.at),
        i64::try_from(arrival.alert.count).unwrap_or(i64::MAX),
        arrival.alert.content.0,
        seen.map(ToString::to_string)
    ])?;
    connection.prepare_cached(COUNT_SIGHTING)?.execute(params![
        id.0,
        times.uncleared.map(|(first, _)| time(first)),
        times.uncleared.map(|(_, last)| time(last)),
        times.events_until.map(time)
    ])?;
    case_workflow::touch(connection, &id.0)
}

fn size(arrival: &Arrival) -> i64 {
    i64::try_from(arrival.raw.len()).unwrap_or(i64::MAX)
}

fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
