//! Migrates the schema, by one process at a time.

use std::time::Duration;

use deadpool_postgres::{Object, Pool, PoolError};
use nightshift_engine::error_chain::format_error_chain;
use refinery::Migration;
use tokio::time::Instant;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error};

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
/// Begins the transaction of one migration. The lock ends with it, because a pooler may lend the connection to somebody
/// else afterwards. A migration that waits for a table blocks everybody who comes later. Its lock timeout is therefore
/// short, and the migration is retried.
const BEGIN: &str = "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; \
     SET LOCAL idle_in_transaction_session_timeout = 0; SELECT pg_advisory_xact_lock(7226002); \
     SET LOCAL lock_timeout = '2s'";
/// Creates the table as `refinery` does.
const HISTORY: &str = "CREATE TABLE IF NOT EXISTS refinery_schema_history \
     (version int4 PRIMARY KEY, name varchar(255), applied_on varchar(255), checksum varchar(255))";
const SINCE: &str =
    "SELECT version, checksum FROM refinery_schema_history WHERE version >= $1 ORDER BY version";
const RECORD: &str = "INSERT INTO refinery_schema_history (version, name, applied_on, checksum) \
     VALUES ($1, $2, to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'), $3)";
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
    let client = pool.get().await.map_err(refused)?;
    // A worker whose role must not change the schema can start once another role has applied the migrations.
    if is_done(&client).await.map_err(failed)? {
        return Ok(());
    }
    // The end of the connection ends a transaction that was cut off.
    let client = Object::take(client);
    migrate(&client, &runner(), PATIENCE).await
}

/// Applies the missing migrations, each file in its own transaction, and gives way to users of the tables.
pub(crate) async fn migrate(
    client: &Client,
    runner: &refinery::Runner,
    patience: Duration,
) -> Result<(), PostgresOpenError> {
    let give_up_at = Instant::now() + patience;
    let mut is_told = false;
    let mut migrations = runner.get_migrations().clone();
    migrations.sort();
    let mut applied = Vec::new();
    for migration in migrations {
        loop {
            let error = match apply(client, &migration).await {
                Ok(AppliedMigration::New) => {
                    applied.push(migration);
                    break;
                }
                Ok(AppliedMigration::Before) => break,
                Ok(AppliedMigration::Other) => {
                    return Err(PostgresOpenError::Migrate(
                        format!(
                            "{migration} differs from the migration of this name that was applied"
                        )
                        .into(),
                    ));
                }
                Err(error) => error,
            };
            if error.code() != Some(&SqlState::LOCK_NOT_AVAILABLE) {
                return Err(failed(error));
            }
            client.batch_execute("ROLLBACK").await.map_err(failed)?;
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
    logged_once::log_migrations(&refinery::Report::new(applied));
    Ok(())
}

/// The outcome of a migration.
enum AppliedMigration {
    New,
    /// This migration or a later one was applied before.
    Before,
    /// Another migration of this version was applied before.
    Other,
}

/// Applies one migration and records it, unless another process has done that.
async fn apply(client: &Client, migration: &Migration) -> Result<AppliedMigration, Error> {
    client.batch_execute(BEGIN).await?;
    client.batch_execute(HISTORY).await?;
    let (version, checksum) = (migration.version(), migration.checksum().to_string());
    let later = client.query_typed(SINCE, &[(&version, Type::INT4)]).await?;
    if let Some(next) = later.first() {
        client.batch_execute("ROLLBACK").await?;
        let is_other =
            next.try_get::<_, i32>(0)? == version && next.try_get::<_, &str>(1)? != checksum;
        return Ok(if is_other {
            AppliedMigration::Other
        } else {
            AppliedMigration::Before
        });
    }
    client
        .batch_execute(migration.sql().unwrap_or_default())
        .await?;
    let name = migration.name();
    let values: [(&(dyn ToSql + Sync), Type); 3] = [
        (&version, Type::INT4),
        (&name, Type::TEXT),
        (&checksum, Type::TEXT),
    ];
    client.execute_typed(RECORD, &values).await?;
    client.batch_execute("COMMIT").await?;
    Ok(AppliedMigration::New)
}

/// Returns the transactions that are open for so long that they may block the migration.
async fn long(client: &Client) -> String {
    match client.query_typed_one(LONG, &[]).await {
        Ok(row) => row.try_get(0).unwrap_or_default(),
        Err(error) => format_error_chain(&error),
    }
}

fn failed(error: Error) -> PostgresOpenError {
    PostgresOpenError::Migrate(format_error_chain(&error).into())
}

/// Converts a failure to connect, with each cause once.
fn refused(error: PoolError) -> PostgresOpenError {
    let why = match error {
        PoolError::Backend(error) => format_error_chain(&error),
        other => format_error_chain(&other),
    };
    PostgresOpenError::Connect(why.into())
}

/// Returns the migrations.
fn runner() -> refinery::Runner {
    embedded::migrations::runner()
}

async fn is_done(client: &Client) -> Result<bool, Error> {
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
pub(super) async fn latest(client: &Client) -> Result<Option<i64>, Error> {
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
