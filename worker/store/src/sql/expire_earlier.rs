//! Removes old data of cases that are still in use. Such cases are triaged again or have repeated alerts, so they are
//! never deleted for their age. The last conclusion stays, and the last arrival, by which an account is found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use chrono::{DateTime, Utc};

use super::expire::{
    CaseCursor, LOCK_TO_UPDATE, SLICE, ScanStep, count, delete_unreferenced, ids, texts,
};
use super::{IN_LIST, Row, Statement, Tx, statement, values};
use crate::failure::Failure;

static WITH_EARLIER_JOURNALS: Statement = statement!("expire_earlier/with_earlier_journals.sql");
static OPENED_CASES: Statement = statement!("expire_earlier/opened_cases.sql");
static LOCK_CASES: LazyLock<Statement> = LazyLock::new(|| {
    statement!("expire_earlier/lock_cases.sql")
        .with("in_list", &IN_LIST)
        .with("lock_to_update", &LOCK_TO_UPDATE)
});
static JOURNALS_REMOVED_TO: Statement = statement!("expire_earlier/journals_removed_to.sql");
static DELETE_JOURNALS_TO: Statement = statement!("expire_earlier/delete_journals_to.sql");
static DELETE_ARRIVALS: LazyLock<Statement> =
    LazyLock::new(|| statement!("expire_earlier/delete_arrivals.sql").with("in_list", &IN_LIST));
static DELETE_SIGHTINGS: LazyLock<Statement> =
    LazyLock::new(|| statement!("expire_earlier/delete_sightings.sql").with("in_list", &IN_LIST));
static CONCLUSIONS: LazyLock<Statement> =
    LazyLock::new(|| statement!("expire_earlier/conclusions.sql").with("in_list", &IN_LIST));
static DELETE_CONCLUSION: Statement = statement!("expire_earlier/delete_conclusion.sql");

/// Deletes whole journals up to the last triage that ended before the time. Counts cases.
pub(super) async fn remove_journals(
    tx: Tx<'_>,
    before: DateTime<Utc>,
    most: usize,
    (opened_at, id): CaseCursor,
) -> Result<ScanStep<CaseCursor>, Failure> {
    let values = values![before, opened_at, &id, most];
    let rows = tx.all(&WITH_EARLIER_JOURNALS, values).await?;
    let mut ended = BTreeMap::new();
    for row in &rows {
        let revision: Option<u32> = row.get("ended")?;
        if let Some(revision) = revision {
            ended.insert(row.get("id")?, revision);
        }
    }
    Ok(ScanStep {
        removed: count(&delete_journals(tx, &ended).await?),
        is_all: true,
        until: last(&rows)?,
    })
}

/// Deletes arrivals, sightings, and conclusions before the last with their journals. Counts cases.
pub(super) async fn remove_rows(
    tx: Tx<'_>,
    before: DateTime<Utc>,
    most: usize,
    (opened_at, id): CaseCursor,
) -> Result<ScanStep<CaseCursor>, Failure> {
    let cases = tx
        .all(&OPENED_CASES, values![before, opened_at, &id, most])
        .await?;
    let case_ids = ids(&cases)?;
    let old = values![texts(&case_ids), before, SLICE];
    let arrivals = tx.all(&DELETE_ARRIVALS, old).await?;
    delete_unreferenced(tx, &arrivals).await?;
    let sightings = tx.all(&DELETE_SIGHTINGS, old).await?;
    let conclusions = tx.all(&CONCLUSIONS, old).await?;
    delete_conclusions(tx, &conclusions).await?;
    let rows = [arrivals, sightings, conclusions];
    let changed = rows.iter().flatten().map(|row| row.get("case_id"));
    let changed: BTreeSet<String> = changed.collect::<Result<_, _>>()?;
    Ok(ScanStep {
        removed: u64::try_from(changed.len()).unwrap_or(u64::MAX),
        is_all: rows.iter().all(|rows| rows.len() < SLICE),
        until: last(&cases)?,
    })
}

async fn delete_conclusions(tx: Tx<'_>, conclusions: &[Row]) -> Result<(), Failure> {
    let mut revisions: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for row in conclusions {
        let of_case = revisions.entry(row.get("case_id")?).or_default();
        of_case.push(row.get("revision")?);
    }
    let last = revisions.iter().filter_map(|(id, revisions)| {
        let last = revisions.iter().max()?;
        Some((id.clone(), *last))
    });
    for id in delete_journals(tx, &last.collect()).await? {
        for revision in revisions.get(&id).into_iter().flatten() {
            let values = values![&id, *revision];
            tx.execute(&DELETE_CONCLUSION, values).await?;
        }
    }
    Ok(())
}

/// Deletes the journals of each case up to this revision. Returns the cases, without those that are locked.
async fn delete_journals(
    tx: Tx<'_>,
    revisions: &BTreeMap<String, u32>,
) -> Result<Vec<String>, Failure> {
    let cases: Vec<&str> = revisions.keys().map(String::as_str).collect();
    let locked = ids(&tx.all(&LOCK_CASES, values![cases]).await?)?;
    for id in &locked {
        let values = values![id, revisions.get(id).copied()];
        tx.execute(&JOURNALS_REMOVED_TO, values).await?;
        tx.execute(&DELETE_JOURNALS_TO, values).await?;
    }
    Ok(locked)
}

/// Returns the position of the last row.
pub(super) fn last(cases: &[Row]) -> Result<Option<CaseCursor>, Failure> {
    let last = cases.last();
    last.map(|row| Ok((row.get("opened_at")?, row.get("id")?)))
        .transpose()
}
