//! Removes old data of cases that are still in use. Such cases are triaged again or have repeated alerts, so they are
//! never deleted for their age. The last conclusion stays, and the last arrival, by which an account is found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use chrono::{DateTime, Utc};

use super::expire::{CaseCursor, SLICE, ScanStep, delete_unreferenced, ids, texts};
use super::{IN_LIST, LOCK_TO_UPDATE, Row, Statement, Tx, Value, statement, values};
use crate::failure::Failure;

static WITH_EARLIER_JOURNALS: Statement = statement!("expire_earlier/with_earlier_journals.sql");
static OPENED_CASES: Statement = statement!("expire_earlier/opened_cases.sql");
static LOCK_CASES: LazyLock<Statement> = LazyLock::new(|| {
    statement!("expire_earlier/lock_cases.sql")
        .with("in_list", &IN_LIST)
        .with("lock_to_update", &LOCK_TO_UPDATE)
});
/// The revisions of cases in `$1`, a list of pairs in JSON. One statement for all holds locks for a short time.
static PAIRS: Statement = Statement::new(
    "(SELECT value->>0 AS case_id, (value->>1)::bigint AS revision FROM jsonb_array_elements($1))",
    "(SELECT value->>0 AS case_id, value->>1 AS revision FROM json_each($1))",
);
static JOURNALS_REMOVED_TO: LazyLock<Statement> =
    LazyLock::new(|| statement!("expire_earlier/journals_removed_to.sql").with("pairs", &PAIRS));
static DELETE_JOURNALS_TO: LazyLock<Statement> =
    LazyLock::new(|| statement!("expire_earlier/delete_journals_to.sql").with("pairs", &PAIRS));
static DELETE_ARRIVALS: LazyLock<Statement> =
    LazyLock::new(|| statement!("expire_earlier/delete_arrivals.sql").with("in_list", &IN_LIST));
static DELETE_SIGHTINGS: LazyLock<Statement> =
    LazyLock::new(|| statement!("expire_earlier/delete_sightings.sql").with("in_list", &IN_LIST));
static CONCLUSIONS: LazyLock<Statement> =
    LazyLock::new(|| statement!("expire_earlier/conclusions.sql").with("in_list", &IN_LIST));
static DELETE_CONCLUSIONS: LazyLock<Statement> =
    LazyLock::new(|| statement!("expire_earlier/delete_conclusions.sql").with("pairs", &PAIRS));

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
    let changed = delete_journals(tx, &ended).await?;
    Ok(ScanStep {
        removed: u64::try_from(changed.len()).unwrap_or(u64::MAX),
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
    let mut old = Vec::new();
    let mut last = BTreeMap::new();
    for row in conclusions {
        let (id, revision): (String, u32) = (row.get("case_id")?, row.get("revision")?);
        let of_case = last.entry(id.clone()).or_insert(revision);
        *of_case = revision.max(*of_case);
        old.push((id, revision));
    }
    let locked = delete_journals(tx, &last).await?;
    old.retain(|(id, _)| locked.contains(id));
    tx.execute(&DELETE_CONCLUSIONS, &[pairs(&old)?]).await?;
    Ok(())
}

/// Deletes the journals of each case up to this revision. Returns the cases, without those that are locked.
async fn delete_journals(
    tx: Tx<'_>,
    revisions: &BTreeMap<String, u32>,
) -> Result<BTreeSet<String>, Failure> {
    let cases: Vec<&str> = revisions.keys().map(String::as_str).collect();
    let locked = ids(&tx.all(&LOCK_CASES, values![cases]).await?)?;
    let locked: BTreeSet<String> = locked.into_iter().collect();
    let ended: Vec<(String, u32)> = revisions
        .iter()
        .filter(|(id, _)| locked.contains(*id))
        .map(|(id, revision)| (id.clone(), *revision))
        .collect();
    let ended = [pairs(&ended)?];
    tx.execute(&JOURNALS_REMOVED_TO, &ended).await?;
    tx.execute(&DELETE_JOURNALS_TO, &ended).await?;
    Ok(locked)
}

fn pairs(revisions: &[(String, u32)]) -> Result<Value<'_>, Failure> {
    Value::json("of revisions", &revisions)
}

/// Returns the position of the last row.
pub(super) fn last(cases: &[Row]) -> Result<Option<CaseCursor>, Failure> {
    let last = cases.last();
    last.map(|row| Ok((row.get("opened_at")?, row.get("id")?)))
        .transpose()
}
