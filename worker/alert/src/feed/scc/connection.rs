//! Reads connections of a finding: clients, far ends and ports.

use super::super::{Draft, Node, addresses_of};
use super::fields::non_default;
use crate::{DetailKind, Indicator, IndicatorKind, IndicatorRole, is_public};

/// Numbers of protocols, as the API and flow logs write them.
///
/// <https://www.iana.org/assignments/protocol-numbers/protocol-numbers.xhtml>
const PROTOCOLS: &[(&str, &str)] = &[
    ("1", "ICMP"),
    ("6", "TCP"),
    ("17", "UDP"),
    ("47", "GRE"),
    ("50", "ESP"),
    ("58", "ICMPv6"),
];

/// Both ends of a connection.
struct Connection<'a> {
    source: Node<'a>,
    source_port: Node<'a>,
    destination: Node<'a>,
    destination_port: Node<'a>,
    protocol: Node<'a>,
}

/// Reads an element of `connections`.
pub(super) fn read_connection(draft: &mut Draft, node: Node<'_>) {
    let connection = Connection {
        source: node.at("sourceIp"),
        source_port: node.at("sourcePort"),
        destination: node.at("destinationIp"),
        destination_port: node.at("destinationPort"),
        protocol: node.at("protocol"),
    };
    connection.add_to(draft);
}

/// Reads `ipConnection` of Event Threat Detection.
pub(super) fn read_flow(draft: &mut Draft, node: Node<'_>) {
    let connection = Connection {
        source: node.at("srcIp"),
        source_port: node.at("srcPort"),
        destination: node.at("destIp"),
        destination_port: node.at("destPort"),
        protocol: node.at("protocol"),
    };
    connection.add_to(draft);
}

impl Connection<'_> {
    fn add_to(&self, draft: &mut Draft) {
        let is_inbound = is_from_outside(self.source, self.destination);
        let is_outbound = is_from_outside(self.destination, self.source);
        let source = (self.source, self.source_port);
        let destination = (self.destination, self.destination_port);
        let ((own, own_port), (far, far_port)) = if is_inbound {
            (destination, source)
        } else {
            (source, destination)
        };
        let role = if is_inbound {
            IndicatorRole::Actor
        } else {
            IndicatorRole::Remote
        };
        draft.add(IndicatorKind::Ip, role, far);
        // The near end of a connection to the internet may be a gateway of many machines.
        if is_inbound {
            draft.add_address(own);
        } else if addresses_of(own).is_empty() {
            // An unreadable value still means that there is an actor.
            draft.add(IndicatorKind::Ip, IndicatorRole::Actor, own);
        } else {
            draft.add(IndicatorKind::Ip, IndicatorRole::Related, own);
        }
        let Some(far) = address(far) else { return };
        for (kind, port) in [
            (DetailKind::LocalPort, own_port),
            (DetailKind::RemotePort, far_port),
        ] {
            if let Some(port) = non_default(port) {
                draft.add_detail_text(kind, &port, Some(&far));
            }
        }
        if let Some(protocol) = non_default(self.protocol) {
            let known = PROTOCOLS.iter().find(|(number, _)| *number == protocol);
            let name = known.map_or(protocol.as_str(), |(_, name)| name);
            draft.add_detail_text(DetailKind::Protocol, name, Some(&far));
        }
        let direction = match (is_inbound, is_outbound) {
            (true, _) => "inbound",
            (_, true) => "outbound",
            _ => return,
        };
        draft.add_detail_text(DetailKind::Direction, direction, Some(&far));
    }
}

/// Returns an address in the indicator's form.
pub(super) fn address(node: Node<'_>) -> Option<String> {
    Indicator::parse(IndicatorKind::Ip, node.str()?, IndicatorRole::Related)
        .map(|found| found.value)
}

/// Returns whether a public address connected to a private one.
fn is_from_outside(source: Node<'_>, destination: Node<'_>) -> bool {
    let (from, to) = (addresses_of(source), addresses_of(destination));
    let is_own = !to.is_empty() && !to.into_iter().any(is_public);
    is_own && from.into_iter().any(is_public)
}
