//! Stores the costs of cases and of days.

use async_trait::async_trait;
use chrono::{DateTime, NaiveDate, Utc};
use nightshift_pipeline::budget::{Charge, DaySpend};
use nightshift_pipeline::case::{CaseId, CaseRow};
use nightshift_pipeline::port::{DaySpendStore, StoreError};
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::thread::SqliteFailure;

const OF_THE_CASE: &str = "UPDATE cases SET usd = usd + ?2 WHERE id = ?1";
const OF_THE_DAY: &str = "INSERT INTO spending (day, case_id, urgent, usd) VALUES (?1, ?2, ?3, ?4) \
     ON CONFLICT (day, case_id, urgent) DO UPDATE SET usd = usd + excluded.usd";
const SUM: &str = "SELECT coalesce(sum(usd) FILTER (WHERE urgent), 0.0), \
     coalesce(sum(usd) FILTER (WHERE NOT urgent), 0.0) FROM spending WHERE day = ?1";
/// Selects the calls that were started since the last claim and have not ended.
const RUNNING: &str = "SELECT json_extract(alert, '$.severity') IN ('high', 'critical'), \
         coalesce(sum(json_extract(began.event, '$.reserved.usd')), 0.0) \
     FROM alerts JOIN journal AS began ON began.case_id = alerts.case_id AND began.revision = alerts.revision \
     WHERE alerts.case_id = ?1 AND alerts.revision = ?2 AND began.kind = 'started' \
         AND began.seq > coalesce((SELECT max(seq) FROM journal AS since WHERE since.case_id = ?1 AND since.revision = ?2 \
             AND since.kind IN ('claimed', 'time_up')), 0) \
         AND NOT EXISTS (SELECT 1 FROM journal AS ended WHERE ended.case_id = ?1 AND ended.revision = ?2 \
             AND ended.command = began.command AND ended.kind IN ('finished', 'withdrawn') AND ended.seq > began.seq)";

#[async_trait]
impl DaySpendStore for SqliteStore {
    async fn spent_on(&self, day: NaiveDate) -> Result<DaySpend, StoreError> {
        self.thread
            .run("sum up what the day cost", move |connection| {
                let mut statement = connection.prepare_cached(SUM)?;
                Ok(statement.query_row([day.to_string()], |row| {
                    Ok(DaySpend {
                        urgent_usd: row.get(0)?,
                        other_usd: row.get(1)?,
                    })
                })?)
            })
            .await
    }
}

/// Adds a charge to its case and its day.
pub(super) fn add(
    connection: &Connection,
    id: &CaseId,
    charge: Charge,
) -> Result<(), SqliteFailure> {
    if charge.usd == 0.0 {
        return Ok(());
    }
    connection
        .prepare_cached(OF_THE_CASE)?
        .execute(params![id.0, charge.usd])?;
    let day = charge.day.to_string();
    connection.prepare_cached(OF_THE_DAY)?.execute(params![
        day,
        id.0,
        charge.urgent,
        charge.usd
    ])?;
    Ok(())
}

/// Charges the running calls of a cancelled case. Their worker will not report the cost, so they are charged as
/// reserved, as a claim does for calls of a lost worker.
pub(super) fn add_running(
    connection: &Connection,
    case: &CaseRow,
    at: DateTime<Utc>,
) -> Result<(), SqliteFailure> {
    let mut statement = connection.prepare_cached(RUNNING)?;
    let (urgent, usd): (Option<bool>, f64) = statement
        .query_row(params![case.id.0, case.revision], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    let charge = Charge {
        day: at.date_naive(),
        urgent: urgent.unwrap_or_default(),
        usd,
    };
    add(connection, &case.id, charge)
}
