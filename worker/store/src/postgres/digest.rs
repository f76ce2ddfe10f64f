//! Collects the digest of a day.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_pipeline::digest::{DIGEST_ROWS, Digest, FeedDay, MOST_COUNTED, OpenCase};
use nightshift_pipeline::port::{Digests, StoreError};

use super::PostgresStore;
use super::database::Session;
use super::failure::PostgresFailure;
use super::row::{LEFTOVER, count, get_severity, get_verdict, limit, number, to_verdict};

const ARRIVED: &str = "SELECT feed, count(*), \
         count(*) FILTER (WHERE outcome IN ('new', 'revision', 'replaced', 'resumed')), \
         count(*) FILTER (WHERE outcome = 'sighting'), \
         count(*) FILTER (WHERE outcome = 'muted'), count(*) FILTER (WHERE outcome = 'set_aside'), \
         count(*) FILTER (WHERE outcome = 'member') \
     FROM arrivals WHERE received_at >= $1 AND received_at < $2 AND feed <> 'canary' GROUP BY feed ORDER BY 2 DESC, 1";
/// Counts the cases by their last conclusion, and sums the model costs of all their runs.
pub(super) const ENDED: &str = "SELECT status, verdict, count(*) FILTER (WHERE is_last), coalesce(sum(usd), 0) FROM ( \
         SELECT ended.status, ended.verdict, ended.usd, \
             ended.revision = max(ended.revision) OVER (PARTITION BY case_id) AS is_last \
         FROM conclusions AS ended JOIN cases ON cases.id = case_id \
         WHERE ended.concluded_at >= $1 AND ended.concluded_at < $2 AND feed <> 'canary' \
     ) AS runs GROUP BY status, verdict";
pub(super) const LETTERS: &str =
    "SELECT count(*) FROM dead_letters WHERE received_at >= $1 AND received_at < $2";
/// Selects the cases that wait for people. An index covers all but the last condition, in this order. A verdict remains
/// valid while its case runs again, and after that run is cancelled. A case that people called a false positive waits
/// for nobody. As for tickets, the last of the three actions counts.
const WAITS: &str = "workflow_status <> 'closed' AND feed <> 'canary' \
     AND (status = 'failed' OR verdict IN ('true_positive', 'inconclusive')) \
     AND NOT coalesce((SELECT max(case_actions.id) FILTER (WHERE action = 'disagreed' AND detail = 'false_positive') = max(case_actions.id) \
         FROM case_actions WHERE case_actions.case_id = cases.id AND action IN ('agreed', 'disagreed', 'reopened')), false)";
/// A given-up delivery counts on the day on which it was requested. A pending delivery whose attempts failed counts
/// every day, because a temporary refusal does not give it up. Each of the two has an index.
pub(super) const UNDELIVERED: &str = "SELECT destination, count(*) FROM ( \
         SELECT case_id, destination FROM deliveries WHERE given_up AND requested_at >= $1 AND requested_at < $2 \
         UNION ALL \
         SELECT case_id, destination FROM deliveries \
         WHERE sent_version < wanted_version AND sent_version < major_version AND NOT given_up AND error IS NOT NULL \
     ) AS untaken JOIN cases ON cases.id = case_id WHERE feed <> 'canary' GROUP BY destination ORDER BY destination";
/// Selects the sources that delivered something in the week before and nothing since. The query steps from source to
/// source and reads the last alert of each, because eight days of the ledger are too much to read for a few names.
pub(super) const SILENT: &str = "WITH RECURSIVE sources AS ( \
         (SELECT source FROM arrivals ORDER BY source LIMIT 1) \
         UNION ALL \
         SELECT (SELECT arrivals.source FROM arrivals WHERE arrivals.source > sources.source ORDER BY arrivals.source LIMIT 1) \
         FROM sources WHERE sources.source IS NOT NULL \
     ) \
     SELECT source, last FROM sources CROSS JOIN LATERAL ( \
         SELECT received_at AS last FROM arrivals WHERE arrivals.source = sources.source AND feed <> 'canary' \
             AND received_at >= $1::timestamptz - interval '7 days' AND received_at < $2 \
         ORDER BY received_at DESC LIMIT 1 \
     ) AS newest \
     WHERE last < $1::timestamptz ORDER BY source";

#[async_trait]
impl Digests for PostgresStore {
    async fn collect_digest(
        &self,
        since: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Digest, StoreError> {
        self.retry_read("read what a day brought", |session| async move {
            brought(&session, since, until).await
        })
        .await
    }
}

/// Returns the query for the cases that wait for people, the most severe and oldest first.
pub(super) fn open() -> String {
    format!(
        "SELECT id, title, verdict, status = 'failed' OR {LEFTOVER}, coalesce(assessed_severity, severity)::text, opened_at, owner FROM cases \
         WHERE {WAITS} ORDER BY coalesce(assessed_severity, severity) DESC, opened_at LIMIT $1"
    )
}

/// Returns the query for the number of these cases, up to a limit.
pub(super) fn how_many_open() -> String {
    format!("SELECT count(*) FROM (SELECT FROM cases WHERE {WAITS} LIMIT $1) AS waiting")
}

async fn brought(
    session: &Session,
    since: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<Digest, PostgresFailure> {
    let mut digest = Digest {
        since,
        until,
        ..Digest::default()
    };
    for row in session.rows(ARRIVED, [&since, &until]).await? {
        digest.arrived.push(FeedDay {
            feed: row.try_get(0)?,
            alerts: count(&row, 1)?,
            triaged: count(&row, 2)?,
            repeated: count(&row, 3)?,
            muted: count(&row, 4)?,
            set_aside: count(&row, 5)?,
            members: count(&row, 6)?,
        });
    }
    for row in session.rows(ENDED, [&since, &until]).await? {
        let (status, usd): (&str, f64) = (row.try_get(0)?, row.try_get(3)?);
        digest.cost_usd += usd;
        match (status, count(&row, 2)?) {
            // No run of this group was the last one of its case.
            (_, 0) => {}
            ("failed", cases) => digest.failed += cases,
            (_, cases) => digest.verdicts.push((get_verdict(&row, 1)?, cases)),
        }
    }
    digest.sort_verdicts();
    if let Some(row) = session.row(LETTERS, [&since, &until]).await? {
        digest.dead_letters = count(&row, 0)?;
    }
    let most = number(MOST_COUNTED + 1);
    if let Some(row) = session.row(&how_many_open(), [&most]).await? {
        digest.open_total = count(&row, 0)?;
    }
    for row in session.rows(&open(), [&limit(DIGEST_ROWS)]).await? {
        let is_none: bool = row.try_get(3)?;
        digest.open.push(OpenCase {
            case_id: row.try_get(0)?,
            title: row.try_get(1)?,
            verdict: to_verdict(row.try_get(2)?).filter(|_| !is_none),
            severity: get_severity(&row, 4)?,
            since: row.try_get(5)?,
            owner: row.try_get(6)?,
        });
    }
    for row in session.rows(UNDELIVERED, [&since, &until]).await? {
        digest.undelivered.push((row.try_get(0)?, count(&row, 1)?));
    }
    for row in session.rows(SILENT, [&since, &until]).await? {
        digest.silent.push((row.try_get(0)?, row.try_get(1)?));
    }
    Ok(digest)
}
