//! Stores the mutes that people added, counts the alerts that mutes matched, and previews a mute.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::Alert;
use nightshift_pipeline::admission::{AdmissionPolicy, Mute};
use nightshift_pipeline::digest::MOST_COUNTED;
use nightshift_pipeline::mutes::{MutePreview, MuteRow, NewMute};
use nightshift_pipeline::port::{Mutes, StoreError};
use rusqlite::{Connection, Error, OptionalExtension, Row, params};

use super::SqliteStore;
use super::row::{CASE_COLUMNS, case, get_severity, get_time, get_time_or_none, severity, time};
use super::thread::SqliteFailure;
use crate::logged_once::LoggedOnce;
use crate::previews::{PAGE, PAGES, PreviewTally};

const PREVIEW: &str = "preview a mute";

const LIST: &str = "SELECT id, conditions, severity, ends_at, reason, made_by, added_at, removed_at FROM mutes ORDER BY id";
const HOLDING: &str = "SELECT id, conditions, severity, ends_at, reason, made_by, added_at, removed_at FROM mutes \
     WHERE removed_at IS NULL ORDER BY id";
const ADD: &str = "INSERT INTO mutes (conditions, severity, ends_at, reason, made_by, added_at) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const REMOVE: &str = "UPDATE mutes SET removed_at = ?2 WHERE id = ?1 AND removed_at IS NULL";
/// Counts by index, no further than is shown, because a flood has millions of hits.
const HITS: &str = "SELECT (SELECT count(*) FROM (SELECT 1 FROM arrivals WHERE outcome = 'muted' AND reason = ?1 LIMIT ?2)), \
     received_at FROM arrivals WHERE outcome = 'muted' AND reason = ?1 ORDER BY id DESC LIMIT 1";
/// Reads pages, the newest first, so claims and renewals can run in between. `?2` to `?4` are the last row of the
/// previous page.
const TRIAGED: &str = "SELECT case_id, alert, received_at, case_id, revision FROM alerts \
     WHERE received_at >= ?1 AND (received_at, case_id, revision) < (?2, ?3, ?4) \
     ORDER BY received_at DESC, case_id DESC, revision DESC LIMIT ?5";
/// Selects alerts with any outcome, so that a page is a fixed number of alerts, and the work does not depend on how
/// many match.
const NOT_TRIAGED: &str = "SELECT outcome, CASE WHEN outcome IN ('member', 'muted') THEN alert END, received_at, '', id FROM arrivals \
     WHERE received_at >= ?1 AND ?3 IS NOT NULL AND (received_at, id) < (?2, ?4) \
     ORDER BY received_at DESC, id DESC LIMIT ?5";

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
                    serde_json::to_string(&mute.when).map_err(
                        |cause| SqliteFailure::Unwritable("of the mute".to_owned(), cause)
                    )?,
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
                    return Err(SqliteFailure::NoSuchMute(name));
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
        let mute = &mute.clone().named("preview");
        let (mut tally, since) = (PreviewTally::default(), time(since));
        let triaged = |id| {
            tally.cases.insert(id);
        };
        let mut is_all = self.each_covered(TRIAGED, mute, &since, triaged).await?;
        let other = |outcome: String| tally.other(&outcome);
        is_all &= self.each_covered(NOT_TRIAGED, mute, &since, other).await?;
        let ids: Vec<String> = tally.cases.iter().cloned().collect();
        for part in ids.chunks(PAGE) {
            let part = part.to_vec();
            let rows = self.thread.run(PREVIEW, move |connection| {
                let sql = format!("SELECT {CASE_COLUMNS} FROM cases WHERE id = ?1");
                let mut one = connection.prepare_cached(&sql)?;
                // A case may have been removed since its page was read.
                let rows = part
                    .iter()
                    .filter_map(|id| one.query_row([id], case).optional().transpose());
                Ok(rows.collect::<Result<Vec<_>, Error>>()?)
            });
            rows.await?.into_iter().for_each(|row| tally.case(row));
        }
        Ok(tally.end(is_all))
    }
}

impl SqliteStore {
    /// Calls `covered` with the first column of every row whose alert, in the second column, the mute covers. Returns
    /// whether all rows were examined.
    async fn each_covered(
        &self,
        sql: &'static str,
        mute: &Mute,
        since: &str,
        mut covered: impl FnMut(String),
    ) -> Result<bool, StoreError> {
        // `~` sorts after every time that is written.
        let mut last = ("~".to_owned(), String::new(), 0_i64);
        for _ in 0..PAGES {
            let (since, from) = (since.to_owned(), last.clone());
            let page = self.thread.run(PREVIEW, move |connection| {
                page(connection, sql, &since, &from)
            });
            let page = page.await?;
            let is_last = page.len() < PAGE;
            if let Some(end) = page.last() {
                last = end.key.clone();
            }
            for one in page {
                if one.alert.is_some_and(|alert| mute.covers(&alert)) {
                    covered(one.name);
                }
            }
            if is_last {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// An alert that a mute may cover.
struct SqliteMutePreviewRow {
    name: String,
    alert: Option<Alert>,
    /// The position at which the next page starts.
    key: (String, String, i64),
}

fn page(
    connection: &Connection,
    sql: &str,
    since: &str,
    (at, id, number): &(String, String, i64),
) -> Result<Vec<SqliteMutePreviewRow>, SqliteFailure> {
    let mut statement = connection.prepare_cached(sql)?;
    let most = i64::try_from(PAGE).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![since, at, id, number, most])?;
    let mut page = Vec::new();
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        let text = row.get_ref(1)?.as_str_or_null().map_err(Error::from)?;
        let alert = text.map(serde_json::from_str).transpose();
        page.push(SqliteMutePreviewRow {
            alert: alert.map_err(|cause| SqliteFailure::Unreadable(name.clone(), cause))?,
            name,
            key: (row.get(2)?, row.get(3)?, row.get(4)?),
        });
    }
    Ok(page)
}

/// Returns all mutes for admission: those of the configuration, then those that were added and not removed.
pub(super) fn in_force(
    connection: &Connection,
    policy: &AdmissionPolicy,
    told: &LoggedOnce,
) -> Result<Vec<Mute>, SqliteFailure> {
    let mut mutes = policy.mutes.clone();
    let holding = added(connection, HOLDING, told)?;
    mutes.extend(holding.into_iter().map(|row| row.mute));
    Ok(mutes)
}

fn name(id: i64) -> String {
    format!("m{id}")
}

/// Returns the added mutes without those that this version cannot read. Such a mute hides nothing.
fn added(
    connection: &Connection,
    sql: &str,
    told: &LoggedOnce,
) -> Result<Vec<MuteRow>, SqliteFailure> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut added = Vec::new();
    while let Some(row) = rows.next()? {
        match to_row(row) {
            Ok(row) => added.push(row),
            Err(error @ Error::FromSqlConversionFailure(..)) => {
                told.log_unreadable_mute(&name(row.get(0)?), &error);
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

fn count_hits(connection: &Connection, mute: &mut MuteRow) -> Result<(), SqliteFailure> {
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
