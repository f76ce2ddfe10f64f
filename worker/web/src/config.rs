//! Defines the configuration `[web]`: the addresses of the pages and who may read them.
//!
//! Only a loopback address may be open to everybody. Any other address needs a token or a trusted proxy, or nothing is
//! served. The caller reads the secrets; this module never does.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ipnet::IpNet;
use nightshift_pipeline::language::Language;
use schemars::JsonSchema;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use url::Url;

use crate::access::{AccessPolicy, ProxyRule};
use crate::hosts::AllowedHosts;
use crate::server::ServerOptions;

/// Shortest token, in characters, that cannot be guessed.
const MIN_TOKEN_CHARS: usize = 20;
/// Longest time for which requests are accepted after the stop signal, in seconds.
const MAX_LINGER_SECS: u64 = 60;

/// `[web]`
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WebConfig {
    /// Address and port of pages, JSON, `/healthz` and `/readyz`. Any but a loopback address needs `tokens` or
    /// `trusted_proxies`.
    pub listen: String,
    /// Address and port of `/metrics`, `/healthz` and `/readyz` alone, without access control. If empty, `/metrics` is
    /// served beside the pages, with their access control.
    pub metrics_listen: String,
    /// Address and port of `/v1/alerts…`, `/healthz` and `/readyz` alone, for sources of the kind `http`. If empty,
    /// these paths are served beside the pages.
    pub intake_listen: String,
    /// The URL under which people reach the pages, e.g. `https://nightshift.example.com`. If empty, people reach the
    /// pages only by `listen`.
    pub public_url: String,
    /// Further host names that requests may use, e.g. that of a service in a cluster.
    pub hosts: Vec<String>,
    /// Bearer tokens of readers: `env:NAME` or `file:PATH`. Each has at least 20 characters.
    pub tokens: Vec<String>,
    /// Proxies that authenticate people and pass on their names.
    pub trusted_proxies: Vec<TrustedProxy>,
    /// Seconds for which requests are still accepted after the stop signal, while `/readyz` reports not ready, so that
    /// load balancers notice. The maximum is 60.
    #[schemars(range(max = 60))]
    pub linger_secs: u64,
    /// Language of the pages.
    pub language: Language,
}

impl Default for WebConfig {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8080".to_owned(),
            metrics_listen: String::new(),
            intake_listen: String::new(),
            public_url: String::new(),
            hosts: Vec::new(),
            tokens: Vec::new(),
            trusted_proxies: Vec::new(),
            linger_secs: 0,
            language: Language::default(),
        }
    }
}

/// A proxy that authenticates people.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustedProxy {
    /// The header with the user's name, e.g. `x-forwarded-user`. The proxy must remove this header from incoming
    /// requests.
    pub header: String,
    /// Networks (CIDR) that the proxy connects from. From other addresses the header is ignored.
    pub networks: Vec<String>,
}

/// The reason why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// An invalid address or port.
    #[error(
        "[web] {key} = {text:?} is not an address and port; write it as \"127.0.0.1:8080\" or \
         \"[::1]:8080\""
    )]
    NoAddress { key: &'static str, text: String },
    /// Two keys have the same address.
    #[error(
        "[web] {one} and {other} are both {address}; give {other} another port, or leave it out"
    )]
    SameAddress {
        one: &'static str,
        other: &'static str,
        address: SocketAddr,
    },
    /// Anybody who reaches the address could read everything.
    #[error(
        "[web] listen = {0}: anybody who reaches this address could read every case; listen on \
         127.0.0.1, or set [web] tokens or trusted_proxies"
    )]
    OpenToAll(SocketAddr),
    /// An invalid public URL, shown without its user.
    #[error(
        "[web] public_url = {0:?} is no address of pages; write it as in \"https://nightshift.example.com\", without a path"
    )]
    NoPublicUrl(String),
    /// An invalid host name.
    #[error("[web] hosts has {0:?}, which is no host name; write it without scheme, port and path")]
    NoHost(String),
    /// A token is written into the configuration itself.
    #[error(
        "[web] tokens: token {place} is written in plain text; put it into the environment or a \
         file, and write \"env:NAME\" or \"file:PATH\""
    )]
    TokenInFile {
        /// Position of the token, from 1.
        place: usize,
    },
    /// A token cannot be read.
    #[error("[web] tokens: cannot read token {place}: {why}")]
    NoToken {
        /// Position of the token, from 1.
        place: usize,
        why: String,
    },
    /// A token is too short.
    #[error(
        "[web] tokens: token {place} is shorter than {MIN_TOKEN_CHARS} characters; make one with \
         `openssl rand -hex 32`"
    )]
    ShortToken {
        /// Position of the token, from 1.
        place: usize,
    },
    /// The stop of the process would take too long.
    #[error(
        "[web] linger_secs = {0}: a process that is told to stop would be there for longer than {MAX_LINGER_SECS} s more; \
         some seconds are enough for a load balancer to hear of it"
    )]
    LongLinger(u64),
    /// An invalid trusted proxy.
    #[error("[web] trusted_proxies: {0}")]
    NoProxy(String),
    /// The address is in use or does not belong to this machine.
    #[error("cannot listen on {address}")]
    Bind {
        address: SocketAddr,
        #[source]
        cause: std::io::Error,
    },
    /// A template is invalid.
    #[error("a page template is invalid")]
    Template(#[source] minijinja::Error),
}

impl WebConfig {
    /// Checks the configuration, except for tokens, which are not read.
    ///
    /// # Errors
    ///
    /// Returns the problem and its correction.
    pub fn check(&self) -> Result<(), WebError> {
        self.options(|_| Ok(SecretString::from("-".repeat(MIN_TOKEN_CHARS))))
            .map(drop)
    }

    /// Returns the options of a server. `secret` reads the value that a token refers to.
    ///
    /// # Errors
    ///
    /// Returns the problem and its correction.
    pub fn options(
        &self,
        secret: impl Fn(&str) -> Result<SecretString, String>,
    ) -> Result<ServerOptions, WebError> {
        let listen = address("listen", &self.listen)?;
        let maybe = |key, text: &str| match text {
            "" => Ok(None),
            text => address(key, text).map(Some),
        };
        let metrics_listen = maybe("metrics_listen", &self.metrics_listen)?;
        let intake_listen = maybe("intake_listen", &self.intake_listen)?;
        check_distinct([
            ("listen", Some(listen)),
            ("metrics_listen", metrics_listen),
            ("intake_listen", intake_listen),
        ])?;
        let public_url = match self.public_url.as_str() {
            "" => None,
            text => Some(public_url(text)?),
        };
        let access = AccessPolicy::new(self.tokens(secret)?, self.proxies()?);
        if access.is_open() && !listen.ip().to_canonical().is_loopback() {
            return Err(WebError::OpenToAll(listen));
        }
        if self.linger_secs > MAX_LINGER_SECS {
            return Err(WebError::LongLinger(self.linger_secs));
        }
        let mut names = Vec::new();
        for host in &self.hosts {
            let is_name = url::Host::parse(host).is_ok() && !host.contains(['/', ':', '@']);
            if !is_name {
                return Err(WebError::NoHost(without_credentials(host)));
            }
            names.push(host.clone());
        }
        Ok(ServerOptions {
            hosts: AllowedHosts::new(listen.ip(), names, public_url.as_ref()),
            listen,
            metrics_listen,
            intake_listen,
            linger: self.linger(),
            language: self.language,
            access,
        })
    }

    /// Returns how long requests are accepted after the stop signal.
    #[must_use]
    pub fn linger(&self) -> Duration {
        Duration::from_secs(self.linger_secs)
    }

    fn tokens(
        &self,
        secret: impl Fn(&str) -> Result<SecretString, String>,
    ) -> Result<Vec<SecretString>, WebError> {
        let mut tokens = Vec::new();
        for (place, reference) in (1..).zip(&self.tokens) {
            if !reference.starts_with("env:") && !reference.starts_with("file:") {
                return Err(WebError::TokenInFile { place });
            }
            let token = secret(reference).map_err(|why| WebError::NoToken { place, why })?;
            if token.expose_secret().chars().count() < MIN_TOKEN_CHARS {
                return Err(WebError::ShortToken { place });
            }
            tokens.push(token);
        }
        Ok(tokens)
    }

    fn proxies(&self) -> Result<Vec<ProxyRule>, WebError> {
        self.trusted_proxies.iter().map(proxy).collect()
    }
}

fn address(key: &'static str, text: &str) -> Result<SocketAddr, WebError> {
    let no_address = || WebError::NoAddress {
        key,
        text: text.to_owned(),
    };
    let text = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    text.parse().map_err(|_| no_address())
}

/// Checks that no two of these addresses collide. Two addresses collide if they are equal, or if one is unspecified and
/// has the other's port. A port that the system chooses never collides.
fn check_distinct(all: [(&'static str, Option<SocketAddr>); 3]) -> Result<(), WebError> {
    let mut before: Vec<(&'static str, SocketAddr)> = Vec::new();
    for (other, address) in all {
        let Some(address) = address else {
            continue;
        };
        let overlaps = |(_, it): &&(&'static str, SocketAddr)| {
            let is_all = it.ip().is_unspecified() || address.ip().is_unspecified();
            let is_alike = it.is_ipv4() == address.is_ipv4() && is_all;
            it.port() == address.port() && (it.ip() == address.ip() || is_alike)
        };
        let found = before.iter().find(overlaps);
        if let Some((one, _)) = found.filter(|_| address.port() != 0) {
            return Err(WebError::SameAddress {
                one,
                other,
                address,
            });
        }
        before.push((other, address));
    }
    Ok(())
}

/// Returns an address without its user and password.
pub(crate) fn without_credentials(text: &str) -> String {
    let Some((before, after)) = text.rsplit_once('@') else {
        return text.to_owned();
    };
    match before.split_once("://") {
        Some((scheme, _)) => format!("{scheme}://…@{after}"),
        None => format!("…@{after}"),
    }
}

fn public_url(text: &str) -> Result<Url, WebError> {
    let wrong = || WebError::NoPublicUrl(without_credentials(text));
    let url = Url::parse(text).map_err(|_| wrong())?;
    let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    let is_plain = url.username().is_empty() && url.password().is_none();
    if matches!(url.scheme(), "http" | "https") && url.has_host() && is_bare && is_plain {
        Ok(url)
    } else {
        Err(wrong())
    }
}

fn proxy(config: &TrustedProxy) -> Result<ProxyRule, WebError> {
    let header = config.header.parse().map_err(|_| {
        WebError::NoProxy(format!(
            "{:?} is no name of a header; the proxy's documentation has it, e.g. \"x-forwarded-user\"",
            config.header
        ))
    })?;
    if config.networks.is_empty() {
        return Err(WebError::NoProxy(format!(
            "{} has no networks; name those that the proxy connects from, e.g. [\"10.1.2.3/32\"]",
            config.header
        )));
    }
    let mut networks = Vec::new();
    for text in &config.networks {
        let one_address = || text.parse::<IpAddr>().map(IpNet::from);
        let network: IpNet = text.parse().or_else(|_| one_address()).map_err(|_| {
            WebError::NoProxy(format!(
                "{text:?} is no network; write it as in \"10.1.2.0/24\""
            ))
        })?;
        if network.prefix_len() == 0 {
            return Err(WebError::NoProxy(format!(
                "{text} covers all addresses, so anybody could claim any name; list the proxy's \
                 own addresses"
            )));
        }
        networks.push(network);
    }
    Ok(ProxyRule { header, networks })
}

#[cfg(test)]
mod tests;
