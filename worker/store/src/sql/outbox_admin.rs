//! Lists and gives up pending reports by destination. The counts match those of [`super::backlog`].

use std::sync::LazyLock;

use async_trait::async_trait;
use nightshift_pipeline::case::CaseId;
use nightshift_pipeline::port::{DestinationBacklog, OutboxAdmin, StoreError};

use super::{IN_LIST, Row, SqlStore, Statement, Tx, statement, values};
use crate::failure::Failure;

/// The condition of a delivery whose destination does not show the report and may still take it. SQLite uses its
/// partial index only for the condition as the index has it.
pub(super) static IS_UNDELIVERED: Statement = Statement::new(
    "sent_version < wanted_version AND sent_version < major_version AND NOT given_up",
    "sent_version < wanted_version AND sent_version < major_version AND given_up = 0",
);

pub(crate) static BACKLOGS: LazyLock<Statement> = LazyLock::new(|| {
    statement!("outbox_admin/backlogs.sql").with("is_undelivered", &IS_UNDELIVERED)
});
static UNDELIVERED_CASES: LazyLock<Statement> = LazyLock::new(|| {
    statement!("outbox_admin/undelivered_cases.sql").with("is_undelivered", &IS_UNDELIVERED)
});
static GIVE_UP: LazyLock<Statement> = LazyLock::new(|| {
    statement!("outbox_admin/give_up.sql")
        .with("in_list", &IN_LIST)
        .with("is_undelivered", &IS_UNDELIVERED)
});
static FORGET_DELIVERED: Statement = statement!("outbox_admin/forget_delivered.sql");

#[async_trait]
impl OutboxAdmin for SqlStore {
    async fn backlogs(&self) -> Result<Vec<DestinationBacklog>, StoreError> {
        let count = async move |tx: Tx<'_>| {
            let rows = tx.all(&BACKLOGS, &[]).await?;
            rows.iter().map(to_backlog).collect()
        };
        self.backend.read("count undelivered reports", count).await
    }

    async fn undelivered_cases(
        &self,
        destination: &str,
        most: usize,
    ) -> Result<Vec<CaseId>, StoreError> {
        let destination = destination.to_owned();
        let list = async move |tx: Tx<'_>| {
            let values = values![&destination, most];
            let rows = tx.all(&UNDELIVERED_CASES, values).await?;
            rows.iter().map(|row| row.get("case_id")).collect()
        };
        self.backend.read("list undelivered reports", list).await
    }

    async fn give_up(
        &self,
        destination: &str,
        cases: &[CaseId],
        why: &str,
    ) -> Result<u64, StoreError> {
        let (destination, why) = (destination.to_owned(), why.to_owned());
        let cases = cases.to_vec();
        let give_up = async move |tx: Tx<'_>| {
            let ids: Vec<&str> = cases.iter().map(|id| id.0.as_str()).collect();
            tx.execute(&GIVE_UP, values![ids, &destination, &why]).await
        };
        let doing = "give up undelivered reports";
        self.backend.write(doing, give_up).await
    }

    async fn forget_delivered(&self, destination: &str) -> Result<(), StoreError> {
        let destination = destination.to_owned();
        let forget = async move |tx: Tx<'_>| {
            tx.execute(&FORGET_DELIVERED, values![&destination]).await?;
            Ok(())
        };
        let doing = "forget delivered reports";
        self.backend.write(doing, forget).await
    }
}

/// Reads a row of [`BACKLOGS`].
pub(crate) fn to_backlog(row: &Row) -> Result<DestinationBacklog, Failure> {
    Ok(DestinationBacklog {
        destination: row.get("destination")?,
        reports: row.get("reports")?,
        since: row.get("since")?,
    })
}
