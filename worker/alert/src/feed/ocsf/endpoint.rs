//! Reads the ends of a connection: the end that opened it, the far end, and details of both.

use super::super::{Draft, Node, addresses_of};
use super::{class, descendants};
use crate::{DetailKind, Indicator, IndicatorKind, IndicatorRole, is_public};

/// Details of an end.
const DETAILS: [(&str, DetailKind); 7] = [
    ("location/country", DetailKind::Country),
    ("location/city", DetailKind::City),
    ("location/isp", DetailKind::Organisation),
    ("location/provider", DetailKind::Organisation),
    ("autonomous_system/name", DetailKind::Organisation),
    ("vpc_uid", DetailKind::Vpc),
    ("subnet_uid", DetailKind::Subnet),
];

/// Field with the addresses behind an end, as proxies wrote them: the original client or the final destination.
const INTERMEDIATE_IPS: &str = "intermediate_ips";

/// The class of DNS events.
const DNS_ACTIVITY: u64 = 4003;

/// Returns the role of a host's name. The host chooses its own name, so beside an address the name is only related.
pub(super) fn host_role(role: IndicatorRole, has_address: bool) -> IndicatorRole {
    if has_address {
        IndicatorRole::Related
    } else {
        role
    }
}

/// Facts about the ends of a connection that the rest of the evidence needs.
pub(super) struct EndpointSummary {
    /// The role of names at the far end, such as requested hosts.
    pub(super) far_role: IndicatorRole,
    /// Addresses of the end that opened the connection, where it is an actor.
    pub(super) source_addresses: Vec<String>,
}

/// Reads both ends and the connection; `own` is the role of the organisation's end.
pub(super) fn read_endpoints(
    draft: &mut Draft,
    evidence: Node<'_>,
    device: Node<'_>,
    own: IndicatorRole,
) -> EndpointSummary {
    let direction = direction(evidence);
    let (source, destination) = match direction.as_deref() {
        // The name server only answers. The far end is the name that was asked for.
        _ if is_dns_query(evidence) && is_own_endpoint(evidence.at("src_endpoint")) => {
            (own, IndicatorRole::Related)
        }
        _ if is_dns_query(evidence) => (IndicatorRole::Actor, IndicatorRole::Related),
        Some("INBOUND") => (IndicatorRole::Actor, own),
        Some("OUTBOUND") => (own, IndicatorRole::Remote),
        _ => (IndicatorRole::Actor, IndicatorRole::Remote),
    };
    // A user who signs in from their own device has no other end.
    let has_ends = evidence.at("dst_endpoint").exists();
    let part =
        |endpoint: Node<'_>, role: IndicatorRole| match has_ends && is_device(endpoint, device) {
            true => IndicatorRole::Target,
            false => role,
        };
    let (from, to) = (evidence.at("src_endpoint"), evidence.at("dst_endpoint"));
    let (source, destination) = (part(from, source), part(to, destination));
    let goes_out = destination == IndicatorRole::Remote || is_dns_query(evidence);
    let (from_port, to_port) = match has_ends && goes_out {
        true => (DetailKind::LocalPort, DetailKind::RemotePort),
        false => (DetailKind::RemotePort, DetailKind::LocalPort),
    };
    let addresses = read_end(draft, from, source, from_port);
    read_end(draft, to, destination, to_port);
    draft.add(IndicatorKind::Instance, source, from.at("instance_uid"));
    for (end, role) in [(from, source), (to, destination)] {
        draft.add(IndicatorKind::Ip, role, end.at(INTERMEDIATE_IPS));
    }
    // An inbound proxy hides the client; an outbound one only observed the traffic. The client's own claim of its
    // address stands alone, because no platform ties it to the call.
    let proxy = match (source, destination) {
        (IndicatorRole::Actor, _) => source,
        (_, IndicatorRole::Remote) => destination,
        _ => IndicatorRole::Related,
    };
    for place in [evidence, from, to] {
        for node in descendants(place, "proxy_endpoint/ip") {
            draft.add(IndicatorKind::Ip, proxy, node);
        }
    }
    for node in descendants(evidence, "http_request/x_forwarded_for") {
        draft.add(IndicatorKind::Ip, source, node);
    }
    let connection = evidence.at("connection_info");
    draft.add_detail(DetailKind::Protocol, connection.at("protocol_name"));
    if let Some(word @ ("INBOUND" | "OUTBOUND")) = direction.as_deref() {
        draft.add_detail_text(DetailKind::Direction, &word.to_ascii_lowercase(), None);
    }
    let far = match destination {
        IndicatorRole::Remote => IndicatorRole::Remote,
        _ => IndicatorRole::Related,
    };
    EndpointSummary {
        far_role: far,
        source_addresses: match source {
            IndicatorRole::Actor => addresses,
            _ => Vec::new(),
        },
    }
}

/// Reads one end and returns its addresses.
fn read_end(
    draft: &mut Draft,
    endpoint: Node<'_>,
    role: IndicatorRole,
    port: DetailKind,
) -> Vec<String> {
    let address = endpoint.at("ip");
    let added = draft.add(IndicatorKind::Ip, role, address);
    if !endpoint.is_object() {
        // Some products write the address alone.
        return draft.add(IndicatorKind::Ip, role, endpoint);
    }
    let names = ["hostname", "domain"].map(|key| endpoint.at(key));
    if names.iter().any(|name| name.exists()) {
        let role = host_role(role, address.exists());
        for name in names {
            draft.add(IndicatorKind::Domain, role, name);
        }
    } else if !address.exists() && !endpoint.at("instance_uid").exists() {
        let names = ["name", "uid"].map(|key| endpoint.at(key));
        let found = draft.add_first(IndicatorKind::Instance, role, names);
        if found.is_empty() && role == IndicatorRole::Actor {
            // The value is a service of the cloud, or another caller that claims to be one.
            draft.add(IndicatorKind::Domain, role, endpoint.at("svc_name"));
        }
    }
    let about = indicator_value(endpoint);
    let about = about.as_deref();
    if endpoint.at("port").count().is_some_and(|port| port > 0) {
        draft.add_detail_about(port, endpoint.at("port"), about);
    }
    for (path, kind) in DETAILS {
        for value in descendants(endpoint, path) {
            draft.add_detail_about(kind, value, about);
        }
    }
    add_asn(draft, endpoint.path("autonomous_system/number"), about);
    added
}

/// Adds an autonomous system number, with or without the prefix `AS`; 0 means none.
fn add_asn(draft: &mut Draft, number: Node<'_>, about: Option<&str>) {
    let text = number.text().unwrap_or_default();
    let digits = text.trim_start_matches(['A', 'S', 'a', 's']);
    if digits.parse::<u32>().is_ok_and(|number| number > 0) {
        draft.add_detail_text(DetailKind::Asn, &format!("AS{digits}"), about);
    }
}

/// Returns the indicator value of an end.
fn indicator_value(endpoint: Node<'_>) -> Option<String> {
    let parsed =
        |kind, key: &str| Indicator::parse(kind, endpoint.at(key).str()?, IndicatorRole::Related);
    parsed(IndicatorKind::Ip, "ip")
        .or_else(|| parsed(IndicatorKind::Domain, "hostname"))
        .or_else(|| parsed(IndicatorKind::Domain, "domain"))
        .map(|one| one.value)
}

/// Returns whether an endpoint is the device of the finding. A host states its own name, so beside an address the
/// name is no proof, even where the device's address is unknown.
fn is_device(endpoint: Node<'_>, device: Node<'_>) -> bool {
    let same = |key: &str| {
        let (one, other) = (endpoint.at(key).str()?, device.at(key).str()?);
        Some(one.eq_ignore_ascii_case(other))
    };
    let is_known = ["uid", "instance_uid"]
        .into_iter()
        .any(|key| same(key) == Some(true));
    let by_name = || same("hostname").filter(|_| endpoint.at("ip").str().is_none());
    is_known || same("ip").or_else(by_name).unwrap_or_default()
}

/// The port of name servers.
const DNS_PORT: u64 = 53;

/// Returns whether an evidence is a DNS query.
pub(super) fn is_dns_query(evidence: Node<'_>) -> bool {
    let port = evidence.path("dst_endpoint/port").count();
    let is_asked = class::class_uid(evidence) == Some(DNS_ACTIVITY) || port == Some(DNS_PORT);
    is_asked && evidence.path("query/hostname").exists()
}

/// Returns whether an end is a machine of the organisation: an instance, or a private address.
pub(super) fn is_own_endpoint(endpoint: Node<'_>) -> bool {
    let addresses = addresses_of(endpoint.at("ip"));
    let is_private = !addresses.is_empty() && !addresses.into_iter().any(is_public);
    endpoint.at("instance_uid").exists() || is_private
}

/// Returns the direction of a connection as seen from the organisation's end, in GuardDuty's words: by its number, else
/// by its optional caption.
///
/// <https://schema.ocsf.io/1.3.0/objects/network_connection_info>
pub(super) fn direction(evidence: Node<'_>) -> Option<String> {
    let connection = evidence.at("connection_info");
    Some(match connection.at("direction_id").count() {
        Some(1) => "INBOUND".to_owned(),
        Some(2) => "OUTBOUND".to_owned(),
        Some(3) => "LATERAL".to_owned(),
        _ => connection.at("direction").str()?.to_uppercase(),
    })
}
