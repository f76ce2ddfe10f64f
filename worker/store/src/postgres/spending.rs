//! Stores the costs of days.

use async_trait::async_trait;
use chrono::NaiveDate;
use nightshift_pipeline::budget::DaySpend;
use nightshift_pipeline::port::{DaySpendStore, StoreError};

use super::PostgresStore;

const SPENT_ON: &str = "SELECT coalesce(sum(usd) FILTER (WHERE urgent), 0), \
         coalesce(sum(usd) FILTER (WHERE NOT urgent), 0) \
     FROM spending WHERE day = $1";
/// Charges the running calls of a cancelled case. Their worker will not report the cost, so they are charged as
/// reserved, as a claim does for calls of a lost worker. Calls that the last claim found are charged already, as are
/// those that ended since.
pub(super) const CHARGE_RUNNING: &str = "WITH lost AS ( \
         SELECT cases.id, alert ->> 'severity' IN ('high', 'critical') AS urgent, sum((began.event #>> '{reserved,usd}')::double precision) AS usd \
         FROM cases JOIN alerts ON alerts.case_id = cases.id AND alerts.revision = cases.revision \
             JOIN journal AS began ON began.case_id = cases.id AND began.revision = cases.revision AND began.kind = 'started' \
         WHERE cases.id = $1 \
             AND began.seq > coalesce((SELECT max(seq) FROM journal AS since WHERE since.case_id = cases.id \
                 AND since.revision = cases.revision AND since.kind IN ('claimed', 'time_up')), 0) \
             AND NOT EXISTS (SELECT FROM journal AS ended WHERE ended.case_id = cases.id AND ended.revision = cases.revision \
                 AND ended.command = began.command AND ended.kind IN ('finished', 'withdrawn') AND ended.seq > began.seq) \
         GROUP BY cases.id, urgent \
     ), charged AS ( \
         INSERT INTO spending (day, case_id, urgent, usd) \
         SELECT ($2::timestamptz AT TIME ZONE 'UTC')::date, id, urgent, usd FROM lost WHERE usd <> 0 \
         ON CONFLICT (day, case_id, urgent) DO UPDATE SET usd = spending.usd + excluded.usd \
     ) \
     UPDATE cases SET usd = cases.usd + lost.usd FROM lost WHERE cases.id = lost.id";

#[async_trait]
impl DaySpendStore for PostgresStore {
    async fn spent_on(&self, day: NaiveDate) -> Result<DaySpend, StoreError> {
        self.retry_read("read what a day cost", |session| async move {
            let row = session.row(SPENT_ON, [&day]).await?;
            row.map_or(Ok(DaySpend::default()), |row| {
                Ok(DaySpend {
                    urgent_usd: row.try_get(0)?,
                    other_usd: row.try_get(1)?,
                })
            })
        })
        .await
    }
}
