//! Lends connections. Each is used by one request at a time and returned only when the request has ended. A request
//! that is cut off closes its connection, so no transaction stays open and no later request reads its answer.
//!
//! Behind a pooler that lends connections for a transaction only, no state outlives a transaction: statements have no
//! names, each runs in a transaction, and each transaction sets its own limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use deadpool_postgres::{Client, ClientWrapper, Object, Pool};
use futures_util::future::try_join_all;
use nightshift_pipeline::port::StoreError;
use tokio::time::Instant;
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};

use super::failure::{PostgresFailure, Remedy};
use super::parameter::SqlParameter;
use super::pooler;
use crate::full_disk::FullDisk;
use crate::options::StoreTimeouts;
use crate::sql::Value;

/// The shortest wait between two attempts. It grows up to [`LONGEST_WAIT`].
const SHORTEST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// The time that a client waits for an answer beyond the limits of the server.
const GRACE: Duration = Duration::from_secs(5);

/// The most runs of a statement that are sent before their answers are read.
const BATCH: usize = 30;

/// The pool of connections with its timeouts.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    pub(super) pool: Pool,
    /// True if a recent write found no room.
    pub(super) disk: FullDisk,
    pub(super) waits: StoreTimeouts,
    /// The statements that begin a transaction and set its limits, behind a pooler. Otherwise a session has limits.
    pub(super) begin_pooled: Option<Arc<str>>,
}

/// A parameter of a statement. Parameters are passed on, so that several statements can be sent before one is answered.
pub(super) type SqlValue<'a> = &'a dyn SqlParameter;

impl Database {
    /// Returns a connection of the pool with these statements prepared. Statements that are sent together must be
    /// prepared, or they would not arrive in order. Behind a pooler, nothing is prepared, and all arrive in order.
    pub(super) async fn session(&self, statements: &[&str]) -> Result<Session, PostgresFailure> {
        let session = Session {
            client: Some(self.pool.get().await?),
            disk: self.disk.clone(),
            begin_pooled: self.begin_pooled.clone(),
            is_in_transaction: AtomicBool::new(false),
        };
        if session.begin_pooled.is_none() {
            let client = session.client()?;
            try_join_all(statements.iter().map(|sql| client.prepare_cached(sql))).await?;
        }
        Ok(session)
    }

    /// Returns whether two connections of the pool share their backends: see [`pooler`].
    pub(super) async fn shares_backends(&self) -> Result<bool, PostgresFailure> {
        let (first, second) = (self.session(&[]).await?, self.session(&[]).await?);
        let is_shared = pooler::shares_backends(first.client()?, second.client()?).await?;
        first.done();
        second.done();
        Ok(is_shared)
    }

    /// Runs one attempt with a timeout, so that a server that does not answer cannot block it.
    pub(super) fn within<T>(
        &self,
        work: impl Future<Output = Result<T, PostgresFailure>>,
    ) -> impl Future<Output = Result<T, PostgresFailure>> {
        let most = self.waits.statement + self.waits.pool + self.waits.connect + GRACE;
        within_at_most(most, work)
    }

    /// Returns the retry policy of a request.
    pub(super) fn tries(&self, doing: &'static str) -> RetryAttempts {
        RetryAttempts::new(doing, self.waits.patience)
    }
}

/// Runs one attempt with a shorter timeout.
pub(super) async fn within_at_most<T>(
    most: Duration,
    work: impl Future<Output = Result<T, PostgresFailure>>,
) -> Result<T, PostgresFailure> {
    tokio::time::timeout(most, work)
        .await
        .unwrap_or(Err(PostgresFailure::Silent(most)))
}

/// The attempts of one request, and the time at which they end.
#[derive(Debug)]
pub(super) struct RetryAttempts {
    doing: &'static str,
    patience: Duration,
    /// True if no other caller could retry later.
    is_alone: bool,
    give_up_at: Option<Instant>,
    waits: ExponentialBackoff,
}

impl RetryAttempts {
    /// Allows attempts for as long as `patience`.
    pub(super) fn new(doing: &'static str, patience: Duration) -> Self {
        Self {
            doing,
            patience,
            is_alone: false,
            give_up_at: None,
            waits: ExponentialBuilder::new()
                .with_min_delay(SHORTEST_WAIT)
                .with_max_delay(LONGEST_WAIT)
                .with_jitter()
                .without_max_times()
                .build(),
        }
    }

    /// Allows attempts of a running case for as long as its lease may last. Nobody else has its results, and producing
    /// them again would cost money. Locks, slow statements, a full disk and a busy pool are therefore waited out too.
    pub(super) fn for_running_case(doing: &'static str, lease: Duration) -> Self {
        Self {
            is_alone: true,
            ..Self::new(doing, lease)
        }
    }

    /// Waits until the next attempt after this failure.
    pub(super) async fn backoff(&mut self, failure: PostgresFailure) -> Result<(), StoreError> {
        let now = Instant::now();
        let give_up_at = *self.give_up_at.get_or_insert(now + self.patience);
        let may_pass = match failure.remedy() {
            Remedy::Again => true,
            Remedy::Later => self.is_alone,
            Remedy::Split | Remedy::None => false,
        };
        if !may_pass || now >= give_up_at {
            return Err(failure.into_store_error(self.doing));
        }
        let wait = self.waits.next().unwrap_or(LONGEST_WAIT);
        tracing::debug!(doing = self.doing, error = %failure, ?wait, "the store tries again");
        tokio::time::sleep(wait).await;
        Ok(())
    }
}

/// A connection for one request.
#[derive(Debug)]
pub(crate) struct Session {
    client: Option<Client>,
    disk: FullDisk,
    begin_pooled: Option<Arc<str>>,
    /// True after `BEGIN` was sent, until the transaction ends.
    is_in_transaction: AtomicBool,
}

impl Session {
    /// Returns the connection to the pool. All requests on it are answered, and no transaction is open.
    pub(super) fn done(mut self) {
        drop(self.client.take());
    }

    /// Returns the rows of a statement.
    pub(super) async fn rows<const N: usize>(
        &self,
        sql: &str,
        values: [SqlValue<'_>; N],
    ) -> Result<Vec<Row>, PostgresFailure> {
        let client = self.client()?;
        if self.begin_pooled.is_some() {
            return Box::pin(async move {
                let values = typed(values);
                self.pooled(client.query_typed(sql, &values)).await
            })
            .await;
        }
        let statement = client.prepare_cached(sql).await?;
        self.noted(client.query(&statement, &untyped(values)).await)
    }

    /// Returns the row of a statement, if there is one.
    pub(super) async fn row<const N: usize>(
        &self,
        sql: &str,
        values: [SqlValue<'_>; N],
    ) -> Result<Option<Row>, PostgresFailure> {
        let client = self.client()?;
        if self.begin_pooled.is_some() {
            return Box::pin(async move {
                let values = typed(values);
                self.pooled(client.query_typed_opt(sql, &values)).await
            })
            .await;
        }
        let statement = client.prepare_cached(sql).await?;
        self.noted(client.query_opt(&statement, &untyped(values)).await)
    }

    /// Returns the number of rows that a statement changed.
    pub(super) async fn change<const N: usize>(
        &self,
        sql: &str,
        values: [SqlValue<'_>; N],
    ) -> Result<u64, PostgresFailure> {
        let client = self.client()?;
        if self.begin_pooled.is_some() {
            return Box::pin(async move {
                let values = typed(values);
                self.pooled(client.execute_typed(sql, &values)).await
            })
            .await;
        }
        let statement = client.prepare_cached(sql).await?;
        self.noted(client.execute(&statement, &untyped(values)).await)
    }

    /// Returns all rows of a statement of the shared repositories.
    pub(crate) async fn all(
        &self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, PostgresFailure> {
        let client = self.client()?;
        if self.begin_pooled.is_some() {
            let values: Vec<_> = values.iter().map(typed_value).collect();
            return Box::pin(self.pooled(client.query_typed(sql, &values))).await;
        }
        let statement = client.prepare_typed_cached(sql, &types(values)).await?;
        self.noted(client.query(&statement, &untyped_values(values)).await)
    }

    /// Returns the number of rows that a statement of the shared repositories changed.
    pub(crate) async fn execute(
        &self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<u64, PostgresFailure> {
        let client = self.client()?;
        if self.begin_pooled.is_some() {
            let values: Vec<_> = values.iter().map(typed_value).collect();
            return Box::pin(self.pooled(client.execute_typed(sql, &values))).await;
        }
        let statement = client.prepare_typed_cached(sql, &types(values)).await?;
        self.noted(client.execute(&statement, &untyped_values(values)).await)
    }

    /// Runs a statement of the shared repositories once for each list of values, in order. The answers are read after
    /// [`BATCH`] runs were sent.
    pub(crate) async fn batch(
        &self,
        sql: &str,
        runs: &[Vec<Value<'_>>],
    ) -> Result<Vec<Vec<Row>>, PostgresFailure> {
        // The first run prepares the statement. All others then are sent in order.
        let mut runs = runs.iter();
        let mut answers = Vec::with_capacity(runs.len());
        if let Some(first) = runs.next() {
            answers.push(self.all(sql, first).await?);
        }
        for chunk in runs.as_slice().chunks(BATCH) {
            let sent = chunk.iter().map(|values| self.all(sql, values));
            answers.extend(try_join_all(sent).await?);
        }
        Ok(answers)
    }

    /// Begins a transaction.
    pub(super) async fn begin(&self) -> Result<(), PostgresFailure> {
        self.is_in_transaction.store(true, Ordering::Relaxed);
        let begin = self.begin_pooled.as_deref().unwrap_or("BEGIN");
        self.batch_execute(begin).await
    }

    /// Commits the transaction.
    pub(super) async fn commit(&self) -> Result<(), PostgresFailure> {
        self.is_in_transaction.store(false, Ordering::Relaxed);
        self.batch_execute("COMMIT").await
    }

    /// Rolls the transaction back.
    pub(super) async fn rollback(&self) -> Result<(), PostgresFailure> {
        self.is_in_transaction.store(false, Ordering::Relaxed);
        self.batch_execute("ROLLBACK").await
    }

    /// Executes SQL without parameters.
    pub(crate) async fn batch_execute(&self, sql: &str) -> Result<(), PostgresFailure> {
        self.noted(self.client()?.batch_execute(sql).await)
    }

    /// Sends a statement in the open transaction, or else in one of its own, which takes no further round trip. Callers
    /// box the future, so that those of stores without a pooler stay small.
    async fn pooled<T>(
        &self,
        statement: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, PostgresFailure> {
        let statement = async { self.noted(statement.await) };
        if self.is_in_transaction.load(Ordering::Relaxed) {
            return statement.await;
        }
        let ((), answer, ()) = tokio::try_join!(
            biased;
            self.begin(),
            statement,
            self.commit(),
        )?;
        Ok(answer)
    }

    /// Records if the answer says that the disk is full.
    fn noted<T>(&self, answer: Result<T, tokio_postgres::Error>) -> Result<T, PostgresFailure> {
        if let Err(error) = &answer
            && error.code() == Some(&SqlState::DISK_FULL)
        {
            self.disk.note();
        }
        Ok(answer?)
    }

    fn client(&self) -> Result<&ClientWrapper, PostgresFailure> {
        self.client.as_deref().ok_or(PostgresFailure::Closed)
    }
}

/// Returns the parameters of a statement with their types.
fn typed<const N: usize>(values: [SqlValue<'_>; N]) -> [(&(dyn ToSql + Sync), Type); N] {
    values.map(|value| (value as &(dyn ToSql + Sync), value.sql_type()))
}

/// Returns the parameters of a prepared statement, whose types the server told.
fn untyped<const N: usize>(values: [SqlValue<'_>; N]) -> [&(dyn ToSql + Sync); N] {
    values.map(|value| value as &(dyn ToSql + Sync))
}

/// Returns a parameter of the shared repositories with its type.
fn typed_value<'a>(value: &'a Value<'_>) -> (&'a (dyn ToSql + Sync), Type) {
    (value, value.postgres_type())
}

fn types(values: &[Value<'_>]) -> Vec<Type> {
    values.iter().map(Value::postgres_type).collect()
}

fn untyped_values<'a>(values: &'a [Value<'_>]) -> Vec<&'a (dyn ToSql + Sync)> {
    values.iter().map(|value| value as _).collect()
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            // Closing the connection makes the server roll back an open transaction.
            drop(Object::take(client));
        }
    }
}
