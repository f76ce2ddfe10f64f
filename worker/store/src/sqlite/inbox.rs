//! The inbox: a batch is accepted whole, in one transaction, or not at all.

use std::sync::Arc;

use async_trait::async_trait;
use nightshift_alert::{Alert, Content};
use nightshift_pipeline::{Accepted, Admission, Arrival, CaseId, Inbox, Known, StoreError, admit};
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use super::SqliteStore;
use super::row::{get_status, get_time, severity, time};
use super::thread::Failure;

/// Most bytes of one message that are kept.
const MOST_RAW_BYTES: usize = 16 * 1024 * 1024;

const KNOWN: &str = "SELECT id, status, content, coalesce(concluded_at, touched_at) FROM cases \
     WHERE key = ?1 ORDER BY opened_at DESC LIMIT 1";
const ADD_RAW: &str = "INSERT INTO raw_messages (source, received_at, size_bytes, sha256, bytes) \
     VALUES (?1, ?2, ?3, ?4, ?5)";
const ADD_CASE: &str = "INSERT INTO cases \
     (id, key, feed, type, title, account, severity, content, status, opened_at, touched_at) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'queued', ?9, ?9)";
const ADD_REVISION: &str = "UPDATE cases SET revision = revision + 1, status = 'queued', severity = ?2, content = ?3, \
     title = ?4, touched_at = ?5, lease_holder = NULL, lease_until = NULL WHERE id = ?1";
const ADD_ALERT: &str = "INSERT INTO alerts (case_id, revision, raw_id, source, received_at, alert) \
     SELECT id, revision, ?2, ?3, ?4, ?5 FROM cases WHERE id = ?1";
const ADD_INDICATOR: &str =
    "INSERT OR IGNORE INTO indicators (type, value, case_id, role) VALUES (?1, ?2, ?3, ?4)";
const ADD_SIGHTING: &str = "INSERT INTO sightings (case_id, raw_id, source, received_at, count, content) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const COUNT_SIGHTING: &str = "UPDATE cases SET sightings = sightings + 1 WHERE id = ?1";
const ADD_DEAD_LETTER: &str = "INSERT INTO dead_letters (source, received_at, error, size_bytes, sha256, raw_id, case_id) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

#[async_trait]
impl Inbox for SqliteStore {
    async fn accept(&self, batch: Vec<Arrival>) -> Result<Vec<Accepted>, StoreError> {
        let cooldown = self.cooldown;
        self.thread
            .run("accept a batch", move |connection| {
                let mut last: Option<(Arc<[u8]>, i64)> = None;
                batch
                    .iter()
                    .map(|arrival| {
                        let raw_id = match &last {
                            Some((bytes, id)) if Arc::ptr_eq(bytes, &arrival.raw) => *id,
                            _ => add_raw(connection, arrival)?,
                        };
                        last = Some((Arc::clone(&arrival.raw), raw_id));
                        accept_one(connection, arrival, raw_id, cooldown)
                    })
                    .collect()
            })
            .await
    }
}

fn add_raw(connection: &Connection, arrival: &Arrival) -> Result<i64, Failure> {
    let kept = arrival.raw.get(..MOST_RAW_BYTES).unwrap_or(&arrival.raw);
    connection.prepare_cached(ADD_RAW)?.execute(params![
        arrival.source,
        time(arrival.at),
        size(arrival),
        digest(&arrival.raw),
        kept
    ])?;
    Ok(connection.last_insert_rowid())
}

fn accept_one(
    connection: &Connection,
    arrival: &Arrival,
    raw_id: i64,
    cooldown: chrono::Duration,
) -> Result<Accepted, Failure> {
    let alert = &arrival.alert;
    let key = alert.key.to_string();
    let known = known(connection, &key)?;
    let admission = admit(alert, known.as_ref(), arrival.at, cooldown, arrival.always);
    let case_id = match &admission {
        Admission::New => {
            let id = add_case(connection, arrival, &key)?;
            add_alert(connection, &id, arrival, raw_id)?;
            id
        }
        Admission::Revision(id) => {
            connection.prepare_cached(ADD_REVISION)?.execute(params![
                id.0,
                severity(alert.severity),
                alert.content.0,
                alert.title,
                time(arrival.at)
            ])?;
            add_alert(connection, id, arrival, raw_id)?;
            id.clone()
        }
        Admission::Sighting(id) | Admission::GoOn(id) => {
            add_sighting(connection, id, arrival, raw_id)?;
            id.clone()
        }
    };
    let mut dead_letter = None;
    if let Some(error) = &arrival.unreadable {
        connection
            .prepare_cached(ADD_DEAD_LETTER)?
            .execute(params![
                arrival.source,
                time(arrival.at),
                error,
                size(arrival),
                digest(&arrival.raw),
                raw_id,
                case_id.0
            ])?;
        dead_letter = Some(connection.last_insert_rowid());
    }
    Ok(Accepted {
        case_id,
        key,
        feed: alert.feed.clone(),
        admission,
        dead_letter,
    })
}

fn known(connection: &Connection, key: &str) -> Result<Option<Known>, Failure> {
    Ok(connection
        .prepare_cached(KNOWN)?
        .query_row([key], |row| {
            Ok(Known {
                id: CaseId(row.get(0)?),
                status: get_status(row, 1)?,
                content: Content(row.get(2)?),
                touched_at: get_time(row, 3)?,
            })
        })
        .optional()?)
}

/// A new case; a name that is taken by chance is drawn again.
fn add_case(connection: &Connection, arrival: &Arrival, key: &str) -> Result<CaseId, Failure> {
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
            severity(alert.severity),
            alert.content.0,
            time(arrival.at)
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

fn add_alert(
    connection: &Connection,
    id: &CaseId,
    arrival: &Arrival,
    raw_id: i64,
) -> Result<(), Failure> {
    connection.prepare_cached(ADD_ALERT)?.execute(params![
        id.0,
        raw_id,
        arrival.source,
        time(arrival.at),
        json(&id.0, &arrival.alert)?
    ])?;
    let mut statement = connection.prepare_cached(ADD_INDICATOR)?;
    for indicator in &arrival.alert.indicators {
        statement.execute(params![
            indicator.kind.as_str(),
            indicator.value,
            id.0,
            indicator.role.as_str()
        ])?;
    }
    Ok(())
}

fn add_sighting(
    connection: &Connection,
    id: &CaseId,
    arrival: &Arrival,
    raw_id: i64,
) -> Result<(), Failure> {
    connection.prepare_cached(ADD_SIGHTING)?.execute(params![
        id.0,
        raw_id,
        arrival.source,
        time(arrival.at),
        i64::try_from(arrival.alert.count).unwrap_or(i64::MAX),
        arrival.alert.content.0
    ])?;
    connection
        .prepare_cached(COUNT_SIGHTING)?
        .execute([&id.0])?;
    Ok(())
}

fn json(id: &str, alert: &Alert) -> Result<String, Failure> {
    serde_json::to_string(alert).map_err(|cause| Failure::Unreadable(id.to_owned(), cause))
}

fn size(arrival: &Arrival) -> i64 {
    i64::try_from(arrival.raw.len()).unwrap_or(i64::MAX)
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::with_capacity(64), |text, byte| {
            format!("{text}{byte:02x}")
        })
}
