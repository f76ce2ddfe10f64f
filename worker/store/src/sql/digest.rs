//! Collects the digest of a day.

use std::sync::LazyLock;

use async_trait::async_trait;
use chrono::{DateTime, Duration, Utc};
use nightshift_pipeline::digest::{DIGEST_ROWS, Digest, FeedDay, MOST_COUNTED, OpenCase};
use nightshift_pipeline::port::{Digests, StoreError};

use super::row::FromColumn;
use super::{Row, SqlStore, Statement, Tx, cases, outbox_admin, statement, values};
use crate::failure::Failure;

static ARRIVED: Statement = statement!("digest/arrived.sql");
pub(crate) static ENDED: LazyLock<Statement> = LazyLock::new(|| {
    let usd = Statement::new("conclusions.usd", "conclusions.report -> 'cost' ->> 'usd'");
    statement!("digest/ended.sql")
        .with("conclusion_status", &cases::CONCLUSION_STATUS)
        .with("usd", &usd)
});
pub(crate) static DEAD_LETTERS: Statement = statement!("digest/dead_letters.sql");
pub(crate) static OPEN_TOTAL: LazyLock<Statement> = LazyLock::new(|| {
    statement!("digest/open_total.sql").with("waits_for_people", &WAITS_FOR_PEOPLE)
});
pub(crate) static OPEN_CASES: LazyLock<Statement> = LazyLock::new(|| {
    statement!("digest/open_cases.sql")
        .with("waits_for_people", &WAITS_FOR_PEOPLE)
        .with("leftover", &cases::LEFTOVER)
});
static WAITS_FOR_PEOPLE: Statement = statement!("digest/waits_for_people.sql");
pub(crate) static UNDELIVERED: LazyLock<Statement> = LazyLock::new(|| {
    // SQLite uses its partial index only for the condition as the index has it.
    let given_up = Statement::new("given_up", "given_up = 1");
    statement!("digest/undelivered.sql")
        .with("given_up", &given_up)
        .with("undelivered", &outbox_admin::IS_UNDELIVERED)
});
pub(crate) static SILENT: Statement =
    statement!("digest/silent.postgres.sql", "digest/silent.sqlite.sql");

#[async_trait]
impl Digests for SqlStore {
    async fn collect_digest(
        &self,
        since: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Digest, StoreError> {
        let collect = async move |tx: Tx<'_>| Box::pin(collect(tx, since, until)).await;
        self.backend.read("collect a digest", collect).await
    }
}

async fn collect(
    tx: Tx<'_>,
    since: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<Digest, Failure> {
    let day = values![since, until];
    let arrived = tx.all(&ARRIVED, day).await?;
    let dead_letters = tx.one(&DEAD_LETTERS, day).await?;
    let open_total = tx.one(&OPEN_TOTAL, values![MOST_COUNTED + 1]).await?;
    let open = tx.all(&OPEN_CASES, values![DIGEST_ROWS]).await?;
    let undelivered = tx.all(&UNDELIVERED, day).await?;
    let week_before = since - Duration::days(7);
    let silent = tx.all(&SILENT, values![since, until, week_before]).await?;
    let mut digest = Digest {
        since,
        until,
        arrived: arrived.iter().map(to_feed_day).collect::<Result<_, _>>()?,
        dead_letters: dead_letters.get("dead_letters")?,
        open_total: open_total.get("cases")?,
        open: open.iter().map(to_open_case).collect::<Result<_, _>>()?,
        undelivered: pairs(&undelivered, "destination", "reports")?,
        silent: pairs(&silent, "source", "last")?,
        ..Digest::default()
    };
    for row in tx.all(&ENDED, day).await? {
        add_ended(&mut digest, &row)?;
    }
    digest.sort_verdicts();
    Ok(digest)
}

/// Adds the runs of a status and verdict, and the cases whose last run is one of them.
fn add_ended(digest: &mut Digest, row: &Row) -> Result<(), Failure> {
    let status: Option<String> = row.get("status")?;
    let (cases, usd): (u64, f64) = (row.get("cases")?, row.get("usd")?);
    digest.cost_usd += usd;
    if status.as_deref() == Some("failed") {
        digest.failed += cases;
    } else if cases > 0 {
        digest.verdicts.push((row.get("verdict")?, cases));
    }
    Ok(())
}

fn to_feed_day(row: &Row) -> Result<FeedDay, Failure> {
    Ok(FeedDay {
        feed: row.get("feed")?,
        alerts: row.get("alerts")?,
        triaged: row.get("triaged")?,
        repeated: row.get("repeated")?,
        muted: row.get("muted")?,
        set_aside: row.get("set_aside")?,
        members: row.get("members")?,
    })
}

fn to_open_case(row: &Row) -> Result<OpenCase, Failure> {
    let is_without_verdict: bool = row.get("is_without_verdict")?;
    Ok(OpenCase {
        case_id: row.get("id")?,
        title: row.get("title")?,
        verdict: row.known("verdict")?.filter(|_| !is_without_verdict),
        severity: row.get("severity")?,
        since: row.get("opened_at")?,
        owner: row.get("owner")?,
    })
}

/// Reads a name with a value from each row.
fn pairs<T: FromColumn>(
    rows: &[Row],
    name: &str,
    value: &str,
) -> Result<Vec<(String, T)>, Failure> {
    rows.iter()
        .map(|row| Ok((row.get(name)?, row.get(value)?)))
        .collect()
}
