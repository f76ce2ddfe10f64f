//! Counts pending work over partial indexes that contain only unfinished rows.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use nightshift_alert::Severity;
use nightshift_pipeline::case::Backlog;
use nightshift_pipeline::port::StoreError;

use super::{HIGH, NOW, Row, SqlStore, Statement, Tx, outbox_admin, statement};
use crate::failure::Failure;

pub(crate) static WAITING: Statement = statement!("backlog/waiting.sql");
static BACKLOG: LazyLock<Statement> = LazyLock::new(|| {
    statement!("backlog/backlog.sql")
        .with("now", &NOW)
        .with("high", &HIGH)
        .with("is_undelivered", &outbox_admin::IS_UNDELIVERED)
});

impl SqlStore {
    /// Implements [`nightshift_pipeline::port::Cases::waiting`].
    pub(super) async fn count_waiting(&self) -> Result<BTreeMap<Severity, u64>, StoreError> {
        let count = async move |tx: Tx<'_>| {
            let rows = tx.all(&WAITING, &[]).await?;
            rows.iter()
                .map(|row| Ok((row.get("severity")?, row.get("cases")?)))
                .collect()
        };
        self.backend.read("count waiting cases", count).await
    }

    /// Implements [`nightshift_pipeline::port::Cases::backlog`].
    pub(super) async fn read_backlog(&self) -> Result<Backlog, StoreError> {
        let read = async move |tx: Tx<'_>| to_backlog(&tx.one(&BACKLOG, &[]).await?);
        self.backend.read("read the backlog", read).await
    }
}

fn to_backlog(row: &Row) -> Result<Backlog, Failure> {
    let now: DateTime<Utc> = row.get("now")?;
    let age_secs = |name| -> Result<f64, Failure> {
        let since: Option<DateTime<Utc>> = row.get(name)?;
        let age = since.and_then(|since| (now - since).to_std().ok());
        Ok(age.unwrap_or_default().as_secs_f64())
    };
    Ok(Backlog {
        urgent: row.get("urgent")?,
        others: row.get("others")?,
        oldest_secs: age_secs("oldest")?,
        urgent_oldest_secs: age_secs("urgent_oldest")?,
        running: row.get("running")?,
        outbox: row.get("reports")?,
        outbox_oldest_secs: age_secs("oldest_report")?,
        dead_letters: row.get("dead_letters")?,
    })
}
