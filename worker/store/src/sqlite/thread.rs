//! The thread that owns the connection. Requests that wait together are committed together, each in its own
//! savepoint, so that one disk flush serves many and none can spoil another.

use std::sync::mpsc;

use nightshift_engine::journal::UnreadableEvent;
use nightshift_pipeline::case::CaseStatus;
use nightshift_pipeline::port::StoreError;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::open::OpenConnections;
use crate::full_disk::FullDisk;

/// Most requests in one transaction.
const MOST_TOGETHER: usize = 128;
/// Most requests that may wait for the thread.
const MOST_WAITING: usize = 4096;

/// Why a request did nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum SqliteFailure {
    /// The lease is gone.
    #[error("the lease on the case is lost")]
    LeaseLost,
    /// There is no such case.
    #[error("there is no case {0:?}")]
    NoSuchCase(String),
    /// The case has no verdict.
    #[error("case {0} has no verdict yet")]
    NoVerdict(String),
    /// The case goes on by itself.
    #[error("case {0} is not over")]
    NotOver(String, CaseStatus),
    /// The case is over.
    #[error("case {0} is over already")]
    AlreadyOver(String, CaseStatus),
    /// There is no such mute.
    #[error("there is no mute {0:?}")]
    NoSuchMute(String),
    /// What is stored cannot be read by this version.
    #[error("case {0} cannot be read")]
    Unreadable(String, #[source] serde_json::Error),
    /// What is to be stored cannot be said as JSON.
    #[error("what belongs to {0} cannot be written")]
    Unwritable(String, #[source] serde_json::Error),
    /// An event of its journal cannot be read by this version.
    #[error("event {seq} of the journal of case {case_id} cannot be read")]
    Journal {
        /// The case.
        case_id: String,
        /// The number of the event within its revision.
        seq: i64,
        /// Why.
        #[source]
        cause: UnreadableEvent,
    },
    /// It was held up for so long that a blob of it counts as an orphan.
    #[error("it took too long: a blob of it counts as an orphan")]
    BlobGone,
    /// SQLite.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

impl SqliteFailure {
    /// Whether it lies in what was to be written: the rest of it may be written without.
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

/// Says to the one who asked what became of it, once the transaction is committed or not.
type Reply = Box<dyn FnOnce(Result<(), String>) + Send>;
/// Runs a request, and says why it did nothing; without a connection it is not run, and only its reply is made.
type Job = Box<dyn FnOnce(Option<&Connection>) -> (Result<(), String>, Reply) + Send>;

/// Handle of the thread; it ends, and closes the connection, when the last handle is dropped. Who drops it is not held up:
/// the end of the program waits.
#[derive(Debug, Clone)]
pub(super) struct SqliteThread {
    jobs: mpsc::SyncSender<Job>,
    /// True if a recent write found no room.
    pub(super) disk: FullDisk,
}

impl SqliteThread {
    /// Starts the thread, whose connection is counted among the open ones.
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
                // All of it, not the connection alone: it counts for as long as the thread has it.
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

    /// Runs `work` in a transaction, and returns once it is on disk.
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

    /// The same, for those who want to know why nothing was done.
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
                // Nobody waits any more: the one who asked was stopped.
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

/// Why nothing of a request was done.
pub(super) enum TransactionError {
    /// It failed.
    Failed(SqliteFailure),
    /// It could not be run, or what it did could not be committed.
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
        // Without a transaction a savepoint would commit by itself what its asker is told has failed. Who asks after the
        // first of them was told has not been tried, and is not told the same.
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
            // Those that wait behind it are not tried in here: the next transaction is theirs.
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
        // What could not be committed is gone; those who asked are told.
        drop(connection.execute_batch("ROLLBACK"));
    }
    for reply in replies {
        reply(committed.clone());
    }
}

/// Runs a request in its savepoint. An error is that of the transaction, which is lost with all that was done in it.
fn run_one(connection: &Connection, job: Job) -> (Result<(), String>, Reply) {
    if let Err(error) = connection.execute_batch("SAVEPOINT request") {
        return (Err(error.to_string()), job(None).1);
    }
    let (done, reply) = job(Some(connection));
    if connection.is_autocommit() {
        // A full disk, or one that fails, has SQLite roll back the transaction and not the statement alone. A savepoint
        // would now be a transaction of its own: committed at its end, whatever its asker is told.
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

/// A failure as those outside the store see it.
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

/// Where a journal cannot be read any more.
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
