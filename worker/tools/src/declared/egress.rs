//! Decides where declared tools may connect to.
//!
//! The host of a request is fixed by the tool's file or by `base_url`, never by data. A public tool connects to public
//! addresses alone. Its host is resolved once for each connection, every address is checked, and the connection goes to
//! the checked addresses, so a second resolution cannot lead elsewhere. With `allow_private` exactly the configured host
//! and port may be private. Metadata services are always refused.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use crate::indicator_facts::address;

/// Addresses of metadata services: AWS, Azure, Google, Oracle and others; AWS by IPv6; tasks of ECS; Alibaba; Azure's wire
/// server; Oracle's second one; Google by IPv6; pods of EKS, by IPv4 and IPv6.
const METADATA: [&str; 9] = [
    "169.254.169.254",
    "fd00:ec2::254",
    "169.254.170.2",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd20:ce::254",
    "169.254.170.23",
    "fd00:ec2::23",
];

/// Ranges that count as public in the registries but lead elsewhere: relays of 6to4, AMT, and the sinks of AS112.
const TRANSLATED: [&str; 5] = [
    "192.88.99.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.175.48.0/24",
    "2620:4f:8000::/48",
];

/// The only IPv6 addresses that are assigned for use in the internet: RFC 4291, section 2.4.
const GLOBAL_UNICAST: &str = "2000::/3";

/// Last labels of names that exist in private networks only: RFC 6762, RFC 6761, RFC 8375, ICANN's `internal`, and those
/// that routers and directories use.
const PRIVATE_SUFFIXES: [&str; 14] = [
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "home.arpa",
    "lan",
    "invalid",
    "test",
    "onion",
    "arpa",
];

/// Returns whether an address is public, is none of a metadata service, and reaches no other address through a
/// translator.
pub(super) fn is_public(ip: IpAddr) -> bool {
    let is_in = |range: &&str| range.parse::<IpNet>().is_ok_and(|net| net.contains(&ip));
    let is_unicast = ip.is_ipv4() || is_in(&GLOBAL_UNICAST);
    is_unicast
        && address::class_of(ip) == "public"
        && !is_metadata(ip)
        && !TRANSLATED.iter().any(is_in)
}

/// Returns whether an address is that of a metadata service, also when an IPv6 address holds it.
fn is_metadata(ip: IpAddr) -> bool {
    let is_listed = |ip: IpAddr| {
        METADATA
            .iter()
            .any(|one| one.parse().is_ok_and(|one: IpAddr| one == ip))
    };
    is_listed(ip) || held_address(ip).is_some_and(|held| is_listed(held.into()))
}

/// Returns the IPv4 address that an IPv6 address holds: mapped, compatible, behind NAT64, or behind 6to4.
fn held_address(ip: IpAddr) -> Option<Ipv4Addr> {
    let IpAddr::V6(ip) = ip else { return None };
    let [_, second, third, .., high, low] = ip.segments();
    let join = |[high, low]: [u16; 2]| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match ip.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0x64, 0xff9b, ..] => Some(join([high, low])),
        [0x2002, ..] => Some(join([second, third])),
        _ => None,
    }
}

/// Checks that the text is one host, by name or address, which is not private by its spelling.
///
/// # Errors
///
/// Says what is wrong and what to do.
pub(super) fn check_public_name(host: &str) -> Result<(), String> {
    let private = "is not public: give a private service's address as `base_url` of its [[tool]], with `allow_private = true`";
    if host.is_empty() || host.contains(['/', '@', '?', '#', '\\', ' ']) {
        return Err("write one host, such as api.example.com".to_owned());
    }
    let url = Url::parse(&format!("https://{host}/"))
        .map_err(|error| format!("is no host ({error}): write one, such as api.example.com"))?;
    match url.host() {
        Some(Host::Domain(name)) if is_private_name(name) => Err(format!("{name} {private}")),
        Some(Host::Domain(_)) if url.port().is_none() => Ok(()),
        Some(Host::Domain(_)) => {
            Err("write the host without a port; another port is for `base_url`".to_owned())
        }
        Some(Host::Ipv4(ip)) if is_public(ip.into()) => Ok(()),
        Some(Host::Ipv6(ip)) if is_public(ip.into()) => Ok(()),
        _ => Err(private.to_owned()),
    }
}

/// Returns whether a name is private by its form: one label, or a suffix of private networks.
fn is_private_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let is_below = |suffix: &&str| {
        name.strip_suffix(*suffix)
            .is_some_and(|front| front.is_empty() || front.ends_with('.'))
    };
    !name.contains('.') || PRIVATE_SUFFIXES.iter().any(is_below)
}

/// The place that a tool may connect to.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    pub(super) url: Url,
    allow_private: bool,
}

impl Endpoint {
    /// Returns the endpoint of a public host.
    ///
    /// # Errors
    ///
    /// Fails if the host is private by its spelling.
    pub(super) fn public(host: &str) -> Result<Self, String> {
        check_public_name(host)?;
        let url = Url::parse(&format!("https://{host}/")).map_err(|error| error.to_string())?;
        Ok(Self {
            url,
            allow_private: false,
        })
    }

    /// Returns the endpoint of a configured `base_url`.
    ///
    /// # Errors
    ///
    /// Says what is wrong and what would fit. The address is not shown, because it may hold a secret.
    pub(super) fn configured(base_url: &str, allow_private: bool) -> Result<Self, String> {
        let url = Url::parse(base_url)
            .map_err(|error| format!("is no URL ({error}): write https://HOST/"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("holds a user or password: a secret has its own key".to_owned());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("holds a query or fragment: write only the part before it".to_owned());
        }
        match (url.scheme(), url.host_str()) {
            ("https", Some(_)) => {}
            ("http", Some(_)) if allow_private => {}
            ("http", Some(_)) => {
                return Err(
                    "would send keys unencrypted: use https, or say `allow_private = true`"
                        .to_owned(),
                );
            }
            _ => return Err("write https://HOST/".to_owned()),
        }
        let endpoint = Self { url, allow_private };
        endpoint.check_literal()?;
        Ok(endpoint)
    }

    /// Checks a host that is an address or is private by its name. Such a host is never resolved by us.
    fn check_literal(&self) -> Result<(), String> {
        let refused = |what: &str| {
            Err(format!(
                "leads to {what}: if it is right, say `allow_private = true`"
            ))
        };
        match self.url.host() {
            Some(Host::Ipv4(ip)) => self.check_address(ip.into()),
            Some(Host::Ipv6(ip)) => self.check_address(ip.into()),
            Some(Host::Domain(name)) if is_metadata_name(name) => {
                Err("leads to a metadata service, which is always refused".to_owned())
            }
            Some(Host::Domain(name)) if !self.allow_private && is_private_name(name) => {
                refused("a name of private networks")
            }
            Some(Host::Domain(_)) => Ok(()),
            None => Err("has no host".to_owned()),
        }
    }

    /// Checks one address that the host has.
    ///
    /// # Errors
    ///
    /// Says why no connection goes there.
    pub(super) fn check_address(&self, ip: IpAddr) -> Result<(), String> {
        if is_metadata(ip) {
            return Err("leads to a metadata service, which is always refused".to_owned());
        }
        if self.allow_private || is_public(ip) {
            return Ok(());
        }
        let class = address::class_of(ip.to_canonical());
        Err(format!(
            "leads to {ip} ({class}), which is not public: if it is right, say `allow_private = true`"
        ))
    }
}

/// Returns whether a name is that of a metadata service.
fn is_metadata_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    matches!(
        name.as_str(),
        "metadata" | "metadata.google.internal" | "instance-data" | "metadata.azure.internal"
    ) || name.ends_with(".metadata.google.internal")
}

/// Resolves a name to its addresses.
pub(super) type NameLookup = Arc<dyn Fn(String) -> FoundAddresses + Send + Sync>;

/// The addresses of a name, once they are known.
pub(super) type FoundAddresses = Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>>;

/// Resolves through the operating system.
pub(super) fn system_lookup() -> NameLookup {
    Arc::new(|host| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    })
}

/// The resolver of one tool's client. The connection uses the addresses that it returns and no others.
pub(super) struct GuardedResolver {
    endpoint: Endpoint,
    /// The host of the configured proxy, which may be private.
    proxy_host: Option<String>,
    lookup: NameLookup,
}

impl GuardedResolver {
    pub(super) const fn new(
        endpoint: Endpoint,
        proxy_host: Option<String>,
        lookup: NameLookup,
    ) -> Self {
        Self {
            endpoint,
            proxy_host,
            lookup,
        }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let is_proxy = self.proxy_host.as_deref() == Some(host.as_str());
        let is_endpoint = self.endpoint.url.host_str() == Some(host.as_str());
        let (endpoint, found) = (self.endpoint.clone(), (self.lookup)(host.clone()));
        Box::pin(async move {
            if !is_proxy && !is_endpoint {
                return Err(format!("{host} is not the host of this tool").into());
            }
            let found = found.await?;
            // One private address among public ones is a sign of rebinding, so the whole answer is refused.
            for ip in &found {
                if is_proxy && !is_metadata(*ip) {
                    continue;
                }
                endpoint
                    .check_address(*ip)
                    .map_err(|problem| format!("{host} {problem}"))?;
            }
            let addresses: Addrs = Box::new(found.into_iter().map(|ip| SocketAddr::new(ip, 0)));
            Ok(addresses)
        })
    }
}

#[cfg(test)]
pub(super) mod tests;
