//! Checks `Host` and `Origin` on every request.
//!
//! If an attacker points a name at the address of the pages (DNS rebinding), the browser treats the pages as the
//! attacker's own. Only the name in `Host` shows this, so names must be configured. An IP address cannot be rebound.

use std::net::IpAddr;

use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, Uri};
use url::Url;

/// The reason why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HostRejection {
    /// `Host` is missing, repeated or invalid.
    #[error("the request does not say which host it is for")]
    NoHost,
    /// `Host` is not an allowed host.
    #[error("this host is not served here; [web] public_url and hosts list the allowed ones")]
    OtherHost,
    /// A page of another site sent the request.
    #[error("the request comes from a page of another site")]
    OtherOrigin,
}

#[derive(Debug, Clone)]
pub(crate) struct AllowedHosts {
    listen: IpAddr,
    names: Vec<String>,
    public_origin: Option<String>,
}

impl AllowedHosts {
    pub(crate) fn new(listen: IpAddr, names: Vec<String>, public_url: Option<&Url>) -> Self {
        let public_name = public_url.and_then(Url::host_str).map(str::to_owned);
        let names = names.into_iter().chain(public_name);
        Self {
            listen: listen.to_canonical(),
            names: names.map(|name| normal(&name)).collect(),
            public_origin: public_url.map(|url| url.origin().ascii_serialization()),
        }
    }

    /// Returns the same hosts for another listen address.
    pub(crate) fn with_listen(&self, listen: IpAddr) -> Self {
        Self {
            listen: listen.to_canonical(),
            ..self.clone()
        }
    }

    /// Checks that a request is for an allowed host and not from another site's page.
    pub(crate) fn check(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), HostRejection> {
        let host = at_most_one_header(headers, HOST)?.ok_or(HostRejection::NoHost)?;
        let authority: Authority = host.parse().map_err(|_| HostRejection::NoHost)?;
        // A target in absolute form contains a host too (RFC 9112, section 3.2.2).
        for one in std::iter::once(&authority).chain(uri.authority()) {
            if one.as_str().contains('@') || !self.is_ours(one.host()) {
                return Err(HostRejection::OtherHost);
            }
        }
        match at_most_one_header(headers, ORIGIN)? {
            Some(origin) if !self.is_own_origin(origin, host) => Err(HostRejection::OtherOrigin),
            _ => Ok(()),
        }
    }

    fn is_ours(&self, host: &str) -> bool {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<IpAddr>() {
            Ok(ip) => {
                let ip = ip.to_canonical();
                ip == self.listen || ip.is_loopback() || self.listen.is_unspecified()
            }
            Err(_) => {
                let name = normal(host);
                name == "localhost" || self.names.contains(&name)
            }
        }
    }

    fn is_own_origin(&self, origin: &str, host: &str) -> bool {
        let is = |scheme: &str| {
            origin
                .strip_prefix(scheme)
                .is_some_and(|rest| rest.eq_ignore_ascii_case(host))
        };
        is("http://") || is("https://") || self.public_origin.as_deref() == Some(origin)
    }
}

/// Returns the value of a header that occurs at most once.
fn at_most_one_header(
    headers: &HeaderMap,
    name: HeaderName,
) -> Result<Option<&str>, HostRejection> {
    let wrong = if name == ORIGIN {
        HostRejection::OtherOrigin
    } else {
        HostRejection::NoHost
    };
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(wrong);
    }
    first
        .map(|value| value.to_str().map_err(|_| wrong))
        .transpose()
}

fn normal(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn ours(listen: &str) -> AllowedHosts {
        let url = Url::parse("https://Nightshift.example.com").unwrap();
        AllowedHosts::new(
            listen.parse().unwrap(),
            vec!["nightshift.svc".into()],
            Some(&url),
        )
    }

    fn check(
        hosts: &AllowedHosts,
        pairs: &[(&'static str, &str)],
        uri: &str,
    ) -> Result<(), HostRejection> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        hosts.check(&headers, &uri.parse().unwrap())
    }

    #[test]
    fn host_names_must_be_configured_and_addresses_be_listened_on() {
        let hosts = ours("10.0.0.7");
        for ours in [
            "localhost:8080",
            "127.0.0.1:9000",
            "[::1]:8080",
            "10.0.0.7",
            "nightshift.example.com",
            "NIGHTSHIFT.example.com.:443",
            "nightshift.svc:8080",
        ] {
            assert_eq!(check(&hosts, &[("host", ours)], "/"), Ok(()), "{ours}");
        }
        for other in [
            "evil.example.com",
            "10.0.0.8",
            "localhost.evil.com",
            "nightshift.example.com.evil.com",
            "user@localhost",
        ] {
            let told = check(&hosts, &[("host", other)], "/");
            assert_eq!(told, Err(HostRejection::OtherHost), "{other}");
        }
        let everywhere = ours("0.0.0.0");
        assert_eq!(
            check(&everywhere, &[("host", "10.244.0.9:8080")], "/readyz"),
            Ok(())
        );
        assert_eq!(
            check(&everywhere, &[("host", "evil.com")], "/"),
            Err(HostRejection::OtherHost)
        );
    }

    #[test]
    fn a_request_names_one_host_in_one_way() {
        let hosts = ours("127.0.0.1");
        assert_eq!(check(&hosts, &[], "/"), Err(HostRejection::NoHost));
        let twice = [("host", "localhost"), ("host", "localhost")];
        assert_eq!(check(&hosts, &twice, "/"), Err(HostRejection::NoHost));
        assert_eq!(
            check(&hosts, &[("host", "a b")], "/"),
            Err(HostRejection::NoHost)
        );
        let absolute = check(&hosts, &[("host", "localhost")], "http://evil.com/");
        assert_eq!(absolute, Err(HostRejection::OtherHost));
    }

    #[test]
    fn a_page_of_another_site_gets_nothing() {
        let hosts = ours("127.0.0.1");
        let with = |origin| {
            check(
                &hosts,
                &[("host", "localhost:8080"), ("origin", origin)],
                "/",
            )
        };
        for own in ["http://localhost:8080", "https://nightshift.example.com"] {
            assert_eq!(with(own), Ok(()), "{own}");
        }
        for other in [
            "null",
            "https://evil.com",
            "http://localhost:9999",
            "http://nightshift.example.com",
            "http://localhost:8080.evil.com",
        ] {
            assert_eq!(with(other), Err(HostRejection::OtherOrigin), "{other}");
        }
    }
}
