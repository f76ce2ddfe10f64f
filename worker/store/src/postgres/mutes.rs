//! Stores the mutes that people added, counts the alerts that mutes matched, and previews a mute.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::Alert;
use nightshift_pipeline::admission::{AdmissionPolicy, Mute};
use nightshift_pipeline::case::CaseRow;
use nightshift_pipeline::digest::MOST_COUNTED;
use nightshift_pipeline::mutes::{MutePreview, MuteRow, NewMute};
use nightshift_pipeline::port::{Mutes, StoreError};
use tokio_postgres::Row;

use super::PostgresStore;
use super::database::Session;
use super::failure::PostgresFailure;
use super::row::{CASE_COLUMNS, case, count, get_severity, json, limit, number, parse, text};
use crate::logged_once::LoggedOnce;
use crate::previews::{PAGE, PAGES, PreviewTally};

/// Selects all added mutes.
const LIST: &str = "SELECT id, conditions::text, severity::text, ends_at, reason, made_by, added_at, removed_at \
     FROM mutes ORDER BY id";
/// Selects the mutes that were not removed.
pub(super) const HOLDING: &str = "SELECT id, conditions::text, severity::text, ends_at, reason, made_by, added_at, removed_at \
     FROM mutes WHERE removed_at IS NULL ORDER BY id";
const ADD: &str = "INSERT INTO mutes (conditions, severity, ends_at, reason, made_by, added_at) \
     VALUES ($1::text::jsonb, $2::text::severity, $3, $4, $5, $6) RETURNING id";
const REMOVE: &str = "UPDATE mutes SET removed_at = $2 WHERE id = $1 AND removed_at IS NULL";
/// Counts by index, and for each mute no further than is shown, because a flood has millions of hits.
pub(super) const HITS: &str = "SELECT name, hits.count, last.received_at FROM unnest($1::text[]) AS name \
     CROSS JOIN LATERAL (SELECT count(*) FROM \
         (SELECT FROM arrivals WHERE outcome = 'muted' AND reason = name LIMIT $2) AS those) AS hits \
     CROSS JOIN LATERAL (SELECT received_at FROM arrivals WHERE outcome = 'muted' AND reason = name \
         ORDER BY received_at DESC LIMIT 1) AS last";
/// Reads pages, the newest first, so a preview never holds all of history. `$2` to `$4` are the last row of the
/// previous page.
const TRIAGED: &str = "SELECT case_id, alert::text, received_at, case_id, revision::bigint FROM alerts \
     WHERE received_at >= $1 AND (received_at, case_id, revision) < ($2, $3, $4::bigint) \
     ORDER BY received_at DESC, case_id DESC, revision DESC LIMIT $5";
/// Selects alerts with any outcome, so that a page is a fixed number of alerts, and the work does not depend on how
/// many match.
const NOT_TRIAGED: &str = "SELECT outcome, CASE WHEN outcome IN ('member', 'muted') THEN alert::text END, \
         received_at, ''::text, id FROM arrivals \
     WHERE received_at >= $1 AND $3::text IS NOT NULL AND (received_at, id) < ($2, $4::bigint) \
     ORDER BY received_at DESC, id DESC LIMIT $5";

#[async_trait]
impl Mutes for PostgresStore {
    async fn mutes(&self) -> Result<Vec<MuteRow>, StoreError> {
        self.retry_read("list mutes", |session| async move {
            let configured = self.admission.mutes.iter().map(|mute| MuteRow {
                mute: mute.clone(),
                configured: true,
                added_at: None,
                removed_at: None,
                hits: 0,
                last_hit: None,
            });
            let mut rows: Vec<MuteRow> = configured.collect();
            for row in session.rows(LIST, []).await? {
                rows.extend(readable(&row, &self.told)?);
            }
            let hits = hits(&session, &rows).await?;
            for row in &mut rows {
                if let Some((count, last)) = hits.get(&row.mute.name) {
                    (row.hits, row.last_hit) = (*count, Some(*last));
                }
            }
            Ok(rows)
        })
        .await
    }

    async fn add_mute(&self, mute: NewMute, at: DateTime<Utc>) -> Result<Mute, StoreError> {
        let doing = "add a mute";
        let when =
            json("of the mute", &mute.when).map_err(|failure| failure.into_store_error(doing))?;
        // This is not retried, because a lost answer could add the mute twice.
        let add = async {
            let session = self.database.session(&[ADD]).await?;
            let severity = mute.severity.as_str();
            let (why, by) = (text(&mute.why), text(&mute.by));
            let row = session
                .row(ADD, [&when, &severity, &mute.until, &why, &by, &at])
                .await?;
            session.done();
            row.map_or(Ok(0), |row| Ok(row.try_get(0)?))
        };
        let id = self.database.within(add).await;
        let id = id.map_err(|failure: PostgresFailure| failure.into_store_error(doing))?;
        Ok(mute.named(name(id)))
    }

    async fn remove_mute(&self, name: &str, at: DateTime<Utc>) -> Result<(), StoreError> {
        let id: Option<i64> = name.strip_prefix('m').and_then(|id| id.parse().ok());
        let removed = self
            .retry_change("remove a mute", REMOVE, [&id, &at])
            .await?;
        if removed == 0 {
            return Err(StoreError::NoSuchMute(name.to_owned()));
        }
        Ok(())
    }

    async fn preview_mute(
        &self,
        mute: &NewMute,
        since: DateTime<Utc>,
    ) -> Result<MutePreview, StoreError> {
        let mute = &mute.clone().named("preview");
        let mut tally = PreviewTally::default();
        let triaged = |id| {
            tally.cases.insert(id);
        };
        let mut is_all = self.each_covered(TRIAGED, mute, since, triaged).await?;
        let other = |outcome: String| tally.other(&outcome);
        is_all &= self.each_covered(NOT_TRIAGED, mute, since, other).await?;
        let ids: Vec<String> = tally.cases.iter().cloned().collect();
        for part in ids.chunks(PAGE) {
            for row in self.cases_of(part).await? {
                tally.case(row);
            }
        }
        Ok(tally.end(is_all))
    }
}

impl PostgresStore {
    /// Calls `covered` with the first column of every row whose alert, in the second column, the mute covers. Returns
    /// whether all rows were examined. Each page is a request with its own timeout.
    async fn each_covered(
        &self,
        sql: &str,
        mute: &Mute,
        since: DateTime<Utc>,
        mut covered: impl FnMut(String),
    ) -> Result<bool, StoreError> {
        let mut last = (DateTime::<Utc>::MAX_UTC, String::new(), 0_i64);
        let most = limit(PAGE);
        for _ in 0..PAGES {
            let (at, id, number) = &last;
            let page = self
                .retry_read("preview a mute", |session| async move {
                    let rows = session.rows(sql, [&since, at, id, number, &most]).await?;
                    rows.iter().map(to_previewed).collect::<Result<Vec<_>, _>>()
                })
                .await?;
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

    async fn cases_of(&self, ids: &[String]) -> Result<Vec<CaseRow>, StoreError> {
        let sql = format!("SELECT {CASE_COLUMNS} FROM cases WHERE id = ANY($1)");
        let sql = &sql;
        self.retry_read("preview a mute", |session| async move {
            let rows = session.rows(sql, [&ids]).await?;
            rows.iter().map(case).collect()
        })
        .await
    }
}

/// An alert that a mute may cover.
struct PostgresMutePreviewRow {
    name: String,
    alert: Option<Alert>,
    /// The position at which the next page starts.
    key: (DateTime<Utc>, String, i64),
}

fn to_previewed(row: &Row) -> Result<PostgresMutePreviewRow, PostgresFailure> {
    let (name, alert): (String, Option<&str>) = (row.try_get(0)?, row.try_get(1)?);
    Ok(PostgresMutePreviewRow {
        alert: alert.map(|text| parse(&name, text)).transpose()?,
        name,
        key: (row.try_get(2)?, row.try_get(3)?, row.try_get(4)?),
    })
}

/// Returns all mutes for admission: those of the configuration, then those of [`HOLDING`].
pub(super) fn in_force(
    policy: &AdmissionPolicy,
    holding: &[Row],
    told: &LoggedOnce,
) -> Result<Vec<Mute>, PostgresFailure> {
    let mut mutes = policy.mutes.clone();
    for row in holding {
        mutes.extend(readable(row, told)?.map(|row| row.mute));
    }
    Ok(mutes)
}

/// Returns `None` for a mute that this version cannot read. Such a mute hides nothing.
fn readable(row: &Row, told: &LoggedOnce) -> Result<Option<MuteRow>, PostgresFailure> {
    match to_row(row) {
        Ok(row) => Ok(Some(row)),
        Err(error @ PostgresFailure::Unreadable(..)) => {
            told.log_unreadable_mute(&name(row.try_get(0)?), &error);
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

fn name(id: i64) -> String {
    format!("m{id}")
}

fn to_row(row: &Row) -> Result<MuteRow, PostgresFailure> {
    let name = name(row.try_get(0)?);
    Ok(MuteRow {
        mute: Mute {
            when: parse(&name, row.try_get(1)?)?,
            name,
            severity: get_severity(row, 2)?,
            until: row.try_get(3)?,
            why: row.try_get(4)?,
            by: row.try_get(5)?,
        },
        configured: false,
        added_at: Some(row.try_get(6)?),
        removed_at: row.try_get(7)?,
        hits: 0,
        last_hit: None,
    })
}

async fn hits(
    session: &Session,
    mutes: &[MuteRow],
) -> Result<BTreeMap<String, (u64, DateTime<Utc>)>, PostgresFailure> {
    let names: BTreeSet<&str> = mutes.iter().map(|row| row.mute.name.as_str()).collect();
    let (names, most) = (Vec::from_iter(names), number(MOST_COUNTED + 1));
    let rows = session.rows(HITS, [&names, &most]).await?;
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, (count(row, 1)?, row.try_get(2)?))))
        .collect()
}
