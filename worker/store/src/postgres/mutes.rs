//! Mutes that people added, what all mutes hid, and what one would have hidden.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::Alert;
use nightshift_engine::Verdict;
use nightshift_pipeline::{
    AdmissionPolicy, CaseRow, Mute, MutePreview, MuteRow, Mutes, NewMute, StoreError,
};
use tokio_postgres::Row;

use super::PostgresStore;
use super::database::Session;
use super::failure::Failure;
use super::row::{CASE_COLUMNS, case, count, get_severity, json, parse, text};
use crate::told::Told;

/// How many alerts a preview reads at a time.
const PAGE: i64 = 1000;

/// Those that were added.
const LIST: &str = "SELECT id, conditions::text, severity::text, ends_at, why, made_by, added_at, removed_at \
     FROM mutes ORDER BY id";
/// Those that were not removed.
pub(super) const HOLDING: &str = "SELECT id, conditions::text, severity::text, ends_at, why, made_by, added_at, removed_at \
     FROM mutes WHERE removed_at IS NULL ORDER BY id";
const ADD: &str = "INSERT INTO mutes (conditions, severity, ends_at, why, made_by, added_at) \
     VALUES ($1::text::jsonb, $2::text::severity, $3, $4, $5, $6) RETURNING id";
const REMOVE: &str = "UPDATE mutes SET removed_at = $2 WHERE id = $1 AND removed_at IS NULL";
const HITS: &str =
    "SELECT why, count(*), max(received_at) FROM arrivals WHERE outcome = 'muted' GROUP BY why";
/// By pages, in the order of a unique key, so that no preview holds all of history.
const TRIAGED: &str = "SELECT case_id, alert::text, case_id, revision::bigint FROM alerts \
     WHERE received_at >= $1 AND (case_id, revision) > ($2, $3::bigint) ORDER BY case_id, revision LIMIT $4";
const NOT_TRIAGED: &str = "SELECT outcome, alert::text, ''::text, id FROM arrivals \
     WHERE outcome IN ('member', 'muted') AND received_at >= $1 AND $2::text = '' AND id > $3::bigint ORDER BY id LIMIT $4";

#[async_trait]
impl Mutes for PostgresStore {
    async fn mutes(&self) -> Result<Vec<MuteRow>, StoreError> {
        self.look("list mutes", |session| async move {
            let hits = hits(&session).await?;
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
        let when = json("of the mute", &mute.when).map_err(|failure| failure.told(doing))?;
        // Not tried again: an answer that is lost could mean a mute that is there twice.
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
        let id = id.map_err(|failure: Failure| failure.told(doing))?;
        Ok(mute.named(name(id)))
    }

    async fn remove_mute(&self, name: &str, at: DateTime<Utc>) -> Result<(), StoreError> {
        let id: Option<i64> = name.strip_prefix('m').and_then(|id| id.parse().ok());
        let removed = self.change("remove a mute", REMOVE, [&id, &at]).await?;
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
        self.look("preview a mute", |session| async move {
            preview(&session, mute, since).await
        })
        .await
    }
}

/// All mutes that admission asks: those of the configuration, then those of [`HOLDING`].
pub(super) fn in_force(
    policy: &AdmissionPolicy,
    holding: &[Row],
    told: &Told,
) -> Result<Vec<Mute>, Failure> {
    let mut mutes = policy.mutes.clone();
    for row in holding {
        mutes.extend(readable(row, told)?.map(|row| row.mute));
    }
    Ok(mutes)
}

/// Nothing for a mute that this version cannot read: what is not understood hides nothing.
fn readable(row: &Row, told: &Told) -> Result<Option<MuteRow>, Failure> {
    match to_row(row) {
        Ok(row) => Ok(Some(row)),
        Err(error @ Failure::Unreadable(..)) => {
            told.unread_mute(&name(row.try_get(0)?), &error);
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

fn name(id: i64) -> String {
    format!("m{id}")
}

fn to_row(row: &Row) -> Result<MuteRow, Failure> {
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

async fn hits(session: &Session) -> Result<BTreeMap<String, (u64, DateTime<Utc>)>, Failure> {
    let rows = session.rows(HITS, []).await?;
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, (count(row, 1)?, row.try_get(2)?))))
        .collect()
}

/// A case counts if any alert that it triaged is covered: better a warning too many.
async fn preview(
    session: &Session,
    mute: &Mute,
    since: DateTime<Utc>,
) -> Result<MutePreview, Failure> {
    let mut ids = BTreeSet::new();
    each_covered(session, TRIAGED, mute, since, |id| {
        ids.insert(id);
    })
    .await?;
    let mut preview = MutePreview::default();
    each_covered(session, NOT_TRIAGED, mute, since, |outcome| {
        if outcome == "member" {
            preview.members += 1;
        } else {
            preview.muted += 1;
        }
    })
    .await?;
    let sql =
        format!("SELECT {CASE_COLUMNS} FROM cases WHERE id = ANY($1) ORDER BY opened_at DESC, id");
    let ids: Vec<String> = ids.into_iter().collect();
    for row in session.rows(&sql, [&ids]).await? {
        let row: CaseRow = case(&row)?;
        let word = row.verdict.map_or(row.status.as_str(), Verdict::as_str);
        *preview.cases.entry(word.to_owned()).or_default() += 1;
        if row.verdict == Some(Verdict::TruePositive) {
            preview.true_positives.push(row);
        }
    }
    Ok(preview)
}

/// Calls `covered` with the first column of every row whose alert, in the second, the mute covers. The last two are where
/// the next page begins.
async fn each_covered(
    session: &Session,
    sql: &str,
    mute: &Mute,
    since: DateTime<Utc>,
    mut covered: impl FnMut(String),
) -> Result<(), Failure> {
    let (mut after, mut number) = (String::new(), 0_i64);
    loop {
        let rows = session.rows(sql, [&since, &after, &number, &PAGE]).await?;
        for row in &rows {
            let name: String = row.try_get(0)?;
            let alert: Alert = parse(&name, row.try_get(1)?)?;
            if mute.covers(&alert) {
                covered(name);
            }
            after = row.try_get(2)?;
            number = row.try_get::<_, i64>(3)?;
        }
        if rows.is_empty() {
            return Ok(());
        }
    }
}
