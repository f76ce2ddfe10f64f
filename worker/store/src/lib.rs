//! Where cases are kept. The only crate that says SQL of our schema; it decides nothing: admission is a pure function
//! of the pipeline that it calls inside its transaction.

mod acts;
mod again;
mod bell;
mod blobs;
mod examine;
mod left_off;
mod newer_version;
mod open;
mod options;
mod postgres;
mod previews;
mod split;
mod sqlite;
mod told;

#[cfg(test)]
mod conformance;

pub use blobs::{BlobOptions, Blobs, BlobsError};
pub use examine::examine;
pub use open::{Address, OpenError, Store, open, without_password};
pub use options::{Options, Password, PasswordFile, Waits};
pub use postgres::{OpenError as PostgresError, PostgresStore};
pub use sqlite::{OpenError as SqliteError, SqliteOptions, SqliteStore, closed_within};
