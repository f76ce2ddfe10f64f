//! Removes old data in small batches, each in one transaction.

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use nightshift_pipeline::maintenance::RetentionClass;
use nightshift_pipeline::port::StoreError;

use super::{
    IN_LIST, LOCK_TO_UPDATE, Row, SINGLETON, SKIP_LOCKED, SqlStore, Statement, Tx, expire_earlier,
    statement, values,
};
use crate::failure::Failure;
use crate::scan_cursor::ScanCursor;

pub(super) const DOING: &str = "remove expired data";
/// The number of messages that are examined for each that may be deleted.
const EXAMINED: usize = 10;
/// The maximum number of rows of a case that are deleted in one transaction.
pub(super) const SLICE: usize = 5000;

static ADVANCE: LazyLock<Statement> = LazyLock::new(|| {
    // One host has one clock. On PostgreSQL, the earlier of two clocks counts.
    let earlier_clock = Statement::new("least($1, clock_timestamp())", "$1");
    let a_day_later = Statement::new(
        "retention_clock.reached_at + interval '1 day'",
        "strftime('%Y-%m-%dT%H:%M:%f000Z', retention_clock.reached_at, '+1 day')",
    );
    statement!("expire/advance.sql")
        .with("singleton", &SINGLETON)
        .with("earlier_clock", &earlier_clock)
        .with("a_day_later", &a_day_later)
});
static RAW_MESSAGES: Statement = statement!("expire/raw_messages.sql");
pub(super) static DELETE_RAW_MESSAGES: LazyLock<Statement> =
    LazyLock::new(|| statement!("expire/delete_raw_messages.sql").with("in_list", &IN_LIST));
static DELETE_UNREFERENCED: LazyLock<Statement> =
    LazyLock::new(|| statement!("expire/delete_unreferenced.sql").with("in_list", &IN_LIST));
static DELETE_ARRIVALS_WITHOUT_CASE: LazyLock<Statement> = LazyLock::new(|| {
    statement!("expire/delete_arrivals_without_case.sql").with("by_index", &BY_INDEX)
});
/// SQLite would scan the ledger for the oldest arrivals.
pub(super) static BY_INDEX: Statement = Statement::new("", "INDEXED BY arrivals_without_case");
pub(crate) static DELETE_DEAD_LETTERS: Statement = statement!("expire/delete_dead_letters.sql");
static WITH_JOURNAL: LazyLock<Statement> =
    LazyLock::new(|| statement!("expire/with_journal.sql").with("lock_to_update", &LOCK_TO_UPDATE));
static JOURNALS_REMOVED: LazyLock<Statement> =
    LazyLock::new(|| statement!("expire/journals_removed.sql").with("in_list", &IN_LIST));
static DELETE_JOURNALS: LazyLock<Statement> =
    LazyLock::new(|| statement!("expire/delete_journals.sql").with("in_list", &IN_LIST));
static ENDED_CASES: LazyLock<Statement> =
    LazyLock::new(|| statement!("expire/ended_cases.sql").with("skip_locked", &SKIP_LOCKED));
static MESSAGES_OF_CASES: LazyLock<Statement> =
    LazyLock::new(|| statement!("expire/messages_of_cases.sql").with("in_list", &IN_LIST));
pub(super) static DELETE_INDICATORS: LazyLock<Statement> =
    LazyLock::new(|| statement!("expire/delete_indicators.sql").with("in_list", &IN_LIST));
pub(super) static DELETE_CASES: LazyLock<Statement> =
    LazyLock::new(|| statement!("expire/delete_cases.sql").with("in_list", &IN_LIST));
static DELETE_ARRIVALS_OF_CASE: Statement = statement!("expire/delete_arrivals_of_case.sql");
static DELETE_SIGHTINGS_OF_CASE: Statement = statement!("expire/delete_sightings_of_case.sql");

/// The position of a scan in the messages: the time of arrival and the number.
pub(crate) type ArrivalCursor = (DateTime<Utc>, i64);

/// The position of a scan in the cases: the time at which a case was opened, and its id.
pub(crate) type CaseCursor = (DateTime<Utc>, String);

/// The positions at which retention and purges continue.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScanCursors {
    raw_messages: ScanCursor<ArrivalCursor>,
    pub(super) earlier_journals: ScanCursor<CaseCursor>,
    pub(super) earlier_rows: ScanCursor<CaseCursor>,
    pub(super) purge: ScanCursor<CaseCursor>,
}

/// The result of one transaction of a scan.
pub(super) struct ScanStep<T> {
    pub(super) removed: u64,
    /// True if nothing is left of what was examined.
    pub(super) is_all: bool,
    /// The last examined row, if there was one.
    pub(super) until: Option<T>,
}

impl SqlStore {
    /// Implements [`nightshift_pipeline::maintenance::StoreMaintenance::advance_retention_time`].
    pub(super) async fn advance_retention(
        &self,
        now: DateTime<Utc>,
    ) -> Result<DateTime<Utc>, StoreError> {
        let advance =
            async move |tx: Tx<'_>| tx.one(&ADVANCE, values![now]).await?.get("reached_at");
        self.backend
            .write("advance the retention time", advance)
            .await
    }

    /// Implements [`nightshift_pipeline::maintenance::StoreMaintenance::expire`].
    pub(super) async fn expire_class(
        &self,
        class: RetentionClass,
        before: DateTime<Utc>,
        most: usize,
    ) -> Result<u64, StoreError> {
        if class == RetentionClass::Raw {
            let step = async move |tx: Tx<'_>, most, from| {
                remove_raw_messages(tx, before, most, from).await
            };
            return self.scan(&self.cursors.raw_messages, most, step).await;
        }
        let removed = self.expire_whole(class, before, most).await?;
        match class {
            RetentionClass::Journals if removed == 0 => {
                let step = async move |tx: Tx<'_>, most, from| {
                    expire_earlier::remove_journals(tx, before, most, from).await
                };
                self.scan(&self.cursors.earlier_journals, most, step).await
            }
            RetentionClass::Cases if removed == 0 => {
                let step = async move |tx: Tx<'_>, most, from| {
                    expire_earlier::remove_rows(tx, before, most, from).await
                };
                self.scan(&self.cursors.earlier_rows, most, step).await
            }
            _ => Ok(removed),
        }
    }

    /// Deletes rows of this class with all dependent rows. If that takes too long, fewer are deleted at a time.
    async fn expire_whole(
        &self,
        class: RetentionClass,
        before: DateTime<Utc>,
        most: usize,
    ) -> Result<u64, StoreError> {
        let asked = u64::try_from(most).unwrap_or(u64::MAX);
        let (mut batch, mut removed, mut is_thin) = (most, 0, false);
        loop {
            let remove = async move |tx: Tx<'_>| remove(tx, class, before, batch).await;
            match self.backend.write_in_time(DOING, remove).await? {
                // The next rows are probably as large, so they are deleted in the same small batches.
                Ok(some) => {
                    removed += some;
                    if some == 0 || removed >= asked || batch == most {
                        return Ok(removed);
                    }
                    is_thin = false;
                }
                Err(_) if batch > 1 => batch /= 2,
                Err(_) if class == RetentionClass::Cases && !is_thin => {
                    let thin = async move |tx: Tx<'_>| thin(tx, before).await;
                    while self.backend.write(DOING, thin).await? > 0 {}
                    is_thin = true;
                }
                Err(failure) => return Err(failure.into_store_error(DOING)),
            }
        }
    }

    /// Continues where the previous call stopped, until enough is removed. After the last row, the next call starts
    /// again.
    async fn scan<T: Clone + Default + Send + Sync + 'static>(
        &self,
        cursor: &ScanCursor<(DateTime<Utc>, T)>,
        most: usize,
        step: impl AsyncFn(
            Tx<'_>,
            usize,
            (DateTime<Utc>, T),
        ) -> Result<ScanStep<(DateTime<Utc>, T)>, Failure>
        + Copy
        + Send
        + Sync
        + 'static,
    ) -> Result<u64, StoreError> {
        let asked = u64::try_from(most).unwrap_or(u64::MAX);
        let (mut batch, mut removed) = (most, 0);
        while removed < asked {
            let from = cursor.get();
            let start = from.clone().unwrap_or_default();
            let work = async move |tx: Tx<'_>| step(tx, batch, start.clone()).await;
            match self.backend.write_in_time(DOING, work).await? {
                Ok(done) => {
                    removed += done.removed;
                    let is_end = done.until.is_none();
                    if is_end {
                        cursor.set(from.filter(|_| removed > 0));
                        break;
                    }
                    if done.is_all {
                        cursor.set(done.until);
                    }
                }
                Err(_) if batch > 1 => batch /= 2,
                Err(failure) => return Err(failure.into_store_error(DOING)),
            }
        }
        Ok(removed)
    }
}

/// Deletes up to so many rows of this class, and returns their number.
async fn remove(
    tx: Tx<'_>,
    class: RetentionClass,
    before: DateTime<Utc>,
    most: usize,
) -> Result<u64, Failure> {
    let old = values![before, most];
    match class {
        RetentionClass::Raw => Ok(0),
        RetentionClass::Hidden => {
            let arrivals = tx.all(&DELETE_ARRIVALS_WITHOUT_CASE, old).await?;
            delete_unreferenced(tx, &arrivals).await?;
            Ok(count(&arrivals))
        }
        RetentionClass::Journals => {
            let cases = tx.all(&WITH_JOURNAL, old).await?;
            let ids = ids(&cases)?;
            tx.execute(&JOURNALS_REMOVED, values![texts(&ids)]).await?;
            tx.execute(&DELETE_JOURNALS, values![texts(&ids)]).await?;
            Ok(count(&cases))
        }
        RetentionClass::Cases => {
            let cases = tx.all(&ENDED_CASES, old).await?;
            delete_cases(tx, &ids(&cases)?).await?;
            Ok(count(&cases))
        }
        RetentionClass::DeadLetters => {
            let letters = tx.all(&DELETE_DEAD_LETTERS, old).await?;
            let messages = raw_ids(&letters)?;
            tx.execute(&DELETE_RAW_MESSAGES, values![messages]).await?;
            Ok(count(&letters))
        }
    }
}

/// Deletes cases with all that refers to them, and with the messages that only their arrivals refer to.
async fn delete_cases(tx: Tx<'_>, ids: &[String]) -> Result<(), Failure> {
    let messages = tx.all(&MESSAGES_OF_CASES, values![texts(ids)]).await?;
    tx.execute(&DELETE_INDICATORS, values![texts(ids)]).await?;
    tx.execute(&DELETE_CASES, values![texts(ids)]).await?;
    delete_unreferenced(tx, &messages).await
}

/// Deletes rows of the oldest case, which is too large for one statement. Such a case had many repeated alerts. Returns
/// the number of deleted rows.
async fn thin(tx: Tx<'_>, before: DateTime<Utc>) -> Result<u64, Failure> {
    let oldest = tx.optional(&ENDED_CASES, values![before, 1_usize]).await?;
    let Some(oldest) = oldest else {
        return Ok(0);
    };
    let id: String = oldest.get("id")?;
    let slice = values![&id, SLICE];
    let arrivals = tx.all(&DELETE_ARRIVALS_OF_CASE, slice).await?;
    delete_unreferenced(tx, &arrivals).await?;
    let sightings = tx.execute(&DELETE_SIGHTINGS_OF_CASE, slice).await?;
    Ok(count(&arrivals) + sightings)
}

async fn remove_raw_messages(
    tx: Tx<'_>,
    before: DateTime<Utc>,
    most: usize,
    (at, id): ArrivalCursor,
) -> Result<ScanStep<ArrivalCursor>, Failure> {
    let values = values![before, at, id, most.saturating_mul(EXAMINED)];
    let (mut old, mut until) = (Vec::new(), None);
    for row in tx.all(&RAW_MESSAGES, values).await? {
        if old.len() == most {
            break;
        }
        let id: i64 = row.get("id")?;
        if !row.get::<bool>("is_kept")? {
            old.push(id);
        }
        until = Some((row.get("received_at")?, id));
    }
    let removed = tx.execute(&DELETE_RAW_MESSAGES, values![old]).await?;
    Ok(ScanStep {
        removed,
        is_all: true,
        until,
    })
}

/// Deletes those of the messages of deleted arrivals to which nothing refers any more.
pub(super) async fn delete_unreferenced(tx: Tx<'_>, arrivals: &[Row]) -> Result<(), Failure> {
    let messages = raw_ids(arrivals)?;
    tx.execute(&DELETE_UNREFERENCED, values![messages]).await?;
    Ok(())
}

fn raw_ids(rows: &[Row]) -> Result<Vec<i64>, Failure> {
    let ids: Vec<Option<i64>> = rows
        .iter()
        .map(|row| row.get("raw_id"))
        .collect::<Result<_, _>>()?;
    Ok(ids.into_iter().flatten().collect())
}

pub(super) fn ids(rows: &[Row]) -> Result<Vec<String>, Failure> {
    rows.iter().map(|row| row.get("id")).collect()
}

pub(super) fn texts(ids: &[String]) -> Vec<&str> {
    ids.iter().map(String::as_str).collect()
}

pub(super) fn count<T>(rows: &[T]) -> u64 {
    u64::try_from(rows.len()).unwrap_or(u64::MAX)
}
