//! Where cases are kept. The only crate that says SQL of our schema; it decides nothing: admission is a pure function
//! of the pipeline that it calls inside its transaction.

mod sqlite;

pub use sqlite::{OpenError, SqliteOptions, SqliteStore};
