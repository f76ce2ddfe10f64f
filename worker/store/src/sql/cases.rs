//! Finds cases and reads them as lists show them.

use std::sync::LazyLock;

use nightshift_alert::Alert;
use nightshift_pipeline::case::CaseRow;

use super::{IN_LIST, Row, Statement, Tx, statement, values};
use crate::failure::Failure;

/// The least length of an id prefix that identifies a case.
const SHORTEST_ID: usize = 4;

/// The expression of the status of a conclusion. SQLite has it in the report.
pub(crate) static CONCLUSION_STATUS: Statement =
    Statement::new("conclusions.status", "conclusions.report ->> 'status'");

/// The condition of a case whose verdict is not valid.
pub(crate) static LEFTOVER: LazyLock<Statement> = LazyLock::new(|| {
    statement!("cases/leftover.sql").with("conclusion_status", &CONCLUSION_STATUS)
});

/// The expression of the last verdict of a person that differs from that of the case.
pub(super) static PERSON_VERDICT: Statement = statement!("cases/person_verdict.sql");

/// The columns that [`to_case`] reads.
pub(crate) static COLUMNS: LazyLock<Statement> = LazyLock::new(|| {
    let columns = statement!("cases/columns.sql").with("leftover", &LEFTOVER);
    columns.with("person_verdict", &PERSON_VERDICT)
});

pub(crate) static FIND: LazyLock<Statement> =
    LazyLock::new(|| statement!("cases/find.sql").with("columns", &COLUMNS));
static BY_IDS: LazyLock<Statement> = LazyLock::new(|| {
    let by_ids = statement!("cases/by_ids.sql").with("columns", &COLUMNS);
    by_ids.with("in_list", &IN_LIST)
});
/// The alert that a revision triages.
pub(super) static ALERT: Statement = statement!("cases/alert.sql");

/// Returns the only case that the text identifies.
pub(crate) async fn find(tx: Tx<'_>, id: &str) -> Result<CaseRow, Failure> {
    let none = || Failure::NoSuchCase(id.to_owned());
    if id.chars().count() < SHORTEST_ID || id.contains('\0') {
        return Err(none());
    }
    let rows = tx.all(&FIND, values![&id.to_lowercase()]).await?;
    match rows.as_slice() {
        [one] => to_case(one),
        _ => Err(none()),
    }
}

/// Returns the alert that a revision triages.
pub(crate) async fn alert(tx: Tx<'_>, id: &str, revision: u32) -> Result<Alert, Failure> {
    let row = tx.optional(&ALERT, values![id, revision]).await?;
    let row = row.ok_or_else(|| Failure::NoSuchCase(id.to_owned()))?;
    row.json("alert", id)
}

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
