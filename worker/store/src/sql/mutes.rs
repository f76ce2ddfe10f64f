//! Stores the mutes that people added, counts the alerts that mutes matched, and previews a mute.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::Alert;
use nightshift_pipeline::admission::{AdmissionPolicy, Mute};
use nightshift_pipeline::digest::MOST_COUNTED;
use nightshift_pipeline::mutes::{MutePreview, MuteRow, NewMute};
use nightshift_pipeline::port::{Mutes, StoreError};

use super::{Row, SqlStore, Statement, Tx, Value, cases, statement, values};
use crate::failure::Failure;
use crate::logged_once::LoggedOnce;
use crate::previews::{PAGE, PAGES, PreviewTally};

const PREVIEW: &str = "preview a mute";

static LIST: Statement = statement!("mutes/list.sql");
/// Selects the mutes that were not removed.
pub(crate) static IN_FORCE: Statement = statement!("mutes/in_force.sql");
static ADD: Statement = statement!("mutes/add.sql");
static REMOVE: Statement = statement!("mutes/remove.sql");
pub(crate) static HITS: Statement = statement!("mutes/hits.postgres.sql", "mutes/hits.sqlite.sql");
static TRIAGED: Statement = statement!("mutes/triaged.sql");
static NOT_TRIAGED: Statement = statement!("mutes/not_triaged.sql");

#[async_trait]
impl Mutes for SqlStore {
    async fn mutes(&self) -> Result<Vec<MuteRow>, StoreError> {
        let (policy, logged) = (Arc::clone(&self.admission), self.logged.clone());
        let list = async move |tx: Tx<'_>| {
            let configured = policy.mutes.iter().map(|mute| MuteRow {
                mute: mute.clone(),
                configured: true,
                added_at: None,
                removed_at: None,
                hits: 0,
                last_hit: None,
            });
            let mut mutes: Vec<MuteRow> = configured.collect();
            for row in tx.all(&LIST, &[]).await? {
                mutes.extend(readable(&row, &logged)?);
            }
            let hits = hits(tx, &mutes).await?;
            for row in &mut mutes {
                if let Some((count, last)) = hits.get(&row.mute.name) {
                    (row.hits, row.last_hit) = (*count, Some(*last));
                }
            }
            Ok(mutes)
        };
        self.backend.read("list mutes", list).await
    }

    async fn add_mute(&self, mute: NewMute, at: DateTime<Utc>) -> Result<Mute, StoreError> {
        let add = async move |tx: Tx<'_>| {
            let values = &[
                Value::json("of the mute", &mute.when)?,
                mute.severity.into(),
                mute.until.into(),
                Value::from(&mute.why),
                Value::from(&mute.by),
                at.into(),
            ];
            let row = tx.one(&ADD, values).await?;
            Ok(mute.clone().named(name(row.get("id")?)))
        };
        // A repeated transaction could add the mute twice.
        self.backend.write_once("add a mute", add).await
    }

    async fn remove_mute(&self, name: &str, at: DateTime<Utc>) -> Result<(), StoreError> {
        let name = name.to_owned();
        let remove = async move |tx: Tx<'_>| {
            let id: Option<i64> = name.strip_prefix('m').and_then(|id| id.parse().ok());
            if tx.execute(&REMOVE, values![id, at]).await? == 0 {
                return Err(Failure::NoSuchMute(name.clone()));
            }
            Ok(())
        };
        self.backend.write("remove a mute", remove).await
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
        let mut is_all = self.each_covered(&TRIAGED, mute, since, triaged).await?;
        let other = |outcome: String| tally.other(&outcome);
        is_all &= self.each_covered(&NOT_TRIAGED, mute, since, other).await?;
        let ids: Vec<String> = tally.cases.iter().cloned().collect();
        for part in ids.chunks(PAGE) {
            let part = part.to_vec();
            let read = async move |tx: Tx<'_>| cases::by_ids(tx, &part).await;
            for row in self.backend.read(PREVIEW, read).await? {
                tally.case(row);
            }
        }
        Ok(tally.end(is_all))
    }
}

impl SqlStore {
    /// Calls `covered` with the name of every row whose alert the mute covers. Returns whether all rows were examined.
    /// Each page is a request with its own timeout.
    async fn each_covered(
        &self,
        statement: &Statement,
        mute: &Mute,
        since: DateTime<Utc>,
        mut covered: impl FnMut(String),
    ) -> Result<bool, StoreError> {
        let mut from = PageStart::default();
        for _ in 0..PAGES {
            let (statement, start) = (statement.clone(), from.clone());
            let read = async move |tx: Tx<'_>| {
                let values = values![since, start.at, &start.case_id, start.number, PAGE];
                let rows = tx.all(&statement, values).await?;
                rows.iter().map(PreviewedAlert::from_row).collect()
            };
            let page: Vec<PreviewedAlert> = self.backend.read(PREVIEW, read).await?;
            let is_last = page.len() < PAGE;
            if let Some(end) = page.last() {
                from = end.position.clone();
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

/// The row before which a page starts.
#[derive(Clone)]
struct PageStart {
    at: DateTime<Utc>,
    case_id: String,
    number: i64,
}

impl Default for PageStart {
    /// Returns the start of the first page. SQLite compares times as text, so the year has four digits.
    fn default() -> Self {
        const END_OF_9999: i64 = 253_402_300_799;
        Self {
            at: DateTime::from_timestamp(END_OF_9999, 0).unwrap_or_default(),
            case_id: String::new(),
            number: 0,
        }
    }
}

/// An alert that a mute may cover.
struct PreviewedAlert {
    name: String,
    alert: Option<Alert>,
    position: PageStart,
}

impl PreviewedAlert {
    fn from_row(row: &Row) -> Result<Self, Failure> {
        let name: String = row.get("name")?;
        Ok(Self {
            alert: row.json("alert", &name)?,
            name,
            position: PageStart {
                at: row.get("received_at")?,
                case_id: row.get("case_id")?,
                number: row.get("number")?,
            },
        })
    }
}

/// Returns all mutes for admission: those of the configuration, then the rows of [`IN_FORCE`].
pub(crate) fn in_force(
    policy: &AdmissionPolicy,
    added: &[Row],
    logged: &LoggedOnce,
) -> Result<Vec<Mute>, Failure> {
    let mut mutes = policy.mutes.clone();
    for row in added {
        mutes.extend(readable(row, logged)?.map(|row| row.mute));
    }
    Ok(mutes)
}

/// Returns `None` for a mute that this version cannot read. Such a mute hides nothing.
fn readable(row: &Row, logged: &LoggedOnce) -> Result<Option<MuteRow>, Failure> {
    match to_row(row) {
        Ok(row) => Ok(Some(row)),
        Err(error @ Failure::Unreadable(..)) => {
            logged.log_unreadable_mute(&name(row.get("id")?), &error);
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

fn name(id: i64) -> String {
    format!("m{id}")
}

fn to_row(row: &Row) -> Result<MuteRow, Failure> {
    let name = name(row.get("id")?);
    Ok(MuteRow {
        mute: Mute {
            when: row.json("conditions", &name)?,
            name,
            severity: row.get("severity")?,
            until: row.get("ends_at")?,
            why: row.get("reason")?,
            by: row.get("made_by")?,
        },
        configured: false,
        added_at: row.get("added_at")?,
        removed_at: row.get("removed_at")?,
        hits: 0,
        last_hit: None,
    })
}

/// Returns the count of alerts and the last of them for each mute that matched any.
async fn hits(
    tx: Tx<'_>,
    mutes: &[MuteRow],
) -> Result<BTreeMap<String, (u64, DateTime<Utc>)>, Failure> {
    let names: BTreeSet<&str> = mutes.iter().map(|row| row.mute.name.as_str()).collect();
    let values = values![Vec::from_iter(names), MOST_COUNTED + 1];
    let rows = tx.all(&HITS, values).await?;
    rows.iter()
        .map(|row| {
            let last = row.get("received_at")?;
            Ok((row.get("name")?, (row.get("count")?, last)))
        })
        .collect()
}
