//! Implements the store on SQLite, with the guarantees of a server, for processes on one host.
//!
//! Writes use `synchronous=FULL`, one writing thread per process, and one transaction per group of requests. A lease
//! names the boot of the host and the process, so the case of a dead process is free at once.

mod blobs;
mod case_workflow;
mod destination_leases;
mod doctor;
mod erase;
mod host;
mod inbox;
mod lock_retry;
mod open;
mod read;
mod revisions;
mod row;
mod thread;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use nightshift_pipeline::admission::AdmissionPolicy;
use nightshift_pipeline::port::{StoreError, WorkNotifier};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode};

use crate::blobs::BlobStore;
use crate::logged_once::{self, LoggedOnce};
use crate::notifier::Notifier;
use crate::private_files;
use crate::sql::{Backend, LeaseTerms, Rest, ScanCursors, SqlStore};
pub(crate) use doctor::{check_schema_ahead, probe};
pub(crate) use host::{LeaseHolder, uptime_secs};
use open::OPEN;
pub(crate) use thread::{SqliteConnection, SqliteThread};

const MIGRATIONS: &str =
    "SELECT 'V' || version || '__' || name FROM refinery_schema_history ORDER BY version";

mod migrations {
    refinery::embed_migrations!("../../migrations/sqlite");
}

/// The time that a statement waits for another process, in milliseconds.
const BUSY_TIMEOUT_MS: u64 = 10_000;

/// The number of attempts to put a new file into WAL mode.
const WAL_TRIES: usize = 20;

/// The capacity of the cache of prepared statements, which exceeds the number of statements.
const STATEMENTS: usize = 256;

/// The options of a SQLite store.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The database file. The file and its folder are created if they are missing.
    pub path: PathBuf,
    /// The duration of a lease without renewal.
    pub lease: Duration,
    /// The policy of admission.
    pub admission: AdmissionPolicy,
    /// The store of large messages. `None` keeps them in the database.
    pub blobs: Option<BlobStore>,
}

/// The error that the database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum SqliteOpenError {
    /// The file should exist and does not. A new one would be empty.
    #[error(
        "there is no database at {}; run this in the working directory of the worker, or name its file in [store] url; \
        the first `nightshift worker`, `nightshift run FILE` or `nightshift migrate` makes it",
        std::path::absolute(path).as_ref().unwrap_or(path).display()
    )]
    Missing {
        /// The path of the file.
        path: PathBuf,
    },
    /// The folder cannot be created.
    #[error("cannot make the folder {path}; choose another place with [store] url")]
    Folder {
        /// The path of the folder.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: std::io::Error,
    },
    /// The file is not a database or is not writable.
    #[error("cannot open the database {path}; choose another place with [store] url")]
    Open {
        /// The path of the file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: rusqlite::Error,
    },
    /// The schema cannot be migrated.
    #[error("cannot migrate the database {path}")]
    Migrate {
        /// The path of the file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: Box<refinery::Error>,
    },
    /// The thread that owns the connection cannot be started.
    #[error("cannot start the database thread")]
    Thread(#[source] std::io::Error),
}

/// Cases, inbox, outbox and dead letters in one SQLite file.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    path: Arc<Path>,
    thread: SqliteThread,
    holder: LeaseHolder,
    lease: Duration,
    admission: Arc<AdmissionPolicy>,
    blobs: Option<BlobStore>,
    notifier: Notifier,
    logged: LoggedOnce,
}

/// Returns the migrations of this program. Migrations of a later version are accepted, because migrations begin
/// with additions only.
fn runner() -> refinery::Runner {
    migrations::migrations::runner().set_abort_missing(false)
}

/// Returns the migrations of this program and one more, as the next version would have.
#[cfg(test)]
pub(crate) fn runner_with(next: refinery::Migration) -> refinery::Runner {
    let mut migrations = runner().get_migrations().clone();
    migrations.push(next);
    refinery::Runner::new(&migrations)
}

impl SqliteStore {
    /// Opens the database, creates it if it is missing, and migrates its schema.
    ///
    /// # Errors
    ///
    /// Returns an error if the database cannot be created, opened or migrated.
    pub fn open(options: &SqliteOptions) -> Result<Self, SqliteOpenError> {
        let mut connection = connect(&options.path)?;
        let report = migrate(&mut connection).map_err(|cause| SqliteOpenError::Migrate {
            path: options.path.clone(),
            cause: Box::new(cause),
        })?;
        logged_once::log_migrations(&report);
        Ok(Self {
            path: Arc::from(options.path.as_path()),
            thread: SqliteThread::start(connection, &OPEN).map_err(SqliteOpenError::Thread)?,
            holder: LeaseHolder::this_process(),
            lease: options.lease,
            admission: Arc::new(options.admission.clone()),
            blobs: options.blobs.clone(),
            notifier: Notifier::new(),
            logged: LoggedOnce::default(),
        })
    }

    /// Returns this store with another lease and admission policy.
    #[must_use]
    pub(crate) fn with_settings(&self, lease: Duration, admission: AdmissionPolicy) -> Self {
        Self {
            lease,
            admission: Arc::new(admission),
            ..self.clone()
        }
    }

    /// Implements [`nightshift_pipeline::maintenance::StoreMaintenance::migrations`].
    pub(crate) async fn migrations(&self) -> Result<Vec<String>, StoreError> {
        self.thread
            .run("read the migrations", |connection| {
                let mut statement = connection.prepare_cached(MIGRATIONS)?;
                let names = statement.query_map([], |row| row.get(0))?;
                Ok(names.collect::<Result<_, _>>()?)
            })
            .await
    }

    /// Implements [`nightshift_pipeline::port::Cases::is_disk_full`].
    pub(crate) fn is_disk_full(&self) -> bool {
        self.thread.disk.is_recent()
    }

    /// Returns this store as the process with this id would see it.
    #[cfg(test)]
    pub(crate) fn of_process(mut self, pid: u32) -> Self {
        self.holder = LeaseHolder::from_pid(pid);
        self
    }
}

impl From<SqliteStore> for SqlStore {
    fn from(store: SqliteStore) -> Self {
        Self {
            backend: Backend::Sqlite(store.thread.clone()),
            admission: Arc::clone(&store.admission),
            blobs: store.blobs.clone(),
            notifier: store.notifier.clone(),
            logged: store.logged.clone(),
            cursors: ScanCursors::default(),
            leases: LeaseTerms {
                holder: store.holder.0.clone(),
                duration: store.lease,
            },
            rest: Rest::Sqlite(Box::new(store)),
        }
    }
}

/// Waits up to `most` until every SQLite database of this process is closed. A database closes when the last handle of
/// its store is dropped and its last request is done. Returns whether all are closed. Blocks; it is called at the end
/// of the program.
#[must_use]
pub fn wait_until_closed(most: Duration) -> bool {
    OPEN.none_within(most)
}

#[async_trait]
impl WorkNotifier for SqliteStore {
    async fn wait_for_work(&self, heard: u64) -> u64 {
        self.notifier.wait(heard).await
    }
}

/// Applies the missing migrations in one transaction. Another process may do the same: the second one waits, fails on
/// what exists already, and then finds nothing left to do.
fn migrate(connection: &mut Connection) -> Result<refinery::Report, refinery::Error> {
    let runner = runner().set_grouped(true);
    runner.run(connection).or_else(|_| runner.run(connection))
}

fn connect(path: &Path) -> Result<Connection, SqliteOpenError> {
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        private_files::create_folder(folder).map_err(|cause| SqliteOpenError::Folder {
            path: folder.to_owned(),
            cause,
        })?;
    }
    let is_new = matches!(path.try_exists(), Ok(false));
    let open = || {
        let connection = Connection::open(path)?;
        // The files beside the database get its mode. The mode is set by path, because closing another handle of the
        // file would end SQLite's locks on it.
        if is_new {
            private_files::restrict(path);
        }
        connection.busy_timeout(Duration::from_millis(BUSY_TIMEOUT_MS))?;
        enter_wal_mode(&connection)?;
        // Removed rows are overwritten, and the log is truncated when it restarts.
        connection.pragma_update(None, "secure_delete", "ON")?;
        connection.pragma_update(None, "journal_size_limit", 0)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", "ON")?;
        // Without this, statements are prepared again for other values: a twentieth of the work of a case, for the same
        // plans.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        // With the default capacity, some statements would be prepared again for each case.
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok(connection)
    };
    open().map_err(|cause| SqliteOpenError::Open {
        path: path.to_owned(),
        cause,
    })
}

/// Turns on WAL mode. Of two processes that do this to a new file, SQLite refuses one without waiting. That one waits
/// for the lock of the other and tries again.
fn enter_wal_mode(connection: &Connection) -> Result<(), rusqlite::Error> {
    for _ in 0..WAL_TRIES {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK")?;
            }
            done => return done,
        }
    }
    connection.pragma_update(None, "journal_mode", "WAL")
}
