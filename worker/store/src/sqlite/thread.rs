//! Runs the thread that owns the connection. Requests that wait together are committed together, each in its own
//! savepoint. One disk flush therefore serves many, and none can break another.

use std::sync::mpsc;

use nightshift_engine::journal::UnreadableEvent;
use nightshift_pipeline::case::CaseStatus;
use nightshift_pipeline::port::StoreError;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::open::OpenConnections;
use crate::full_disk::FullDisk;

/// The maximum number of requests in one transaction.
const MOST_TOGETHER: usize = 128;
/// The maximum number of requests that may wait for the thread.
const MOST_WAITING: usize = 4096;

/// The reason why a request did nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum SqliteFailure {
    /// The lease was lost.
    #[error("the lease on the case is lost")]
    LeaseLost,
    /// The case does not exist.
    #[error("there is no case {0:?}")]
    NoSuchCase(String),
    /// The case has no verdict.
    #[error("case {0} has no verdict yet")]
    NoVerdict(String),
    /// The case is not over yet.
    #[error("case {0} is not over")]
    NotOver(String, CaseStatus),
    /// The case is over already.
    #[error("case {0} is over already")]
    AlreadyOver(String, CaseStatus),
    /// The mute does not exist.
    #[error("there is no mute {0:?}")]
    NoSuchMute(String),
    /// This version cannot read what is stored.
    #[error("case {0} cannot be read")]
    Unreadable(String, #[source] serde_json::Error),
    /// The value cannot be serialised as JSON.
    #[error("what belongs to {0} cannot be written")]
    Unwritable(String, #[source] serde_json::Error),
    /// This version cannot read an event of the journal.
    #[error("event {seq} of the journal of case {case_id} cannot be read")]
    Journal {
        /// The id of the case.
        case_id: String,
        /// The number of the event within its revision.
        seq: i64,
        /// The cause.
        #[source]
        cause: UnreadableEvent,
    },
    /// The request was delayed for so long that one of its blobs counts as an orphan.
    #[error("it took too long: a blob of it counts as an orphan")]
    BlobGone,
    /// SQLite returned an error.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

impl SqliteFailure {
    /// Returns whether the written data caused the failure. The rest may be written without it.
    pub(super) fn is_data_error(&self) -> bool {
        use rusqlite::ErrorCode::{ConstraintViolation, TooBig, TypeMismatch};
        match self {
            Self::Unwritable(..) => true,
            Self::Sqlite(error) => matches!(
                error.sqlite_error_code(),
                Some(ConstraintViolation | TooBig | TypeMismatch)
            ),
            Self::LeaseLost
            | Self::NoSuchCase(_)
            | Self::NoVerdict(_)
            | Self::NotOver(..)
            | Self::AlreadyOver(..)
            | Self::NoSuchMute(_)
            | Self::BlobGone
            | Self::Unreadable(..)
            | Self::Journal { .. } => false,
        }
    }
}

/// Sends the result to the caller, after the transaction was committed or failed.
type Reply = Box<dyn FnOnce(Result<(), String>) + Send>;
/// Runs a request and returns its result with its reply. Without a connection the request is not run, and only its
/// reply is returned.
type Job = Box<dyn FnOnce(Option<&Connection>) -> (Result<(), String>, Reply) + Send>;

/// A handle of the thread. When the last handle is dropped, the thread ends and closes the connection. The drop does
/// not wait for that; the end of the program does.
#[derive(Debug, Clone)]
pub(super) struct SqliteThread {
    jobs: mpsc::SyncSender<Job>,
    /// True if a recent write found no room.
    pub(super) disk: FullDisk,
}

impl SqliteThread {
    /// Starts the thread. Its connection counts as open.
    pub(super) fn start(
        connection: Connection,
        open: &'static OpenConnections,
    ) -> std::io::Result<Self> {
        let counted = open.with(connection);
        let (jobs, waiting) = mpsc::sync_channel::<Job>(MOST_WAITING);
        let disk = FullDisk::default();
        let noted = disk.clone();
        std::thread::Builder::new()
            .name("sqlite".to_owned())
            .spawn(move || {
                // The closure takes all of `counted`, not only the connection, so it counts for as long as the thread
                // has it.
                let counted = counted;
                while let Ok(first) = waiting.recv() {
                    let rest = waiting.try_iter().take(MOST_TOGETHER - 1);
                    transact(
                        &counted.connection,
                        &noted,
                        std::iter::once(first).chain(rest),
                    );
                }
            })?;
        Ok(Self { jobs, disk })
    }

    /// Runs `work` in a transaction, and returns after it is on disk.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, SqliteFailure> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.attempt(doing, work)
            .await
            .map_err(|undone| match undone {
                TransactionError::Failed(failure) => store_error(doing, failure),
                TransactionError::Store(error) => error,
            })
    }

    /// Runs `work` as [`SqliteThread::run`] does, and returns the reason if nothing was done.
    pub(super) async fn attempt<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, SqliteFailure> + Send + 'static,
    ) -> Result<T, TransactionError> {
        let (sender, receiver) = oneshot::channel();
        let undone = move |why: Box<dyn std::error::Error + Send + Sync>| {
            Err(TransactionError::Store(database(doing, why)))
        };
        let disk = self.disk.clone();
        let job: Job = Box::new(move |connection| {
            let result = connection.map(work);
            if let Some(Err(SqliteFailure::Sqlite(error))) = &result {
                note_full_disk(&disk, error);
            }
            let done = match &result {
                Some(Err(failure)) => Err(failure.to_string()),
                Some(Ok(_)) | None => Ok(()),
            };
            let reply: Reply = Box::new(move |committed| {
                let answer = match (committed, result) {
                    (Ok(()), Some(result)) => result.map_err(TransactionError::Failed),
                    (Ok(()), None) => undone("the request was not run".into()),
                    (Err(why), _) => undone(why.into()),
                };
                // The send fails only if the caller was cancelled.
                drop(sender.send(answer));
            });
            (done, reply)
        });
        let gone =
            || TransactionError::Store(database(doing, "the database thread has ended".into()));
        self.jobs.try_send(job).map_err(|error| match error {
            mpsc::TrySendError::Full(_) => {
                let why = "too many requests wait for the database";
                TransactionError::Store(database(doing, why.into()))
            }
            mpsc::TrySendError::Disconnected(_) => gone(),
        })?;
        receiver.await.unwrap_or_else(|_| Err(gone()))
    }
}

/// The reason why a transaction did nothing.
pub(super) enum TransactionError {
    /// The request failed.
    Failed(SqliteFailure),
    /// The request could not be run, or its transaction could not be committed.
    Store(StoreError),
}

fn note_full_disk(disk: &FullDisk, error: &rusqlite::Error) {
    if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull) {
        disk.note();
    }
}

fn transact(connection: &Connection, disk: &FullDisk, jobs: impl Iterator<Item = Job>) {
    if let Err(error) = connection.execute_batch("BEGIN IMMEDIATE") {
        note_full_disk(disk, &error);
        // Without a transaction, each savepoint would commit on its own, although its caller gets an error. The jobs
        // are collected first, so that requests which arrive after the first reply are not failed untried.
        for job in jobs.collect::<Vec<_>>() {
            job(None).1(Err(error.to_string()));
        }
        return;
    }
    let mut replies = Vec::new();
    let mut whole = Ok(());
    for job in jobs {
        let (ended, reply) = run_one(connection, job);
        replies.push(reply);
        whole = ended;
        if whole.is_err() {
            // The jobs behind this one are not tried here. They run in the next transaction.
            break;
        }
    }
    let committed = whole.and_then(|()| {
        let committed = connection.execute_batch("COMMIT");
        committed.map_err(|error| {
            note_full_disk(disk, &error);
            error.to_string()
        })
    });
    if committed.is_err() && !connection.is_autocommit() {
        // A transaction that cannot be committed is lost, and all callers get the error.
        drop(connection.execute_batch("ROLLBACK"));
    }
    for reply in replies {
        reply(committed.clone());
    }
}

/// Runs a request in its savepoint. An error means that the whole transaction is lost.
fn run_one(connection: &Connection, job: Job) -> (Result<(), String>, Reply) {
    if let Err(error) = connection.execute_batch("SAVEPOINT request") {
        return (Err(error.to_string()), job(None).1);
    }
    let (done, reply) = job(Some(connection));
    if connection.is_autocommit() {
        // On a full or failing disk, SQLite rolls back the transaction and not only the statement. A savepoint would
        // then be a transaction of its own and be committed, although its caller gets an error.
        let why = done.err().unwrap_or_else(|| "it is no more".to_owned());
        return (
            Err(format!("the transaction was rolled back: {why}")),
            reply,
        );
    }
    let end = match done {
        Ok(()) => "RELEASE request",
        Err(_) => "ROLLBACK TO request; RELEASE request",
    };
    let ended = connection.execute_batch(end);
    (ended.map_err(|error| error.to_string()), reply)
}

/// Converts a failure into an error of the store's interface.
pub(super) fn store_error(doing: &'static str, failure: SqliteFailure) -> StoreError {
    if failure.is_data_error() {
        let cause = Box::new(failure);
        return StoreError::Refused { doing, cause };
    }
    match failure {
        SqliteFailure::LeaseLost => StoreError::LeaseLost,
        SqliteFailure::NoSuchCase(id) => StoreError::NoSuchCase(id),
        SqliteFailure::NoVerdict(id) => StoreError::NoVerdict(id),
        SqliteFailure::NotOver(id, status) => StoreError::NotOver(id, status),
        SqliteFailure::AlreadyOver(id, status) => StoreError::AlreadyOver(id, status),
        SqliteFailure::NoSuchMute(name) => StoreError::NoSuchMute(name),
        SqliteFailure::Unreadable(id, cause) => StoreError::Unreadable(id, Box::new(cause)),
        SqliteFailure::Journal {
            case_id,
            seq,
            cause,
        } => StoreError::Unreadable(case_id, Box::new(UnreadableAt { seq, cause })),
        SqliteFailure::Sqlite(cause) => database(doing, Box::new(cause)),
        SqliteFailure::BlobGone | SqliteFailure::Unwritable(..) => {
            database(doing, Box::new(failure))
        }
    }
}

/// The position of the first unreadable event of a journal.
#[derive(Debug, thiserror::Error)]
#[error("event {seq} of its journal")]
struct UnreadableAt {
    seq: i64,
    #[source]
    cause: UnreadableEvent,
}

fn database(doing: &'static str, cause: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
    StoreError::Database { doing, cause }
}

#[cfg(test)]
mod tests;
