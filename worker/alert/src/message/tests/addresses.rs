//! Tests addresses of the resource, as opposed to addresses of an attacker.

use super::*;

fn exfiltration() -> Value {
    let mut finding = parsed("guardduty-eventbridge-credential-exfiltration");
    finding["detail"]["resource"]["instanceDetails"] = json!({
        "instanceId": "i-0abc1234567890def",
        "networkInterfaces": [{"publicIp": "52.18.4.201", "privateIpAddress": "10.20.31.7",
            "ipv6Addresses": ["2001:DB8::7"], "privateIpAddresses": [{"privateIpAddress": "10.20.31.8"}]}],
    });
    finding
}

#[test]
fn machine_addresses_differ_from_addresses_named_in_text() {
    let before = one_of(&parsed("guardduty-eventbridge-credential-exfiltration"));
    let mut finding = exfiltration();
    finding["detail"]["description"] = json!("Seen from 203.0.113.77, which is ours.");
    let alert = one_of(&finding);
    assert_eq!(
        alert.addresses,
        ["10.20.31.7", "10.20.31.8", "2001:db8::7", "52.18.4.201"]
    );
    for address in &alert.addresses {
        assert!(has(
            &alert,
            IndicatorKind::Ip,
            IndicatorRole::Related,
            address
        ));
    }
    assert!(has(
        &alert,
        IndicatorKind::Ip,
        IndicatorRole::Related,
        "203.0.113.77"
    ));
    let mut stored = serde_json::to_value(&alert).unwrap();
    stored.as_object_mut().unwrap().remove("addresses");
    let of_before: Alert = serde_json::from_value(stored).unwrap();
    assert!(of_before.addresses.is_empty());
    assert_eq!(before.key, alert.key);
}

#[test]
fn a_machine_has_its_addresses_through_security_hub_too() {
    let finding = json!({"SchemaVersion": "2018-10-08", "Id": "arn:aws:guardduty:eu-west-1:444455556666:detector/a/finding/b",
        "ProductArn": "arn:aws:securityhub:eu-west-1::product/aws/guardduty", "AwsAccountId": "444455556666",
        "GeneratorId": "arn:aws:guardduty:eu-west-1:444455556666:detector/a",
        "Types": ["TTPs/Command and Control/Backdoor:EC2-C&CActivity.B!DNS"], "Severity": {"Normalized": 70},
        "CreatedAt": "2026-11-23T01:35:00Z", "UpdatedAt": "2026-11-23T01:35:00Z", "Title": "t", "Description": "d",
        "Resources": [{"Type": "AwsEc2Instance", "Id": "arn:aws:ec2:eu-west-1:444455556666:instance/i-0abc1234567890def",
            "Details": {"AwsEc2Instance": {"IpV4Addresses": ["52.18.4.201", "10.20.31.7"], "IpV6Addresses": ["2001:db8::7"]}}}]});
    let alert = one_of(&finding);
    assert_eq!(
        alert.addresses,
        ["10.20.31.7", "2001:db8::7", "52.18.4.201"]
    );
    assert!(has(
        &alert,
        IndicatorKind::Ip,
        IndicatorRole::Related,
        "52.18.4.201"
    ));
}

#[test]
fn who_guesses_passwords_of_a_machine_is_told_and_who_got_in() {
    let mut finding = parsed("scc-crypto-miner");
    finding["finding"]["category"] = json!("Brute Force: SSH");
    finding["finding"]["sourceProperties"] = json!({"properties": {"attempts": [
        {"sourceIp": "203.0.113.201", "username": "admin", "vmName": "web", "authResult": "FAIL"},
        {"sourceIp": "203.0.113.202", "username": "root", "vmName": "web", "authResult": "SUCCESS"}]}});
    let alert = one_of(&finding);
    for (kind, role, value) in [
        (IndicatorKind::Ip, IndicatorRole::Actor, "203.0.113.201"),
        (IndicatorKind::Ip, IndicatorRole::Actor, "203.0.113.202"),
        (IndicatorKind::Principal, IndicatorRole::Related, "admin"),
        (IndicatorKind::Principal, IndicatorRole::Actor, "root"),
    ] {
        assert!(has(&alert, kind, role, value), "{value}");
    }
}

#[test]
fn who_connects_from_outside_is_no_far_end_of_ours() {
    let between = |source: &str, destination: &str| {
        let mut finding = parsed("scc-crypto-miner");
        finding["finding"]["access"] = Value::Null;
        finding["finding"]["indicator"] = json!({"ipAddresses": [source]});
        finding["finding"]["connections"] =
            json!([{"sourceIp": source, "destinationIp": destination, "destinationPort": 22}]);
        let alert = one_of(&finding);
        let ends = alert.indicators.iter().filter(|one| {
            one.kind == IndicatorKind::Ip && [source, destination].contains(&one.value.as_str())
        });
        let ends = ends.map(|one| format!("{} {}", one.role.as_str(), one.value));
        (ends.collect::<Vec<_>>().join("; "), alert.addresses)
    };
    let (ends, addresses) = between("198.51.100.9", "10.128.0.5");
    assert_eq!(ends, "related 10.128.0.5; actor 198.51.100.9");
    assert_eq!(addresses, ["10.128.0.5"]);
    for (source, destination) in [
        ("10.128.0.5", "198.51.100.9"),
        ("10.128.0.5", "10.128.0.6"),
        ("203.0.113.4", "198.51.100.9"),
    ] {
        let (ends, addresses) = between(source, destination);
        assert!(ends.contains(&format!("remote {destination}")), "{ends}");
        assert!(!ends.contains("actor"), "{ends}");
        assert!(addresses.is_empty());
    }
}
