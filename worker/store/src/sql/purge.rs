//! Purges what a person asks to remove: everything about an account, or everything that was over before a day.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use nightshift_pipeline::maintenance::Purge;
use nightshift_pipeline::port::StoreError;

use super::expire::{
    BY_INDEX, CaseCursor, DELETE_CASES, DELETE_INDICATORS, DELETE_RAW_MESSAGES, SLICE, ScanStep,
    ids, texts,
};
use super::expire_earlier::last;
use super::{IN_LIST, Row, SKIP_LOCKED, SqlStore, Statement, Tx, statement, values};
use crate::failure::Failure;

const DOING: &str = "purge data";

pub(crate) static OF_ACCOUNT: Statement = statement!("purge/of_account.sql");
static LOCK_CASES: LazyLock<Statement> = LazyLock::new(|| {
    statement!("purge/lock_cases.sql")
        .with("in_list", &IN_LIST)
        .with("for_update", &Statement::new("FOR UPDATE", ""))
});
static LOCK_ENDED_CASES: LazyLock<Statement> =
    LazyLock::new(|| statement!("purge/lock_ended_cases.sql").with("skip_locked", &SKIP_LOCKED));
static WITHOUT_LATER_ARRIVALS: LazyLock<Statement> =
    LazyLock::new(|| statement!("purge/without_later_arrivals.sql").with("in_list", &IN_LIST));
static ARRIVALS_BY_ID: LazyLock<Statement> =
    LazyLock::new(|| statement!("purge/arrivals_by_id.sql").with("in_list", &IN_LIST));
static FIRST_ARRIVALS: LazyLock<Statement> =
    LazyLock::new(|| statement!("purge/first_arrivals.sql").with("in_list", &IN_LIST));
static ARRIVALS_WITHOUT_CASE: LazyLock<Statement> =
    LazyLock::new(|| statement!("purge/arrivals_without_case.sql").with("by_index", &BY_INDEX));
static OTHER_ARRIVALS: LazyLock<Statement> = LazyLock::new(|| {
    let not_in_second = Statement::new("<> ALL($2)", "NOT IN (SELECT value FROM json_each($2))");
    statement!("purge/other_arrivals.sql")
        .with("in_list", &IN_LIST)
        .with("not_in_second", &not_in_second)
});
static DELETE_SIGHTINGS: LazyLock<Statement> =
    LazyLock::new(|| statement!("purge/delete_sightings.sql").with("in_list", &IN_LIST));
static DELETE_ARRIVALS: LazyLock<Statement> =
    LazyLock::new(|| statement!("purge/delete_arrivals.sql").with("in_list", &IN_LIST));
static DELETE_DEAD_LETTERS: LazyLock<Statement> =
    LazyLock::new(|| statement!("purge/delete_dead_letters.sql").with("in_list", &IN_LIST));
static KEPT_CASES: Statement = statement!("purge/kept_cases.sql");

impl SqlStore {
    /// Implements [`nightshift_pipeline::maintenance::StoreMaintenance::purge`] but for the file of SQLite.
    pub(super) async fn purge_rows(&self, what: &Purge, most: usize) -> Result<u64, StoreError> {
        match (&what.account, what.before) {
            (Some(account), before) => self.purge_account(account, before, most).await,
            (None, Some(before)) => self.purge_before(before, most).await,
            (None, None) => Ok(0),
        }
    }

    /// Implements [`nightshift_pipeline::maintenance::StoreMaintenance::count_kept_cases`].
    pub(super) async fn count_kept(&self, what: &Purge) -> Result<u64, StoreError> {
        let (None, Some(before)) = (&what.account, what.before) else {
            return Ok(0);
        };
        let count =
            async move |tx: Tx<'_>| tx.one(&KEPT_CASES, values![before]).await?.get("cases");
        self.backend.read("count kept cases", count).await
    }

    /// Purges the cases of an account, whatever their status.
    async fn purge_account(
        &self,
        account: &str,
        before: Option<DateTime<Utc>>,
        most: usize,
    ) -> Result<u64, StoreError> {
        let mut removed = 0;
        loop {
            let account = account.to_owned();
            let purge = async move |tx: Tx<'_>| {
                let values = values![&account, before, most];
                let found = tx.all(&OF_ACCOUNT, values).await?;
                let numbers = numbers(&found, "id")?;
                let cases = cases_of(&found)?;
                tx.all(&LOCK_CASES, values![texts(&cases)]).await?;
                let arrivals = tx.all(&ARRIVALS_BY_ID, values![numbers]).await?;
                delete(tx, &arrivals, &cases_of(&arrivals)?).await
            };
            let (some, is_all) = self.backend.write(DOING, purge).await?;
            removed += some;
            if is_all {
                return Ok(removed);
            }
        }
    }

    /// Purges cases that were over before this time. Continues where the previous call stopped. After the last case,
    /// the next call starts again.
    async fn purge_before(&self, before: DateTime<Utc>, most: usize) -> Result<u64, StoreError> {
        let cursor = &self.cursors.purge;
        let mut removed = 0;
        loop {
            let from = cursor.get();
            let start = from.clone().unwrap_or_default();
            let purge = async move |tx: Tx<'_>| purge_some(tx, before, most, &start).await;
            let done = self.backend.write(DOING, purge).await?;
            removed += done.removed;
            if !done.is_all {
                continue;
            }
            let is_end = done.until.is_none();
            cursor.set(done.until.or_else(|| from.filter(|_| removed > 0)));
            if is_end || removed > 0 {
                return Ok(removed);
            }
        }
    }
}

async fn purge_some(
    tx: Tx<'_>,
    before: DateTime<Utc>,
    most: usize,
    (opened_at, id): &CaseCursor,
) -> Result<ScanStep<CaseCursor>, Failure> {
    let values = values![before, *opened_at, id, most];
    let locked = tx.all(&LOCK_ENDED_CASES, values).await?;
    let locked_ids = ids(&locked)?;
    let values = values![texts(&locked_ids), before];
    let cases = ids(&tx.all(&WITHOUT_LATER_ARRIVALS, values).await?)?;
    let mut arrivals = tx.all(&FIRST_ARRIVALS, values![texts(&cases)]).await?;
    let without_case = values![before, most];
    arrivals.extend(tx.all(&ARRIVALS_WITHOUT_CASE, without_case).await?);
    let (removed, is_all) = delete(tx, &arrivals, &cases).await?;
    Ok(ScanStep {
        removed,
        is_all,
        until: last(&locked)?,
    })
}

/// Deletes cases with all rows that refer to them, and these arrivals. A message with alerts of several accounts is
/// deleted with the first of them. If the cases have more rows than one transaction should delete, those go first. The
/// cases, and the arrivals by which they were found, go with the last of them. Returns the number of deleted arrivals,
/// and whether nothing is left.
async fn delete(tx: Tx<'_>, found: &[Row], cases: &[String]) -> Result<(u64, bool), Failure> {
    let values = values![texts(cases), numbers(found, "id")?, SLICE];
    let arrivals = tx.all(&OTHER_ARRIVALS, values).await?;
    let sightings = tx
        .execute(&DELETE_SIGHTINGS, values![texts(cases), SLICE])
        .await?;
    let is_all =
        arrivals.len() < SLICE && usize::try_from(sightings).is_ok_and(|some| some < SLICE);
    let mut removed = delete_arrivals(tx, &arrivals).await?;
    if is_all {
        removed += delete_arrivals(tx, found).await?;
        tx.execute(&DELETE_CASES, values![texts(cases)]).await?;
        tx.execute(&DELETE_INDICATORS, values![texts(cases)])
            .await?;
    }
    Ok((removed, is_all))
}

/// Deletes arrivals with their dead letters and messages.
async fn delete_arrivals(tx: Tx<'_>, arrivals: &[Row]) -> Result<u64, Failure> {
    let ids = numbers(arrivals, "id")?;
    let removed = tx.execute(&DELETE_ARRIVALS, values![ids]).await?;
    let letters = numbers(arrivals, "dead_letter_id")?;
    tx.execute(&DELETE_DEAD_LETTERS, values![letters]).await?;
    let messages = numbers(arrivals, "raw_id")?;
    tx.execute(&DELETE_RAW_MESSAGES, values![messages]).await?;
    Ok(removed)
}

/// Returns the numbers in this column.
fn numbers(rows: &[Row], name: &str) -> Result<Vec<i64>, Failure> {
    let numbers = rows.iter().map(|row| row.get(name));
    let numbers: Vec<Option<i64>> = numbers.collect::<Result<_, _>>()?;
    Ok(numbers.into_iter().flatten().collect())
}

/// Returns the cases of arrivals.
fn cases_of(arrivals: &[Row]) -> Result<Vec<String>, Failure> {
    let cases = arrivals.iter().map(|row| row.get("case_id"));
    let cases: BTreeSet<Option<String>> = cases.collect::<Result<_, _>>()?;
    Ok(cases.into_iter().flatten().collect())
}
