//! Runs the thread that owns the connection. Requests that wait together are committed together, each in its own
//! savepoint. One disk flush therefore serves many, and none can break another.

use std::sync::mpsc;

use nightshift_pipeline::port::StoreError;
use parking_lot::ReentrantMutex;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::open::OpenConnections;
pub(super) use crate::failure::Failure as SqliteFailure;
use crate::full_disk::FullDisk;

/// The maximum number of requests in one transaction.
const MOST_TOGETHER: usize = 128;
/// The maximum number of requests that may wait for the thread.
const MOST_WAITING: usize = 4096;

/// The connection of the thread. Only the thread uses it, so its lock is free or held by the thread itself. The lock
/// makes the connection one that a future may hold while it waits, which it never does here.
pub(crate) type SqliteConnection = ReentrantMutex<Connection>;

/// Sends the result to the caller, after the transaction was committed or failed.
type Reply = Box<dyn FnOnce(Result<(), String>) + Send>;
/// Runs a request and returns its result with its reply. Without a connection the request is not run, and only its
/// reply is returned.
type Job = Box<dyn FnOnce(Option<&SqliteConnection>) -> (Result<(), String>, Reply) + Send>;

/// A handle of the thread. When the last handle is dropped, the thread ends and closes the connection. The drop does
/// not wait for that; the end of the program does.
#[derive(Debug, Clone)]
pub(crate) struct SqliteThread {
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
            .map_err(|undone| undone.into_store_error(doing))
    }

    /// Runs `work` as [`SqliteThread::run`] does, and returns the reason if nothing was done.
    pub(super) async fn attempt<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, SqliteFailure> + Send + 'static,
    ) -> Result<T, TransactionError> {
        self.transaction(doing, |connection| work(&connection.lock()))
            .await
    }

    /// Runs `work` as [`SqliteThread::attempt`] does, with a connection for the shared repositories.
    pub(crate) async fn transaction<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&SqliteConnection) -> Result<T, SqliteFailure> + Send + 'static,
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
pub(crate) enum TransactionError {
    /// The request failed.
    Failed(SqliteFailure),
    /// The request could not be run, or its transaction could not be committed.
    Store(StoreError),
}

impl TransactionError {
    /// Converts the reason into an error of the store's interface.
    pub(crate) fn into_store_error(self, doing: &'static str) -> StoreError {
        match self {
            Self::Failed(failure) => failure.into_store_error(doing),
            Self::Store(error) => error,
        }
    }
}

fn note_full_disk(disk: &FullDisk, error: &rusqlite::Error) {
    if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull) {
        disk.note();
    }
}

fn transact(shared: &SqliteConnection, disk: &FullDisk, jobs: impl Iterator<Item = Job>) {
    let connection = &*shared.lock();
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
        let (ended, reply) = run_one(shared, job);
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
fn run_one(shared: &SqliteConnection, job: Job) -> (Result<(), String>, Reply) {
    let connection = &*shared.lock();
    if let Err(error) = connection.execute_batch("SAVEPOINT request") {
        return (Err(error.to_string()), job(None).1);
    }
    let (done, reply) = job(Some(shared));
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

fn database(doing: &'static str, cause: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
    StoreError::Database { doing, cause }
}

#[cfg(test)]
mod tests;
