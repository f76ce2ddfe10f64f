//! Tests ends of connections with the roles that their direction gives them.

use super::*;
use crate::Outcome;

fn network(change: impl FnOnce(&mut Value)) -> Alert {
    asff(|finding| {
        finding["Network"] = json!({
            "Direction": "OUT", "Protocol": "TCP",
            "SourceIpV4": "10.1.2.3", "SourcePort": 51000,
            "DestinationIpV4": "198.51.100.9", "DestinationPort": 443,
        });
        change(finding);
    })
}

#[test]
fn outbound_destination_is_the_far_end() {
    let alert = network(|_| {});
    assert_eq!(
        parts(&alert),
        [
            "remote ip 198.51.100.9",
            "target instance i-0bbbbbbbbbbbbbbbb"
        ]
    );
    assert_eq!(alert.addresses, ["10.1.2.3"]);
    for (kind, value) in [
        (DetailKind::LocalPort, "51000"),
        (DetailKind::RemotePort, "443"),
        (DetailKind::Protocol, "TCP"),
        (DetailKind::Direction, "outbound"),
    ] {
        assert_eq!(details(&alert, kind), [value], "{kind}");
    }
}

#[test]
fn inbound_source_is_who_acted() {
    let alert = asff(|finding| {
        finding["Network"] = json!({
            "Direction": "IN", "SourceIpV6": "2001:db8::23", "SourceDomain": "scanner.bad.example",
            "SourcePort": 40000, "DestinationIpV4": "10.1.2.3", "DestinationPort": 22,
        });
    });
    assert!(has(
        &alert,
        IndicatorKind::Ip,
        IndicatorRole::Actor,
        "2001:db8::23"
    ));
    // The host chose its own name.
    assert!(has(
        &alert,
        IndicatorKind::Domain,
        IndicatorRole::Related,
        "scanner.bad.example"
    ));
    assert_eq!(details(&alert, DetailKind::LocalPort), ["22"]);
    assert_eq!(details(&alert, DetailKind::RemotePort), ["40000"]);
}

#[test]
fn missing_direction_is_seen_by_the_resource_s_addresses() {
    let undirected = |finding: &mut Value| finding["Network"]["Direction"] = Value::Null;
    let alert = network(undirected);
    assert_eq!(details(&alert, DetailKind::Direction), ["outbound"]);
    // Values are kept, even when their role is unknown.
    let alert = network(|finding| {
        undirected(finding);
        finding["Resources"] = json!([]);
    });
    assert_eq!(
        parts(&alert),
        ["actor ip 10.1.2.3", "remote ip 198.51.100.9"]
    );
}

#[test]
fn nobody_acted_where_a_check_looked() {
    let alert = network(|finding| {
        finding["Types"] = json!(["Software and Configuration Checks"]);
        finding["Network"]["OpenPortRange"] = json!({"Begin": 22, "End": 25});
    });
    assert_eq!(parts(&alert), ["target instance i-0bbbbbbbbbbbbbbbb"]);
    assert!(has(
        &alert,
        IndicatorKind::Ip,
        IndicatorRole::Related,
        "198.51.100.9"
    ));
    assert_eq!(details(&alert, DetailKind::Exposure), ["open ports: 22-25"]);
}

#[test]
fn path_tells_its_ends_and_what_it_passes() {
    let hop = |from: &str, to: &str| {
        json!({"Protocol": "TCP",
            "Source": {"Address": [from]},
            "Destination": {"Address": [to], "PortRanges": [{"Begin": 22, "End": 22}]}})
    };
    let alert = asff(|finding| {
        finding["NetworkPath"] = json!([
            {"ComponentId": "igw-1", "ComponentType": "AWS::EC2::InternetGateway",
                "Ingress": hop("203.0.113.7/32", "10.1.0.0/16"), "Egress": hop("203.0.113.7/32", "10.1.2.3/32")},
            {"ComponentId": "sg-1", "ComponentType": "AWS::EC2::SecurityGroup",
                "Egress": hop("203.0.113.7/32", "10.1.2.3/32")},
        ]);
    });
    assert!(has(
        &alert,
        IndicatorKind::Ip,
        IndicatorRole::Actor,
        "203.0.113.7"
    ));
    assert_eq!(details(&alert, DetailKind::SecurityGroup), ["sg-1"]);
    assert_eq!(
        details(&alert, DetailKind::Exposure),
        [
            "from 203.0.113.7/32 through AWS::EC2::InternetGateway igw-1, AWS::EC2::SecurityGroup sg-1 to 10.1.2.3/32 ports 22"
        ]
    );
}

#[test]
fn actions_of_any_product_are_read() {
    let of = |action: Value| asff(|finding| finding["Action"] = action);
    let address = |last: u8| json!({"IpAddressV4": format!("198.51.100.{last}")});
    let probe = of(
        json!({"ActionType": "PORT_PROBE", "PortProbeAction": {"PortProbeDetails": [
        {"RemoteIpDetails": address(21)}, {"RemoteIpDetails": address(22)}]}}),
    );
    for last in ["198.51.100.21", "198.51.100.22"] {
        assert!(has(&probe, IndicatorKind::Ip, IndicatorRole::Actor, last));
    }
    let call = of(json!({"ActionType": "AWS_API_CALL", "AwsApiCallAction": {
        "Api": "ListBuckets", "ServiceName": "s3.amazonaws.com", "CallerType": "domain",
        "RemoteIpDetails": address(23), "DomainDetails": {"Domain": "caller.bad.example"},
        "AffectedResources": {"AWS::S3::Bucket": "payroll"}}}));
    assert_eq!(call.action.as_deref(), Some("AWS_API_CALL ListBuckets"));
    assert!(has(
        &call,
        IndicatorKind::Ip,
        IndicatorRole::Actor,
        "198.51.100.23"
    ));
    assert!(call.has_indicator(IndicatorKind::Bucket, "payroll"));
    assert!(call.has_indicator(IndicatorKind::Domain, "caller.bad.example"));
    assert_eq!(call.outcome, None::<Outcome>);
    let connection = of(
        json!({"ActionType": "NETWORK_CONNECTION", "NetworkConnectionAction": {
        "ConnectionDirection": "OUTBOUND", "RemoteIpDetails": address(24)}}),
    );
    assert!(has(
        &connection,
        IndicatorKind::Ip,
        IndicatorRole::Remote,
        "198.51.100.24"
    ));
    let query =
        of(json!({"ActionType": "DNS_REQUEST", "DnsRequestAction": {"Domain": "c2.bad.example"}}));
    assert!(has(
        &query,
        IndicatorKind::Domain,
        IndicatorRole::Remote,
        "c2.bad.example"
    ));
}

#[test]
fn sequences_of_any_product_are_read() {
    let alert = asff(|finding| {
        finding["Detection"] = json!({"Sequence": {"Uid": "s",
            "Actors": [{"Id": "a", "User": {"Name": "deployer", "Type": "AssumedRole", "Uid": "AROAEXAMPLE:s"}}],
            "Endpoints": [{"Id": "e", "Ip": "203.0.113.9", "Connection": {"Direction": "INBOUND"}}]}});
    });
    assert!(has(
        &alert,
        IndicatorKind::Principal,
        IndicatorRole::Actor,
        "deployer"
    ));
    assert!(has(
        &alert,
        IndicatorKind::Ip,
        IndicatorRole::Actor,
        "203.0.113.9"
    ));
}
