//! Counts pending work over partial indexes that contain only unfinished rows.

use std::collections::BTreeMap;

use nightshift_alert::Severity;
use nightshift_pipeline::case::Backlog;

use super::database::Session;
use super::failure::PostgresFailure;
use super::row::{count, get_severity};

/// Each half uses its own index. For an `IN`, the planner cannot see that the indexes cover it, and reads the whole
/// table.
pub(super) const WAITING: &str = "SELECT severity::text, count(*) FROM cases \
     WHERE status = 'queued' OR status = 'running' GROUP BY severity";
const BACKLOG: &str = "SELECT cases.urgent, cases.others, cases.oldest_secs, cases.urgent_oldest_secs, \
         (SELECT count(*) FROM cases WHERE status = 'running'), wished.open, wished.oldest_secs, \
         (SELECT count(*) FROM dead_letters WHERE retried_at IS NULL) \
     FROM ( \
         SELECT count(*) FILTER (WHERE severity >= 'high') AS urgent, count(*) FILTER (WHERE severity < 'high') AS others, \
             greatest(coalesce(extract(epoch FROM clock_timestamp() - min(waiting_since)), 0), 0)::double precision AS oldest_secs, \
             greatest(coalesce(extract(epoch FROM clock_timestamp() - min(waiting_since) FILTER (WHERE severity >= 'high')), 0), 0)\
                 ::double precision AS urgent_oldest_secs \
         FROM cases WHERE status = 'queued' \
     ) AS cases CROSS JOIN ( \
         SELECT count(*) AS open, \
             greatest(coalesce(extract(epoch FROM clock_timestamp() - min(requested_at)), 0), 0)::double precision AS oldest_secs \
         FROM deliveries WHERE sent_version < wanted_version AND sent_version < major_version AND NOT given_up \
     ) AS wished";

/// Returns the number of waiting and running cases by severity.
pub(super) async fn waiting(session: &Session) -> Result<BTreeMap<Severity, u64>, PostgresFailure> {
    let rows = session.rows(WAITING, []).await?;
    rows.iter()
        .map(|row| Ok((get_severity(row, 0)?, count(row, 1)?)))
        .collect()
}

/// Returns the backlog.
pub(super) async fn read(session: &Session) -> Result<Backlog, PostgresFailure> {
    let row = session.row(BACKLOG, []).await?;
    row.map_or(Ok(Backlog::default()), |row| {
        Ok(Backlog {
            urgent: count(&row, 0)?,
            others: count(&row, 1)?,
            oldest_secs: row.try_get(2)?,
            urgent_oldest_secs: row.try_get(3)?,
            running: count(&row, 4)?,
            outbox: count(&row, 5)?,
            outbox_oldest_secs: row.try_get(6)?,
            dead_letters: count(&row, 7)?,
        })
    })
}
