//! Defines the configuration of a webhook.

use std::path::PathBuf;

use nightshift_engine::key::KeyRef;
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use super::super::http::{DestinationError, HttpOptions};

/// `kind = "webhook"`
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookConfig {
    /// Its name; routes use it.
    pub name: String,
    /// The address that is posted to: `https://…`, or plain http to this machine.
    pub url: String,
    /// The key that signs posts: `whsec_` and base64, in `env:NAME` or `file:PATH`, which are read again at each post.
    /// Several keys with spaces between them all sign.
    pub secret: KeyRef,
    /// Allows plain http to another machine.
    #[serde(default)]
    pub allow_private: bool,
    /// PEM file of authorities that are trusted beside those of the system.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    /// URL of a proxy. Without it `HTTPS_PROXY` and similar environment variables apply; `none` disables proxies.
    #[serde(default)]
    pub proxy: Option<String>,
    /// The fraction of all cases that are traced, from 0 to 1. It decides the sampled flag that receivers get, and is
    /// no key here: `[traces]` has it.
    #[serde(skip)]
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
