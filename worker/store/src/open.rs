//! Opens any store. The address determines its kind.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nightshift_engine::port::PastCases;
use nightshift_pipeline::admission::AdmissionPolicy;
use nightshift_pipeline::maintenance::StoreMaintenance;
use nightshift_pipeline::port::{
    AlertLedger, Canaries, Cases, DaySpendStore, DeadLetters, Digests, Feedback, Inbox, Mutes,
    Outbox, OutboxAdmin, Rechecks, WorkNotifier,
};
use url::form_urlencoded;

use crate::options::StoreOptions;
use crate::{PostgresError, SqlStore, SqliteError, SqliteOptions};

/// The ports that a store implements.
pub trait Store:
    Inbox
    + Canaries
    + Cases
    + DeadLetters
    + Feedback
    + Mutes
    + AlertLedger
    + Digests
    + Outbox
    + OutboxAdmin
    + DaySpendStore
    + PastCases
    + Rechecks
    + StoreMaintenance
    + WorkNotifier
{
    /// Returns the same store, with its connections, for workers with this lease and this admission policy.
    fn with_settings(&self, lease: Duration, admission: AdmissionPolicy) -> Arc<dyn Store>;
}

/// The error that a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum StoreOpenError {
    /// The address does not name a known kind of store.
    #[error(
        "{0:?} names no store: write sqlite:PATH, the path of a file, or postgres://USER@HOST/DATABASE"
    )]
    Unknown(String),
    /// SQLite returned an error.
    #[error(transparent)]
    Sqlite(#[from] SqliteError),
    /// PostgreSQL returned an error.
    #[error(transparent)]
    Postgres(#[from] PostgresError),
}

impl StoreOpenError {
    /// Returns whether the error is in the configuration: in the address or a file that it names. Otherwise the store
    /// is temporarily unavailable or in an unusable state.
    #[must_use]
    pub const fn is_configuration_error(&self) -> bool {
        match self {
            Self::Unknown(_) => true,
            Self::Sqlite(_) => false,
            Self::Postgres(error) => error.is_configuration_error(),
        }
    }
}

/// The kind of store that an address names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreUrl<'a> {
    /// An address `sqlite:PATH`.
    Sqlite(&'a Path),
    /// An address `postgres://…` or `postgresql://…`.
    Postgres(&'a str),
}

impl<'a> StoreUrl<'a> {
    /// Parses an address. Returns `None` if it does not name a store.
    #[must_use]
    pub fn parse(url: &'a str) -> Option<Self> {
        if let Some(path) = url.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            // SQLite reads these as no file or as another file. Alerts that are accepted into memory would be lost.
            let is_special =
                path.starts_with(":") || path.starts_with("file:") || path.contains('?');
            return (!path.is_empty() && !is_special).then(|| Self::Sqlite(Path::new(path)));
        }
        let is_postgres = ["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| url.starts_with(scheme));
        is_postgres.then_some(Self::Postgres(url))
    }

    /// Returns the certificate file of the address (`sslrootcert`), if there is one.
    #[must_use]
    pub fn root_certificate_file(&self) -> Option<PathBuf> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(url) => crate::postgres::root_certificate_file(url),
        }
    }
}

/// Returns an address without its password, for logs. Misspelt addresses are redacted too.
#[must_use]
pub fn redact_password(url: &str) -> String {
    if matches!(StoreUrl::parse(url), Some(StoreUrl::Sqlite(_))) {
        return url.to_owned();
    }
    // A password may contain any character, so it ends at the last possible delimiter.
    let shown = match url.rsplit_once('@') {
        Some((before, host)) => {
            let (scheme, user) = match before.split_once("://") {
                Some((scheme, user)) if !scheme.contains(':') => (format!("{scheme}://"), user),
                _ => (String::new(), before),
            };
            let name = user.split_once(':').map_or(user, |(name, _)| name);
            format!("{scheme}{name}@{host}")
        }
        None => url.to_owned(),
    };
    let (address, query) = shown.split_once('?').unwrap_or((&shown, ""));
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !is_password(pair))
        .collect();
    // Drivers also accept `host=h password=p`, where quotes may enclose blanks.
    let address = match address.split_once("password=") {
        Some((before, _)) => format!("{before}password=…"),
        None => address.to_owned(),
    };
    if kept.is_empty() {
        address
    } else {
        format!("{address}?{}", kept.join("&"))
    }
}

/// Returns whether a pair of a query has the key of a password. Keys are decoded, as drivers do.
fn is_password(pair: &str) -> bool {
    let mut read = form_urlencoded::parse(pair.as_bytes());
    read.next()
        .is_some_and(|(key, _)| key.trim().eq_ignore_ascii_case("password"))
}

/// Opens the store of this address, creates it if possible and allowed, and migrates its schema.
///
/// # Errors
///
/// Returns an error if the address does not name a store, or if the store cannot be opened.
pub async fn open(url: &str, options: StoreOptions) -> Result<Arc<dyn Store>, StoreOpenError> {
    match StoreUrl::parse(url) {
        // The part before the host may be a password.
        None => Err(StoreOpenError::Unknown(
            url.split_once(':')
                .map_or(url, |(scheme, _)| scheme)
                .to_owned(),
        )),
        Some(StoreUrl::Sqlite(path)) => {
            if options.must_exist && matches!(path.try_exists(), Ok(false)) {
                let path = path.to_owned();
                return Err(SqliteError::Missing { path }.into());
            }
            let options = SqliteOptions {
                path: path.to_owned(),
                lease: options.lease,
                admission: options.admission,
                blobs: options.blobs,
            };
            // Opening waits for other processes that lock the file.
            let opening = tokio::task::spawn_blocking(move || SqlStore::open_sqlite(&options));
            let failed = |error| SqliteError::Thread(std::io::Error::other(error));
            let opened = opening.await.map_err(failed)?;
            Ok(Arc::new(opened?))
        }
        Some(StoreUrl::Postgres(url)) => Ok(Arc::new(SqlStore::open_postgres(url, options).await?)),
    }
}

#[cfg(test)]
mod tests {
    use nightshift_engine::error_chain::format_error_chain;

    use super::*;
    use crate::DatabasePassword;

    #[test]
    fn an_address_says_which_store_it_is_of() {
        let sqlite = |path: &'static str| Some(StoreUrl::Sqlite(Path::new(path)));
        assert_eq!(StoreUrl::parse("sqlite:a/b.db"), sqlite("a/b.db"));
        assert_eq!(StoreUrl::parse("sqlite:///a/b.db"), sqlite("/a/b.db"));
        let url = "postgresql://h/d";
        assert_eq!(StoreUrl::parse(url), Some(StoreUrl::Postgres(url)));
        let named = StoreUrl::Postgres("postgres://h/d?sslrootcert=%2Fetc%2Fca.pem")
            .root_certificate_file();
        assert_eq!(named, Some("/etc/ca.pem".into()));
        for url in [
            "sqlite:",
            "sqlite://",
            "sqlite::memory:",
            "sqlite:file:a.db?mode=memory",
            "sqlite:a.db?mode=ro",
            "mysql://h/d",
            "postgres:h",
            "",
        ] {
            assert_eq!(StoreUrl::parse(url), None, "{url}");
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        for (url, shown) in [
            (
                "postgres://ana:p@ss@h:5/d?sslmode=require",
                "postgres://ana@h:5/d?sslmode=require",
            ),
            (
                "postgres://h/d?user=ana&password=x",
                "postgres://h/d?user=ana",
            ),
            ("postgres://h/d?password=x", "postgres://h/d"),
            (
                "postgres://h/d?user=ana&pass%77ord=x&Password=y",
                "postgres://h/d?user=ana",
            ),
            ("postgres://h/d?%70%61ssword=p@ss", "postgres://h/d"),
            ("sqlite:a@b.db", "sqlite:a@b.db"),
            // This address names no store, and the error contains the redacted address.
            (
                "postgresql//nightshift:hunter2@host/db",
                "postgresql//nightshift@host/db",
            ),
            ("postgres:/ana:hunter2@h/d", "postgres@h/d"),
            ("postgres:ana:hunter2@h/d", "postgres@h/d"),
            ("postgres://ana:hunter?2@h/d", "postgres://ana@h/d"),
            ("postgres://ana:hunter://2@h/d", "postgres://ana@h/d"),
            ("ana:hunter2@h/d", "ana@h/d"),
            (
                "host=h user=ana password='hunter 2'",
                "host=h user=ana password=…",
            ),
        ] {
            assert_eq!(redact_password(url), shown);
        }
    }

    #[tokio::test]
    async fn a_file_that_must_be_there_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data/cases.db");
        let url = format!("sqlite:{}", path.display());
        let options = || {
            let lease = std::time::Duration::from_secs(30);
            StoreOptions::new(
                lease,
                nightshift_pipeline::admission::AdmissionPolicy::default(),
            )
        };
        let existing = || StoreOptions {
            must_exist: true,
            ..options()
        };
        let Err(error) = open(&url, existing()).await else {
            panic!("it was opened");
        };
        let told = format!("there is no database at {}; run this in", path.display());
        assert!(format_error_chain(&error).starts_with(&told), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        drop(open(&url, options()).await.unwrap());
        open(&url, existing()).await.unwrap();
    }

    /// Returns the complete text that an error prints with its causes.
    async fn refused(password: Option<DatabasePassword>) -> (bool, String) {
        let lease = std::time::Duration::from_secs(30);
        let mut options = StoreOptions::new(
            lease,
            nightshift_pipeline::admission::AdmissionPolicy::default(),
        );
        options.password = password;
        // No server listens on port 1.
        let url = "postgres://ana@127.0.0.1:1/cases";
        let Err(error) = open(url, options).await else {
            panic!("it was opened");
        };
        (error.is_configuration_error(), format_error_chain(&error))
    }

    #[tokio::test]
    async fn password_never_present_is_a_configuration_error() {
        let (is_of_configuration, words) =
            refused(Some(DatabasePassword::file("/no/such/pw"))).await;
        assert!(is_of_configuration);
        let told =
            "cannot read the password of the database from /no/such/pw; see [store] password: ";
        assert!(words.starts_with(told), "{words}");
    }

    #[tokio::test]
    async fn why_there_is_no_connection_is_said_once() {
        let (is_of_configuration, words) = refused(None).await;
        assert!(!is_of_configuration);
        assert!(
            words.starts_with("cannot connect to the database"),
            "{words}"
        );
        assert_eq!(
            words.matches("error connecting to server").count(),
            1,
            "{words}"
        );
    }
}
