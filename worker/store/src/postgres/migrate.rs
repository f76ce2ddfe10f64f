//! Migrates the schema, by one process at a time.

use std::time::Duration;

use deadpool_postgres::{Object, Pool, PoolError};
use nightshift_engine::error_chain::format_error_chain;
use tokio::time::Instant;
use tokio_postgres::error::SqlState;

use super::PostgresOpenError;
use super::database::Session;
use super::failure::PostgresFailure;
use crate::logged_once;

mod embedded {
    refinery::embed_migrations!("../../migrations/postgres");
}

const APPLIED: &str =
    "SELECT 'V' || version || '__' || name FROM refinery_schema_history ORDER BY version";
const LATEST: &str = "SELECT max(version)::bigint FROM refinery_schema_history";
/// The session holds this lock, and its connection is closed afterwards. A migration that waits for a table blocks
/// everybody who comes later. Its lock timeout is therefore short, and the migration is retried.
const LOCK: &str = "SET statement_timeout = 0; SET lock_timeout = 0; SELECT pg_advisory_lock(7226002); \
     SET lock_timeout = '2s'";
/// Lists the transactions that may block a migration.
const LONG: &str = "SELECT coalesce(string_agg(format('%s of %s at %s since %s', pid, usename, \
         coalesce(nullif(application_name, ''), 'an unnamed program'), date_trunc('second', xact_start)), '; ' \
         ORDER BY xact_start), 'none') \
     FROM pg_stat_activity \
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start < clock_timestamp() - interval '2 seconds'";
/// The pause between two attempts, in which the statements behind the migration can run.
const PAUSE: Duration = Duration::from_secs(2);
/// The time for which a migration tries to get its locks.
const PATIENCE: Duration = Duration::from_secs(300);

/// Applies the missing migrations. A database that is newer than this program stays unchanged, because migrations begin
/// with additions only.
pub(super) async fn run(pool: &Pool) -> Result<(), PostgresOpenError> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
        PostgresOpenError::Migrate(format_error_chain(error.as_ref()).into())
    };
    let client = pool.get().await.map_err(refused)?;
    // A worker whose role must not change the schema can start once another role has applied the migrations.
    if is_done(&client)
        .await
        .map_err(|error| failed(error.into()))?
    {
        return Ok(());
    }
    let mut client = Object::take(client);
    client
        .batch_execute(LOCK)
        .await
        .map_err(|error| failed(error.into()))?;
    migrate(&mut client, &runner(), PATIENCE).await
}

/// Applies the missing migrations, each file in its own transaction, and gives way to users of the tables.
pub(super) async fn migrate(
    client: &mut tokio_postgres::Client,
    runner: &refinery::Runner,
    patience: Duration,
) -> Result<(), PostgresOpenError> {
    let give_up_at = Instant::now() + patience;
    let mut is_told = false;
    loop {
        let error = match runner.run_async(client).await {
            Ok(report) => {
                logged_once::log_migrations(&report);
                return Ok(());
            }
            Err(error) => error,
        };
        if !is_locked_out(&error) {
            return Err(PostgresOpenError::Migrate(
                format_error_chain(&error).into(),
            ));
        }
        if Instant::now() >= give_up_at {
            let long = long(client).await;
            return Err(PostgresOpenError::Locked {
                long,
                cause: format_error_chain(&error).into(),
            });
        }
        if !std::mem::replace(&mut is_told, true) {
            let long = long(client).await;
            tracing::warn!(open_transactions = %long, "a migration waits for a table that is in use; it tries again");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Returns whether the lock on a table timed out.
fn is_locked_out(error: &refinery::Error) -> bool {
    let cause = std::error::Error::source(error);
    let cause = cause.and_then(|cause| cause.downcast_ref::<tokio_postgres::Error>());
    cause.and_then(tokio_postgres::Error::code) == Some(&SqlState::LOCK_NOT_AVAILABLE)
}

/// Returns the transactions that are open for so long that they may block the migration.
async fn long(client: &tokio_postgres::Client) -> String {
    match client.query_one(LONG, &[]).await {
        Ok(row) => row.try_get(0).unwrap_or_default(),
        Err(error) => format_error_chain(&error),
    }
}

/// Converts a failure to connect, with each cause once.
fn refused(error: PoolError) -> PostgresOpenError {
    let why = match error {
        PoolError::Backend(error) => format_error_chain(&error),
        other => format_error_chain(&other),
    };
    PostgresOpenError::Connect(why.into())
}

/// Returns the migrations. A program of an earlier version accepts migrations that it does not know.
fn runner() -> refinery::Runner {
    embedded::migrations::runner().set_abort_missing(false)
}

async fn is_done(client: &tokio_postgres::Client) -> Result<bool, tokio_postgres::Error> {
    Ok(latest(client).await? >= Some(ours()))
}

/// Returns the latest version that this program knows.
pub(super) fn ours() -> i64 {
    let runner = runner();
    let versions = runner.get_migrations().iter();
    versions
        .map(|one| i64::from(one.version()))
        .max()
        .unwrap_or(0)
}

/// Returns the version of a database, or `None` if it has none.
pub(super) async fn latest(
    client: &tokio_postgres::Client,
) -> Result<Option<i64>, tokio_postgres::Error> {
    match client.query_typed_one(LATEST, &[]).await {
        Ok(row) => row.try_get(0),
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns a checksum that changes with the migrations.
#[cfg(test)]
pub(super) fn checksum() -> u64 {
    let sum = |sum: u64, one: &refinery::Migration| sum.rotate_left(7) ^ one.checksum();
    runner().get_migrations().iter().fold(0, sum)
}

/// Returns the migrations of this program and one more, as the next version would have.
#[cfg(test)]
pub(crate) fn runner_with(next: refinery::Migration) -> refinery::Runner {
    let mut migrations = runner().get_migrations().clone();
    migrations.push(next);
    refinery::Runner::new(&migrations)
}

/// Returns the names of the applied migrations, oldest first.
pub(super) async fn applied(session: &Session) -> Result<Vec<String>, PostgresFailure> {
    let rows = session.rows(APPLIED, []).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}
