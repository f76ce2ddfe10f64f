//! Where a webhook is.

use std::path::PathBuf;

use url::Url;

use super::super::http::{Access, DestinationError};

/// Where a webhook is.
#[derive(Clone, Default)]
pub struct WebhookConfig {
    /// Its name in configuration and metrics.
    pub name: String,
    /// The address that is posted to, `https://…`.
    pub url: String,
    /// Whether plain http may go to another machine than this.
    pub allow_private: bool,
    /// PEM file of authorities that are trusted beside those of the system.
    pub ca_file: Option<PathBuf>,
    /// Proxy, as a URL. Without it those of the environment count; `none`: no proxy.
    pub proxy: Option<String>,
    /// Which part of all cases is traced here, from 0 to 1: receivers are told whether this one is.
    pub traced: f64,
}

impl WebhookConfig {
    /// The address, where it may be posted to.
    ///
    /// # Errors
    ///
    /// Names the key, what is wrong and what would fit.
    pub fn check(&self) -> Result<Url, DestinationError> {
        self.access().check(&self.name, "url", &self.url)
    }

    pub(super) fn access(&self) -> Access {
        Access {
            allow_private: self.allow_private,
            ca_file: self.ca_file.clone(),
            proxy: self.proxy.clone(),
        }
    }
}
