//! Converts our types to parameters of statements.

use std::borrow::Cow;

use bytes::{BufMut, BytesMut};
use chrono::{DateTime, NaiveDate, SecondsFormat, Utc};
use nightshift_alert::Severity;
use rusqlite::types::{ToSqlOutput, Value as SqliteValue};
use serde::Serialize;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::failure::Failure;

/// A parameter of a statement.
///
/// PostgreSQL gets no NUL: its text cannot contain one, so it gets the replacement character instead. SQLite stores a
/// time as text that sorts by time, a severity as a number, and a list as JSON.
#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    /// NULL in place of a value of this type.
    Null(Type),
    Bool(bool),
    Int(i64),
    Real(f64),
    Text(&'a str),
    Json(String),
    Time(DateTime<Utc>),
    Date(NaiveDate),
    Severity(Severity),
    Texts(Vec<&'a str>),
    Ints(Vec<i64>),
}

/// Makes a list of parameters.
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        &[$($crate::sql::Value::from($value)),*]
    };
}
pub(crate) use values;

impl Value<'_> {
    /// Returns the type that a statement of PostgreSQL declares for this parameter.
    pub(crate) fn postgres_type(&self) -> Type {
        match self {
            Self::Null(ty) => ty.clone(),
            Self::Bool(_) => Type::BOOL,
            Self::Int(_) => Type::INT8,
            Self::Real(_) => Type::FLOAT8,
            Self::Text(_) | Self::Severity(_) => Type::TEXT,
            Self::Json(_) => Type::JSONB,
            Self::Time(_) => Type::TIMESTAMPTZ,
            Self::Date(_) => Type::DATE,
            Self::Texts(_) => Type::TEXT_ARRAY,
            Self::Ints(_) => Type::INT8_ARRAY,
        }
    }

    /// Serialises a value that belongs to `id`, such as a case.
    pub(crate) fn json<T: Serialize + ?Sized>(id: &str, value: &T) -> Result<Self, Failure> {
        let json = serde_json::to_string(value);
        json.map(Self::Json)
            .map_err(|cause| Failure::Unwritable(id.to_owned(), cause))
    }
}

/// Implements conversions into parameters, and of an option into one that may be NULL.
macro_rules! parameters {
    ($lifetime:lifetime; $($from:ty, $type:ident, $value:ident => $into:expr;)+) => {
        $(
            impl<$lifetime> From<$from> for Value<$lifetime> {
                fn from($value: $from) -> Self {
                    $into
                }
            }

            impl<$lifetime> From<Option<$from>> for Value<$lifetime> {
                fn from(value: Option<$from>) -> Self {
                    value.map_or(Self::Null(Type::$type), Self::from)
                }
            }
        )+
    };
}

parameters! {
    'a;
    bool, BOOL, value => Value::Bool(value);
    i64, INT8, value => Value::Int(value);
    u32, INT8, value => Value::Int(value.into());
    u64, INT8, value => Value::Int(i64::try_from(value).unwrap_or(i64::MAX));
    usize, INT8, value => Value::Int(i64::try_from(value).unwrap_or(i64::MAX));
    f64, FLOAT8, value => Value::Real(value);
    &'a str, TEXT, value => Value::Text(value);
    &'a String, TEXT, value => Value::Text(value);
    DateTime<Utc>, TIMESTAMPTZ, value => Value::Time(value);
    NaiveDate, DATE, value => Value::Date(value);
    Severity, TEXT, value => Value::Severity(value);
    Vec<&'a str>, TEXT_ARRAY, value => Value::Texts(value);
    Vec<i64>, INT8_ARRAY, value => Value::Ints(value);
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null(_) => Ok(IsNull::Yes),
            Self::Bool(value) => value.to_sql(ty, out),
            Self::Int(value) => value.to_sql(ty, out),
            Self::Real(value) => value.to_sql(ty, out),
            Self::Text(value) => without_nul(value).to_sql(ty, out),
            Self::Json(json) => {
                // The version of the format.
                out.put_u8(1);
                without_escaped_nul(json).to_sql(&Type::TEXT, out)
            }
            Self::Time(value) => value.to_sql(ty, out),
            Self::Date(value) => value.to_sql(ty, out),
            Self::Severity(value) => value.as_str().to_sql(ty, out),
            Self::Texts(values) => {
                let values: Vec<_> = values.iter().map(|text| without_nul(text)).collect();
                values.to_sql(ty, out)
            }
            Self::Ints(values) => values.to_sql(ty, out),
        }
    }

    /// Accepts all types, because a statement is prepared with [`Value::postgres_type`].
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>, rusqlite::Error> {
        let text = |text: String| ToSqlOutput::Owned(SqliteValue::Text(text));
        Ok(match self {
            Self::Null(_) => ToSqlOutput::Owned(SqliteValue::Null),
            Self::Bool(value) => ToSqlOutput::from(*value),
            Self::Int(value) => ToSqlOutput::from(*value),
            Self::Real(value) => ToSqlOutput::from(*value),
            Self::Text(value) => ToSqlOutput::from(*value),
            Self::Json(json) => ToSqlOutput::from(json.as_str()),
            Self::Time(at) => text(at.to_rfc3339_opts(SecondsFormat::Micros, true)),
            Self::Date(day) => text(day.to_string()),
            Self::Severity(severity) => ToSqlOutput::from(severity_number(*severity)),
            Self::Texts(values) => text(list(values)?),
            Self::Ints(values) => text(list(values)?),
        })
    }
}

/// Returns a list as JSON.
fn list<T: Serialize>(values: &[T]) -> Result<String, rusqlite::Error> {
    serde_json::to_string(values)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

/// Returns the number that SQLite stores for a severity.
pub(crate) const fn severity_number(severity: Severity) -> i64 {
    match severity {
        Severity::Informational => 0,
        Severity::Low => 1,
        Severity::Medium => 2,
        Severity::High => 3,
        Severity::Critical => 4,
    }
}

/// Returns text without NUL, which PostgreSQL does not accept.
pub(crate) fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Replaces the escape of NUL in JSON, but not an escaped backslash before `u0000`.
pub(crate) fn without_escaped_nul(json: &str) -> Cow<'_, str> {
    const NUL: &str = "\\u0000";
    if !json.contains(NUL) {
        return Cow::Borrowed(json);
    }
    let mut clean = String::with_capacity(json.len());
    let mut rest = json;
    while let Some((before, after)) = rest.split_once('\\') {
        clean.push_str(before);
        let (escape, behind) = match after.strip_prefix("u0000") {
            Some(behind) => ("\\ufffd", behind),
            None => {
                clean.push('\\');
                let mut chars = after.chars();
                clean.extend(chars.next());
                ("", chars.as_str())
            }
        };
        clean.push_str(escape);
        rest = behind;
    }
    clean.push_str(rest);
    Cow::Owned(clean)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn nul_becomes_a_replacement_character_and_all_else_stays(words in prop::collection::vec("[\\\\\0u0-9a\"\n]{0,8}", 0..6)) {
            let json = serde_json::to_string(&words).unwrap();
            let back: Vec<String> = serde_json::from_str(&without_escaped_nul(&json)).unwrap();
            let wanted: Vec<_> = words.iter().map(|word| without_nul(word).into_owned()).collect();
            prop_assert_eq!(back, wanted);
        }
    }
}
