//! Reads ends of connections and calls: addresses with location and owner, ports, protocol, direction.
//!
//! <https://docs.aws.amazon.com/guardduty/latest/APIReference/API_RemoteIpDetails.html>

use super::add_details;
use crate::feed::cloud::account_id;
use crate::feed::{Draft, Node};
use crate::{CloudProvider, DetailKind, Indicator, IndicatorKind, IndicatorRole};

const ADDRESSES: [&str; 2] = ["ipAddressV4", "ipAddressV6"];

/// Location and owner of an address. `org` is its user, `asnOrg` its announcer.
const LOCATION: [(DetailKind, &str); 4] = [
    (DetailKind::Country, "country/countryName"),
    (DetailKind::City, "city/cityName"),
    (DetailKind::Organisation, "organization/asnOrg"),
    (DetailKind::Organisation, "organization/org"),
];

/// Details of the resource's network, by their paths in an interface or a `vpcConfig`.
const NETWORK: [(DetailKind, &str); 6] = [
    (DetailKind::Vpc, "vpcId"),
    (DetailKind::Subnet, "subnetId"),
    (DetailKind::Subnet, "subnetIds"),
    (DetailKind::SecurityGroup, "securityGroupIds"),
    (DetailKind::SecurityGroup, "securityGroups/groupId"),
    (DetailKind::SecurityGroup, "securityGroups/id"),
];

/// Reads the far end and returns its address in the indicator's form.
pub(super) fn read_far_end(
    draft: &mut Draft,
    role: IndicatorRole,
    end: Node<'_>,
) -> Option<String> {
    if end.exists() && !end.is_object() {
        // Some senders write the address alone, or a list.
        return draft.add(IndicatorKind::Ip, role, end).into_iter().next();
    }
    let address = add_addresses(draft, role, end);
    add_details(draft, end, &LOCATION, address.as_deref());
    if !end.path("country/countryName").exists() {
        let code = end.path("country/countryCode");
        draft.add_detail_about(DetailKind::Country, code, address.as_deref());
    }
    add_asn(draft, end.path("organization/asn"), address.as_deref());
    address
}

/// Returns the addresses of an end in the indicators' form.
pub(super) fn addresses(end: Node<'_>) -> Vec<String> {
    let addresses = ADDRESSES.iter();
    addresses
        .filter_map(|key| canonical(IndicatorKind::Ip, end.at(key)))
        .collect()
}

/// Reads the resource's end: `localIpDetails` and `localPortDetails`.
pub(super) fn read_local_end(draft: &mut Draft, connection: Node<'_>) {
    let address = add_addresses(
        draft,
        IndicatorRole::Related,
        connection.at("localIpDetails"),
    );
    let port = connection.path("localPortDetails/port");
    add_port(draft, DetailKind::LocalPort, port, address.as_deref());
}

/// Reads the protocol, the direction and the far end's port.
pub(super) fn read_connection(draft: &mut Draft, connection: Node<'_>, far_end: Option<&str>) {
    let port = connection.path("remotePortDetails/port");
    add_port(draft, DetailKind::RemotePort, port, far_end);
    draft.add_detail_about(DetailKind::Protocol, connection.at("protocol"), far_end);
    add_direction(draft, connection.at("connectionDirection"), far_end);
}

/// Reads the VPC, subnet and security groups of an interface or of a `vpcConfig`.
pub(super) fn read_network(draft: &mut Draft, network: Node<'_>, resource: Option<&str>) {
    add_details(draft, network, &NETWORK, resource);
}

/// Adds a direction, unless GuardDuty writes `UNKNOWN`.
pub(super) fn add_direction(draft: &mut Draft, direction: Node<'_>, about: Option<&str>) {
    for word in ["inbound", "outbound"] {
        if direction.is(word) {
            draft.add_detail_text(DetailKind::Direction, word, about);
        }
    }
}

/// Adds a port; 0 means none.
pub(super) fn add_port(draft: &mut Draft, kind: DetailKind, port: Node<'_>, about: Option<&str>) {
    if port.count().is_some_and(|port| port > 0) {
        draft.add_detail_about(kind, port, about);
    }
}

/// Adds an autonomous system number, with or without the prefix `AS`; 0 means none.
pub(super) fn add_asn(draft: &mut Draft, asn: Node<'_>, about: Option<&str>) {
    let text = asn.text().unwrap_or_default();
    let digits = text.trim_start_matches(['A', 'S', 'a', 's']);
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number && digits.bytes().any(|byte| byte != b'0') {
        draft.add_detail_text(DetailKind::Asn, &format!("AS{digits}"), about);
    }
}

/// Adds the account of the far end, or of the owner of a shared VPC, where it is not the alert's.
pub(super) fn add_other_account(draft: &mut Draft, account: Node<'_>, about: Option<&str>) {
    let Some(account) = account_id(account, CloudProvider::Aws) else {
        return;
    };
    if draft.other_account(&account).is_some() {
        draft.add_detail_text(DetailKind::OtherAccount, &account, about);
    }
}

/// Returns the value in the form of this indicator kind.
pub(in crate::feed) fn canonical(kind: IndicatorKind, node: Node<'_>) -> Option<String> {
    let found = Indicator::parse(kind, node.str()?, IndicatorRole::Related)?;
    Some(found.value)
}

fn add_addresses(draft: &mut Draft, role: IndicatorRole, end: Node<'_>) -> Option<String> {
    let [v4, v6] = ADDRESSES.map(|key| draft.add(IndicatorKind::Ip, role, end.at(key)));
    v4.into_iter().chain(v6).next()
}
