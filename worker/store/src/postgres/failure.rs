//! Why a request did nothing: told apart by what may be done about it, never by the words of an error.

use deadpool_postgres::PoolError;
use nightshift_engine::error_chain::format_error_chain;
use nightshift_engine::journal::UnreadableEvent;
use nightshift_pipeline::case::CaseStatus;
use nightshift_pipeline::port::StoreError;
use tokio_postgres::error::SqlState;

/// Why a request did nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum PostgresFailure {
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
    /// No connection to be had.
    #[error("not connected to the database")]
    Pool(#[from] PoolError),
    /// The session was given back before.
    #[error("the connection was given back")]
    Closed,
    /// The server did not answer.
    #[error("the database did not answer for {0:?}")]
    Silent(std::time::Duration),
    /// The server.
    #[error(transparent)]
    Postgres(#[from] tokio_postgres::Error),
}

/// What may be done about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Another try on another connection, now or when the server is back.
    Again,
    /// The server is there and cannot: later, by whoever asked.
    Later,
    /// Something in what was to be written: the rest of it may be written without.
    Split,
    /// Nothing.
    None,
}

impl PostgresFailure {
    /// What may be done about it.
    pub(super) fn remedy(&self) -> Remedy {
        match self {
            Self::Pool(PoolError::Backend(error)) | Self::Postgres(error) => of_server(error),
            Self::Silent(_) => Remedy::Again,
            Self::Pool(_) => Remedy::Later,
            Self::Unwritable(..) => Remedy::Split,
            Self::Closed
            | Self::LeaseLost
            | Self::NoSuchCase(_)
            | Self::NoVerdict(_)
            | Self::NotOver(..)
            | Self::AlreadyOver(..)
            | Self::Unreadable(..)
            | Self::Journal { .. } => Remedy::None,
        }
    }

    /// Whether the server gave up because it took too long: less may be done in time.
    pub(super) fn is_too_slow(&self) -> bool {
        matches!(self, Self::Postgres(error) if error.code() == Some(&SqlState::QUERY_CANCELED))
    }

    /// As those outside the store see it.
    pub(super) fn into_store_error(self, doing: &'static str) -> StoreError {
        match self {
            Self::LeaseLost => StoreError::LeaseLost,
            Self::NoSuchCase(id) => StoreError::NoSuchCase(id),
            Self::NoVerdict(id) => StoreError::NoVerdict(id),
            Self::NotOver(id, status) => StoreError::NotOver(id, status),
            Self::AlreadyOver(id, status) => StoreError::AlreadyOver(id, status),
            Self::Unreadable(id, cause) => StoreError::Unreadable(id, Box::new(cause)),
            Self::Journal { ref case_id, .. } => {
                StoreError::Unreadable(case_id.clone(), Box::new(self))
            }
            other => {
                // Errors of the pool and the driver say their causes themselves, and have them as causes too.
                let cause = format_error_chain(&other).into();
                match other.remedy() {
                    Remedy::Split => StoreError::Refused { doing, cause },
                    _ => StoreError::Database { doing, cause },
                }
            }
        }
    }
}

/// By class of the error: <https://www.postgresql.org/docs/current/errcodes-appendix.html>.
fn of_server(error: &tokio_postgres::Error) -> Remedy {
    let Some(code) = error.code() else {
        // It did not come from the server: the connection is closed, refused, reset, or was never made.
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
        // What was referred to was removed since it was read: another look finds something else.
        SqlState::FOREIGN_KEY_VIOLATION,
        // It was the primary until a moment ago: a new connection finds the one that is.
        SqlState::READ_ONLY_SQL_TRANSACTION,
        // A password that was just changed: the file is read again.
        SqlState::INVALID_PASSWORD,
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
    ]
    .contains(code)
    {
        return Remedy::Again;
    }
    match code.code().get(..2) {
        Some("08") => Remedy::Again,
        // Data, constraints, limits of the program, what a trigger refuses.
        Some("22" | "23" | "54" | "P0") => Remedy::Split,
        // Resources and interventions: a lock that was not got, a statement that took too long, a full disk, a blob that
        // counts as an orphan.
        Some("53" | "55" | "57" | "58") => Remedy::Later,
        _ => Remedy::None,
    }
}
