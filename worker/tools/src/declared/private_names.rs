//! Refuses to send what is the organisation's own: values that `never_send` lists, also within a URL, addresses of
//! private networks, and values of which a part was redacted.

use std::net::IpAddr;

use nightshift_alert::IndicatorKind;
use nightshift_engine::hosts::is_own;
use nightshift_engine::tool::ToolError;
use percent_encoding::percent_decode_str;
use url::{Host, Url};

use crate::indicator_facts::address;

/// Classes of addresses that mean something only within a network.
const PRIVATE_CLASSES: [&str; 7] = [
    "private",
    "cgnat",
    "loopback",
    "link_local",
    "unique_local",
    "multicast",
    "reserved",
];

/// Checks a value before it goes to a third party.
///
/// # Errors
///
/// Returns [`ToolError::NotAllowed`] with the reason.
pub(super) fn check(
    kind: IndicatorKind,
    value: &str,
    never_send: &[String],
) -> Result<(), ToolError> {
    let refused = |what: &str| {
        Err(ToolError::NotAllowed {
            what: format!("{} {what}", kind.as_str()),
        })
    };
    if value.contains("[redacted:") {
        return refused("has a redacted part: the service would be asked for something else");
    }
    let url = (kind == IndicatorKind::Url)
        .then(|| Url::parse(value).ok())
        .flatten();
    if address_of(value, url.as_ref()).is_some_and(is_private) {
        return refused("is an address of a private network, which no third party knows");
    }
    let host = url.as_ref().and_then(Url::host_str).unwrap_or(value);
    let host = host.trim_matches(['[', ']']).trim_end_matches('.');
    if is_own(value, never_send) || is_own(host, never_send) || names_own(value, never_send) {
        return refused("is the organisation's own (never_send), which no third party gets");
    }
    Ok(())
}

fn address_of(value: &str, url: Option<&Url>) -> Option<IpAddr> {
    match url.map(Url::host) {
        Some(Some(Host::Ipv4(ip))) => Some(ip.into()),
        Some(Some(Host::Ipv6(ip))) => Some(ip.into()),
        Some(_) => None,
        None => value.parse().ok(),
    }
}

fn is_private(ip: IpAddr) -> bool {
    PRIVATE_CLASSES.contains(&address::class_of(ip.to_canonical()))
}

/// Returns whether a name or address of the organisation stands anywhere in a value, such as in the query of a URL.
fn names_own(value: &str, never_send: &[String]) -> bool {
    let decoded = percent_decode_str(value).decode_utf8_lossy();
    let is_part = |one: char| one.is_alphanumeric() || matches!(one, '.' | '-' | '_' | '@');
    decoded
        .split(|one| !is_part(one))
        .map(|part| part.trim_matches('.'))
        .any(|part| !part.is_empty() && is_own(part, never_send))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(kind: IndicatorKind, value: &str) -> bool {
        let own = [
            "corp.example",
            "198.51.100.0/24",
            "2001:db8:5::/48",
            "maria",
        ];
        let own = own.map(str::to_owned);
        matches!(check(kind, value, &own), Err(ToolError::NotAllowed { .. }))
    }

    #[test]
    fn own_names_and_ranges_are_never_sent() {
        use IndicatorKind::{Domain, Email, Hash, Ip, Url};
        for (kind, value) in [
            (Domain, "corp.example"),
            (Domain, "db.Corp.Example"),
            (Domain, "db.corp.example."),
            (Ip, "198.51.100.7"),
            (Ip, "2001:db8:5::7"),
            (Email, "ana@corp.example"),
            (Url, "https://corp.example/"),
            (Url, "https://db.corp.example./x"),
            (Url, "https://x:y@db.corp.example:8443/x"),
            (Url, "http://198.51.100.7:80/"),
            (Url, "http://[2001:db8:5::7]/"),
            (Url, "https://evil.test/?u=db.corp.example"),
            (Url, "https://evil.test/?u=db%2ecorp%2Eexample"),
            (Url, "https://evil.test/maria/x"),
            (Url, "https://evil.test/#198.51.100.7"),
        ] {
            assert!(is_refused(kind, value), "{value}");
        }
        for (kind, value) in [
            (Domain, "notcorp.example"),
            (Domain, "corp.example.evil.test"),
            (Ip, "198.51.101.7"),
            (Url, "https://evil.test/mariana"),
            (Hash, "44d88612fea8a8f36de82e1278abb02f"),
        ] {
            assert!(!is_refused(kind, value), "{value}");
        }
    }

    #[test]
    fn private_addresses_and_redacted_values_are_never_sent() {
        use IndicatorKind::{Ip, Url};
        for (kind, value) in [
            (Ip, "10.1.2.3"),
            (Ip, "127.0.0.1"),
            (Ip, "100.64.1.1"),
            (Ip, "169.254.169.254"),
            (Ip, "fd00::1"),
            (Ip, "::ffff:192.168.1.1"),
            (Url, "http://2130706433/x"),
            (Url, "http://0x7f.1/"),
            (Url, "http://[::ffff:10.0.0.1]/"),
            (Url, "https://a.test/?k=[redacted:aws_key]"),
        ] {
            assert!(is_refused(kind, value), "{value}");
        }
        assert!(!is_refused(Ip, "185.220.101.42"));
        assert!(!is_refused(Ip, "203.0.113.42"), "samples are made of these");
    }
}
