//! Defines why a request did nothing, and classifies the reasons by their remedy, never by the text of an error.

use deadpool_postgres::PoolError;
use nightshift_engine::error_chain::format_error_chain;
use nightshift_engine::journal::UnreadableEvent;
use nightshift_pipeline::case::CaseStatus;
use nightshift_pipeline::port::StoreError;
use tokio_postgres::error::SqlState;

/// The reason why a request did nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
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
    /// A statement that returns a row for all values returned none.
    #[error("a statement returned no row")]
    NoRow,
    /// A transaction of SQLite waited for something other than its statements.
    #[error("a transaction waited for something other than its statements")]
    Waited,
    /// SQLite returned an error.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// No connection to PostgreSQL is available.
    #[error("not connected to the database")]
    Pool(#[from] PoolError),
    /// The session was returned to the pool before.
    #[error("the connection was given back")]
    Closed,
    /// The server did not answer within this time.
    #[error("the database did not answer for {0:?}")]
    Silent(std::time::Duration),
    /// The server or its driver returned an error.
    #[error(transparent)]
    Postgres(#[from] tokio_postgres::Error),
}

/// The remedy for a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// Retry on another connection, now or when the server is available again.
    Again,
    /// The database is available but cannot do it now. The caller can retry later.
    Later,
    /// Something in the written data fails. The rest may be written without it.
    Split,
    /// There is no remedy.
    None,
}

impl Failure {
    /// Returns the remedy for this failure.
    pub(crate) fn remedy(&self) -> Remedy {
        match self {
            Self::Pool(PoolError::Backend(error)) | Self::Postgres(error) => of_server(error),
            Self::Sqlite(error) => of_sqlite(error),
            Self::Silent(_) => Remedy::Again,
            Self::Pool(_) => Remedy::Later,
            Self::Unwritable(..) => Remedy::Split,
            Self::NoSuchCase(_)
            | Self::NoVerdict(_)
            | Self::NotOver(..)
            | Self::AlreadyOver(..)
            | Self::NoSuchMute(_)
            | Self::Unreadable(..)
            | Self::Journal { .. }
            | Self::BlobGone
            | Self::NoRow
            | Self::Waited
            | Self::Closed => Remedy::None,
        }
    }

    /// Returns whether the server or the client gave up because the request took too long. A smaller request may
    /// succeed.
    pub(crate) fn is_too_slow(&self) -> bool {
        match self {
            Self::Postgres(error) => error.code() == Some(&SqlState::QUERY_CANCELED),
            Self::Silent(_) => true,
            _ => false,
        }
    }

    /// Converts the failure into an error of the store's interface.
    pub(crate) fn into_store_error(self, doing: &'static str) -> StoreError {
        let remedy = self.remedy();
        let cause: Box<dyn std::error::Error + Send + Sync> = match self {
            Self::NoSuchCase(id) => return StoreError::NoSuchCase(id),
            Self::NoVerdict(id) => return StoreError::NoVerdict(id),
            Self::NotOver(id, status) => return StoreError::NotOver(id, status),
            Self::AlreadyOver(id, status) => return StoreError::AlreadyOver(id, status),
            Self::NoSuchMute(name) => return StoreError::NoSuchMute(name),
            Self::Unreadable(id, cause) => return StoreError::Unreadable(id, Box::new(cause)),
            Self::Journal {
                case_id,
                seq,
                cause,
            } => {
                let cause = Box::new(UnreadableAt { seq, cause });
                return StoreError::Unreadable(case_id, cause);
            }
            // Errors of the pool and the driver print their causes themselves and also return them as sources.
            Self::Pool(_) | Self::Postgres(_) => format_error_chain(&self).into(),
            Self::Sqlite(_)
            | Self::Unwritable(..)
            | Self::BlobGone
            | Self::NoRow
            | Self::Waited
            | Self::Silent(_)
            | Self::Closed => Box::new(self),
        };
        match remedy {
            Remedy::Split => StoreError::Refused { doing, cause },
            _ => StoreError::Database { doing, cause },
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

/// Classifies an error of SQLite.
fn of_sqlite(error: &rusqlite::Error) -> Remedy {
    use rusqlite::ErrorCode::{
        ConstraintViolation, DatabaseBusy, DatabaseLocked, DiskFull, OutOfMemory, SystemIoFailure,
        TooBig, TypeMismatch,
    };
    match error.sqlite_error_code() {
        Some(ConstraintViolation | TooBig | TypeMismatch) => Remedy::Split,
        Some(DatabaseBusy | DatabaseLocked | DiskFull | OutOfMemory | SystemIoFailure) => {
            Remedy::Later
        }
        _ => Remedy::None,
    }
}

/// Classifies an error of PostgreSQL by its class: <https://www.postgresql.org/docs/current/errcodes-appendix.html>.
fn of_server(error: &tokio_postgres::Error) -> Remedy {
    let Some(code) = error.code() else {
        // The error did not come from the server: the connection is closed, refused or reset, or was never established.
        return Remedy::Again;
    };
    if [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        // A referenced row was removed after it was read. A retry reads the current rows.
        SqlState::FOREIGN_KEY_VIOLATION,
        // The server was the primary until now. A new connection finds the current primary.
        SqlState::READ_ONLY_SQL_TRANSACTION,
        // The password may have just changed. The file is read again.
        SqlState::INVALID_PASSWORD,
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
    ]
    .contains(code)
    {
        return Remedy::Again;
    }
    match code.code().get(..2) {
        Some("08") => Remedy::Again,
        // These are data errors, constraint violations, exceeded program limits, and errors of triggers.
        Some("22" | "23" | "54" | "P0") => Remedy::Split,
        // These are shortages and interventions: a lock timeout, a statement timeout, a full disk, or a blob that
        // counts as an orphan.
        Some("53" | "55" | "57" | "58") => Remedy::Later,
        _ => Remedy::None,
    }
}
