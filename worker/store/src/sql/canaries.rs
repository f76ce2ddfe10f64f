//! Reads when the last canary arrived at its destination, and which canaries are still open.

use std::sync::LazyLock;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_pipeline::canary::CANARY_CLOSER;
use nightshift_pipeline::case::CaseId;
use nightshift_pipeline::port::{Canaries, StoreError};

use super::{NOW, SqlStore, Statement, Tx, statement, values};

static LAST: LazyLock<Statement> = LazyLock::new(|| {
    statement!("canaries/last.sql")
        .with("is_canary", &IS_CANARY)
        .with("now", &NOW)
});
static OPEN: LazyLock<Statement> =
    LazyLock::new(|| statement!("canaries/open.sql").with("is_canary", &IS_CANARY));
static IS_CANARY: LazyLock<Statement> = LazyLock::new(|| {
    let is_without_account =
        Statement::new("coalesce(cases.account, '') = ''", "cases.account IS NULL");
    statement!("canaries/is_canary.sql").with("is_without_account", &is_without_account)
});

#[async_trait]
impl Canaries for SqlStore {
    async fn last_canary(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        let read = async move |tx: Tx<'_>| {
            let row = tx.optional(&LAST, values![CANARY_CLOSER]).await?;
            row.map(|row| row.get("at")).transpose()
        };
        self.backend.read("look for the last canary", read).await
    }

    async fn open_canaries(&self, most: usize) -> Result<Vec<(CaseId, DateTime<Utc>)>, StoreError> {
        let read = async move |tx: Tx<'_>| {
            let rows = tx.all(&OPEN, values![most]).await?;
            rows.iter()
                .map(|row| Ok((row.get("id")?, row.get("sent_at")?)))
                .collect()
        };
        self.backend.read("look for open canaries", read).await
    }
}
