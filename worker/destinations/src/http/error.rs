//! Defines the error of a destination that cannot be used as configured.

use std::path::PathBuf;

/// A destination cannot be used as configured.
#[derive(Debug, thiserror::Error)]
pub enum DestinationError {
    /// A key has an invalid value.
    #[error("[[destination]] {name:?}: `{key}` {problem}")]
    BadValue {
        name: String,
        key: &'static str,
        /// The problem, and a description of valid values.
        problem: String,
    },
    /// The CA file cannot be read.
    #[error("[[destination]] {name:?}: `ca_file`: cannot read {}", path.display())]
    CaFile {
        name: String,
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// The secret is missing or unusable.
    #[error("[[destination]] {name:?}: `{key}`: {problem}")]
    Secret {
        name: String,
        key: &'static str,
        problem: String,
    },
    /// The HTTP client cannot be built, for example because no certificate authority is trusted.
    #[error("[[destination]] {name:?}: cannot make an HTTP client")]
    Client {
        name: String,
        #[source]
        source: reqwest::Error,
    },
}

impl DestinationError {
    /// Makes an error for an invalid value. The value is not shown, because it may be secret.
    pub(crate) fn bad(name: &str, key: &'static str, problem: impl Into<String>) -> Self {
        Self::BadValue {
            name: name.to_owned(),
            key,
            problem: problem.into(),
        }
    }
}
