//! Builds the HTTP client of one model, with its proxy and its private roots.

use std::time::Duration;

use reqwest::{Certificate, Client, Proxy, redirect, retry};

use crate::{ModelConfig, ModelError};

/// Timeout of a connection attempt, including TLS.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of idle connections to one host. Steps of a case ask in parallel, so many cases leave many
/// connections of some 30 KiB each. A provider with HTTP/2 needs one.
const MAX_IDLE_CONNECTIONS: usize = 32;

/// Creates the client.
///
/// # Errors
///
/// Returns an error when the CA file cannot be read or holds no certificate, or the system has none.
pub(crate) fn build_client(config: &ModelConfig, keep_alive: bool) -> Result<Client, ModelError> {
    let mut builder = Client::builder()
        .user_agent(concat!("nightshift/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_max_idle_per_host(if keep_alive { MAX_IDLE_CONNECTIONS } else { 0 })
        .referer(false);
    match config.proxy.as_deref() {
        None => {}
        Some("none") => builder = builder.no_proxy(),
        Some(proxy) => {
            let proxy = Proxy::all(proxy)
                .map_err(|_| config.invalid_value("proxy", "is no URL of a proxy"))?;
            builder = builder.proxy(proxy);
        }
    }
    if let Some(path) = &config.ca_file {
        let pem = std::fs::read(path).map_err(|source| ModelError::CaFile {
            name: config.name.clone(),
            path: path.clone(),
            source,
        })?;
        let roots = Certificate::from_pem_bundle(&pem).unwrap_or_default();
        if roots.is_empty() {
            let problem = format!("{} holds no certificate in PEM form", path.display());
            return Err(config.invalid_value("ca_file", problem));
        }
        builder = builder.tls_certs_merge(roots);
    }
    builder.build().map_err(|source| ModelError::Client {
        name: config.name.clone(),
        source,
    })
}
