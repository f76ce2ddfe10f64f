//! A look at a store before anything relies on it: whether it is there, and will keep what it is given. It makes, migrates
//! and writes nothing.

use std::error::Error;

use nightshift_engine::{Checkup, Clock};

use crate::options::Options;
use crate::{Address, postgres, sqlite};

/// Looks at the store of this address.
pub async fn examine(url: &str, options: Options, clock: &dyn Clock) -> Checkup {
    match Address::parse(url) {
        Some(Address::Postgres(url)) => postgres::examine(url, options, clock).await,
        Some(Address::Sqlite(path)) => {
            let path = path.to_owned();
            let looked = tokio::task::spawn_blocking(move || sqlite::examine(&path)).await;
            looked.unwrap_or_default()
        }
        None => {
            let mut checkup = Checkup::default();
            checkup.error(
                "store.unreachable",
                "[store] url names no store",
                "cases, journals and reports have nowhere to go",
                "write sqlite:PATH or postgres://USER@HOST/DATABASE",
            );
            checkup
        }
    }
}

/// An error with its causes, on one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.ends_with(&more) {
            words.push_str(": ");
            words.push_str(&more);
        }
        cause = error.source();
    }
    words
}
