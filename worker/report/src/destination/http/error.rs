//! Why a destination cannot be used as it is configured.

use std::path::PathBuf;

/// A destination cannot be used as it is configured.
#[derive(Debug, thiserror::Error)]
pub enum DestinationError {
    /// A key has a value that cannot be.
    #[error("[[destination]] {name:?}: `{key}` {problem}")]
    BadValue {
        /// The destination.
        name: String,
        /// The key.
        key: &'static str,
        /// What is wrong, and what would fit.
        problem: String,
    },
    /// The file of authorities cannot be read.
    #[error("[[destination]] {name:?}: `ca_file`: cannot read {}", path.display())]
    CaFile {
        /// The destination.
        name: String,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// There is no secret, or it cannot be used.
    #[error("[[destination]] {name:?}: `{key}`: {problem}")]
    Secret {
        /// The destination.
        name: String,
        /// The key.
        key: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// There can be no HTTP client, for want of any authority to trust, say.
    #[error("[[destination]] {name:?}: cannot make an HTTP client")]
    Client {
        /// The destination.
        name: String,
        /// Why.
        #[source]
        source: reqwest::Error,
    },
}

impl DestinationError {
    /// A key that has a value that cannot be. The value itself is not shown: it may be a secret.
    pub(crate) fn bad(name: &str, key: &'static str, problem: impl Into<String>) -> Self {
        Self::BadValue {
            name: name.to_owned(),
            key,
            problem: problem.into(),
        }
    }
}
