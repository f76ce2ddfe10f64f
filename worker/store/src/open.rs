//! One door to all stores: the address says which it is.

use std::path::Path;
use std::sync::Arc;

use nightshift_engine::PastCases;
use nightshift_pipeline::{
    Canaries, Cases, DeadLetters, Digests, Feedback, Inbox, Mutes, Outbox, Places, Spending,
    Upkeep, Wake,
};

use crate::options::Options;
use crate::{PostgresError, PostgresStore, SqliteError, SqliteOptions, SqliteStore};

/// Everything that a store does.
pub trait Store:
    Inbox
    + Canaries
    + Cases
    + DeadLetters
    + Feedback
    + Mutes
    + Places
    + Digests
    + Outbox
    + Spending
    + PastCases
    + Upkeep
    + Wake
{
}

impl<T> Store for T where
    T: Inbox
        + Canaries
        + Cases
        + DeadLetters
        + Feedback
        + Mutes
        + Places
        + Digests
        + Outbox
        + Spending
        + PastCases
        + Upkeep
        + Wake
{
}

/// A store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address is of no store that is known.
    #[error("{0:?} names no store: write sqlite:PATH or postgres://USER@HOST/DATABASE")]
    Unknown(String),
    /// SQLite.
    #[error(transparent)]
    Sqlite(#[from] SqliteError),
    /// PostgreSQL.
    #[error(transparent)]
    Postgres(#[from] PostgresError),
}

/// The kind of store that an address names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address<'a> {
    /// `sqlite:PATH`.
    Sqlite(&'a Path),
    /// `postgres://…`, or `postgresql://…`.
    Postgres(&'a str),
}

impl<'a> Address<'a> {
    /// Reads an address; none where it is of no store.
    #[must_use]
    pub fn parse(url: &'a str) -> Option<Self> {
        if let Some(path) = url.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return (!path.is_empty()).then(|| Self::Sqlite(Path::new(path)));
        }
        let is_postgres = ["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| url.starts_with(scheme));
        is_postgres.then_some(Self::Postgres(url))
    }
}

/// An address as it may be shown: without its password.
#[must_use]
pub fn without_password(url: &str) -> String {
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    let shown = match address.split_once("://") {
        Some((scheme, rest)) => match rest.rsplit_once('@') {
            Some((user, host)) => {
                let name = user.split_once(':').map_or(user, |(name, _)| name);
                format!("{scheme}://{name}@{host}")
            }
            None => address.to_owned(),
        },
        None => address.to_owned(),
    };
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.starts_with("password="))
        .collect();
    if kept.is_empty() {
        shown
    } else {
        format!("{shown}?{}", kept.join("&"))
    }
}

/// Opens the store of this address, makes it where it can be made, and brings its schema up to date.
///
/// # Errors
///
/// When the address is of no store, or its store cannot be opened.
pub async fn open(url: &str, options: Options) -> Result<Arc<dyn Store>, OpenError> {
    match Address::parse(url) {
        // What stands before the host may be a password.
        None => Err(OpenError::Unknown(
            url.split_once(':')
                .map_or(url, |(scheme, _)| scheme)
                .to_owned(),
        )),
        Some(Address::Sqlite(path)) => Ok(Arc::new(SqliteStore::open(&SqliteOptions {
            path: path.to_owned(),
            lease: options.lease,
            admission: options.admission,
            blobs: options.blobs,
        })?)),
        Some(Address::Postgres(url)) => Ok(Arc::new(PostgresStore::open(url, options).await?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_which_store_it_is_of() {
        let sqlite = |path: &'static str| Some(Address::Sqlite(Path::new(path)));
        assert_eq!(Address::parse("sqlite:a/b.db"), sqlite("a/b.db"));
        assert_eq!(Address::parse("sqlite:///a/b.db"), sqlite("/a/b.db"));
        let url = "postgresql://h/d";
        assert_eq!(Address::parse(url), Some(Address::Postgres(url)));
        for url in ["sqlite:", "sqlite://", "mysql://h/d", "postgres:h", ""] {
            assert_eq!(Address::parse(url), None, "{url}");
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
            ("sqlite:a@b.db", "sqlite:a@b.db"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
