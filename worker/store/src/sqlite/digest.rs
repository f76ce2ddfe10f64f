//! Collects the digest of a day.

use async_trait::async_trait;
use chrono::{DateTime, Duration, Utc};
use nightshift_pipeline::digest::{DIGEST_ROWS, Digest, FeedDay, MOST_COUNTED, OpenCase};
use nightshift_pipeline::port::{Digests, StoreError};
use rusqlite::{Connection, Row, params};

use super::SqliteStore;
use super::row::{LEFTOVER, get_severity, get_time, get_verdict, time, to_verdict};
use super::thread::SqliteFailure;

const ARRIVED: &str = "SELECT feed, count(*), sum(outcome IN ('new', 'revision', 'replaced', 'resumed')), \
         sum(outcome = 'sighting'), sum(outcome = 'muted'), sum(outcome = 'set_aside'), sum(outcome = 'member') \
     FROM arrivals WHERE received_at >= ?1 AND received_at < ?2 AND feed <> 'canary' GROUP BY feed ORDER BY 2 DESC, 1";
/// Counts the cases by their last conclusion, and sums the model costs of all their runs.
const ENDED: &str = "SELECT failed, verdict, sum(is_last), coalesce(sum(usd), 0.0) FROM ( \
         SELECT json_extract(report, '$.status') = 'failed' AS failed, ended.verdict AS verdict, \
             json_extract(report, '$.cost.usd') AS usd, \
             ended.revision = max(ended.revision) OVER (PARTITION BY ended.case_id) AS is_last \
         FROM conclusions AS ended JOIN cases ON cases.id = case_id \
         WHERE ended.concluded_at >= ?1 AND ended.concluded_at < ?2 AND feed <> 'canary' \
     ) AS runs GROUP BY failed, verdict";
const LETTERS: &str =
    "SELECT count(*) FROM dead_letters WHERE received_at >= ?1 AND received_at < ?2";
/// A given-up delivery counts on the day on which it was requested. A pending delivery whose attempts failed counts
/// every day, because a temporary refusal does not give it up. Each of the two has an index.
const UNDELIVERED: &str = "SELECT destination, count(*) FROM ( \
         SELECT case_id, destination FROM deliveries WHERE given_up = 1 AND requested_at >= ?1 AND requested_at < ?2 \
         UNION ALL \
         SELECT case_id, destination FROM deliveries \
         WHERE sent_version < wanted_version AND sent_version < major_version AND given_up = 0 AND error IS NOT NULL \
     ) AS untaken JOIN cases ON cases.id = case_id WHERE feed <> 'canary' GROUP BY destination ORDER BY destination";
/// Selects the sources that delivered something in the week before and nothing since.
const SILENT: &str = "SELECT source, max(received_at) FROM arrivals \
     WHERE received_at >= ?3 AND received_at < ?2 AND feed <> 'canary' \
     GROUP BY source HAVING max(received_at) < ?1 ORDER BY source";

/// Returns the query for the cases that wait for people, the most severe and oldest first. An index covers all but the
/// last condition, in this order. A verdict remains valid while its case runs again, and after that run is cancelled. A
/// case that people called a false positive waits for nobody. As for tickets, the last of the three actions counts.
pub(super) fn open() -> String {
    format!(
        "SELECT id, title, verdict, status = 'failed' OR {LEFTOVER}, coalesce(assessed_severity, severity), opened_at, owner \
         FROM cases WHERE workflow_status <> 'closed' AND feed <> 'canary' \
             AND (status = 'failed' OR verdict IN ('true_positive', 'inconclusive')) \
             AND NOT coalesce((SELECT max(case_actions.id) FILTER (WHERE action = 'disagreed' AND detail = 'false_positive') = max(case_actions.id) \
                 FROM case_actions WHERE case_actions.case_id = cases.id AND action IN ('agreed', 'disagreed', 'reopened')), false) \
         ORDER BY coalesce(assessed_severity, severity) DESC, opened_at LIMIT ?1"
    )
}

#[async_trait]
impl Digests for SqliteStore {
    async fn collect_digest(
        &self,
        since: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Digest, StoreError> {
        self.thread
            .run("read what a day brought", move |connection| {
                brought(connection, since, until)
            })
            .await
    }
}

fn brought(
    connection: &Connection,
    since: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<Digest, SqliteFailure> {
    let (from, to) = (time(since), time(until));
    let mut digest = Digest {
        since,
        until,
        ..Digest::default()
    };
    digest.arrived = connection
        .prepare_cached(ARRIVED)?
        .query_map([&from, &to], feed_day)?
        .collect::<Result<_, _>>()?;
    let mut statement = connection.prepare_cached(ENDED)?;
    let mut rows = statement.query([&from, &to])?;
    while let Some(row) = rows.next()? {
        digest.cost_usd += row.get::<_, f64>(3)?;
        match (row.get::<_, Option<bool>>(0)?, number(row, 2)?) {
            // No run of this group was the last one of its case.
            (_, 0) => {}
            (Some(true), cases) => digest.failed += cases,
            (_, cases) => digest.verdicts.push((get_verdict(row, 1)?, cases)),
        }
    }
    digest.sort_verdicts();
    digest.dead_letters = connection
        .prepare_cached(LETTERS)?
        .query_row([&from, &to], |row| number(row, 0))?;
    let most = i64::try_from(MOST_COUNTED + 1).unwrap_or(i64::MAX);
    digest.open_total = connection
        .prepare_cached(&format!("SELECT count(*) FROM ({})", open()))?
        .query_row([most], |row| number(row, 0))?;
    let most = i64::try_from(DIGEST_ROWS).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(&open())?;
    let mut rows = statement.query([most])?;
    while let Some(row) = rows.next()? {
        digest.open.push(open_case(row)?);
    }
    digest.undelivered = connection
        .prepare_cached(UNDELIVERED)?
        .query_map([&from, &to], |row| Ok((row.get(0)?, number(row, 1)?)))?
        .collect::<Result<_, _>>()?;
    let week = time(since - Duration::days(7));
    digest.silent = connection
        .prepare_cached(SILENT)?
        .query_map(params![from, to, week], |row| {
            Ok((row.get(0)?, get_time(row, 1)?))
        })?
        .collect::<Result<_, _>>()?;
    Ok(digest)
}

fn number(row: &Row<'_>, column: usize) -> Result<u64, rusqlite::Error> {
    let number: i64 = row.get(column)?;
    Ok(u64::try_from(number).unwrap_or_default())
}

fn feed_day(row: &Row<'_>) -> Result<FeedDay, rusqlite::Error> {
    Ok(FeedDay {
        feed: row.get(0)?,
        alerts: number(row, 1)?,
        triaged: number(row, 2)?,
        repeated: number(row, 3)?,
        muted: number(row, 4)?,
        set_aside: number(row, 5)?,
        members: number(row, 6)?,
    })
}

fn open_case(row: &Row<'_>) -> Result<OpenCase, rusqlite::Error> {
    let (verdict, is_none): (Option<String>, bool) = (row.get(2)?, row.get(3)?);
    Ok(OpenCase {
        case_id: row.get(0)?,
        title: row.get(1)?,
        verdict: to_verdict(verdict.as_deref()).filter(|_| !is_none),
        severity: get_severity(row, 4)?,
        since: get_time(row, 5)?,
        owner: row.get(6)?,
    })
}
