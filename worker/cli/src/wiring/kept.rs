//! What stays when another configuration is followed: while cases of the earlier one run, each has no more than its share.

use std::sync::Arc;

use nightshift_llm::Models;
use nightshift_store::{Address, Store};
use nightshift_web::SignersKeys;

use super::{App, Opened, store_options};
use crate::config::{Blobs, Config, Loaded, Store as StoreConfig};
use crate::exit::Exit;
use crate::metrics::Metrics;

/// What an earlier configuration leaves to the one after it.
pub(crate) struct Kept {
    pub(super) metrics: Arc<Metrics>,
    /// Its models, if cases are triaged by some: their limits and circuits are those of the next, where these are the same.
    pub(super) models: Option<Models>,
    /// That nobody has to ask for again.
    pub(super) signers_keys: SignersKeys,
    store: Arc<dyn Store>,
    opened: OpenedBy,
}

/// What a store is opened by, but for what it is set to.
#[derive(Clone, PartialEq)]
pub(super) struct OpenedBy {
    store: StoreConfig,
    blobs: Blobs,
    /// What its file of certificates holds, if one is named and can be read.
    authorities: Option<Vec<u8>>,
    /// Which file a database of SQLite is: another one may have been put in its place.
    file: Option<(u64, u64)>,
}

impl OpenedBy {
    /// What a store is opened by now.
    pub(super) fn of(config: &Config) -> Self {
        Self {
            store: config.store.clone(),
            blobs: config.blobs.clone(),
            authorities: config
                .store
                .authorities()
                .and_then(|file| std::fs::read(file).ok()),
            file: file(&config.store.url),
        }
    }
}

/// Which file this is, if it is one.
#[cfg(unix)]
fn file(url: &str) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;

    let Some(Address::Sqlite(path)) = Address::parse(url) else {
        return None;
    };
    let file = std::fs::metadata(path).ok()?;
    Some((file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn file(_url: &str) -> Option<(u64, u64)> {
    None
}

impl App {
    /// What stays of this when another configuration is followed.
    pub(crate) fn kept(&self) -> Kept {
        Kept {
            metrics: Arc::clone(&self.metrics),
            models: self.asked.get().map(|asked| asked.models.clone()),
            signers_keys: self.signers_keys.clone(),
            store: Arc::clone(&self.store),
            opened: self.opened.clone(),
        }
    }
}

impl Kept {
    /// The store, where it would be opened by the same; else none.
    pub(super) fn opened(&self, loaded: &Loaded) -> Result<Option<Opened>, Exit> {
        if OpenedBy::of(&loaded.config) != self.opened {
            return Ok(None);
        }
        let options = store_options(loaded).map_err(Exit::Config)?;
        let store = self.store.set_to(options.lease, options.admission);
        Ok(Some((store, self.opened.clone())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f33_other_authorities_are_another_store() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        let mut config = Loaded::defaults().unwrap().config;
        let named = |by_address: bool| match by_address {
            true => (
                format!("postgres://h/d?sslrootcert={}", file.display()),
                "".into(),
            ),
            false => ("postgres://h/d".to_owned(), file.clone()),
        };
        for by_address in [true, false] {
            (config.store.url, config.store.ca_file) = named(by_address);
            std::fs::write(&file, "one").unwrap();
            let before = OpenedBy::of(&config);
            assert!(before == OpenedBy::of(&config));
            std::fs::write(&file, "two").unwrap();
            assert!(before != OpenedBy::of(&config), "by address: {by_address}");
        }
    }
}
