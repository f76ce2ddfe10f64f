//! Defines functions over addresses and networks.

use std::net::IpAddr;

use ipnet::IpNet;
use minijinja::{Error, Value};
use nightshift_alert::is_public;

use super::arguments::words;

/// Implements `in_any(ip, networks)`, which returns whether the address lies in one of the networks (addresses or
/// CIDR).
pub(super) fn in_any(ip: &Value, networks: &Value) -> Result<bool, Error> {
    let Some(ip) = ip.as_str().and_then(|text| text.parse::<IpAddr>().ok()) else {
        return Ok(false);
    };
    Ok(words(Some(networks))?
        .unwrap_or_default()
        .iter()
        .any(|network| {
            network.parse::<IpNet>().is_ok_and(|net| net.contains(&ip))
                || network.parse::<IpAddr>().is_ok_and(|one| one == ip)
        }))
}

/// Implements `rows | outside(networks)`, which returns the entries whose `row.source_ip` is a public address in none
/// of these networks. A call that a cloud service makes for a caller has no address and is not outside.
pub(super) fn outside(list: Value, networks: &Value) -> Result<Vec<Value>, Error> {
    let mut found = Vec::new();
    for entry in list.try_iter()? {
        let source = entry.get_attr("row")?.get_attr("source_ip")?;
        let ip = source.as_str().and_then(|text| text.parse::<IpAddr>().ok());
        if ip.is_some_and(is_public) && !in_any(&source, networks)? {
            found.push(entry);
        }
    }
    Ok(found)
}

/// Implements `indicators | beyond(networks)`, which returns the entries whose `value` is in none of these networks.
pub(super) fn beyond(list: Value, networks: &Value) -> Result<Vec<Value>, Error> {
    let mut found = Vec::new();
    for entry in list.try_iter()? {
        if !in_any(&entry.get_attr("value")?, networks)? {
            found.push(entry);
        }
    }
    Ok(found)
}
