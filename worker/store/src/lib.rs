//! Stores cases. This is the only crate with SQL for our schema. It contains no policy: admission is a pure function of
//! the pipeline that the store calls inside its transaction.

mod blobs;
mod case_actions;
mod doctor;
mod failure;
mod full_disk;
mod logged_once;
mod newer_version;
mod notifier;
mod open;
mod options;
mod postgres;
mod previews;
mod previous_run;
mod private_files;
mod scan_cursor;
mod split;
mod sql;
mod sqlite;

#[cfg(test)]
mod conformance;

pub use blobs::{BlobOptions, BlobStore, BlobStoreError};
pub use doctor::probe;
pub use open::{Store, StoreOpenError, StoreUrl, open, redact_password};
pub use options::{DatabasePassword, PasswordFile, StoreOptions, StoreTimeouts};
pub use postgres::{PostgresOpenError as PostgresError, PostgresStore};
pub use sql::SqlStore;
pub use sqlite::{SqliteOpenError as SqliteError, SqliteOptions, SqliteStore, wait_until_closed};
