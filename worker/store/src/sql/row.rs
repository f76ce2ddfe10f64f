//! Reads rows by the names of their columns.

use std::sync::Arc;

use chrono::{DateTime, NaiveDate, Utc};
use nightshift_alert::Severity;
use nightshift_engine::conclusion::{Leaning, Urgency, Verdict};
use nightshift_pipeline::case::{CaseId, CaseStatus};
use nightshift_pipeline::case_workflow::WorkflowStatus;
use rusqlite::types::{Value as SqliteValue, ValueRef};
use serde::de::{DeserializeOwned, Error as _};
use tokio_postgres::types::{FromSql, Kind, Type};

use super::value::severity_number;
use crate::failure::Failure;

/// A row of a result.
#[derive(Debug)]
pub(crate) enum Row {
    Postgres(tokio_postgres::Row),
    Sqlite {
        /// The names of the columns, shared by all rows of a result.
        columns: Arc<[String]>,
        values: Vec<SqliteValue>,
    },
}

impl Row {
    /// Copies a row of SQLite.
    pub(super) fn from_sqlite(
        columns: &Arc<[String]>,
        row: &rusqlite::Row<'_>,
    ) -> Result<Self, rusqlite::Error> {
        let values = (0..columns.len()).map(|column| row.get(column));
        Ok(Self::Sqlite {
            values: values.collect::<Result<_, _>>()?,
            columns: Arc::clone(columns),
        })
    }

    /// Returns the value of a column.
    pub(crate) fn get<T: FromColumn>(&self, name: &str) -> Result<T, Failure> {
        let column = self.column(name)?;
        T::from_column(column).ok_or_else(|| {
            let what = format!("{column:?} in {name} is not known to this version");
            Failure::Unreadable(name.to_owned(), serde_json::Error::custom(what))
        })
    }

    /// Returns the value of a column, or `None` if it is NULL or a word that this version does not know.
    pub(crate) fn known<T: FromColumn>(&self, name: &str) -> Result<Option<T>, Failure> {
        Ok(T::from_column(self.column(name)?))
    }

    /// Parses a column of JSON that belongs to `id`, such as a case.
    pub(crate) fn json<T: DeserializeOwned>(&self, name: &str, id: &str) -> Result<T, Failure> {
        let text = match self.column(name)? {
            Column::Text(text) => text,
            _ => "null",
        };
        serde_json::from_str(text).map_err(|cause| Failure::Unreadable(id.to_owned(), cause))
    }

    fn column(&self, name: &str) -> Result<Column<'_>, Failure> {
        match self {
            Self::Postgres(row) => Ok(row.try_get(name)?),
            Self::Sqlite { columns, values } => {
                let index = columns.iter().position(|column| column == name);
                let value = index.and_then(|index| values.get(index));
                let value = value.ok_or_else(|| {
                    Failure::Sqlite(rusqlite::Error::InvalidColumnName(name.to_owned()))
                })?;
                Column::from_sqlite(value.into())
            }
        }
    }
}

/// A value as a database returns it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Column<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Real(f64),
    /// Text, a word of an enumeration, or JSON.
    Text(&'a str),
    Bytes(&'a [u8]),
    Time(DateTime<Utc>),
}

impl<'a> Column<'a> {
    fn from_sqlite(value: ValueRef<'a>) -> Result<Self, Failure> {
        Ok(match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Int(number),
            ValueRef::Real(number) => Self::Real(number),
            ValueRef::Text(_) => Self::Text(value.as_str().map_err(rusqlite::Error::from)?),
            ValueRef::Blob(bytes) => Self::Bytes(bytes),
        })
    }
}

impl<'a> FromSql<'a> for Column<'a> {
    fn from_sql(
        ty: &Type,
        raw: &'a [u8],
    ) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(match *ty {
            Type::BOOL => Self::Bool(bool::from_sql(ty, raw)?),
            Type::INT2 => Self::Int(i16::from_sql(ty, raw)?.into()),
            Type::INT4 => Self::Int(i32::from_sql(ty, raw)?.into()),
            Type::INT8 => Self::Int(i64::from_sql(ty, raw)?),
            Type::FLOAT8 => Self::Real(f64::from_sql(ty, raw)?),
            Type::BYTEA => Self::Bytes(raw),
            Type::TIMESTAMPTZ => Self::Time(DateTime::from_sql(ty, raw)?),
            // The first byte is the version of the format.
            Type::JSONB => Self::Text(str::from_utf8(raw.get(1..).unwrap_or_default())?),
            _ => Self::Text(str::from_utf8(raw)?),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(ty: &Type) -> bool {
        const KNOWN: [Type; 11] = [
            Type::BOOL,
            Type::INT2,
            Type::INT4,
            Type::INT8,
            Type::FLOAT8,
            Type::BYTEA,
            Type::TIMESTAMPTZ,
            Type::JSON,
            Type::JSONB,
            Type::TEXT,
            Type::VARCHAR,
        ];
        KNOWN.contains(ty) || matches!(ty.kind(), Kind::Enum(_))
    }
}

/// A type that is read from a column.
pub(crate) trait FromColumn: Sized {
    /// Returns the value, or `None` if the column is NULL or holds no such value.
    fn from_column(column: Column<'_>) -> Option<Self>;
}

impl<T: FromColumn> FromColumn for Option<T> {
    fn from_column(column: Column<'_>) -> Option<Self> {
        match column {
            Column::Null => Some(None),
            _ => T::from_column(column).map(Some),
        }
    }
}

impl FromColumn for bool {
    fn from_column(column: Column<'_>) -> Option<Self> {
        match column {
            Column::Bool(value) => Some(value),
            Column::Int(number) => Some(number != 0),
            _ => None,
        }
    }
}

impl FromColumn for i64 {
    fn from_column(column: Column<'_>) -> Option<Self> {
        match column {
            Column::Int(number) => Some(number),
            _ => None,
        }
    }
}

impl FromColumn for f64 {
    fn from_column(column: Column<'_>) -> Option<Self> {
        match column {
            Column::Real(number) => Some(number),
            // SQLite adds nothing up to an integer.
            Column::Int(0) => Some(0.0),
            _ => None,
        }
    }
}

impl FromColumn for String {
    fn from_column(column: Column<'_>) -> Option<Self> {
        match column {
            Column::Text(text) => Some(text.to_owned()),
            _ => None,
        }
    }
}

impl FromColumn for Vec<u8> {
    fn from_column(column: Column<'_>) -> Option<Self> {
        match column {
            Column::Bytes(bytes) => Some(bytes.to_owned()),
            _ => None,
        }
    }
}

impl FromColumn for DateTime<Utc> {
    fn from_column(column: Column<'_>) -> Option<Self> {
        match column {
            Column::Time(at) => Some(at),
            Column::Text(text) => DateTime::parse_from_rfc3339(text)
                .ok()
                .map(|at| at.to_utc()),
            _ => None,
        }
    }
}

impl FromColumn for NaiveDate {
    /// Reads a date that the statement casts to text.
    fn from_column(column: Column<'_>) -> Option<Self> {
        match column {
            Column::Text(text) => text.parse().ok(),
            _ => None,
        }
    }
}

impl FromColumn for Severity {
    /// Reads the word of PostgreSQL, or the number of SQLite, which is a digit where the statement casts it to text.
    fn from_column(column: Column<'_>) -> Option<Self> {
        let number = match column {
            Column::Int(number) => Some(number),
            Column::Text(text) => text.parse().ok(),
            _ => None,
        };
        Self::ALL.into_iter().find(|severity| match number {
            Some(number) => severity_number(*severity) == number,
            None => matches!(column, Column::Text(word) if severity.as_str() == word),
        })
    }
}

/// Implements reading for types that are made from another type of a column.
macro_rules! read_as {
    ($($type:ty, $from:ty, $value:ident => $into:expr;)+) => {
        $(impl FromColumn for $type {
            fn from_column(column: Column<'_>) -> Option<Self> {
                let $value = <$from>::from_column(column)?;
                $into
            }
        })+
    };
}

read_as! {
    u32, i64, number => number.try_into().ok();
    u64, i64, number => number.try_into().ok();
    CaseId, String, id => Some(Self(id));
    CaseStatus, String, word => Self::parse(&word);
    WorkflowStatus, String, word => Self::parse(&word);
    Verdict, String, word => Self::ALL.into_iter().find(|verdict| verdict.as_str() == word);
    Leaning, String, word => [Self::Malicious, Self::Benign, Self::None]
        .into_iter()
        .find(|leaning| leaning.as_str() == word);
    Urgency, String, word => [Self::None, Self::NextDay, Self::ThisShift, Self::Now]
        .into_iter()
        .find(|urgency| urgency.as_str() == word);
}
