//! Determines the class of an address, by the special-purpose registries of IANA (RFC 6890 and its updates) and the
//! multicast blocks.
//!
//! <https://www.iana.org/assignments/iana-ipv4-special-registry>,
//! <https://www.iana.org/assignments/iana-ipv6-special-registry>. Blocks that these registries call globally reachable
//! (AS112, AMT, NAT64) count as public here.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::{Value, json};

/// Range, class, and the document that reserves the range. The longest matching range wins.
const SPECIAL: [(&str, &str, &str); 31] = [
    ("0.0.0.0/8", "reserved", "RFC 791"),
    ("10.0.0.0/8", "private", "RFC 1918"),
    ("100.64.0.0/10", "cgnat", "RFC 6598"),
    ("127.0.0.0/8", "loopback", "RFC 1122"),
    ("169.254.0.0/16", "link_local", "RFC 3927"),
    ("172.16.0.0/12", "private", "RFC 1918"),
    ("192.0.0.0/24", "reserved", "RFC 6890"),
    ("192.0.2.0/24", "documentation", "RFC 5737"),
    ("192.88.99.0/24", "reserved", "RFC 7526"),
    ("192.168.0.0/16", "private", "RFC 1918"),
    ("198.18.0.0/15", "reserved", "RFC 2544"),
    ("198.51.100.0/24", "documentation", "RFC 5737"),
    ("203.0.113.0/24", "documentation", "RFC 5737"),
    ("224.0.0.0/4", "multicast", "RFC 5771"),
    ("240.0.0.0/4", "reserved", "RFC 1112"),
    ("255.255.255.255/32", "reserved", "RFC 919"),
    ("::/128", "reserved", "RFC 4291"),
    ("::1/128", "loopback", "RFC 4291"),
    ("::ffff:0:0/96", "reserved", "RFC 4291"),
    ("64:ff9b:1::/48", "private", "RFC 8215"),
    ("100::/64", "reserved", "RFC 6666"),
    ("2001::/23", "reserved", "RFC 2928"),
    ("2001:2::/48", "reserved", "RFC 5180"),
    ("2001:db8::/32", "documentation", "RFC 3849"),
    ("2002::/16", "reserved", "RFC 3056"),
    ("3fff::/20", "documentation", "RFC 9637"),
    ("5f00::/16", "reserved", "RFC 9602"),
    ("fc00::/7", "unique_local", "RFC 4193"),
    ("fe80::/10", "link_local", "RFC 4291"),
    ("ff00::/8", "multicast", "RFC 4291"),
    ("fec0::/10", "reserved", "RFC 3879"),
];

/// Returns the entry of the longest range that holds the address, or `None` for a public one.
fn special_range(ip: IpAddr) -> Option<&'static (&'static str, &'static str, &'static str)> {
    let entries = SPECIAL
        .iter()
        .filter_map(|entry| Some((entry.0.parse::<IpNet>().ok()?, entry)))
        .filter(|(net, _)| net.contains(&ip));
    let longest = entries.max_by_key(|(net, _)| net.prefix_len());
    longest.map(|(_, entry)| entry)
}

/// Returns the class of an address, such as `public` or `private`.
#[cfg(feature = "declared")]
pub(crate) fn class_of(ip: IpAddr) -> &'static str {
    special_range(ip).map_or("public", |(_, class, _)| class)
}

pub(super) fn facts(ip: IpAddr) -> Value {
    let special = special_range(ip);
    let (class, range) = special.map_or(("public", None), |(range, class, document)| {
        (*class, Some(format!("{range} ({document})")))
    });
    json!({
        "version": if ip.is_ipv4() { 4 } else { 6 },
        "class": class,
        "range": range,
        "public": class == "public",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_range_of_the_table_is_a_network() {
        for (range, ..) in SPECIAL {
            let net: IpNet = range.parse().unwrap();
            assert_eq!(net, net.trunc(), "{range}");
        }
    }

    #[test]
    fn addresses_have_the_class_of_their_longest_range() {
        for (ip, class, range) in [
            ("10.1.2.3", "private", "10.0.0.0/8 (RFC 1918)"),
            ("172.31.255.255", "private", "172.16.0.0/12 (RFC 1918)"),
            ("100.127.255.255", "cgnat", "100.64.0.0/10 (RFC 6598)"),
            ("169.254.169.254", "link_local", "169.254.0.0/16 (RFC 3927)"),
            ("203.0.113.42", "documentation", "203.0.113.0/24 (RFC 5737)"),
            (
                "255.255.255.255",
                "reserved",
                "255.255.255.255/32 (RFC 919)",
            ),
            ("::1", "loopback", "::1/128 (RFC 4291)"),
            ("2001:db8::1", "documentation", "2001:db8::/32 (RFC 3849)"),
            ("fd12::1", "unique_local", "fc00::/7 (RFC 4193)"),
        ] {
            let facts = facts(ip.parse().unwrap());
            assert_eq!(facts["class"], class, "{ip}");
            assert_eq!(facts["range"], range, "{ip}");
            assert_eq!(facts["public"], false, "{ip}");
        }
        for ip in ["185.220.101.42", "172.32.0.0", "100.128.0.0", "2620:fe::fe"] {
            let facts = facts(ip.parse().unwrap());
            assert_eq!(facts["class"], "public", "{ip}");
            assert_eq!(facts["range"], Value::Null);
        }
    }
}
