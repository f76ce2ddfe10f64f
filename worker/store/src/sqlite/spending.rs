//! What cases cost: of each case, and of each day.

use async_trait::async_trait;
use chrono::NaiveDate;
use nightshift_pipeline::{CaseId, Charge, DaySpent, Spending, StoreError};
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::thread::Failure;

const OF_THE_CASE: &str = "UPDATE cases SET usd = usd + ?2 WHERE id = ?1";
const OF_THE_DAY: &str = "INSERT INTO spending (day, case_id, urgent, usd) VALUES (?1, ?2, ?3, ?4) \
     ON CONFLICT (day, case_id, urgent) DO UPDATE SET usd = usd + excluded.usd";
const SUM: &str = "SELECT coalesce(sum(usd) FILTER (WHERE urgent), 0.0), \
     coalesce(sum(usd) FILTER (WHERE NOT urgent), 0.0) FROM spending WHERE day = ?1";

#[async_trait]
impl Spending for SqliteStore {
    async fn spent_on(&self, day: NaiveDate) -> Result<DaySpent, StoreError> {
        self.thread
            .run("sum up what the day cost", move |connection| {
                let mut statement = connection.prepare_cached(SUM)?;
                Ok(statement.query_row([day.to_string()], |row| {
                    Ok(DaySpent {
                        urgent_usd: row.get(0)?,
                        other_usd: row.get(1)?,
                    })
                })?)
            })
            .await
    }
}

/// Adds a charge to its case and its day.
pub(super) fn add(connection: &Connection, id: &CaseId, charge: Charge) -> Result<(), Failure> {
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
