//! What a store is opened with, and the secrets of its address.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use nightshift_pipeline::admission::AdmissionPolicy;
use secrecy::{ExposeSecret, SecretString};

use crate::blobs::BlobStore;

/// What a store is opened with, whatever its address.
#[derive(Debug)]
pub struct StoreOptions {
    /// How long a lease holds without a renewal.
    pub lease: Duration,
    /// What admission is set to.
    pub admission: AdmissionPolicy,
    /// Where large messages are kept; none: in the database.
    pub blobs: Option<BlobStore>,
    /// The password of a database server; else that of the address counts.
    pub password: Option<DatabasePassword>,
    /// Certificates that a database server is checked with, in PEM; else those of the system, or `sslrootcert` of the
    /// address.
    pub ca_file: Option<PathBuf>,
    /// How long a store waits for what.
    pub waits: StoreTimeouts,
    /// Whether a SQLite file that is missing is refused, and not made.
    pub must_exist: bool,
}

impl StoreOptions {
    /// Those of a store whose address says everything.
    #[must_use]
    pub fn new(lease: Duration, admission: AdmissionPolicy) -> Self {
        Self {
            lease,
            admission,
            blobs: None,
            password: None,
            ca_file: None,
            waits: StoreTimeouts::default(),
            must_exist: false,
        }
    }
}

/// How long a store on a server waits before it says that it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreTimeouts {
    /// For a connection to be made.
    pub connect: Duration,
    /// For a connection of the pool to be free.
    pub pool: Duration,
    /// For a lock.
    pub lock: Duration,
    /// For a statement, its locks included.
    pub statement: Duration,
    /// For a server that is away to be back, counted from the first failure. What a running case writes waits as long
    /// as its lease instead.
    pub patience: Duration,
}

impl Default for StoreTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            pool: Duration::from_secs(5),
            lock: Duration::from_secs(5),
            statement: Duration::from_secs(10),
            patience: Duration::from_secs(10),
        }
    }
}

/// A password: as it is, or in a file that is read again for each new connection, so that a changed one counts at once.
#[derive(Debug)]
pub enum DatabasePassword {
    /// As it is.
    Value(SecretString),
    /// In this file; white space at its end does not count.
    File(PasswordFile),
}

/// A file with a password.
#[derive(Debug)]
pub struct PasswordFile {
    path: PathBuf,
    last: Mutex<Option<SecretString>>,
}

impl DatabasePassword {
    /// The one in this file.
    #[must_use]
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::File(PasswordFile {
            path: path.into(),
            last: Mutex::new(None),
        })
    }

    /// Reads it for the first time: there is no last one yet that could count.
    ///
    /// # Errors
    ///
    /// Which file cannot be read, and why.
    pub(crate) fn first(&self) -> Result<(), (PathBuf, std::io::Error)> {
        match self {
            Self::Value(_) => Ok(()),
            Self::File(file) => file.first().map_err(|cause| (file.path.clone(), cause)),
        }
    }

    /// What it is now.
    pub(crate) fn current(&self) -> Option<SecretString> {
        match self {
            Self::Value(password) => Some(password.clone()),
            Self::File(file) => file.read(),
        }
    }
}

impl PasswordFile {
    fn first(&self) -> std::io::Result<()> {
        let password = self.fresh()?;
        if let Ok(mut last) = self.last.lock() {
            *last = Some(password);
        }
        Ok(())
    }

    fn fresh(&self) -> std::io::Result<SecretString> {
        let text = std::fs::read_to_string(&self.path)?;
        Ok(text.trim_end().to_owned().into())
    }

    /// What the file holds, or held when it could last be read: it may be missing for a moment while it is replaced.
    fn read(&self) -> Option<SecretString> {
        let mut last = self.last.lock().ok()?;
        match self.fresh() {
            Ok(password) => *last = Some(password),
            Err(error) => tracing::error!(
                path = %self.path.display(), %error,
                "the password of the database cannot be read; the last one counts"
            ),
        }
        last.clone()
    }
}

/// The text of a secret, where a driver wants it.
pub(crate) fn exposed(secret: &SecretString) -> &str {
    secret.expose_secret()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_must_exist_once_and_its_last_value_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pw");
        let password = DatabasePassword::file(&path);
        let (told, cause) = password.first().unwrap_err();
        assert_eq!((&told, cause.kind()), (&path, std::io::ErrorKind::NotFound));
        assert!(password.current().is_none());
        std::fs::write(&path, "one\n").unwrap();
        password.first().unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(password.current().as_ref().map(exposed), Some("one"));
        std::fs::write(&path, "two\n").unwrap();
        assert_eq!(password.current().as_ref().map(exposed), Some("two"));
    }
}
