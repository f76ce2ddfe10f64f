//! The schema, brought up to date by one process at a time.

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
/// Held by the session: the connection is closed afterwards. A migration that waits for a table holds up all who come to
/// it later: it gives way soon, and tries again.
const LOCK: &str = "SET statement_timeout = 0; SET lock_timeout = 0; SELECT pg_advisory_lock(7226002); \
     SET lock_timeout = '2s'";
/// Who may hold what a migration waits for.
const LONG: &str = "SELECT coalesce(string_agg(format('%s of %s at %s since %s', pid, usename, \
         coalesce(nullif(application_name, ''), 'an unnamed program'), date_trunc('second', xact_start)), '; ' \
         ORDER BY xact_start), 'none') \
     FROM pg_stat_activity \
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start < clock_timestamp() - interval '2 seconds'";
/// Between two tries, in which those who wait behind the migration get their turn.
const PAUSE: Duration = Duration::from_secs(2);
/// How long a migration tries to get its locks.
const PATIENCE: Duration = Duration::from_secs(300);

/// Runs what is missing. A database that is ahead of this program is left as it is: migrations first only add.
pub(super) async fn run(pool: &Pool) -> Result<(), PostgresOpenError> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
        PostgresOpenError::Migrate(format_error_chain(error.as_ref()).into())
    };
    let client = pool.get().await.map_err(refused)?;
    // A worker whose role may not change the schema can be started once a migration was run by another.
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

/// Runs what is missing, each file in a transaction of its own, and gives way to whoever uses the tables.
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

/// Whether the lock of a table was not to be had in time.
fn is_locked_out(error: &refinery::Error) -> bool {
    let cause = std::error::Error::source(error);
    let cause = cause.and_then(|cause| cause.downcast_ref::<tokio_postgres::Error>());
    cause.and_then(tokio_postgres::Error::code) == Some(&SqlState::LOCK_NOT_AVAILABLE)
}

/// Transactions that are open for so long that they may be what the migration waits for.
async fn long(client: &tokio_postgres::Client) -> String {
    match client.query_one(LONG, &[]).await {
        Ok(row) => row.try_get(0).unwrap_or_default(),
        Err(error) => format_error_chain(&error),
    }
}

/// Why there is no connection, each cause once.
fn refused(error: PoolError) -> PostgresOpenError {
    let why = match error {
        PoolError::Backend(error) => format_error_chain(&error),
        other => format_error_chain(&other),
    };
    PostgresOpenError::Connect(why.into())
}

/// A program of an earlier version does not mind migrations that it does not know.
fn runner() -> refinery::Runner {
    embedded::migrations::runner().set_abort_missing(false)
}

async fn is_done(client: &tokio_postgres::Client) -> Result<bool, tokio_postgres::Error> {
    Ok(latest(client).await? >= Some(ours()))
}

/// The version that this program knows.
pub(super) fn ours() -> i64 {
    let runner = runner();
    let versions = runner.get_migrations().iter();
    versions
        .map(|one| i64::from(one.version()))
        .max()
        .unwrap_or(0)
}

/// The version that a database has; none where nothing was migrated.
pub(super) async fn latest(
    client: &tokio_postgres::Client,
) -> Result<Option<i64>, tokio_postgres::Error> {
    match client.query_one(LATEST, &[]).await {
        Ok(row) => row.try_get(0),
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What tells one state of the migrations from another.
#[cfg(test)]
pub(super) fn checksum() -> u64 {
    let sum = |sum: u64, one: &refinery::Migration| sum.rotate_left(7) ^ one.checksum();
    runner().get_migrations().iter().fold(0, sum)
}

/// The migrations of this program and one more, as the next version has it.
#[cfg(test)]
pub(crate) fn runner_with(next: refinery::Migration) -> refinery::Runner {
    let mut migrations = runner().get_migrations().clone();
    migrations.push(next);
    refinery::Runner::new(&migrations)
}

/// Names of the migrations that are applied, oldest first.
pub(super) async fn applied(session: &Session) -> Result<Vec<String>, PostgresFailure> {
    let rows = session.rows(APPLIED, []).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}
