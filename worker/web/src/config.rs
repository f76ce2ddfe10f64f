//! `[web]`: where the pages are, and who may read them.
//!
//! Open to everybody is only what nobody else can reach: a loopback address. Any other one needs a token or a proxy that
//! says who is there, or nothing is served. Secrets are read by whoever starts the server, never here.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ipnet::IpNet;
use schemars::JsonSchema;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use url::Url;

use crate::access::{Access, Proxy};
use crate::hosts::Hosts;
use crate::server::ServerOptions;

/// Shortest token, in characters: one that nobody guesses.
const SHORTEST_TOKEN: usize = 20;
/// Longest time that requests are taken for after the process is told to stop, in seconds.
const LONGEST_LINGER: u64 = 60;

/// `[web]`
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WebConfig {
    /// Address and port of pages, JSON, `/healthz` and `/readyz`. Other than a loopback address only with `tokens` or `trusted_proxies`.
    pub listen: String,
    /// Address and port of `/metrics`, `/healthz` and `/readyz` alone, open to whoever reaches it. Empty: `/metrics` is beside the pages, and guarded as they are.
    pub metrics_listen: String,
    /// Address and port of `/v1/alerts…`, `/healthz` and `/readyz` alone, for sources of the kind `http`. Empty: they are beside the pages.
    pub intake_listen: String,
    /// Where people reach the pages, e.g. `https://nightshift.example.com`. Empty: only by `listen`.
    pub public_url: String,
    /// Further host names that requests may be for, e.g. that of a service in a cluster.
    pub hosts: Vec<String>,
    /// Bearer tokens of those who may read: `env:NAME` or `file:PATH`. At least 20 characters each.
    pub tokens: Vec<String>,
    /// Proxies that sign people in and tell who they are.
    pub trusted_proxies: Vec<TrustedProxy>,
    /// Seconds for which requests are still taken after the process is told to stop, while `/readyz` says no more: for whoever sends requests on until it has heard. At most 60.
    #[schemars(range(max = 60))]
    pub linger_secs: u64,
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
        }
    }
}

/// A proxy that signs people in.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustedProxy {
    /// The header that it tells them in, e.g. `x-forwarded-user`. It must remove the header from what comes to it.
    pub header: String,
    /// Networks (CIDR) that it connects from; from elsewhere the header counts for nothing.
    pub networks: Vec<String>,
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// No address and port.
    #[error(
        "[web] {key} = {text:?} is no address and port; write them as in \"127.0.0.1:8080\" or \"[::1]:8080\""
    )]
    NoAddress {
        /// Which key.
        key: &'static str,
        /// What it says.
        text: String,
    },
    /// Two addresses are one.
    #[error(
        "[web] {one} and {other} are both {address}, and only one of them can be had; give {other} another port, or leave \
         it out"
    )]
    SameAddress {
        /// A key.
        one: &'static str,
        /// Another key.
        other: &'static str,
        /// What the second says.
        address: SocketAddr,
    },
    /// Whoever reaches the address could read everything.
    #[error(
        "[web] listen = {0}: whoever reaches this address could read every case. Listen on 127.0.0.1, or set \
         [web] tokens or trusted_proxies"
    )]
    OpenToAll(SocketAddr),
    /// No address of pages, without the user that may stand in it.
    #[error(
        "[web] public_url = {0:?} is no address of pages; write it as in \"https://nightshift.example.com\", without a path"
    )]
    NoPublicUrl(String),
    /// No host name.
    #[error("[web] hosts has {0:?}, which is no host name; write it without scheme, port and path")]
    NoHost(String),
    /// A token stands in the file itself.
    #[error(
        "[web] tokens: the {place}. one is written out; put it into the environment or a file, and write \
         \"env:NAME\" or \"file:PATH\""
    )]
    TokenInFile {
        /// Which one, counted from 1.
        place: usize,
    },
    /// A token cannot be read.
    #[error("[web] tokens: the {place}. one cannot be read: {why}")]
    NoToken {
        /// Which one, counted from 1.
        place: usize,
        /// Why.
        why: String,
    },
    /// A token can be guessed.
    #[error(
        "[web] tokens: the {place}. one is shorter than {SHORTEST_TOKEN} characters; make one with `openssl rand -hex 32`"
    )]
    ShortToken {
        /// Which one, counted from 1.
        place: usize,
    },
    /// A process would take too long to end.
    #[error(
        "[web] linger_secs = {0}: a process that is told to stop would be there for longer than {LONGEST_LINGER} s more; \
         some seconds are enough for a load balancer to hear of it"
    )]
    LongLinger(u64),
    /// A trusted proxy that cannot be one.
    #[error("[web] trusted_proxies: {0}")]
    NoProxy(String),
    /// The address is taken or not ours.
    #[error("cannot listen on {address}")]
    Bind {
        /// Which address.
        address: SocketAddr,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// A template is broken.
    #[error("a template of the pages is broken")]
    Template(#[source] minijinja::Error),
}

impl WebConfig {
    /// Whether this can be served, but for the tokens, which are not read.
    ///
    /// # Errors
    ///
    /// What is wrong, and how to mend it.
    pub fn check(&self) -> Result<(), WebError> {
        self.options(|_| Ok(SecretString::from("-".repeat(SHORTEST_TOKEN))))
            .map(drop)
    }

    /// What a server is started with. `secret` reads what a token refers to.
    ///
    /// # Errors
    ///
    /// What is wrong, and how to mend it.
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
        apart([
            ("listen", Some(listen)),
            ("metrics_listen", metrics_listen),
            ("intake_listen", intake_listen),
        ])?;
        let public_url = match self.public_url.as_str() {
            "" => None,
            text => Some(public_url(text)?),
        };
        let access = Access::new(self.tokens(secret)?, self.proxies()?);
        if access.is_open() && !listen.ip().to_canonical().is_loopback() {
            return Err(WebError::OpenToAll(listen));
        }
        if self.linger_secs > LONGEST_LINGER {
            return Err(WebError::LongLinger(self.linger_secs));
        }
        let mut names = Vec::new();
        for host in &self.hosts {
            let is_name = url::Host::parse(host).is_ok() && !host.contains(['/', ':', '@']);
            if !is_name {
                return Err(WebError::NoHost(concealed(host)));
            }
            names.push(host.clone());
        }
        Ok(ServerOptions {
            hosts: Hosts::new(listen.ip(), names, public_url.as_ref()),
            listen,
            metrics_listen,
            intake_listen,
            linger: self.linger(),
            access,
        })
    }

    /// How long requests are still taken after the process is told to stop.
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
            if token.expose_secret().chars().count() < SHORTEST_TOKEN {
                return Err(WebError::ShortToken { place });
            }
            tokens.push(token);
        }
        Ok(tokens)
    }

    fn proxies(&self) -> Result<Vec<Proxy>, WebError> {
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

/// Whether no two of these addresses are one, or one all of this machine's with the other's port. What the system
/// chooses is never twice.
fn apart(all: [(&'static str, Option<SocketAddr>); 3]) -> Result<(), WebError> {
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

/// An address for people to read, without the user and the password that may stand in it.
pub(crate) fn concealed(text: &str) -> String {
    let Some((before, after)) = text.rsplit_once('@') else {
        return text.to_owned();
    };
    match before.split_once("://") {
        Some((scheme, _)) => format!("{scheme}://…@{after}"),
        None => format!("…@{after}"),
    }
}

fn public_url(text: &str) -> Result<Url, WebError> {
    let wrong = || WebError::NoPublicUrl(concealed(text));
    let url = Url::parse(text).map_err(|_| wrong())?;
    let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    let is_plain = url.username().is_empty() && url.password().is_none();
    if matches!(url.scheme(), "http" | "https") && url.has_host() && is_bare && is_plain {
        Ok(url)
    } else {
        Err(wrong())
    }
}

fn proxy(config: &TrustedProxy) -> Result<Proxy, WebError> {
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
                "{text} is every address there is, and anybody could say who they are; name the proxy's own"
            )));
        }
        networks.push(network);
    }
    Ok(Proxy { header, networks })
}

#[cfg(test)]
mod tests;
