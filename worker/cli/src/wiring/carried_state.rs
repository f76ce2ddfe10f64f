//! Defines the state that carries over to the next configuration, so that the running cases of both generations share
//! their limits.

use std::sync::Arc;

use nightshift_llm::ModelRegistry;
use nightshift_store::{Store, StoreUrl};
use nightshift_web::SigningKeyCache;

use super::{App, OpenedStore, store_options};
use crate::config::{BlobsConfig, Config, LoadedConfig, StoreConfig};
use crate::exit::Exit;
use crate::metrics::Metrics;

/// The state that an earlier configuration hands to the next.
pub(crate) struct CarriedState {
    pub(super) metrics: Arc<Metrics>,
    /// Its models, if it triages with any. Models with the same settings keep their limits and circuits.
    pub(super) models: Option<ModelRegistry>,
    /// Keys of signers that need not be fetched again.
    pub(super) signers_keys: SigningKeyCache,
    store: Arc<dyn Store>,
    store_identity: StoreIdentity,
}

/// The settings and files that a store was opened with.
#[derive(Clone, PartialEq)]
pub(super) struct StoreIdentity {
    store: StoreConfig,
    blobs: BlobsConfig,
    /// The contents of its certificate file, if that can be read.
    authorities: Option<Vec<u8>>,
    /// Device and inode of a SQLite file, which may have been replaced.
    file: Option<(u64, u64)>,
}

impl StoreIdentity {
    /// Reads the current settings and files.
    pub(super) fn from_config(config: &Config) -> Self {
        Self {
            store: config.store.clone(),
            blobs: config.blobs.clone(),
            authorities: config
                .store
                .root_certificate_file()
                .and_then(|file| std::fs::read(file).ok()),
            file: file(&config.store.url),
        }
    }
}

/// Returns device and inode of a SQLite file.
#[cfg(unix)]
fn file(url: &str) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;

    let Some(StoreUrl::Sqlite(path)) = StoreUrl::parse(url) else {
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
    /// Returns the state to carry over.
    pub(crate) fn carried_state(&self) -> CarriedState {
        CarriedState {
            metrics: Arc::clone(&self.metrics),
            models: self.models_in_use.get().map(|asked| asked.models.clone()),
            signers_keys: self.signers_keys.clone(),
            store: Arc::clone(&self.store),
            store_identity: self.store_identity.clone(),
        }
    }
}

impl CarriedState {
    /// Returns the open store if the new configuration would open the same one.
    pub(super) fn reusable_store(
        &self,
        loaded: &LoadedConfig,
    ) -> Result<Option<OpenedStore>, Exit> {
        if StoreIdentity::from_config(&loaded.config) != self.store_identity {
            return Ok(None);
        }
        let options = store_options(loaded).map_err(Exit::Config)?;
        let store = self.store.with_settings(options.lease, options.admission);
        Ok(Some((store, self.store_identity.clone())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f33_other_authorities_are_another_store() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        let mut config = LoadedConfig::defaults().unwrap().config;
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
            let before = StoreIdentity::from_config(&config);
            assert!(before == StoreIdentity::from_config(&config));
            std::fs::write(&file, "two").unwrap();
            assert!(
                before != StoreIdentity::from_config(&config),
                "by address: {by_address}"
            );
        }
    }
}
