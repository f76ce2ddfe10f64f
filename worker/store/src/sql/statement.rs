//! Holds statements in the dialects of both databases.

use std::borrow::Cow;

/// A statement, or a part of one, in both dialects.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    postgres: Cow<'static, str>,
    sqlite: Cow<'static, str>,
}

/// Reads a statement from a file beside the repository: one for both databases, or one for PostgreSQL and one for
/// SQLite.
macro_rules! statement {
    ($both:literal) => {
        $crate::sql::statement!($both, $both)
    };
    ($postgres:literal, $sqlite:literal) => {
        $crate::sql::Statement::new(include_str!($postgres), include_str!($sqlite))
    };
}
pub(crate) use statement;

impl Statement {
    /// Creates a statement from its two dialects.
    pub(crate) const fn new(postgres: &'static str, sqlite: &'static str) -> Self {
        Self {
            postgres: Cow::Borrowed(postgres),
            sqlite: Cow::Borrowed(sqlite),
        }
    }

    /// Creates a part that is the same in both dialects.
    pub(crate) fn from_both(sql: String) -> Self {
        Self {
            postgres: Cow::Owned(sql.clone()),
            sqlite: Cow::Owned(sql),
        }
    }

    /// Returns the statement with a part in place of `{name}`.
    pub(crate) fn with(&self, name: &str, part: &Self) -> Self {
        let place = format!("{{{name}}}");
        Self {
            postgres: Cow::Owned(self.postgres.replace(&place, &part.postgres)),
            sqlite: Cow::Owned(self.sqlite.replace(&place, &part.sqlite)),
        }
    }

    /// Returns the dialect of PostgreSQL.
    pub(crate) const fn postgres(&self) -> &str {
        match &self.postgres {
            Cow::Borrowed(sql) => sql,
            Cow::Owned(sql) => sql.as_str(),
        }
    }

    /// Returns the dialect of SQLite.
    pub(crate) const fn sqlite(&self) -> &str {
        match &self.sqlite {
            Cow::Borrowed(sql) => sql,
            Cow::Owned(sql) => sql.as_str(),
        }
    }
}
