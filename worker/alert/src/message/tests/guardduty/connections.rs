//! Tests connections, port probes and DNS: both ends, ports, networks, threat lists.

use super::*;
use crate::Outcome;

const THREAT_LIST: &str =
    include_str!("../../../../../../tests/fixtures/cases/47-guardduty-ports-and-threat-list.json");
const DRIVE_BY: &str = include_str!(
    "../../../../../../tests/fixtures/cases/40-guardduty-type-taken-for-a-secret.json"
);

/// Returns the instance of those findings. Security Hub writes its network without security groups.
fn instance() -> Value {
    json!([{"Type": "AwsEc2Instance", "Id": "arn:aws:ec2:eu-west-1:111122223333:instance/i-0bbbbbbbbbbbbbbbb",
        "Tags": {"Name": "web-7"}, "Details": {"AwsEc2Instance": {"IpV4Addresses": ["10.1.2.3", "198.51.100.200"],
        "VpcId": "vpc-1", "SubnetId": "subnet-1", "SecurityGroups": [{"GroupId": "sg-0aaa1111bbb22222c"}]}}}])
}

#[test]
fn ports_networks_and_threat_lists_are_told() {
    let alert = one_in_both(&value(THREAT_LIST), instance());
    insta::assert_snapshot!(told(&alert), @"
    threat | NETWORK_CONNECTION OUTBOUND | -
    Instance i-0bbbbbbbbbbbbbbbb web-7
    related ip 10.1.2.3
    related ip 198.51.100.200
    related ip 2001:db8::7
    remote ip 203.0.113.77
    target instance i-0bbbbbbbbbbbbbbbb
    local_port: 51000 (10.1.2.3)
    remote_port: 8443 (203.0.113.77)
    protocol: TCP (203.0.113.77)
    direction: outbound (203.0.113.77)
    country: Nowhere (203.0.113.77)
    asn: AS64501 (203.0.113.77)
    organisation: Example (203.0.113.77)
    organisation: Example Hosting (203.0.113.77)
    vpc: vpc-1 (i-0bbbbbbbbbbbbbbbb)
    subnet: subnet-1 (i-0bbbbbbbbbbbbbbbb)
    security_group: sg-0aaa1111bbb22222c (i-0bbbbbbbbbbbbbbbb)
    threat_list: our-partners-list (203.0.113.77)
    threat_name: examplebot (203.0.113.77)
    ");
}

#[test]
fn a_threat_list_that_names_a_file_is_told_of_its_digest() {
    let mut finding = value(THREAT_LIST);
    let digest = "cc".repeat(32);
    finding["service"]["evidence"]["threatIntelligenceDetails"] =
        json!([{"threatNames": ["EvilBot", "Other"], "threatFileSha256": digest}]);
    let alert = one_in_both(&finding, instance());
    assert_eq!(values(&alert, DetailKind::ThreatName), ["EvilBot", "Other"]);
    assert!(has(
        &alert,
        IndicatorKind::Hash,
        IndicatorRole::Related,
        &digest
    ));
    let names = alert
        .details
        .iter()
        .filter(|one| one.kind == DetailKind::ThreatName);
    assert!(names.clone().all(|one| one.about.as_ref() == Some(&digest)));
}

#[test]
fn threat_list_is_unassigned_where_there_are_several_endpoints() {
    let mut finding = value(THREAT_LIST);
    let end = |last: u8| {
        json!({"localPortDetails": {"port": 22}, "localIpDetails": {"ipAddressV4": "10.1.2.3"},
        "remoteIpDetails": {"ipAddressV4": format!("203.0.113.{last}"), "country": {"countryName": "Nowhere"}}})
    };
    finding["service"]["action"] = json!({"actionType": "PORT_PROBE",
        "portProbeAction": {"blocked": false, "portProbeDetails": [end(1), end(2)]}});
    let alert = one_in_both(&finding, instance());
    insta::assert_snapshot!(details(&alert), @"
    local_port: 22 (10.1.2.3)
    country: Nowhere (203.0.113.1)
    country: Nowhere (203.0.113.2)
    vpc: vpc-1 (i-0bbbbbbbbbbbbbbbb)
    subnet: subnet-1 (i-0bbbbbbbbbbbbbbbb)
    security_group: sg-0aaa1111bbb22222c (i-0bbbbbbbbbbbbbbbb)
    threat_list: our-partners-list
    threat_name: examplebot
    ");
}

#[test]
fn a_query_is_told_with_protocol_and_owner_of_the_network() {
    let mut finding = value(DRIVE_BY);
    let request = &mut finding["service"]["action"]["dnsRequestAction"];
    request["vpcOwnerAccountId"] = json!("444455556666");
    let alert = one_in_both(&finding, instance());
    insta::assert_snapshot!(details(&alert), @"
    protocol: UDP (drive-by.example)
    vpc: vpc-1 (i-0bbbbbbbbbbbbbbbb)
    subnet: subnet-1 (i-0bbbbbbbbbbbbbbbb)
    security_group: sg-0aaa1111bbb22222c (i-0bbbbbbbbbbbbbbbb)
    other_account: 444455556666
    ");
}

#[test]
fn what_ec2_let_through_is_no_outcome_and_what_it_stopped_is() {
    let outcome = |blocked: Value, kind: &str| {
        let action = json!({kind: {"blocked": blocked, "domain": "c2.bad.example"}});
        let service = json!({"action": action});
        one_of(&finding(
            "Recon:EC2/PortProbeUnprotectedPort",
            json!({}),
            service,
        ))
        .outcome
    };
    for kind in [
        "networkConnectionAction",
        "portProbeAction",
        "dnsRequestAction",
    ] {
        assert_eq!(outcome(json!(true), kind), Some(Outcome::Blocked), "{kind}");
        assert_eq!(outcome(json!("false"), kind), None, "{kind}");
    }
}

#[test]
fn ports_and_systems_with_number_zero_are_none() {
    let action = json!({"networkConnectionAction": {"connectionDirection": "UNKNOWN", "localPortDetails": {"port": 0},
        "remotePortDetails": {"port": 0}, "remoteIpDetails": {"ipAddressV4": "203.0.113.77",
        "city": {"cityName": ""}, "organization": {"asn": "0", "org": ""}}}});
    let alert = one_of(&finding(
        "Behavior:EC2/NetworkPortUnusual",
        json!({}),
        json!({"action": action}),
    ));
    assert_eq!(alert.details, []);
}

#[test]
fn a_function_is_told_with_its_network() {
    let arn = "arn:aws:lambda:eu-west-1:111122223333:function:pay";
    let network = json!({"vpcId": "vpc-1", "subnetIds": ["subnet-1", "subnet-2"], "securityGroups": [{"groupId": "sg-1"}]});
    let resource = json!({"resourceType": "Lambda", "lambdaDetails": {"functionName": "pay", "functionArn": arn,
        "role": "arn:aws:iam::111122223333:role/pay", "vpcConfig": network}});
    let native = finding("Backdoor:Lambda/C&CActivity.B", resource, json!({}));
    let hub = json!([{"Type": "AwsLambdaFunction", "Id": arn, "Details": {"AwsLambdaFunction": {
        "Role": "arn:aws:iam::111122223333:role/pay",
        "VpcConfig": {"VpcId": "vpc-1", "SubnetIds": ["subnet-1", "subnet-2"], "SecurityGroupIds": ["sg-1"]}}}}]);
    insta::assert_snapshot!(told(&one_in_both(&native, hub)), @"
    threat | - | -
    Lambda arn:aws:lambda:eu-west-1:111122223333:function:pay pay
    related arn arn:aws:iam::111122223333:role/pay
    related arn arn:aws:lambda:eu-west-1:111122223333:function:pay
    target function pay
    vpc: vpc-1 (arn:aws:lambda:eu-west-1:111122223333:function:pay)
    subnet: subnet-1 (arn:aws:lambda:eu-west-1:111122223333:function:pay)
    subnet: subnet-2 (arn:aws:lambda:eu-west-1:111122223333:function:pay)
    security_group: sg-1 (arn:aws:lambda:eu-west-1:111122223333:function:pay)
    ");
}
