//! Implements network access to the machine of a destination. The address is used as configured, and plain http to
//! another machine must be allowed explicitly. Paths and queries are never shown, because they are often secret.

use std::path::PathBuf;
use std::time::Duration;

use nightshift_engine::hosts::is_loopback;
use reqwest::{Certificate, Client, Proxy, redirect, retry};
use url::Url;

use super::DestinationError;

/// The time to connect, TLS included.
const CONNECT: Duration = Duration::from_secs(10);
/// The time for a whole call, the answer included. Standard Webhooks allows a receiver at most this.
const WHOLE: Duration = Duration::from_secs(30);

/// The keys that all network destinations share.
#[derive(Clone, Default)]
pub(crate) struct HttpOptions {
    /// True if plain http to other machines is allowed.
    pub(crate) allow_private: bool,
    /// A PEM file of certificate authorities that are trusted beside those of the system.
    pub(crate) ca_file: Option<PathBuf>,
    /// The proxy URL. The default is the proxy of the environment; `none` disables it.
    pub(crate) proxy: Option<String>,
}

impl HttpOptions {
    /// Parses the address of this key and returns it if it may be called.
    ///
    /// # Errors
    ///
    /// Names the key, the problem and what would fit. The address is not shown.
    pub(crate) fn check(
        &self,
        name: &str,
        key: &'static str,
        text: &str,
    ) -> Result<Url, DestinationError> {
        let bad = |problem: String| DestinationError::bad(name, key, problem);
        if name.trim().is_empty() {
            let problem = "is empty: routes need a name to lead to";
            return Err(DestinationError::bad(name, "name", problem));
        }
        let url = Url::parse(text)
            .map_err(|error| bad(format!("is no URL ({error}): write https://HOST/…")))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(bad(
                "holds a user or password: a secret has its own key".to_owned()
            ));
        }
        if url.fragment().is_some() {
            return Err(bad(
                "holds a fragment, which is never sent: leave it out".to_owned()
            ));
        }
        match url.scheme() {
            "https" => Ok(url),
            "http" if self.allow_private || url.host_str().is_some_and(is_loopback) => Ok(url),
            "http" => Err(bad(
                "would send reports unencrypted: use https, or say `allow_private = true`"
                    .to_owned(),
            )),
            other => Err(bad(format!("has the scheme {other:?}: use https"))),
        }
    }

    /// Builds the HTTP client.
    pub(super) fn client(&self, name: &str, url: &Url) -> Result<Client, DestinationError> {
        let mut builder = Client::builder()
            .user_agent(concat!("nightshift/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .connect_timeout(CONNECT)
            .timeout(WHOLE);
        match self.proxy.as_deref() {
            // A proxy of the environment is not used for this machine.
            None if url.host_str().is_some_and(is_loopback) => builder = builder.no_proxy(),
            None => {}
            Some("none") => builder = builder.no_proxy(),
            Some(proxy) => builder = builder.proxy(proxy_at(name, proxy)?),
        }
        if let Some(path) = &self.ca_file {
            let pem = std::fs::read(path).map_err(|source| DestinationError::CaFile {
                name: name.to_owned(),
                path: path.clone(),
                source,
            })?;
            let roots = Certificate::from_pem_bundle(&pem).unwrap_or_default();
            if roots.is_empty() {
                let problem = format!("{} holds no certificate in PEM form", path.display());
                return Err(DestinationError::bad(name, "ca_file", problem));
            }
            builder = builder.tls_certs_merge(roots);
        }
        builder.build().map_err(|source| DestinationError::Client {
            name: name.to_owned(),
            source,
        })
    }
}

/// Parses a proxy. Errors do not show the value, because proxy URLs often contain passwords.
fn proxy_at(name: &str, text: &str) -> Result<Proxy, DestinationError> {
    let is_proxy = Url::parse(text)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host().is_some());
    let proxy = is_proxy.then(|| Proxy::all(text).ok()).flatten();
    let problem = "is no URL of a proxy: write http://HOST:PORT, or `none`";
    proxy.ok_or_else(|| DestinationError::bad(name, "proxy", problem))
}
