//! Mutes that people added, what all mutes hid, and what one would have hidden.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::Alert;
use nightshift_pipeline::{
    AdmissionPolicy, MOST_COUNTED, Mute, MutePreview, MuteRow, Mutes, NewMute, StoreError,
};
use rusqlite::{Connection, Error, OptionalExtension, Row, params};

use super::SqliteStore;
use super::row::{CASE_COLUMNS, case, get_severity, get_time, get_time_or_none, severity, time};
use super::thread::Failure;
use crate::previews::{PAGE, PAGES, Tally};
use crate::told::Told;

const LIST: &str = "SELECT id, conditions, severity, ends_at, why, made_by, added_at, removed_at FROM mutes ORDER BY id";
const HOLDING: &str = "SELECT id, conditions, severity, ends_at, why, made_by, added_at, removed_at FROM mutes \
     WHERE removed_at IS NULL ORDER BY id";
const ADD: &str = "INSERT INTO mutes (conditions, severity, ends_at, why, made_by, added_at) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const REMOVE: &str = "UPDATE mutes SET removed_at = ?2 WHERE id = ?1 AND removed_at IS NULL";
/// By its index, and no more than is told: those of a flood are millions.
const HITS: &str = "SELECT (SELECT count(*) FROM (SELECT 1 FROM arrivals WHERE outcome = 'muted' AND why = ?1 LIMIT ?2)), \
     received_at FROM arrivals WHERE outcome = 'muted' AND why = ?1 ORDER BY id DESC LIMIT 1";
const TRIAGED: &str = "SELECT case_id, alert FROM alerts WHERE received_at >= ?1 \
     ORDER BY received_at DESC LIMIT ?2";
const NOT_TRIAGED: &str = "SELECT outcome, alert FROM arrivals \
     WHERE outcome IN ('member', 'muted') AND received_at >= ?1 ORDER BY received_at DESC LIMIT ?2";

#[async_trait]
impl Mutes for SqliteStore {
    async fn mutes(&self) -> Result<Vec<MuteRow>, StoreError> {
        let (policy, told) = (Arc::clone(&self.admission), self.told.clone());
        self.thread
            .run("list mutes", move |connection| {
                let configured = policy.mutes.iter().map(|mute| MuteRow {
                    mute: mute.clone(),
                    configured: true,
                    added_at: None,
                    removed_at: None,
                    hits: 0,
                    last_hit: None,
                });
                let mut rows: Vec<MuteRow> = configured.collect();
                rows.extend(added(connection, LIST, &told)?);
                for row in &mut rows {
                    count_hits(connection, row)?;
                }
                Ok(rows)
            })
            .await
    }

    async fn add_mute(&self, mute: NewMute, at: DateTime<Utc>) -> Result<Mute, StoreError> {
        self.thread
            .run("add a mute", move |connection| {
                connection.prepare_cached(ADD)?.execute(params![
                    serde_json::to_string(&mute.when)
                        .map_err(|cause| Failure::Unwritable("of the mute".to_owned(), cause))?,
                    severity(mute.severity),
                    time(mute.until),
                    mute.why,
                    mute.by,
                    time(at)
                ])?;
                Ok(mute.named(name(connection.last_insert_rowid())))
            })
            .await
    }

    async fn remove_mute(&self, name: &str, at: DateTime<Utc>) -> Result<(), StoreError> {
        let name = name.to_owned();
        self.thread
            .run("remove a mute", move |connection| {
                let id: Option<i64> = name.strip_prefix('m').and_then(|id| id.parse().ok());
                let removed = connection
                    .prepare_cached(REMOVE)?
                    .execute(params![id, time(at)])?;
                if removed == 0 {
                    return Err(Failure::NoSuchMute(name));
                }
                Ok(())
            })
            .await
    }

    async fn preview_mute(
        &self,
        mute: &NewMute,
        since: DateTime<Utc>,
    ) -> Result<MutePreview, StoreError> {
        let mute = mute.clone().named("preview");
        self.thread
            .run("preview a mute", move |connection| {
                preview(connection, &mute, &time(since))
            })
            .await
    }
}

/// All mutes that admission asks: those of the configuration, then those that were added and not removed.
pub(super) fn in_force(
    connection: &Connection,
    policy: &AdmissionPolicy,
    told: &Told,
) -> Result<Vec<Mute>, Failure> {
    let mut mutes = policy.mutes.clone();
    let holding = added(connection, HOLDING, told)?;
    mutes.extend(holding.into_iter().map(|row| row.mute));
    Ok(mutes)
}

fn name(id: i64) -> String {
    format!("m{id}")
}

/// But for those that this version cannot read: what is not understood hides nothing.
fn added(connection: &Connection, sql: &str, told: &Told) -> Result<Vec<MuteRow>, Failure> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut added = Vec::new();
    while let Some(row) = rows.next()? {
        match to_row(row) {
            Ok(row) => added.push(row),
            Err(error @ Error::FromSqlConversionFailure(..)) => {
                told.unread_mute(&name(row.get(0)?), &error);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(added)
}

fn to_row(row: &Row<'_>) -> Result<MuteRow, Error> {
    let conditions: String = row.get(1)?;
    let when = serde_json::from_str(&conditions).map_err(|cause| {
        Error::FromSqlConversionFailure(1, rusqlite::types::Type::Text, Box::new(cause))
    })?;
    Ok(MuteRow {
        mute: Mute {
            name: name(row.get(0)?),
            when,
            severity: get_severity(row, 2)?,
            until: get_time(row, 3)?,
            why: row.get(4)?,
            by: row.get(5)?,
        },
        configured: false,
        added_at: Some(get_time(row, 6)?),
        removed_at: get_time_or_none(row, 7)?,
        hits: 0,
        last_hit: None,
    })
}

fn count_hits(connection: &Connection, mute: &mut MuteRow) -> Result<(), Failure> {
    let most = i64::try_from(MOST_COUNTED + 1).unwrap_or(i64::MAX);
    let hits = connection
        .prepare_cached(HITS)?
        .query_row(params![mute.mute.name, most], |row| {
            let count: i64 = row.get(0)?;
            Ok((u64::try_from(count).unwrap_or_default(), get_time(row, 1)?))
        })
        .optional()?;
    if let Some((count, last)) = hits {
        (mute.hits, mute.last_hit) = (count, Some(last));
    }
    Ok(())
}

fn preview(connection: &Connection, mute: &Mute, since: &str) -> Result<MutePreview, Failure> {
    let mut tally = Tally::default();
    let mut is_all = each_covered(connection, TRIAGED, mute, since, |id| {
        tally.cases.insert(id);
    })?;
    is_all &= each_covered(connection, NOT_TRIAGED, mute, since, |outcome| {
        tally.other(&outcome);
    })?;
    let sql = format!("SELECT {CASE_COLUMNS} FROM cases WHERE id = ?1");
    let mut one = connection.prepare_cached(&sql)?;
    for id in tally.cases.clone() {
        tally.case(one.query_row([id], case)?);
    }
    Ok(tally.end(is_all))
}

/// Calls `covered` with the first column of every row whose alert, in the second, the mute covers; whether all of them were
/// looked at.
fn each_covered(
    connection: &Connection,
    sql: &str,
    mute: &Mute,
    since: &str,
    mut covered: impl FnMut(String),
) -> Result<bool, Failure> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut left = PAGE * PAGES;
    let mut rows = statement.query(params![since, i64::try_from(left).unwrap_or(i64::MAX)])?;
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        let text = row.get_ref(1)?.as_str().map_err(Error::from)?;
        let alert: Alert =
            serde_json::from_str(text).map_err(|cause| Failure::Unreadable(name.clone(), cause))?;
        if mute.covers(&alert) {
            covered(name);
        }
        left -= 1;
    }
    Ok(left > 0)
}
