//! Implements the store once over two databases. A repository is a file here with its statements beside it; what
//! differs between PostgreSQL and SQLite is in [`backend`], [`Tx`], [`Value`], [`Row`], and in statements of two dialects.
//!
//! To move a repository here from `postgres` and `sqlite`:
//!
//! 1. Write each statement into `sql/REPOSITORY/NAME.sql`, with parameters `$1`, `$2` and a name for each column. Both
//!    databases know `->`, `->>`, `ON CONFLICT`, `RETURNING`, `FILTER`, `IS [NOT] DISTINCT FROM`, row comparisons, and
//!    `CAST`. If they still differ, write `NAME.postgres.sql` and `NAME.sqlite.sql` with the same parameters and columns.
//! 2. Declare the statements as `static` with [`statement!`], and write each function once with a [`Tx`]. The closure of a
//!    request owns what it captures; with a captured reference, even a static one, its future is not [`Send`].
//! 3. Implement the port for [`SqlStore`], remove its block from `delegate`, and delete both old files.
//! 4. Code that was not moved calls shared functions with `Tx::Postgres(&session)`, or with `Tx::Sqlite(connection)`
//!    and [`at_once`].
//!
//! Rules of both dialects:
//!
//! - A severity is a type of PostgreSQL and a number of SQLite. Write it as `CAST(CAST($1 AS text) AS severity)` and read
//!   it as `CAST(severity AS text) AS severity`. Never cast to `jsonb`, which SQLite takes for a number.
//! - The type of a parameter in PostgreSQL is that of its [`Value`], which is `int8` for all integers. A statement need
//!   not use all parameters.
//! - Lists are one parameter: [`Value::Texts`] and [`Value::Ints`] are arrays in PostgreSQL and JSON for `json_each` in
//!   SQLite. [`IN_LIST`] is the condition for both.
//! - A list of columns or a condition that statements share is a statement of its own. [`Statement::with`] puts it in.

mod alert_ledger;
mod backend;
pub(crate) mod backlog;
mod canaries;
pub(crate) mod case_list;
mod case_view;
pub(crate) mod case_workflow;
pub(crate) mod cases;
pub(crate) mod claim;
mod dead_letters;
mod delegate;
pub(crate) mod digest;
pub(crate) mod expire;
mod expire_earlier;
pub(crate) mod feedback;
mod journal;
pub(crate) mod mutes;
pub(crate) mod outbox;
pub(crate) mod outbox_admin;
pub(crate) mod past_cases;
pub(crate) mod purge;
pub(crate) mod rechecks;
mod renewal;
mod revisions;
mod row;
pub(crate) mod spending;
mod statement;
mod sweep;
mod triage_actions;
mod tx;
mod value;
mod write_id;

use std::sync::Arc;
use std::time::Duration;

use nightshift_pipeline::admission::AdmissionPolicy;

use crate::blobs::BlobStore;
use crate::logged_once::LoggedOnce;
use crate::notifier::Notifier;
use crate::options::StoreOptions;
use crate::{PostgresError, PostgresStore, SqliteError, SqliteOptions, SqliteStore, Store};
pub(crate) use backend::Backend;
pub(crate) use expire::ScanCursors;
pub(crate) use row::Row;
pub(crate) use statement::{Statement, statement};
pub(crate) use tx::{Tx, all_of_sqlite, at_once};
pub(crate) use value::{Value, severity_number, values, without_escaped_nul, without_nul};

/// The time of the store's clock.
static NOW: Statement = Statement::new(
    "clock_timestamp()",
    "strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')",
);

/// The least severity that counts as urgent.
static HIGH: Statement = Statement::new("'high'", "3");

/// The condition that a value is in the list of the first parameter.
static IN_LIST: Statement = Statement::new("= ANY($1)", "IN (SELECT value FROM json_each($1))");

/// The rows of the list of names that is the second parameter.
static NAMES: Statement = Statement::new("unnest($2) AS names (value)", "json_each($2) AS names");

/// Locks the selected cases, without those that others have locked. SQLite has one writer.
static SKIP_LOCKED: Statement = Statement::new("FOR UPDATE SKIP LOCKED", "");

/// Locks the selected cases as [`SKIP_LOCKED`] does, but alerts can still arrive for them.
static LOCK_TO_UPDATE: Statement = Statement::new("FOR NO KEY UPDATE SKIP LOCKED", "");

/// The key of the row of a table that has one row.
static SINGLETON: Statement = Statement::new("true", "1");

/// The function that returns the least of its arguments. PostgreSQL ignores NULL; with SQLite it is NULL.
static LEAST: Statement = Statement::new("least", "min");

/// The function that returns the greatest of its arguments, as [`LEAST`] does.
static GREATEST: Statement = Statement::new("greatest", "max");

/// Cases, inbox, outbox and dead letters in one database.
#[derive(Debug, Clone)]
pub struct SqlStore {
    pub(crate) backend: Backend,
    pub(crate) admission: Arc<AdmissionPolicy>,
    pub(crate) blobs: Option<BlobStore>,
    pub(crate) notifier: Notifier,
    pub(crate) logged: LoggedOnce,
    pub(crate) cursors: ScanCursors,
    pub(crate) leases: LeaseTerms,
    pub(crate) rest: Rest,
}

/// The terms of the leases on cases that this process takes.
#[derive(Debug, Clone)]
pub(crate) struct LeaseTerms {
    /// The name of this process. On SQLite it says whether the process still runs; on PostgreSQL only people read it.
    pub(crate) holder: String,
    /// The time for which a lease is valid without a renewal.
    pub(crate) duration: Duration,
}

/// The repositories that exist once per database.
#[derive(Debug, Clone)]
pub(crate) enum Rest {
    Postgres(Box<PostgresStore>),
    Sqlite(Box<SqliteStore>),
}

impl SqlStore {
    /// Connects to PostgreSQL and migrates the schema if it is older than this version.
    ///
    /// # Errors
    ///
    /// Returns an error if the address is invalid, the server is unreachable, or the schema cannot be migrated.
    pub async fn open_postgres(url: &str, options: StoreOptions) -> Result<Self, PostgresError> {
        Ok(PostgresStore::open(url, options).await?.into())
    }

    /// Opens a SQLite database, creates it if it is missing, and migrates its schema.
    ///
    /// # Errors
    ///
    /// Returns an error if the database cannot be created, opened or migrated.
    pub fn open_sqlite(options: &SqliteOptions) -> Result<Self, SqliteError> {
        Ok(SqliteStore::open(options)?.into())
    }
}

impl Store for SqlStore {
    fn with_settings(&self, lease: Duration, admission: AdmissionPolicy) -> Arc<dyn Store> {
        let store = match &self.rest {
            Rest::Postgres(store) => Self::from(store.with_settings(lease, admission)),
            Rest::Sqlite(store) => Self::from(store.with_settings(lease, admission)),
        };
        let cursors = self.cursors.clone();
        Arc::new(Self { cursors, ..store })
    }
}
