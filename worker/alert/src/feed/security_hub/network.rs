//! Reads `Network`: the ends of a connection, with the roles that its direction gives them.
//!
//! An end that connected from outside is the actor. An end that the resource connected to is the far end.

use super::super::guardduty::canonical;
use super::super::{Draft, Node};
use super::path;
use crate::{DetailKind, Direction, FindingClass, Indicator, IndicatorKind, IndicatorRole};

#[derive(Default)]
pub(super) struct ConnectionEnd<'a> {
    pub(super) addresses: Vec<&'a str>,
    /// Address fields, and without addresses name fields, that do not hold text.
    pub(super) others: Vec<(IndicatorKind, Node<'a>)>,
    pub(super) domain: Option<&'a str>,
    pub(super) port: Option<u64>,
}

pub(super) fn read_network(draft: &mut Draft, node: Node<'_>) {
    let network = node.at("Network");
    let direction = network.at("Direction").str().and_then(Direction::parse);
    draft.direction = draft.direction.or(direction);
    let source = read_end(
        network,
        ["SourceIpV4", "SourceIpV6", "SourceDomain", "SourcePort"],
    );
    let destination = read_end(
        network,
        [
            "DestinationIpV4",
            "DestinationIpV6",
            "DestinationDomain",
            "DestinationPort",
        ],
    );
    let direction = add_ends(draft, direction, &source, &destination);
    draft.add_detail(DetailKind::Protocol, network.at("Protocol"));
    if let Some(range) = path::ports(network.at("OpenPortRange")) {
        draft.add_detail_text(DetailKind::Exposure, &format!("open ports: {range}"), None);
    }
    path::read_network_path(draft, node.at("NetworkPath"), direction);
}

fn read_end<'a>(network: Node<'a>, keys: [&str; 4]) -> ConnectionEnd<'a> {
    let [v4, v6, domain, port] = keys.map(|key| network.at(key));
    let is_value = |kind, node: &Node<'_>| canonical(kind, *node).is_some();
    let fields = [v4, v6].map(|node| (IndicatorKind::Ip, node));
    let mut others: Vec<_> = fields
        .into_iter()
        .filter(|(kind, node)| !is_value(*kind, node))
        .collect();
    if others.len() == fields.len() && !is_value(IndicatorKind::Domain, &domain) {
        others.push((IndicatorKind::Domain, domain));
    }
    ConnectionEnd {
        addresses: [v4, v6].into_iter().filter_map(Node::str).collect(),
        others,
        domain: domain.str(),
        port: port.count().filter(|port| *port > 0),
    }
}

/// Adds both ends with their roles and ports, and returns the direction, given or derived from the addresses.
///
/// Without a direction the source is the actor and the destination the far end. A check has no actor.
pub(super) fn add_ends(
    draft: &mut Draft,
    told: Option<Direction>,
    source: &ConnectionEnd<'_>,
    destination: &ConnectionEnd<'_>,
) -> Option<Direction> {
    let is_own =
        |end: &ConnectionEnd<'_>| end.addresses.iter().any(|text| draft.is_own_address(text));
    let direction = told.or_else(|| match (is_own(source), is_own(destination)) {
        (true, false) => Some(Direction::Outbound),
        (false, true) => Some(Direction::Inbound),
        _ => None,
    });
    let (from, to) = match direction {
        _ if draft.class != FindingClass::Threat => {
            (IndicatorRole::Related, IndicatorRole::Related)
        }
        Some(Direction::Inbound) => (IndicatorRole::Actor, IndicatorRole::Related),
        Some(Direction::Outbound) => (IndicatorRole::Related, IndicatorRole::Remote),
        None => (IndicatorRole::Actor, IndicatorRole::Remote),
    };
    let (near, far) = (DetailKind::LocalPort, DetailKind::RemotePort);
    let (source_port, destination_port) = match direction {
        Some(Direction::Inbound) => (far, near),
        Some(Direction::Outbound) => (near, far),
        None => (far, far),
    };
    add_end(draft, source, from, source_port);
    add_end(draft, destination, to, destination_port);
    if let Some(direction) = direction {
        draft.add_detail_text(DetailKind::Direction, direction.as_str(), None);
    }
    direction
}

fn add_end(draft: &mut Draft, end: &ConnectionEnd<'_>, role: IndicatorRole, port: DetailKind) {
    for address in &end.addresses {
        draft.add_text(IndicatorKind::Ip, role, address);
    }
    for (kind, node) in &end.others {
        draft.add(*kind, role, *node);
    }
    if let Some(domain) = end.domain {
        // A client chooses its own name, so beside the address the name identifies nobody. The name of a destination
        // was requested.
        let role = match role {
            IndicatorRole::Actor if !end.addresses.is_empty() => IndicatorRole::Related,
            role => role,
        };
        draft.add_text(IndicatorKind::Domain, role, domain);
    }
    if let Some(number) = end.port {
        let parsed =
            |text: &&str| Indicator::parse(IndicatorKind::Ip, text, IndicatorRole::Related);
        let about = end.addresses.iter().find_map(parsed).map(|one| one.value);
        draft.add_detail_text(port, &number.to_string(), about.as_deref());
    }
}
