//! Distinguishes public addresses from addresses of private networks, and finds the registered part of a domain.

use std::net::IpAddr;

/// Returns whether an address is public. Documentation ranges count as public, because examples use them.
#[must_use]
pub fn is_public(ip: IpAddr) -> bool {
    let inside = match ip {
        IpAddr::V4(ip) => {
            let [first, second, ..] = ip.octets();
            let is_shared = first == 100 && (64..128).contains(&second);
            ip.is_private() || ip.is_link_local() || is_shared || first == 0 || first >= 240
        }
        IpAddr::V6(ip) => match ip.to_ipv4_mapped() {
            Some(ip) => return is_public(ip.into()),
            None => ip.is_unique_local() || ip.is_unicast_link_local(),
        },
    };
    !(inside || ip.is_loopback() || ip.is_multicast() || ip.is_unspecified())
}

/// Returns the part of a domain that its owner registered: the public suffix with one label before it.
#[must_use]
pub fn registrable_domain(name: &str) -> Option<&str> {
    let name = name.trim_end_matches('.');
    std::str::from_utf8(psl::domain(name.as_bytes())?.as_bytes()).ok()
}
