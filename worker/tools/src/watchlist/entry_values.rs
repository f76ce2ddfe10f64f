//! Parses the values of a list entry: networks, or names as look-ups ask for them.
//!
//! Published lists contain ports, ranges, and two values in one entry. A value that no look-up could find is an error:
//! in a list of bad values it would look like a miss.

use std::net::{IpAddr, SocketAddr};

use ipnet::{IpNet, Ipv4Subnets, Ipv6Subnets};
use nightshift_alert::text::refang;
use nightshift_alert::{Indicator, IndicatorKind, IndicatorRole};

use super::entries::ENTRY_COLUMNS;
use crate::pattern::parse_network;

/// A value in the form that look-ups compare.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum EntryValue {
    Network(IpNet),
    /// A name in lower case.
    Name(String),
}

/// Parses the values of an entry.
///
/// # Errors
///
/// Returns the problem, as the rest of a sentence about the entry.
pub(super) fn parse_values(text: &str) -> Result<Vec<EntryValue>, &'static str> {
    let plain = refang(text);
    if let Some(nets) = parse_address_range(&plain) {
        return if nets.is_empty() {
            Err("is no network or range of addresses")
        } else if nets.iter().any(|net| net.prefix_len() == 0) {
            Err("is the whole internet")
        } else {
            Ok(nets.into_iter().map(EntryValue::Network).collect())
        };
    }
    // The URL in the form of look-ups: canonical, with fingerprints for its random parts.
    let url = (plain.contains("://") && !plain.contains('*'))
        .then(|| parse_indicator(IndicatorKind::Url, &plain))
        .flatten();
    if let Some(url) = url {
        return parse_name(&url);
    }
    if let Some(parts) = split_composite(&plain) {
        let each: Result<Vec<_>, _> = parts.into_iter().map(parse_values).collect();
        return each.map(|each| each.into_iter().flatten().collect());
    }
    if has_several_values(&plain) {
        return Err("is several values, or a row of CSV");
    }
    parse_name(strip_port(&plain))
}

fn parse_name(text: &str) -> Result<Vec<EntryValue>, &'static str> {
    let name = text.strip_prefix("*.").unwrap_or(text);
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    if name.is_empty() || name.contains('*') {
        return Err("is not a valid entry: write a value, a network, or a domain");
    }
    Ok(vec![EntryValue::Name(name)])
}

fn parse_indicator(kind: IndicatorKind, text: &str) -> Option<String> {
    Indicator::parse(kind, text, IndicatorRole::Related).map(|indicator| indicator.value)
}

/// Parses an address with or without a port, a network, or a range `first-last`. Returns `None` for a text that only
/// begins like an address.
fn parse_address_range(text: &str) -> Option<Vec<IpNet>> {
    let socket = || text.parse::<SocketAddr>().ok();
    if let Some(net) = parse_network(text).or_else(|| parse_network(&socket()?.ip().to_string())) {
        return Some(vec![net]);
    }
    let (first, last) = text.split_once(['-', '/'])?;
    let first: IpAddr = first.parse().ok()?;
    let is_numeric = last
        .bytes()
        .all(|b| b.is_ascii_hexdigit() || matches!(b, b'.' | b':'));
    if text.contains('/') {
        // Otherwise this is an image of a registry without a name.
        return is_numeric.then(Vec::new);
    }
    Some(match (first, last.parse()) {
        (IpAddr::V4(first), Ok(IpAddr::V4(last))) => {
            Ipv4Subnets::new(first, last, 0).map(IpNet::from).collect()
        }
        (IpAddr::V6(first), Ok(IpAddr::V6(last))) => {
            Ipv6Subnets::new(first, last, 0).map(IpNet::from).collect()
        }
        _ => Vec::new(),
    })
}

/// Returns the parts of two values in one, as MISP writes them: `ip-dst|port`, `domain|ip`, `filename|sha256`. File
/// names are not looked up.
fn split_composite(text: &str) -> Option<Vec<&str>> {
    let (left, right) = text.split_once('|')?;
    let is = |kind, text| parse_indicator(kind, text).is_some();
    let is_host = is(IndicatorKind::Ip, left) || is(IndicatorKind::Domain, left);
    if is(IndicatorKind::Hash, right) {
        Some(vec![right])
    } else if is_host && is(IndicatorKind::Ip, right) {
        Some(vec![left, right])
    } else {
        (is_host && is_port(right)).then(|| vec![left])
    }
}

/// Returns whether the text contains a value that could be looked up alone. A name can contain any of these
/// characters.
fn has_several_values(text: &str) -> bool {
    use IndicatorKind::{Domain, Email, Hash, Ip, Url};
    let any = |marks: &[char], kinds: &[IndicatorKind]| {
        let pieces = || {
            text.split(marks)
                .map(|piece| piece.trim_matches([' ', '"', '\'']))
        };
        text.contains(marks)
            && pieces().any(|piece| {
                parse_network(piece).is_some()
                    || ENTRY_COLUMNS.contains(&piece.to_ascii_lowercase().as_str())
                    || kinds
                        .iter()
                        .any(|kind| parse_indicator(*kind, piece).is_some())
            })
    };
    any(&[',', ';'], &[Ip, Url, Hash, Email, Domain]) || any(&['|'], &[Ip, Url, Hash])
}

/// Returns the host of `pool.example:4444`. The tag of an image can look like a port, and images are also looked up
/// without it.
fn strip_port(text: &str) -> &str {
    text.rsplit_once(':')
        .filter(|(host, port)| {
            is_port(port) && parse_indicator(IndicatorKind::Domain, host).is_some()
        })
        .map_or(text, |(host, _)| host)
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok()
}
