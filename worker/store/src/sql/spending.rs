//! Stores the costs of cases and of days.

use async_trait::async_trait;
use chrono::{DateTime, NaiveDate, Utc};
use nightshift_pipeline::budget::{Charge, DaySpend};
use nightshift_pipeline::case::CaseId;
use nightshift_pipeline::port::{DaySpendStore, StoreError};

use super::{SqlStore, Statement, Tx, statement, values};
use crate::failure::Failure;

static SPENT_ON: Statement = statement!("spending/spent_on.sql");
static CHARGE_CASE: Statement = statement!("spending/charge_case.sql");
pub(super) static CHARGE_DAY: Statement = statement!("spending/charge_day.sql");
static RUNNING_CALLS: Statement = statement!("spending/running_calls.sql");

#[async_trait]
impl DaySpendStore for SqlStore {
    async fn spent_on(&self, day: NaiveDate) -> Result<DaySpend, StoreError> {
        let read = async move |tx: Tx<'_>| {
            let row = tx.one(&SPENT_ON, values![day]).await?;
            Ok(DaySpend {
                urgent_usd: row.get("urgent_usd")?,
                other_usd: row.get("other_usd")?,
            })
        };
        self.backend.read("read what a day cost", read).await
    }
}

/// Adds a charge to its case and its day.
pub(crate) async fn add(tx: Tx<'_>, id: &CaseId, charge: Charge) -> Result<(), Failure> {
    if charge.usd == 0.0 {
        return Ok(());
    }
    tx.execute(&CHARGE_CASE, values![&id.0, charge.usd]).await?;
    let values = values![charge.day, &id.0, charge.urgent, charge.usd];
    tx.execute(&CHARGE_DAY, values).await?;
    Ok(())
}

/// Charges the running calls of a cancelled case. Their worker will not report the cost, so they are charged as
/// reserved, as a claim does for calls of a lost worker.
pub(crate) async fn add_running(
    tx: Tx<'_>,
    id: &CaseId,
    revision: u32,
    at: DateTime<Utc>,
) -> Result<(), Failure> {
    let values = values![&id.0, revision];
    let Some(row) = tx.optional(&RUNNING_CALLS, values).await? else {
        return Ok(());
    };
    let usd: Option<f64> = row.get("usd")?;
    let charge = Charge {
        day: at.date_naive(),
        urgent: row.get("urgent")?,
        usd: usd.unwrap_or_default(),
    };
    add(tx, id, charge).await
}
