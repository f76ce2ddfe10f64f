//! Reads cases as lists show them.

use std::sync::LazyLock;

use nightshift_pipeline::case::CaseRow;

use super::{Row, Statement, Tx, statement, values};
use crate::failure::Failure;

/// The condition of a case whose verdict is not valid.
pub(crate) static LEFTOVER: Statement =
    statement!("cases/leftover.postgres.sql", "cases/leftover.sqlite.sql");

/// The columns that [`to_case`] reads.
pub(crate) static COLUMNS: LazyLock<Statement> =
    LazyLock::new(|| statement!("cases/columns.sql").with("leftover", &LEFTOVER));

static BY_IDS: LazyLock<Statement> = LazyLock::new(|| {
    statement!("cases/by_ids.postgres.sql", "cases/by_ids.sqlite.sql").with("columns", &COLUMNS)
});

/// Returns those of these cases that exist.
pub(crate) async fn by_ids(tx: Tx<'_>, ids: &[String]) -> Result<Vec<CaseRow>, Failure> {
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let rows = tx.all(&BY_IDS, values![ids]).await?;
    rows.iter().map(to_case).collect()
}

/// Reads a case from its [`COLUMNS`].
pub(crate) fn to_case(row: &Row) -> Result<CaseRow, Failure> {
    Ok(CaseRow {
        id: row.get("id")?,
        revision: row.get("revision")?,
        status: row.get("status")?,
        feed: row.get("feed")?,
        key: row.get("key")?,
        kind: row.get("type")?,
        title: row.get("title")?,
        account: row.get("account")?,
        severity: row.get("severity")?,
        assessed_severity: row.known("assessed_severity")?,
        verdict: row.known("verdict")?,
        leaning: row.known("leaning")?,
        opened_at: row.get("opened_at")?,
        concluded_at: row.get("concluded_at")?,
        sightings: row.get("sightings")?,
        usd: row.get("usd")?,
        members: row.get("members")?,
        desk: row.known("workflow_status")?.unwrap_or_default(),
        owner: row.get("owner")?,
        subject: row.get("subject")?,
        urgency: row.known("urgency")?,
        person_verdict: row.known("person_verdict")?,
    })
}
