//! Defines the options of a store and the secrets of its address.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use nightshift_pipeline::admission::AdmissionPolicy;
use secrecy::{ExposeSecret, SecretString};

use crate::blobs::BlobStore;

/// The options of a store of any kind.
#[derive(Debug)]
pub struct StoreOptions {
    /// The duration of a lease without renewal.
    pub lease: Duration,
    /// The policy of admission.
    pub admission: AdmissionPolicy,
    /// The store of large messages. `None` keeps them in the database.
    pub blobs: Option<BlobStore>,
    /// The password of a database server. By default, that of the address is used.
    pub password: Option<DatabasePassword>,
    /// A PEM file of certificates for a database server. By default, `sslrootcert` of the address or the certificates
    /// of the system are used.
    pub ca_file: Option<PathBuf>,
    /// True if a pooler lends connections of a database server for one transaction only.
    pub pooled: bool,
    /// The address of the database server itself, for notifications past such a pooler. Without it there are none, and
    /// the store looks once a second.
    pub notify_url: Option<String>,
    /// The timeouts of the store.
    pub waits: StoreTimeouts,
    /// True if a missing SQLite file is an error. Otherwise the file is created.
    pub must_exist: bool,
}

impl StoreOptions {
    /// Creates the options of a store without settings beside its address.
    #[must_use]
    pub fn new(lease: Duration, admission: AdmissionPolicy) -> Self {
        Self {
            lease,
            admission,
            blobs: None,
            password: None,
            ca_file: None,
            pooled: false,
            notify_url: None,
            waits: StoreTimeouts::default(),
            must_exist: false,
        }
    }
}

/// The time that a store on a server waits before it returns an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreTimeouts {
    /// The timeout for connecting.
    pub connect: Duration,
    /// The timeout for a free connection of the pool.
    pub pool: Duration,
    /// The timeout for a lock.
    pub lock: Duration,
    /// The timeout for a statement, including its locks.
    pub statement: Duration,
    /// The time to wait for an unavailable server, counted from the first failure. Writes of a running case wait for
    /// the duration of its lease instead.
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

/// A password, given as a value or as a file. The file is read for each new connection, so a changed password applies
/// at once.
#[derive(Debug)]
pub enum DatabasePassword {
    /// The password itself.
    Value(SecretString),
    /// A file with the password. Trailing white space is ignored.
    File(PasswordFile),
}

/// A file with a password.
#[derive(Debug)]
pub struct PasswordFile {
    path: PathBuf,
    last: Mutex<Option<SecretString>>,
}

impl DatabasePassword {
    /// Creates a password that is read from this file.
    #[must_use]
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::File(PasswordFile {
            path: path.into(),
            last: Mutex::new(None),
        })
    }

    /// Reads the file for the first time, when there is no previous password to fall back on.
    ///
    /// # Errors
    ///
    /// Returns the path and the cause if the file cannot be read.
    pub(crate) fn first(&self) -> Result<(), (PathBuf, std::io::Error)> {
        match self {
            Self::Value(_) => Ok(()),
            Self::File(file) => file.first().map_err(|cause| (file.path.clone(), cause)),
        }
    }

    /// Returns the current password.
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

    /// Reads the file. Returns the previous password if that fails, because the file may be missing while it is
    /// replaced.
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

/// Returns the text of a secret, for a driver.
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
