//! The store on SQLite: the same promises as on a server, for processes on one host.
//!
//! `synchronous=FULL`, one writing thread per process, a transaction per group of requests; leases hold the host's
//! boot and the process, so that the case of a dead process is free at once.

mod backlog;
mod blobs;
mod canaries;
mod case_workflow;
mod cases;
mod claim;
mod dead_letters;
mod digest;
mod doctor;
mod earlier;
mod feedback;
mod host;
mod inbox;
mod list;
mod lock_retry;
mod mutes;
mod open;
mod outbox;
mod owed;
mod past;
mod people;
mod places;
mod purge;
mod read;
mod recheck;
mod revisions;
mod row;
mod spending;
mod thread;
mod upkeep;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use nightshift_pipeline::admission::AdmissionPolicy;
use nightshift_pipeline::port::WorkNotifier;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode};

use crate::blobs::BlobStore;
use crate::logged_once::{self, LoggedOnce};
use crate::notifier::Notifier;
use crate::private_files;
use crate::scan_cursor::ScanCursor;
pub(crate) use doctor::{check_schema_ahead, probe};
use host::LeaseHolder;
use open::OPEN;
use thread::SqliteThread;

mod migrations {
    refinery::embed_migrations!("../../migrations/sqlite");
}

/// How long a statement waits for another process, in milliseconds.
const BUSY_TIMEOUT_MS: u64 = 10_000;

/// Number of attempts to put a new file into WAL mode.
const WAL_TRIES: usize = 20;

/// Statements that stay prepared: more than there are.
const STATEMENTS: usize = 256;

/// What the store is opened with.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The database file; it and its folder are made where they are missing.
    pub path: PathBuf,
    /// How long a lease holds without a renewal.
    pub lease: Duration,
    /// What admission is set to.
    pub admission: AdmissionPolicy,
    /// Where large messages are kept; none: in the database.
    pub blobs: Option<BlobStore>,
}

/// The database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum SqliteOpenError {
    /// It should be there, and is not: it would be empty where it was made now.
    #[error(
        "there is no database at {}; run this in the working directory of the worker, or name its file in [store] url; \
        the first `nightshift worker`, `nightshift run FILE` or `nightshift migrate` makes it",
        std::path::absolute(path).as_ref().unwrap_or(path).display()
    )]
    Missing {
        /// Which one.
        path: PathBuf,
    },
    /// The folder cannot be made.
    #[error("cannot make the folder {path}; choose another place with [store] url")]
    Folder {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// The file is no database, or may not be written.
    #[error("cannot open the database {path}; choose another place with [store] url")]
    Open {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        cause: rusqlite::Error,
    },
    /// Its schema cannot be brought up to date.
    #[error("cannot migrate the database {path}")]
    Migrate {
        /// Which one.
        path: PathBuf,
        /// Why.
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
    lease_secs: f64,
    admission: Arc<AdmissionPolicy>,
    blobs: Option<BlobStore>,
    bell: Notifier,
    told: LoggedOnce,
    /// Up to which message retention has looked in this round.
    raw_until: ScanCursor<SqliteArrivalCursor>,
    /// Up to which case it was looked for what somebody has to have removed.
    purged_until: ScanCursor<SqliteCaseCursor>,
    /// Up to which case it was looked for what grew old of those that go on.
    journals_until: ScanCursor<SqliteCaseCursor>,
    rows_until: ScanCursor<SqliteCaseCursor>,
}

/// When something came, as its column has it, and its number.
type SqliteArrivalCursor = (String, i64);

/// When a case was opened, as its column has it, and which it is.
type SqliteCaseCursor = (String, String);

/// Returns the migrations of this program. Migrations of a later version do not stop it: they first only add.
fn runner() -> refinery::Runner {
    migrations::migrations::runner().set_abort_missing(false)
}

/// The migrations of this program and one more, as the next version has it.
#[cfg(test)]
pub(crate) fn runner_with(next: refinery::Migration) -> refinery::Runner {
    let mut migrations = runner().get_migrations().clone();
    migrations.push(next);
    refinery::Runner::new(&migrations)
}

impl SqliteStore {
    /// Opens the database, makes it where it is missing, and brings its schema up to date.
    ///
    /// # Errors
    ///
    /// When it cannot be made, opened or migrated.
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
            lease_secs: options.lease.as_secs_f64(),
            admission: Arc::new(options.admission.clone()),
            blobs: options.blobs.clone(),
            bell: Notifier::new(),
            told: LoggedOnce::default(),
            raw_until: ScanCursor::default(),
            purged_until: ScanCursor::default(),
            journals_until: ScanCursor::default(),
            rows_until: ScanCursor::default(),
        })
    }

    /// This store, set to another lease and admission.
    #[must_use]
    pub(crate) fn with_settings(&self, lease: Duration, admission: AdmissionPolicy) -> Self {
        Self {
            lease_secs: lease.as_secs_f64(),
            admission: Arc::new(admission),
            ..self.clone()
        }
    }

    /// This store as a process of this number would see it.
    #[cfg(test)]
    pub(crate) fn of_process(mut self, pid: u32) -> Self {
        self.holder = LeaseHolder::from_pid(pid);
        self
    }
}

/// Waits until every SQLite database of this process is closed, which is when the last handle of its store is dropped and
/// its last request is done; no longer than this. Whether they are. Blocks: called where the program ends.
#[must_use]
pub fn wait_until_closed(most: Duration) -> bool {
    OPEN.none_within(most)
}

#[async_trait]
impl WorkNotifier for SqliteStore {
    async fn wait_for_work(&self, heard: u64) -> u64 {
        self.bell.wait(heard).await
    }
}

/// Runs what is missing, all of it in one transaction. Another process may do the same: the one that comes second waits,
/// fails on what is there already, and then finds nothing left to do.
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
        // The files beside it get its mode. It is set by its path: to close another handle of the file would end the locks
        // that SQLite holds on it.
        if is_new {
            private_files::restrict(path);
        }
        connection.busy_timeout(Duration::from_millis(BUSY_TIMEOUT_MS))?;
        enter_wal_mode(&connection)?;
        // Removed rows are overwritten, and the log is truncated when it starts again.
        connection.pragma_update(None, "secure_delete", "ON")?;
        connection.pragma_update(None, "journal_size_limit", 0)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", "ON")?;
        // Else statements are prepared anew for other values: a twentieth of a case's work, for the same plans.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        // Else the least used of some hundred statements are prepared anew, for each case.
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok(connection)
    };
    open().map_err(|cause| SqliteOpenError::Open {
        path: path.to_owned(),
        cause,
    })
}

/// Turns on the log beside the file. Of two that do this to a new file one is refused without a wait, so it waits for the
/// lock of the other and tries again.
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
