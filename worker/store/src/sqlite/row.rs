//! Converts our types to columns and back.

use chrono::{DateTime, SecondsFormat, Utc};
use nightshift_alert::Severity;
use nightshift_engine::conclusion::{Leaning, Urgency, Verdict};
use nightshift_pipeline::case::{CaseId, CaseRow, CaseStatus};
use nightshift_pipeline::case_workflow::WorkflowStatus;
use rusqlite::types::Type;
use rusqlite::{Error, Row};

pub(super) use crate::sql::severity_number as severity;

/// Converts a time to text that sorts by time.
pub(super) fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Micros, true)
}

fn unfit(column: usize, what: String) -> Error {
    Error::FromSqlConversionFailure(column, Type::Text, what.into())
}

/// Returns the time in this column.
pub(super) fn get_time(row: &Row<'_>, column: usize) -> Result<DateTime<Utc>, Error> {
    let text: String = row.get(column)?;
    DateTime::parse_from_rfc3339(&text)
        .map(|at| at.to_utc())
        .map_err(|error| unfit(column, format!("{text:?} is no time: {error}")))
}

/// Returns the time in this column, if there is one.
pub(super) fn get_time_or_none(
    row: &Row<'_>,
    column: usize,
) -> Result<Option<DateTime<Utc>>, Error> {
    match row.get_ref(column)? {
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => get_time(row, column).map(Some),
    }
}

/// Returns the severity in this column.
pub(super) fn get_severity(row: &Row<'_>, column: usize) -> Result<Severity, Error> {
    let number: i64 = row.get(column)?;
    to_severity(number).ok_or_else(|| unfit(column, format!("{number} is no severity")))
}

fn to_severity(number: i64) -> Option<Severity> {
    Severity::ALL
        .into_iter()
        .find(|one| severity(*one) == number)
}

/// Returns the status in this column.
pub(super) fn get_status(row: &Row<'_>, column: usize) -> Result<CaseStatus, Error> {
    let word: String = row.get(column)?;
    CaseStatus::parse(&word).ok_or_else(|| unfit(column, format!("{word:?} is no status")))
}

/// Parses a verdict. Returns `None` if the word is not one.
pub(super) fn to_verdict(word: Option<&str>) -> Option<Verdict> {
    Verdict::ALL
        .into_iter()
        .find(|verdict| Some(verdict.as_str()) == word)
}

/// Returns the verdict in this column.
pub(super) fn get_verdict(row: &Row<'_>, column: usize) -> Result<Verdict, Error> {
    let word: String = row.get(column)?;
    to_verdict(Some(&word)).ok_or_else(|| unfit(column, format!("{word:?} is no verdict")))
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

/// Matches rows whose verdict is not valid: the last triage failed, and the case is triaged again or that run was
/// cancelled.
macro_rules! leftover {
    () => {
        "(status IN ('queued', 'running', 'cancelled') AND coalesce((SELECT json_extract(report, '$.status') = 'failed' FROM conclusions \
             WHERE conclusions.case_id = cases.id ORDER BY conclusions.revision DESC LIMIT 1), false))"
    };
}

/// The condition of [`leftover`].
pub(super) const LEFTOVER: &str = leftover!();

/// The columns of a case in a list, in the order in which [`case`] reads them.
pub(super) const CASE_COLUMNS: &str = concat!(
    "id, revision, status, feed, key, type, title, account, severity, \
     assessed_severity, CASE WHEN ",
    leftover!(),
    " THEN NULL ELSE verdict END, leaning, opened_at, concluded_at, sightings, usd, members, workflow_status, owner, \
     (SELECT coalesce(json_extract(alerts.alert, '$.resources[0].name'), json_extract(alerts.alert, '$.resources[0].id')) FROM alerts \
         WHERE alerts.case_id = cases.id AND alerts.revision = cases.revision) AS subject, \
     (SELECT json_extract(report, '$.urgency') FROM conclusions WHERE conclusions.case_id = cases.id ORDER BY conclusions.revision DESC LIMIT 1) AS urgency, \
     (SELECT theirs.detail FROM case_actions AS theirs WHERE theirs.case_id = cases.id AND theirs.action = 'disagreed' \
         AND theirs.detail IS NOT cases.verdict AND NOT EXISTS (SELECT 1 FROM case_actions AS later \
             WHERE later.case_id = theirs.case_id AND later.id > theirs.id AND later.action IN ('agreed', 'disagreed')) \
         ORDER BY theirs.id DESC LIMIT 1) AS person_verdict"
);

/// Parses a case of a list.
pub(super) fn case(row: &Row<'_>) -> Result<CaseRow, Error> {
    let assessed: Option<i64> = row.get(9)?;
    let verdict: Option<String> = row.get(10)?;
    let leaning: Option<String> = row.get(11)?;
    let (urgency, person_verdict): (Option<String>, Option<String>) = (row.get(20)?, row.get(21)?);
    let (sightings, members): (i64, i64) = (row.get(14)?, row.get(16)?);
    Ok(CaseRow {
        id: CaseId(row.get(0)?),
        revision: row.get(1)?,
        status: get_status(row, 2)?,
        feed: row.get(3)?,
        key: row.get(4)?,
        kind: row.get(5)?,
        title: row.get(6)?,
        account: row.get(7)?,
        severity: get_severity(row, 8)?,
        assessed_severity: assessed.and_then(to_severity),
        verdict: to_verdict(verdict.as_deref()),
        leaning: to_leaning(leaning.as_deref()),
        opened_at: get_time(row, 12)?,
        concluded_at: get_time_or_none(row, 13)?,
        sightings: u64::try_from(sightings).unwrap_or_default(),
        members: u64::try_from(members).unwrap_or_default(),
        usd: row.get(15)?,
        desk: WorkflowStatus::parse(&row.get::<_, String>(17)?).unwrap_or_default(),
        owner: row.get(18)?,
        subject: row.get(19)?,
        urgency: to_urgency(urgency.as_deref()),
        person_verdict: to_verdict(person_verdict.as_deref()),
    })
}
