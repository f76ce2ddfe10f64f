//! What stays when another configuration is followed: while cases of the earlier one run, each has no more than its share.

use std::sync::Arc;

use nightshift_models::Models;
use nightshift_store::Store;

use super::{App, store_options};
use crate::config::{Blobs, Loaded, Store as StoreConfig};
use crate::exit::Exit;
use crate::metrics::Metrics;

/// What an earlier configuration leaves to the one after it.
pub(crate) struct Kept {
    pub(super) metrics: Arc<Metrics>,
    /// Its models, if cases are triaged by some: their limits and circuits are those of the next, where these are the same.
    pub(super) models: Option<Models>,
    store: Arc<dyn Store>,
    opened: (StoreConfig, Blobs),
}

impl App {
    /// What stays of this when another configuration is followed.
    pub(crate) fn kept(&self) -> Kept {
        Kept {
            metrics: Arc::clone(&self.metrics),
            models: self.asked.get().cloned(),
            store: Arc::clone(&self.store),
            opened: (self.config.store.clone(), self.config.blobs.clone()),
        }
    }
}

impl Kept {
    /// The store, where it is to be opened in no other way; else none. A file of certificates may hold others by now.
    pub(super) fn store(&self, loaded: &Loaded) -> Result<Option<Arc<dyn Store>>, Exit> {
        let config = &loaded.config;
        let (store, blobs) = &self.opened;
        let is_same = (store, blobs) == (&config.store, &config.blobs);
        if !is_same || !store.ca_file.as_os_str().is_empty() {
            return Ok(None);
        }
        let options = store_options(loaded).map_err(Exit::Config)?;
        Ok(Some(self.store.set_to(options.lease, options.admission)))
    }
}
