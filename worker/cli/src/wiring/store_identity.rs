//! Tells whether a changed configuration would open the same store again.

use nightshift_store::StoreUrl;

use crate::config::{BlobsConfig, Config, StoreConfig};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LoadedConfig;

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
