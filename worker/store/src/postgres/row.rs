//! Converts our types to columns and back.

use nightshift_alert::Severity;
use nightshift_engine::conclusion::{Leaning, Urgency, Verdict};
use nightshift_pipeline::case::{CaseId, CaseRow, CaseStatus};
use nightshift_pipeline::case_workflow::WorkflowStatus;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_postgres::Row;

use super::failure::PostgresFailure;
use crate::sql::without_escaped_nul;
pub(super) use crate::sql::without_nul as text;

/// Matches rows whose verdict is not valid: the last triage failed, and the case is triaged again or that run was
/// cancelled.
macro_rules! leftover {
    () => {
        "(status IN ('queued', 'running', 'cancelled') AND coalesce((SELECT conclusions.status = 'failed' FROM conclusions \
             WHERE conclusions.case_id = cases.id ORDER BY conclusions.revision DESC LIMIT 1), false))"
    };
}

/// The condition of [`leftover`].
pub(super) const LEFTOVER: &str = leftover!();

/// The columns of a case in a list, in the order in which [`case`] reads them.
pub(super) const CASE_COLUMNS: &str = concat!(
    "id, revision, status, feed, key, type, title, account, severity::text, \
     assessed_severity::text, CASE WHEN ",
    leftover!(),
    " THEN NULL ELSE verdict END, leaning, opened_at, concluded_at, sightings, usd, members, workflow_status, owner, \
     (SELECT coalesce(alerts.alert #>> '{resources,0,name}', alerts.alert #>> '{resources,0,id}') FROM alerts \
         WHERE alerts.case_id = cases.id AND alerts.revision = cases.revision) AS subject, \
     (SELECT report ->> 'urgency' FROM conclusions WHERE conclusions.case_id = cases.id ORDER BY conclusions.revision DESC LIMIT 1) AS urgency, \
     (SELECT theirs.detail FROM case_actions AS theirs WHERE theirs.case_id = cases.id AND theirs.action = 'disagreed' \
         AND theirs.detail IS DISTINCT FROM cases.verdict AND NOT EXISTS (SELECT FROM case_actions AS later \
             WHERE later.case_id = theirs.case_id AND later.id > theirs.id AND later.action IN ('agreed', 'disagreed')) \
         ORDER BY theirs.id DESC LIMIT 1) AS person_verdict"
);

/// Serialises a value as JSON without NUL, which `jsonb` does not accept.
pub(super) fn json<T: Serialize>(id: &str, value: &T) -> Result<String, PostgresFailure> {
    let text = serde_json::to_string(value)
        .map_err(|cause| PostgresFailure::Unwritable(id.to_owned(), cause))?;
    Ok(without_escaped_nul(&text).into_owned())
}

/// Parses a column of JSON.
pub(super) fn parse<T: DeserializeOwned>(id: &str, text: &str) -> Result<T, PostgresFailure> {
    serde_json::from_str(text).map_err(|cause| PostgresFailure::Unreadable(id.to_owned(), cause))
}

/// Returns a count from a column.
pub(super) fn count(row: &Row, column: usize) -> Result<u64, PostgresFailure> {
    let count: i64 = row.try_get(column)?;
    Ok(u64::try_from(count).unwrap_or_default())
}

/// Converts a count for a column.
pub(super) fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Converts a number of rows for a `LIMIT`.
pub(super) fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

/// Converts a revision for a column.
pub(super) fn revision(revision: u32) -> i32 {
    i32::try_from(revision).unwrap_or(i32::MAX)
}

/// Returns the revision in this column.
pub(super) fn get_revision(row: &Row, column: usize) -> Result<u32, PostgresFailure> {
    let number: i32 = row.try_get(column)?;
    Ok(u32::try_from(number).unwrap_or_default())
}

/// Returns the severity in this column. The type `severity` is read as text.
pub(super) fn get_severity(row: &Row, column: usize) -> Result<Severity, PostgresFailure> {
    let word: &str = row.try_get(column)?;
    to_severity(word).ok_or_else(|| unknown(word))
}

fn to_severity(word: &str) -> Option<Severity> {
    Severity::ALL.into_iter().find(|one| one.as_str() == word)
}

/// Returns the status in this column.
pub(super) fn get_status(row: &Row, column: usize) -> Result<CaseStatus, PostgresFailure> {
    let word: &str = row.try_get(column)?;
    CaseStatus::parse(word).ok_or_else(|| unknown(word))
}

/// Returns the error for a word of a newer version.
fn unknown(word: &str) -> PostgresFailure {
    let what = format!("{word:?} is not known to this version");
    PostgresFailure::Unreadable(word.to_owned(), serde::de::Error::custom(what))
}

/// Parses a verdict. Returns `None` if the word is not one.
pub(super) fn to_verdict(word: Option<&str>) -> Option<Verdict> {
    Verdict::ALL
        .into_iter()
        .find(|verdict| Some(verdict.as_str()) == word)
}

/// Returns the verdict in this column.
pub(super) fn get_verdict(row: &Row, column: usize) -> Result<Verdict, PostgresFailure> {
    let word: &str = row.try_get(column)?;
    to_verdict(Some(word)).ok_or_else(|| unknown(word))
}

fn to_leaning(word: Option<&str>) -> Option<Leaning> {
    [Leaning::Malicious, Leaning::Benign, Leaning::None]
        .into_iter()
        .find(|leaning| Some(leaning.as_str()) == word)
}

fn to_urgency(word: Option<&str>) -> Option<Urgency> {
    let all = [
        Urgency::None,
        Urgency::NextDay,
        Urgency::ThisShift,
        Urgency::Now,
    ];
    all.into_iter()
        .find(|urgency| Some(urgency.as_str()) == word)
}

/// Parses a case of a list.
pub(super) fn case(row: &Row) -> Result<CaseRow, PostgresFailure> {
    let assessed: Option<&str> = row.try_get(9)?;
    Ok(CaseRow {
        id: CaseId(row.try_get(0)?),
        revision: get_revision(row, 1)?,
        status: get_status(row, 2)?,
        feed: row.try_get(3)?,
        key: row.try_get(4)?,
        kind: row.try_get(5)?,
        title: row.try_get(6)?,
        account: row.try_get(7)?,
        severity: get_severity(row, 8)?,
        assessed_severity: assessed.and_then(to_severity),
        verdict: to_verdict(row.try_get(10)?),
        leaning: to_leaning(row.try_get(11)?),
        opened_at: row.try_get(12)?,
        concluded_at: row.try_get(13)?,
        sightings: count(row, 14)?,
        usd: row.try_get(15)?,
        members: count(row, 16)?,
        desk: WorkflowStatus::parse(row.try_get(17)?).unwrap_or_default(),
        owner: row.try_get(18)?,
        subject: row.try_get(19)?,
        urgency: to_urgency(row.try_get(20)?),
        person_verdict: to_verdict(row.try_get(21)?),
    })
}
