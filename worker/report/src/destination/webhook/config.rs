//! Defines the configuration of a webhook.

use std::path::PathBuf;

use url::Url;

use super::super::http::{DestinationError, HttpOptions};

/// The configuration of a webhook.
#[derive(Clone, Default)]
pub struct WebhookConfig {
    /// The name in configuration and metrics.
    pub name: String,
    /// The address that reports are posted to, `https://…`.
    pub url: String,
    /// True if plain http to other machines is allowed.
    pub allow_private: bool,
    /// A PEM file of certificate authorities that are trusted beside those of the system.
    pub ca_file: Option<PathBuf>,
    /// The proxy URL. The default is the proxy of the environment; `none` disables it.
    pub proxy: Option<String>,
    /// The fraction of all cases that are traced, from 0 to 1. It decides the sampled flag that receivers get.
    pub traced: f64,
}

impl WebhookConfig {
    /// Validates the configuration and returns the address.
    ///
    /// # Errors
    ///
    /// Names the key, the problem and what would fit.
    pub fn check(&self) -> Result<Url, DestinationError> {
        self.access().check(&self.name, "url", &self.url)
    }

    pub(super) fn access(&self) -> HttpOptions {
        HttpOptions {
            allow_private: self.allow_private,
            ca_file: self.ca_file.clone(),
            proxy: self.proxy.clone(),
        }
    }
}
