//! Runs requests on a database.

use std::time::Duration;

use nightshift_pipeline::port::StoreError;

use super::{Tx, at_once};
use crate::failure::Failure;
use crate::postgres::{Database, Repeat};
use crate::sqlite::SqliteThread;

/// A database. A request is a function that runs statements. On PostgreSQL it runs again when the connection was lost;
/// on SQLite it runs once, on the writing thread, in a transaction. It owns what it needs, and waits for statements
/// only.
#[derive(Debug, Clone)]
pub(crate) enum Backend {
    Postgres(Database),
    Sqlite(SqliteThread),
}

impl Backend {
    /// Reads. On PostgreSQL each statement sees what was committed before it.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl AsyncFn(Tx<'_>) -> Result<T, Failure> + Send + Sync + 'static,
    ) -> Result<T, StoreError> {
        match self {
            Self::Postgres(database) => database.read(doing, work).await,
            Self::Sqlite(thread) => on_thread(thread, doing, work).await,
        }
    }

    /// Changes something in one transaction, which may be committed twice: the answer to the first may be lost.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl AsyncFn(Tx<'_>) -> Result<T, Failure> + Send + Sync + 'static,
    ) -> Result<T, StoreError> {
        match self {
            Self::Postgres(database) => database.write(doing, Repeat::Yes, work).await,
            Self::Sqlite(thread) => on_thread(thread, doing, work).await,
        }
    }

    /// Changes something in one transaction that must not be committed twice. If its answer is lost, the caller gets an
    /// error.
    pub(crate) async fn write_once<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl AsyncFn(Tx<'_>) -> Result<T, Failure> + Send + Sync + 'static,
    ) -> Result<T, StoreError> {
        match self {
            Self::Postgres(database) => database.write(doing, Repeat::No, work).await,
            Self::Sqlite(thread) => on_thread(thread, doing, work).await,
        }
    }

    /// Changes something of a running case as [`Backend::write`] does, and repeats that for as long as its lease may last.
    /// Nobody else has its results, and producing them again would cost money.
    pub(crate) async fn write_running<T: Send + 'static>(
        &self,
        doing: &'static str,
        lease: Duration,
        work: impl AsyncFn(Tx<'_>) -> Result<T, Failure> + Send + Sync + 'static,
    ) -> Result<T, StoreError> {
        match self {
            Self::Postgres(database) => database.write(doing, Repeat::WhileHeld(lease), work).await,
            Self::Sqlite(thread) => thread.write_running(doing, lease, work).await,
        }
    }

    /// Runs a statement that renews leases of this duration. On PostgreSQL it is repeated until the next renewal is due,
    /// each time on another connection: if one connection gets no answer, others may still work before the leases end.
    pub(crate) async fn renew<T: Send + 'static>(
        &self,
        doing: &'static str,
        lease: Duration,
        work: impl AsyncFn(Tx<'_>) -> Result<T, Failure> + Send + Sync + 'static,
    ) -> Result<T, StoreError> {
        match self {
            Self::Postgres(database) => database.renew(doing, lease, work).await,
            Self::Sqlite(thread) => on_thread(thread, doing, work).await,
        }
    }

    /// Changes something as [`Backend::write`] does. Returns the failure if the server gave up because a statement took
    /// too long, so that the caller can do less at a time.
    pub(crate) async fn write_in_time<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl AsyncFn(Tx<'_>) -> Result<T, Failure> + Send + Sync + 'static,
    ) -> Result<Result<T, Failure>, StoreError> {
        match self {
            Self::Postgres(database) => database.write_in_time(doing, work).await,
            Self::Sqlite(thread) => on_thread(thread, doing, work).await.map(Ok),
        }
    }
}

async fn on_thread<T: Send + 'static>(
    thread: &SqliteThread,
    doing: &'static str,
    work: impl AsyncFn(Tx<'_>) -> Result<T, Failure> + Send + 'static,
) -> Result<T, StoreError> {
    let done = thread.transaction(doing, move |connection| {
        at_once(work(Tx::Sqlite(connection)))
    });
    done.await.map_err(|undone| undone.into_store_error(doing))
}
