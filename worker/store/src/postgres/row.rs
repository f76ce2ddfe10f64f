//! Converts our types to columns and back.

use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case::CaseStatus;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_postgres::Row;

use super::failure::PostgresFailure;
use crate::sql::without_escaped_nul;
pub(super) use crate::sql::without_nul as text;

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
