//! Determines the reach of a request: this machine, or a third party, which never gets the organisation's own names and
//! ranges.

use std::net::IpAddr;

use ipnet::IpNet;

/// Returns whether a host, by name or address, is this machine. Plain-text requests to it cross no network.
#[must_use]
pub fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// Returns the host of a URL. For other values, returns the part before a path or a port.
pub(crate) fn host_of(value: &str) -> &str {
    let rest = value.split_once("://").map_or(value, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // A user name and a password may precede the host.
    let host = authority.rsplit('@').next().unwrap_or_default();
    let in_brackets = host.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    match in_brackets {
        Some((address, _)) => address,
        None => host.split(':').next().unwrap_or_default(),
    }
}

/// Returns whether a value belongs to the organisation: a listed text, a name below a listed name, or an address in a
/// listed range.
#[must_use]
pub fn is_own(value: &str, never_send: &[String]) -> bool {
    let value = value.to_lowercase();
    let host = host_of(&value).to_owned();
    never_send.iter().any(|own| {
        let own = own.to_lowercase();
        value == own
            || [&value, &host].into_iter().any(|name| {
                name.strip_suffix(&own)
                    .is_some_and(|front| front.is_empty() || front.ends_with(['.', '@']))
            })
            || in_range(&value, &own)
            || in_range(&host, &own)
    })
}

fn in_range(value: &str, range: &str) -> bool {
    match (value.parse::<IpAddr>(), range.parse::<IpNet>()) {
        (Ok(address), Ok(range)) => range.contains(&address),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_name_and_two_kinds_of_addresses() {
        for host in [
            "localhost",
            "LOCALHOST",
            "127.0.0.1",
            "127.9.9.9",
            "::1",
            "[::1]",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            "localhost.evil.com",
            "10.0.0.1",
            "0.0.0.0",
            "127.0.0.1.nip.io",
            "::",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn own_names_and_ranges_are_known_in_every_shape() {
        let own = [
            "corp.example".to_owned(),
            "10.0.0.0/8".to_owned(),
            "fd00::/8".to_owned(),
            "maria".to_owned(),
        ];
        for value in [
            "corp.example",
            "db.corp.example",
            "DB.Corp.Example",
            "https://db.corp.example/x?y",
            "https://x@db.corp.example/x",
            "https://x:y@db.corp.example:8443/x",
            "https://x:y@evil.test@db.corp.example#z",
            "https://db.corp.example#@evil.test",
            "http://x:y@10.1.2.3:80",
            "http://x:y@[fd00::1]:80/",
            "maria@corp.example",
            "10.1.2.3",
            "maria",
        ] {
            assert!(is_own(value, &own), "{value}");
        }
        for value in [
            "notcorp.example",
            "corp.example.evil.test",
            "https://corp.example:y@evil.test/",
            "https://evil.test/@corp.example.org",
            "11.1.2.3",
            "mariana",
        ] {
            assert!(!is_own(value, &own), "{value}");
        }
    }
}
