//! Converts our types to columns and back.

use chrono::{DateTime, SecondsFormat, Utc};
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case::CaseStatus;
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
