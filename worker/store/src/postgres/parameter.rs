//! Gives each parameter of a statement its PostgreSQL type. Behind a pooler, a statement is sent with these types, since
//! the server cannot be asked for them first.

use std::borrow::Cow;

use chrono::{DateTime, NaiveDate, Utc};
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

/// A parameter of a statement, which knows its type.
pub(crate) trait SqlParameter: ToSql + Sync {
    /// Returns the type that a statement declares for this parameter.
    fn sql_type(&self) -> Type;
}

impl<T: SqlType + ToSql + Sync> SqlParameter for T {
    fn sql_type(&self) -> Type {
        T::TYPE
    }
}

/// A Rust type with one PostgreSQL type, also where there is no value.
pub(crate) trait SqlType {
    const TYPE: Type;
}

/// A type that occurs in arrays.
pub(crate) trait SqlElement {
    const ARRAY: Type;
}

macro_rules! sql_types {
    ($($rust:ty => $one:ident, $array:ident;)+) => {$(
        impl SqlType for $rust {
            const TYPE: Type = Type::$one;
        }

        impl SqlElement for $rust {
            const ARRAY: Type = Type::$array;
        }
    )+};
}

sql_types! {
    bool => BOOL, BOOL_ARRAY;
    i32 => INT4, INT4_ARRAY;
    i64 => INT8, INT8_ARRAY;
    f64 => FLOAT8, FLOAT8_ARRAY;
    str => TEXT, TEXT_ARRAY;
    String => TEXT, TEXT_ARRAY;
    Cow<'_, str> => TEXT, TEXT_ARRAY;
    [u8] => BYTEA, BYTEA_ARRAY;
    Uuid => UUID, UUID_ARRAY;
    NaiveDate => DATE, DATE_ARRAY;
    DateTime<Utc> => TIMESTAMPTZ, TIMESTAMPTZ_ARRAY;
}

impl<T: SqlType + ?Sized> SqlType for &T {
    const TYPE: Type = T::TYPE;
}

impl<T: SqlElement + ?Sized> SqlElement for &T {
    const ARRAY: Type = T::ARRAY;
}

impl<T: SqlType> SqlType for Option<T> {
    const TYPE: Type = T::TYPE;
}

impl<T: SqlElement> SqlElement for Option<T> {
    const ARRAY: Type = T::ARRAY;
}

impl<T: SqlElement> SqlType for Vec<T> {
    const TYPE: Type = T::ARRAY;
}

impl<T: SqlElement> SqlType for [T] {
    const TYPE: Type = T::ARRAY;
}
