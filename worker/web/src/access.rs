//! Implements access control of the pages: a bearer token, or a name from a trusted proxy.
//!
//! Tokens are kept as hashes and compared in constant time. A proxy's header counts only on connections from the
//! proxy's own networks, since anybody can write a header.

use std::fmt;
use std::net::IpAddr;

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderName};
use ipnet::IpNet;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};

/// Returns the value of a header that occurs exactly once.
pub(crate) fn single_header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(only), None) => only.to_str().ok(),
        _ => None,
    }
}

pub(crate) type Sha256Digest = [u8; 32];

/// A proxy that signs people in.
#[derive(Debug, Clone)]
pub(crate) struct ProxyRule {
    /// The header with the user's name.
    pub(crate) header: HeaderName,
    /// Networks that the proxy connects from.
    pub(crate) networks: Vec<IpNet>,
}

/// The rules for who may read.
#[derive(Clone)]
pub(crate) struct AccessPolicy {
    tokens: Vec<Sha256Digest>,
    proxies: Vec<ProxyRule>,
}

impl fmt::Debug for AccessPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("tokens", &self.tokens.len())
            .field("proxies", &self.proxies)
            .finish()
    }
}

impl AccessPolicy {
    pub(crate) fn new(tokens: Vec<SecretString>, proxies: Vec<ProxyRule>) -> Self {
        let hash = |token: SecretString| sha256(token.expose_secret().as_bytes());
        Self {
            tokens: tokens.into_iter().map(hash).collect(),
            proxies,
        }
    }

    /// Returns whether everybody may read.
    pub(crate) const fn is_open(&self) -> bool {
        self.tokens.is_empty() && self.proxies.is_empty()
    }

    /// Returns whether a trusted proxy can be on this machine.
    pub(crate) fn has_proxy_here(&self) -> bool {
        let mut networks = self.proxies.iter().flat_map(|proxy| &proxy.networks);
        networks.any(|network| network.addr().is_loopback())
    }

    /// Returns whether a request with these headers, over a connection from `peer`, may read.
    pub(crate) fn admits(&self, headers: &HeaderMap, peer: Option<IpAddr>) -> bool {
        self.is_open() || self.has_token(headers) || self.is_named_by_proxy(headers, peer)
    }

    fn has_token(&self, headers: &HeaderMap) -> bool {
        let Some(token) = bearer_token(headers) else {
            return false;
        };
        let shown = sha256(token);
        // All tokens are compared, even after a match.
        self.tokens.iter().fold(false, |found, known| {
            found | constant_time_eq(known, &shown)
        })
    }

    fn is_named_by_proxy(&self, headers: &HeaderMap, peer: Option<IpAddr>) -> bool {
        let Some(peer) = peer.map(|peer| peer.to_canonical()) else {
            return false;
        };
        self.proxies.iter().any(|proxy| {
            let mut values = headers.get_all(&proxy.header).iter();
            let name = match (values.next(), values.next()) {
                (Some(only), None) => only.as_bytes(),
                _ => return false,
            };
            !name.trim_ascii().is_empty() && proxy.networks.iter().any(|net| net.contains(&peer))
        })
    }
}

/// Returns the only bearer token of a request (RFC 6750, section 2.1). The case of the scheme does not matter.
pub(crate) fn bearer_token(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(only), None) = (values.next(), values.next()) else {
        return None;
    };
    let (scheme, token) = only.as_bytes().split_at_checked("Bearer ".len())?;
    scheme
        .eq_ignore_ascii_case(b"Bearer ")
        .then(|| token.trim_ascii())
}

/// Compares two hashes in constant time.
pub(crate) fn constant_time_eq(left: &Sha256Digest, right: &Sha256Digest) -> bool {
    let pairs = left.iter().zip(right);
    pairs.fold(0, |differs, (left, right)| differs | (left ^ right)) == 0
}

pub(crate) fn sha256(bytes: &[u8]) -> Sha256Digest {
    Sha256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    fn access() -> AccessPolicy {
        let proxy = ProxyRule {
            header: HeaderName::from_static("x-forwarded-user"),
            networks: vec!["10.1.0.0/16".parse().unwrap()],
        };
        AccessPolicy::new(
            vec![TOKEN.into(), "another-token-another".into()],
            vec![proxy],
        )
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn from(peer: &str) -> Option<IpAddr> {
        Some(peer.parse().unwrap())
    }

    #[test]
    fn a_token_opens_and_nothing_like_it_does() {
        let right = format!("Bearer {TOKEN}");
        assert!(access().admits(&headers(&[("authorization", &right)]), None));
        assert!(access().admits(
            &headers(&[("authorization", "bearer another-token-another")]),
            None
        ));
        for wrong in [
            TOKEN.to_owned(),
            format!("Basic {TOKEN}"),
            format!("Bearer {TOKEN}0"),
            "Bearer ".to_owned(),
            "Bear".to_owned(),
        ] {
            assert!(
                !access().admits(&headers(&[("authorization", &wrong)]), None),
                "{wrong}"
            );
        }
        let twice = headers(&[("authorization", &right), ("authorization", &right)]);
        assert!(!access().admits(&twice, None));
    }

    #[test]
    fn a_proxy_counts_from_its_own_networks_alone() {
        let named = headers(&[("x-forwarded-user", "ana")]);
        assert!(access().admits(&named, from("10.1.2.3")));
        assert!(access().admits(&named, from("::ffff:10.1.2.3")));
        assert!(!access().admits(&named, from("10.2.0.1")));
        assert!(!access().admits(&named, None));
        assert!(!access().admits(&headers(&[("x-forwarded-user", " ")]), from("10.1.2.3")));
        let twice = headers(&[("x-forwarded-user", "ana"), ("x-forwarded-user", "bob")]);
        assert!(!access().admits(&twice, from("10.1.2.3")));
    }

    #[test]
    fn a21_no_token_is_in_what_logs_would_show() {
        let shown = format!("{:?}", access());
        assert!(
            shown.contains("tokens: 2") && !shown.contains(TOKEN),
            "{shown}"
        );
    }
}
