//! Connections, each used by one request at a time and given back only when the request came to its end: what was
//! cut off in the middle takes its connection with it, and so leaves no open transaction and no answer of another.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use deadpool_postgres::{Client, ClientWrapper, Object, Pool};
use futures_util::future::try_join_all;
use nightshift_pipeline::port::StoreError;
use tokio::time::Instant;
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

use super::failure::{PostgresFailure, Remedy};
use crate::full_disk::FullDisk;
use crate::options::StoreTimeouts;

/// Shortest and longest wait between two tries.
const SHORTEST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// How much longer than the server's own limits a client waits for its answer.
const GRACE: Duration = Duration::from_secs(5);

/// The database: a pool of connections, and how long to wait for what.
#[derive(Debug, Clone)]
pub(super) struct Database {
    pub(super) pool: Pool,
    /// True if a recent write found no room.
    pub(super) disk: FullDisk,
    pub(super) waits: StoreTimeouts,
}

/// A value of a statement. Values are handed over, so that several statements can be sent before one is answered.
pub(super) type SqlValue<'a> = &'a (dyn ToSql + Sync);

impl Database {
    /// A connection of the pool, with these statements ready on it: those that are sent together must be, or they would
    /// not arrive in their order.
    pub(super) async fn session(&self, statements: &[&str]) -> Result<Session, PostgresFailure> {
        let session = Session {
            client: Some(self.pool.get().await?),
            disk: self.disk.clone(),
        };
        let client = session.client()?;
        try_join_all(statements.iter().map(|sql| client.prepare_cached(sql))).await?;
        Ok(session)
    }

    /// Runs one try, which a server that falls silent cannot hold up.
    pub(super) fn within<T>(
        &self,
        work: impl Future<Output = Result<T, PostgresFailure>>,
    ) -> impl Future<Output = Result<T, PostgresFailure>> {
        let most = self.waits.statement + self.waits.pool + self.waits.connect + GRACE;
        within_at_most(most, work)
    }

    /// The tries of one request.
    pub(super) fn tries(&self, doing: &'static str) -> RetryAttempts {
        RetryAttempts::new(doing, self.waits.patience)
    }
}

/// Runs one try of what cannot wait for that long.
pub(super) async fn within_at_most<T>(
    most: Duration,
    work: impl Future<Output = Result<T, PostgresFailure>>,
) -> Result<T, PostgresFailure> {
    tokio::time::timeout(most, work)
        .await
        .unwrap_or(Err(PostgresFailure::Silent(most)))
}

/// The tries of one request, and when there are no more.
#[derive(Debug)]
pub(super) struct RetryAttempts {
    doing: &'static str,
    patience: Duration,
    /// Whether there is nobody else who could try later.
    is_alone: bool,
    give_up_at: Option<Instant>,
    waits: ExponentialBackoff,
}

impl RetryAttempts {
    /// As many as there is patience for.
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

    /// Those of what a running case writes, for as long as its lease may hold: nobody else has what it found, and to
    /// find it again is paid for again. So also a lock, a slow statement, a full disk and a busy pool are waited out.
    pub(super) fn for_running_case(doing: &'static str, lease: Duration) -> Self {
        Self {
            is_alone: true,
            ..Self::new(doing, lease)
        }
    }

    /// Waits for the time of the next try after this failure.
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
pub(super) struct Session {
    client: Option<Client>,
    disk: FullDisk,
}

impl Session {
    /// Gives the connection back: everything that was asked on it is answered, and no transaction is open.
    pub(super) fn done(mut self) {
        drop(self.client.take());
    }

    /// Rows of a statement that is prepared once for each connection.
    pub(super) async fn rows<const N: usize>(
        &self,
        sql: &str,
        values: [SqlValue<'_>; N],
    ) -> Result<Vec<Row>, PostgresFailure> {
        let client = self.client()?;
        let statement = client.prepare_cached(sql).await?;
        self.noted(client.query(&statement, &values).await)
    }

    /// The row of a statement, if there is one.
    pub(super) async fn row<const N: usize>(
        &self,
        sql: &str,
        values: [SqlValue<'_>; N],
    ) -> Result<Option<Row>, PostgresFailure> {
        let client = self.client()?;
        let statement = client.prepare_cached(sql).await?;
        self.noted(client.query_opt(&statement, &values).await)
    }

    /// How many rows a statement changed.
    pub(super) async fn change<const N: usize>(
        &self,
        sql: &str,
        values: [SqlValue<'_>; N],
    ) -> Result<u64, PostgresFailure> {
        let client = self.client()?;
        let statement = client.prepare_cached(sql).await?;
        self.noted(client.execute(&statement, &values).await)
    }

    /// `BEGIN` and the like.
    pub(super) async fn batch_execute(&self, sql: &str) -> Result<(), PostgresFailure> {
        self.noted(self.client()?.batch_execute(sql).await)
    }

    /// Notes an answer that says that the disk is full.
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

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            // Out of the pool, and closed: the server rolls back what was open.
            drop(Object::take(client));
        }
    }
}
