//! Tests attack sequences: calls, traits and endpoints of their signals.

use super::*;

fn sequence(sequence: Value) -> Alert {
    let service = json!({"detection": {"sequence": sequence}});
    let native = finding(
        "AttackSequence:IAM/CompromisedCredentials",
        json!({"resourceType": "AttackSequence"}),
        service,
    );
    let alert = one_of(&native);
    let mut hub = asff(&native, json!([]));
    // Security Hub has the sequence in a separate field.
    hub["ProductFields"] = json!({"aws/guardduty/service/count": "1"});
    hub["Detection"] = json!({"Sequence": native["service"]["detection"]["sequence"]});
    let hub = one_of(&hub);
    assert_eq!(
        (told(&hub), hub.content),
        (told(&alert), alert.content.clone())
    );
    alert
}

#[test]
fn calls_of_signals_are_told_with_errors_and_agents() {
    let api = |operation: &str, error: Value| {
        json!({"type": "API_CALL", "api": {"operation": operation, "service": "cloudtrail.amazonaws.com",
            "error": error, "userAgent": "kali-tools/1.0"}})
    };
    let alert = sequence(
        json!({"uid": "s", "signals": [{"uid": "1", "type": "CLOUD_TRAIL", "name": "CloudTrail",
        "activities": [api("StopLogging", json!("AccessDenied")), api("DeleteTrail", Value::Null)]}]}),
    );
    insta::assert_snapshot!(told(&alert), @"
    threat | ATTACK_SEQUENCE | -
    operation: cloudtrail.amazonaws.com DeleteTrail
    operation: cloudtrail.amazonaws.com StopLogging
    error_code: AccessDenied (cloudtrail.amazonaws.com StopLogging)
    user_agent: kali-tools/1.0 (cloudtrail.amazonaws.com DeleteTrail)
    user_agent: kali-tools/1.0 (cloudtrail.amazonaws.com StopLogging)
    ");
}

#[test]
fn traits_of_every_type_are_told() {
    let one = |key: &str, value: &str| json!({"key": key, "values": [value]});
    let alert = sequence(
        json!({"uid": "s", "additionalSequenceTypes": ["AttackSequence:EKS/CompromisedCluster"],
        "sequenceIndicators": [
            one("MALICIOUS_PACKAGE", "event-stream@3.3.6"), one("SENSITIVE_DATA", "CREDIT_CARD"),
            one("REACHABILITY", "reachable from the internet"), one("MISCONFIGURATION", "IMDSv1 is allowed"),
            one("HIGH_RISK_API", "iam:CreateAccessKey"), one("SUSPICIOUS_USER_AGENT", "kali/1.0"),
            one("SUSPICIOUS_NETWORK", "Example Hosting"), one("UNUSUAL_ASN_FOR_USER", "64500"),
            one("VULNERABILITY", "CVE-2025-12345"), one("ATTACK_TACTIC", "Impact"), one("NEXT_YEARS_TYPE", "x"),
            {"key": "TOR_IP", "values": [], "title": "Tor was used"}]}),
    );
    insta::assert_snapshot!(told(&alert), @"
    threat | ATTACK_SEQUENCE | -
    related cve CVE-2025-12345
    operation: iam:CreateAccessKey
    user_agent: kali/1.0
    package: event-stream@3.3.6
    exposure: reachable from the internet
    trait: AttackSequence:EKS/CompromisedCluster
    trait: Tor was used
    trait: attack tactic: Impact
    trait: misconfiguration: IMDSv1 is allowed
    trait: next years type: x
    trait: sensitive data: CREDIT_CARD
    trait: suspicious network: Example Hosting
    trait: unusual asn for user: 64500
    ");
}

#[test]
fn ends_sessions_and_networks_of_a_sequence_are_told() {
    let alert = sequence(json!({"uid": "s",
        "actors": [{"id": "a", "user": {"name": "deployer", "uid": "AROAEXAMPLE1:s", "type": "AssumedRole"},
            "session": {"uid": "s", "mfaStatus": "DISABLED", "issuer": "arn:aws:iam::111122223333:role/deployer"}}],
        "endpoints": [{"id": "e", "ip": "2001:DB8::9", "port": 4444, "location": {"city": "Port X", "country": "Nowhere"},
            "autonomousSystem": {"name": "Example Hosting", "number": 64501}, "connection": {"direction": "OUTBOUND"}}],
        "resources": [{"uid": "arn:aws:ec2:eu-west-1:111122223333:network-interface/eni-1", "name": "eni-1",
            "resourceType": "EC2_NETWORK_INTERFACE", "data": {"ec2NetworkInterface": {"publicIp": "198.51.100.7",
            "subNetId": "subnet-1", "vpcId": "vpc-1", "securityGroups": [{"groupId": "sg-1"}]}}},
            {"uid": "arn:aws:s3:::payroll", "name": "payroll", "resourceType": "S3_BUCKET",
            "data": {"s3Bucket": {"effectivePermission": "PUBLIC"}}}]}));
    insta::assert_snapshot!(told(&alert), @"
    threat | ATTACK_SEQUENCE | -
    EC2_NETWORK_INTERFACE arn:aws:ec2:eu-west-1:111122223333:network-interface/eni-1 eni-1
    S3_BUCKET arn:aws:s3:::payroll payroll
    related ip 198.51.100.7
    remote ip 2001:db8::9
    related principal AROAEXAMPLE1:s
    actor principal deployer
    related arn arn:aws:ec2:eu-west-1:111122223333:network-interface/eni-1
    related arn arn:aws:iam::111122223333:role/deployer
    related arn arn:aws:s3:::payroll
    target bucket payroll
    remote_port: 4444 (2001:db8::9)
    direction: outbound (2001:db8::9)
    country: Nowhere (2001:db8::9)
    city: Port X (2001:db8::9)
    asn: AS64501 (2001:db8::9)
    organisation: Example Hosting (2001:db8::9)
    vpc: vpc-1 (arn:aws:ec2:eu-west-1:111122223333:network-interface/eni-1)
    subnet: subnet-1 (arn:aws:ec2:eu-west-1:111122223333:network-interface/eni-1)
    security_group: sg-1 (arn:aws:ec2:eu-west-1:111122223333:network-interface/eni-1)
    auth_result: MFA disabled (deployer)
    exposure: PUBLIC (arn:aws:s3:::payroll)
    ");
}
