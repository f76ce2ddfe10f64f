//! Reads `NetworkPath`, which is the path from the outside to a resource, or from it, with its components.
//!
//! <https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_NetworkPathComponent.html>

use super::super::{Draft, Node};
use super::network::{ConnectionEnd, add_ends};
use crate::{DetailKind, Direction, IndicatorKind, IndicatorRole};

/// Maximum number of components of a path that are listed.
const MAX_COMPONENTS: usize = 16;

/// Components that are details of their own, by the suffix of their types.
const COMPONENTS: [(&str, DetailKind); 3] = [
    ("SecurityGroup", DetailKind::SecurityGroup),
    ("Subnet", DetailKind::Subnet),
    ("VPC", DetailKind::Vpc),
];

pub(super) fn read_network_path(draft: &mut Draft, path: Node<'_>, direction: Option<Direction>) {
    let components: Vec<Node<'_>> = path.items().take(MAX_COMPONENTS).collect();
    draft.is_actor_dropped |= path.items().nth(MAX_COMPONENTS).is_some();
    let (Some(first), Some(last)) = (components.first(), components.last()) else {
        return;
    };
    let from = path_end(*first, ["Ingress", "Egress"], "Source");
    let to = path_end(*last, ["Egress", "Ingress"], "Destination");
    add_ends(draft, direction, &read_end(from), &read_end(to));
    for component in &components {
        add_component(draft, *component);
        for inner in [
            "Ingress/Source",
            "Ingress/Destination",
            "Egress/Source",
            "Egress/Destination",
        ] {
            for address in read_end(component.path(inner)).addresses {
                draft.add_text(IndicatorKind::Ip, IndicatorRole::Related, address);
            }
        }
    }
    draft.add_detail_text(DetailKind::Exposure, &sentence(&components, from, to), None);
}

/// Returns the side of a component that describes an end of the path.
fn path_end<'a>(component: Node<'a>, ways: [&str; 2], side: &str) -> Node<'a> {
    let [way, other] = ways.map(|way| component.at(way).at(side));
    if way.exists() { way } else { other }
}

fn read_end<'a>(hop: Node<'a>) -> ConnectionEnd<'a> {
    let addresses = hop.at("Address").items().filter_map(Node::str);
    ConnectionEnd {
        addresses: addresses.map(strip_host_prefix).collect(),
        ..ConnectionEnd::default()
    }
}

/// Returns a network of one address as that address.
fn strip_host_prefix(network: &str) -> &str {
    let bare = network.strip_suffix("/32");
    bare.or_else(|| network.strip_suffix("/128"))
        .unwrap_or(network)
}

fn add_component(draft: &mut Draft, component: Node<'_>) {
    let kind = component.at("ComponentType").str().unwrap_or_default();
    let mut details = COMPONENTS.iter();
    if let Some((_, detail)) = details.find(|(end, _)| kind.ends_with(end)) {
        draft.add_detail(*detail, component.at("ComponentId"));
    }
    if kind.ends_with("EC2::Instance") {
        draft.add(
            IndicatorKind::Instance,
            IndicatorRole::Related,
            component.at("ComponentId"),
        );
    }
}

/// Returns a text such as `from 0.0.0.0/0 through AWS::EC2::InternetGateway igw-1, AWS::EC2::SecurityGroup sg-1 to
/// 10.0.0.7 ports 22`.
fn sentence(components: &[Node<'_>], from: Node<'_>, to: Node<'_>) -> String {
    let named = components.iter().map(|component| {
        let words = ["ComponentType", "ComponentId"].map(|key| component.at(key).str());
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    });
    let named: Vec<String> = named.filter(|name| !name.is_empty()).collect();
    let listed = |hop: Node<'_>| {
        let addresses: Vec<&str> = hop.at("Address").items().filter_map(Node::str).collect();
        addresses.join(", ")
    };
    let open: Vec<String> = to.at("PortRanges").items().filter_map(ports).collect();
    [
        ("from", listed(from)),
        ("through", named.join(", ")),
        ("to", listed(to)),
        ("ports", open.join(", ")),
    ]
    .into_iter()
    .filter(|(_, what)| !what.is_empty())
    .map(|(word, what)| format!("{word} {what}"))
    .collect::<Vec<_>>()
    .join(" ")
}

/// Returns `22`, or `22-25`.
pub(super) fn ports(range: Node<'_>) -> Option<String> {
    let (begin, end) = (range.at("Begin").count(), range.at("End").count());
    Some(match (begin.or(end)?, end.or(begin)?) {
        (begin, end) if begin == end => begin.to_string(),
        (begin, end) => format!("{begin}-{end}"),
    })
}
