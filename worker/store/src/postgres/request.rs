//! Runs the requests of the shared repositories.

use std::time::Duration;

use nightshift_pipeline::port::StoreError;

use super::database::{Database, RetryAttempts, within_at_most};
use super::failure::PostgresFailure;
use crate::sql::Tx;

/// Says whether a transaction runs again if its answer was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    Yes,
    No,
    /// For this duration of a lease: see [`RetryAttempts::for_running_case`].
    WhileHeld(Duration),
}

impl Database {
    /// Reads, and repeats the read if the connection was lost.
    pub(crate) async fn read<T>(
        &self,
        doing: &'static str,
        work: impl AsyncFn(Tx<'_>) -> Result<T, PostgresFailure>,
    ) -> Result<T, StoreError> {
        let mut tries = self.tries(doing);
        loop {
            match self.within(self.without_transaction(&work)).await {
                Ok(found) => return Ok(found),
                Err(failure) => tries.backoff(failure).await?,
            }
        }
    }

    /// Implements [`crate::sql::Backend::renew`].
    pub(crate) async fn renew<T>(
        &self,
        doing: &'static str,
        lease: Duration,
        work: impl AsyncFn(Tx<'_>) -> Result<T, PostgresFailure>,
    ) -> Result<T, StoreError> {
        let mut tries = RetryAttempts::for_running_case(doing, lease / 3);
        loop {
            match within_at_most(lease / 6, self.without_transaction(&work)).await {
                Ok(renewed) => return Ok(renewed),
                Err(failure) => tries.backoff(failure).await?,
            }
        }
    }

    /// Runs a transaction. It is rolled back if `work` fails, because its connection is closed.
    pub(crate) async fn write<T>(
        &self,
        doing: &'static str,
        repeat: Repeat,
        work: impl AsyncFn(Tx<'_>) -> Result<T, PostgresFailure>,
    ) -> Result<T, StoreError> {
        let mut tries = match repeat {
            Repeat::WhileHeld(lease) => RetryAttempts::for_running_case(doing, lease),
            Repeat::Yes | Repeat::No => self.tries(doing),
        };
        loop {
            match self.within(self.transaction(&work)).await {
                Ok(done) => return Ok(done),
                Err(failure) if repeat == Repeat::No => return Err(failure.into_store_error(doing)),
                Err(failure) => tries.backoff(failure).await?,
            }
        }
    }

    /// Runs a transaction that may be repeated. Returns the failure if a statement took too long.
    pub(crate) async fn write_in_time<T>(
        &self,
        doing: &'static str,
        work: impl AsyncFn(Tx<'_>) -> Result<T, PostgresFailure>,
    ) -> Result<Result<T, PostgresFailure>, StoreError> {
        let mut tries = self.tries(doing);
        loop {
            match self.within(self.transaction(&work)).await {
                Ok(done) => return Ok(Ok(done)),
                Err(failure) if failure.is_too_slow() => return Ok(Err(failure)),
                Err(failure) => tries.backoff(failure).await?,
            }
        }
    }

    async fn without_transaction<T>(
        &self,
        work: &impl AsyncFn(Tx<'_>) -> Result<T, PostgresFailure>,
    ) -> Result<T, PostgresFailure> {
        let session = self.session(&[]).await?;
        let done = work(Tx::Postgres(&session)).await?;
        session.done();
        Ok(done)
    }

    async fn transaction<T>(
        &self,
        work: &impl AsyncFn(Tx<'_>) -> Result<T, PostgresFailure>,
    ) -> Result<T, PostgresFailure> {
        let session = self.session(&[]).await?;
        // The first statement is sent without waiting for the answer to `BEGIN`.
        let ((), done) = tokio::try_join!(
            biased;
            session.begin(),
            work(Tx::Postgres(&session)),
        )?;
        session.commit().await?;
        session.done();
        Ok(done)
    }
}
