//! Finds the cloud that an address belongs to, by the files that the clouds publish.
//!
//! The file of AWS is <https://ip-ranges.amazonaws.com/ip-ranges.json> (`prefixes[].ip_prefix`,
//! `ipv6_prefixes[].ipv6_prefix`, `service`, `region`). The file of Google is
//! <https://www.gstatic.com/ipranges/cloud.json> (`prefixes[].ipv4Prefix` or `ipv6Prefix`, `service`, `scope`). No
//! range is compiled in, since the ranges change every week.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::content::{CachedContent, ContentSource};

/// The ranges of one published file.
#[derive(Debug)]
pub(super) struct CloudRanges {
    provider: &'static str,
    ranges: Vec<CloudRange>,
}

#[derive(Debug)]
struct CloudRange {
    net: IpNet,
    service: String,
    region: String,
}

impl CloudRanges {
    pub(super) const fn len(&self) -> usize {
        self.ranges.len()
    }
}

#[derive(Deserialize)]
struct CloudRangesFile {
    #[serde(default)]
    prefixes: Vec<CloudPrefix>,
    #[serde(default)]
    ipv6_prefixes: Vec<CloudPrefix>,
}

#[derive(Deserialize)]
struct CloudPrefix {
    #[serde(alias = "ipv6_prefix", alias = "ipv4Prefix", alias = "ipv6Prefix")]
    ip_prefix: String,
    #[serde(default)]
    service: String,
    #[serde(default, alias = "scope")]
    region: String,
}

pub(super) fn parse(content: &ContentSource, text: &str) -> Result<CloudRanges, String> {
    let name = content.name();
    let published: CloudRangesFile = serde_json::from_str(text).map_err(|error| {
        format!("{name} is neither ip-ranges.json of AWS nor cloud.json of Google: {error}")
    })?;
    // Only AWS uses snake case.
    let provider = if text.contains("\"ip_prefix\"") {
        "aws"
    } else {
        "gcp"
    };
    let ranges: Vec<CloudRange> = published
        .prefixes
        .into_iter()
        .chain(published.ipv6_prefixes)
        .filter_map(|prefix| {
            Some(CloudRange {
                net: prefix.ip_prefix.parse().ok()?,
                service: prefix.service,
                region: prefix.region,
            })
        })
        .collect();
    if ranges.is_empty() {
        return Err(format!(
            "{name} has no ranges: expected `prefixes` as published by AWS or Google"
        ));
    }
    Ok(CloudRanges { provider, ranges })
}

/// Returns the smallest range that contains the address, and the files that were searched.
///
/// # Errors
///
/// Fails when a file cannot be read: a missing file must not make an address look like one of no cloud.
pub(super) fn find(
    ip: IpAddr,
    clouds: &[CachedContent<CloudRanges>],
) -> Result<(Value, String), String> {
    if clouds.is_empty() {
        return Ok((Value::Null, "not configured".to_owned()));
    }
    let mut best: Option<(u8, bool, Value)> = None;
    for file in clouds {
        let cloud = file.get()?;
        for range in cloud.ranges.iter().filter(|range| range.net.contains(&ip)) {
            // AWS lists every range also as the service AMAZON, which is the least specific.
            let rank = (range.net.prefix_len(), range.service != "AMAZON");
            if best
                .as_ref()
                .is_none_or(|(length, named, _)| rank > (*length, *named))
            {
                let found = json!({
                    "provider": cloud.provider,
                    "service": range.service,
                    "region": range.region,
                    "range": range.net.to_string(),
                });
                best = Some((rank.0, rank.1, found));
            }
        }
    }
    let names: Vec<String> = clouds.iter().map(CachedContent::name).collect();
    Ok((
        best.map_or(Value::Null, |(_, _, found)| found),
        names.join(", "),
    ))
}
