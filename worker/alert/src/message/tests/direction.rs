//! Tests that the direction of a connection is the same in every wrapping.

use super::bases::{asff, guardduty_service, ocsf};
use super::*;
use crate::Direction::{self, Inbound, Outbound};

const KIND: &str = "UnauthorizedAccess:EC2/SSHBruteForce";

/// Returns a connection with 203.0.113.42 as GuardDuty, Security Hub and OCSF write it.
fn in_each(direction: &str, role: &str) -> [Alert; 3] {
    let far_end = json!({"ipAddressV4": "203.0.113.42"});
    let instance = "i-0a1b2c3d4e5f60718";
    let native = guardduty_service(
        KIND,
        json!({"resourceType": "Instance", "instanceDetails": {"instanceId": instance}}),
        json!({"resourceRole": role, "action": {"networkConnectionAction": {"connectionDirection": direction, "remoteIpDetails": far_end}}}),
    );
    let path = "aws/guardduty/service/action/networkConnectionAction";
    let mut fields = serde_json::Map::new();
    fields.insert("aws/guardduty/service/resourceRole".to_owned(), json!(role));
    fields.insert(format!("{path}/connectionDirection"), json!(direction));
    fields.insert(
        format!("{path}/remoteIpDetails/ipAddressV4"),
        json!("203.0.113.42"),
    );
    let hub = asff(json!({
        "ProductArn": "arn:aws:securityhub:eu-west-1::product/aws/guardduty", "Types": [format!("TTPs/{KIND}")],
        "ProductFields": fields, "Resources": [{"Type": "AwsEc2Instance", "Id": instance}],
    }));
    let newer = ocsf(json!({
        "metadata": {"product": {"name": "GuardDuty", "vendor_name": "AWS"}},
        "finding_info": {"uid": "f1", "title": "t", "types": [KIND]},
        "resources": [{"uid": instance, "type": "AWS::EC2::Instance"}],
        "evidences": [{"connection_info": {"direction": direction}, "data": {"resource_role": role},
            "src_endpoint": {"ip": if direction.eq_ignore_ascii_case("outbound") { "10.0.0.7" } else { "203.0.113.42" }}}],
    }));
    [native, hub, newer].map(|finding| one_of(&finding))
}

#[test]
fn direction_is_that_of_the_connection_else_of_the_part() {
    for (direction, role, read) in [
        ("INBOUND", "TARGET", Some(Inbound)),
        ("Outbound", "ACTOR", Some(Outbound)),
        ("outbound", "TARGET", Some(Outbound)),
        ("UNKNOWN", "Actor", Some(Outbound)),
        ("UNKNOWN", "TARGET", Some(Inbound)),
        ("UNKNOWN", "", None),
    ] {
        for alert in in_each(direction, role) {
            assert_eq!(alert.direction, read, "{} {direction} {role}", alert.feed);
        }
    }
}

#[test]
fn far_end_of_a_target_acted_where_the_connection_tells_nothing() {
    let [native, hub, _] = in_each("UNKNOWN", "TARGET");
    for alert in [native, hub] {
        assert!(has(
            &alert,
            IndicatorKind::Ip,
            IndicatorRole::Actor,
            "203.0.113.42"
        ));
    }
    let [native, hub, _] = in_each("UNKNOWN", "ACTOR");
    for alert in [native, hub] {
        assert!(has(
            &alert,
            IndicatorKind::Ip,
            IndicatorRole::Remote,
            "203.0.113.42"
        ));
    }
}

#[test]
fn parts_of_resources_in_ocsf_tell_it() {
    let of = |resources: Value| one_of(&ocsf(json!({ "resources": resources }))).direction;
    let machine = |role: Value| json!({"uid": "i-0a1b2c3d4e5f60718", "type": "AWS::EC2::Instance", "role_id": role});
    assert_eq!(of(json!([machine(json!(2))])), Some(Outbound));
    assert_eq!(of(json!([machine(json!(1))])), Some(Inbound));
    assert_eq!(of(json!([machine(Value::Null)])), None);
    let user =
        json!({"uid": "arn:aws:iam::444455556666:user/ci", "type": "AWS::IAM::User", "role_id": 2});
    assert_eq!(of(json!([user])), None);
}

#[test]
fn one_connection_that_went_out_is_outbound() {
    let evidence = |id: u8| json!({"connection_info": {"direction_id": id}});
    let of = |ids: &[u8]| {
        let evidences: Vec<Value> = ids.iter().map(|id| evidence(*id)).collect();
        one_of(&ocsf(json!({ "evidences": evidences }))).direction
    };
    assert_eq!(of(&[1, 2]), Some(Outbound));
    assert_eq!(of(&[1, 3]), Some(Inbound));
    assert_eq!(of(&[0, 3]), None);
}

#[test]
fn other_products_of_security_hub_tell_it() {
    let of = |word: &str| -> Option<Direction> {
        one_of(&asff(
            json!({"Network": {"Direction": word, "SourceIpV4": "203.0.113.42"}}),
        ))
        .direction
    };
    assert_eq!(
        (of("OUT"), of("in"), of("both")),
        (Some(Outbound), Some(Inbound), None)
    );
}
