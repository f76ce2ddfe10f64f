//! Runs statements in the transaction of a request.

use std::sync::Arc;

use futures_util::FutureExt;
use rusqlite::{CachedStatement, Connection};

use super::{Row, Statement, Value};
use crate::failure::Failure;
use crate::postgres::{NOTIFY, Session};
use crate::sqlite::SqliteConnection;

/// The connection of a request. Where the request is a transaction, statements run in it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tx<'a> {
    Postgres(&'a Session),
    Sqlite(&'a SqliteConnection),
}

impl Tx<'_> {
    /// Runs a statement and returns the number of changed rows.
    pub(crate) async fn execute(
        self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<u64, Failure> {
        match self {
            Self::Postgres(session) => session.execute(statement.postgres(), values).await,
            Self::Sqlite(connection) => {
                let connection = connection.lock();
                let changed = prepare(&connection, statement, values)?.raw_execute()?;
                Ok(u64::try_from(changed).unwrap_or(u64::MAX))
            }
        }
    }

    /// Returns all rows of a statement.
    pub(crate) async fn all(
        self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, Failure> {
        match self {
            Self::Postgres(session) => {
                let rows = session.all(statement.postgres(), values).await?;
                Ok(rows.into_iter().map(Row::Postgres).collect())
            }
            Self::Sqlite(connection) => all_of_sqlite(&connection.lock(), statement, values),
        }
    }

    /// Returns the first row of a statement, if there is one.
    pub(crate) async fn optional(
        self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<Option<Row>, Failure> {
        Ok(self.all(statement, values).await?.into_iter().next())
    }

    /// Returns the row of a statement that always has one.
    pub(crate) async fn one(
        self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<Row, Failure> {
        let row = self.optional(statement, values).await?;
        row.ok_or(Failure::NoRow)
    }

    /// Runs a statement once for each list of values, in order, and returns the rows of each run. PostgreSQL gets many
    /// runs in one round trip.
    pub(crate) async fn batch(
        self,
        statement: &Statement,
        runs: &[Vec<Value<'_>>],
    ) -> Result<Vec<Vec<Row>>, Failure> {
        match self {
            Self::Postgres(session) => {
                let answers = session.batch(statement.postgres(), runs).await?;
                let rows = |rows: Vec<_>| rows.into_iter().map(Row::Postgres).collect();
                Ok(answers.into_iter().map(rows).collect())
            }
            Self::Sqlite(connection) => {
                let connection = connection.lock();
                let runs = runs.iter();
                runs.map(|values| all_of_sqlite(&connection, statement, values))
                    .collect()
            }
        }
    }

    /// Wakes the workers of other processes after the commit. Those of this process hear the notifier of the store.
    pub(crate) async fn notify(self) -> Result<(), Failure> {
        match self {
            Self::Postgres(session) => session.batch_execute(NOTIFY).await,
            Self::Sqlite(_) => Ok(()),
        }
    }
}

/// Returns the result of a future that only runs statements of SQLite, which never wait.
pub(crate) fn at_once<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    work.now_or_never().unwrap_or(Err(Failure::Waited))
}

/// Returns all rows of a statement on a connection of SQLite.
pub(crate) fn all_of_sqlite(
    connection: &Connection,
    statement: &Statement,
    values: &[Value<'_>],
) -> Result<Vec<Row>, Failure> {
    let mut statement = prepare(connection, statement, values)?;
    let columns: Arc<[String]> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.raw_query();
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(Row::from_sqlite(&columns, row)?);
    }
    Ok(all)
}

/// Prepares a statement and binds its parameters by their number. SQLite itself would take `$1` for a name.
fn prepare<'a>(
    connection: &'a Connection,
    statement: &Statement,
    values: &[Value<'_>],
) -> Result<CachedStatement<'a>, rusqlite::Error> {
    let mut statement = connection.prepare_cached(statement.sqlite())?;
    for index in 1..=statement.parameter_count() {
        let number = statement.parameter_name(index).and_then(|name| {
            let number: usize = name.get(1..)?.parse().ok()?;
            number.checked_sub(1)
        });
        let value = number.and_then(|number| values.get(number));
        let value = value.ok_or(rusqlite::Error::InvalidParameterCount(values.len(), index))?;
        statement.raw_bind_parameter(index, value)?;
    }
    Ok(statement)
}
