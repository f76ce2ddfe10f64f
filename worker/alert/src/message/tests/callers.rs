//! Tests callers: principal, key and address, where the feed writes them together.

use super::bases::{asff, guardduty, guardduty_service, ocsf, scc};
use super::*;
use crate::feed::GenericFeed;

/// Returns the callers, one per line: principal, key, address.
fn told(alert: &Alert) -> String {
    let lines = alert.callers.iter().map(|one| {
        let values = [&one.principal, &one.access_key, &one.address];
        values
            .map(|value| value.as_deref().unwrap_or("-"))
            .join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn callers(finding: &Value) -> String {
    told(&one_of(finding))
}

#[test]
fn call_ties_its_key_to_its_address() {
    assert_eq!(
        callers(&guardduty(json!({}))),
        "ci-inventory ASIAEXAMPLE00000001 198.51.100.23"
    );
    let no_key = json!({"accessKeyDetails": {"userName": "alice", "userType": "IAMUser"}});
    let both = json!({"action": {"awsApiCallAction": {"api": "ListUsers",
        "remoteIpDetails": {"ipAddressV4": "198.51.100.23", "ipAddressV6": "2001:DB8::9"}}}});
    insta::assert_snapshot!(
        callers(&guardduty_service("Discovery:IAMUser/AnomalousBehavior", no_key, both)),
        @"
    alice - 198.51.100.23
    alice - 2001:db8::9
    "
    );
}

#[test]
fn wrappings_of_one_finding_give_the_same_callers() {
    let native = include_str!(
        "../../../../../tests/fixtures/findings/guardduty-native-of-security-hub-v2.json"
    );
    let hub = include_str!("../../../../../tests/fixtures/findings/guardduty-security-hub-v2.json");
    assert_eq!(
        told(&one(native)),
        "ci-automation ASIAEXAMPLEKEY000003 198.51.100.9"
    );
    assert_eq!(told(&one(hub)), told(&one(native)));
    assert_eq!(
        told(&one(sample("securityhub-eventbridge-discovery"))),
        "ci-deployer AKIAEXAMPLE00000001 198.51.100.23"
    );
}

#[test]
fn caller_of_another_account_is_named_with_it() {
    let mut finding = guardduty(json!({}));
    let call = &mut finding["service"]["action"]["awsApiCallAction"];
    call["callerType"] = json!("Remote Account");
    call["remoteAccountDetails"] = json!({"accountId": "999988887777", "affiliated": false});
    assert_eq!(
        callers(&finding),
        "arn:aws:sts::999988887777:assumed-role/ci-inventory/run-1 ASIAEXAMPLE00000001 198.51.100.23"
    );
}

#[test]
fn user_of_a_cluster_or_database_is_tied_to_the_address() {
    let resource = json!({"resourceType": "EKSCluster", "eksClusterDetails": {"name": "pay"},
        "kubernetesDetails": {"kubernetesUserDetails": {"username": "alice"}}});
    let call = |call: Value| json!({"action": {"kubernetesApiCallAction": call}});
    for far_end in [
        json!({"remoteIpDetails": {"ipAddressV4": "198.51.100.70"}}),
        json!({"sourceIps": ["10.0.0.1", "198.51.100.70"]}),
    ] {
        let kind = "Discovery:Kubernetes/AnomalousBehavior.PermissionChecked";
        let finding = guardduty_service(kind, resource.clone(), call(far_end));
        assert_eq!(callers(&finding), "alice - 198.51.100.70");
    }
    let login = json!({"action": {"rdsLoginAttemptAction": {"remoteIpDetails": {"ipAddressV4": "198.51.100.70"},
        "loginAttributes": [{"user": "pay", "successfulLoginAttempts": 1}, {"user": "root", "failedLoginAttempts": 9, "successfulLoginAttempts": 0}]}}});
    let resource = json!({"rdsDbInstanceDetails": {"dbInstanceIdentifier": "db"}, "rdsDbUserDetails": {"user": "pay"}});
    let kind = "CredentialAccess:RDS/AnomalousBehavior.SuccessfulBruteForce";
    let finding = guardduty_service(kind, resource, login);
    assert_eq!(callers(&finding), "pay - 198.51.100.70");
}

#[test]
fn signals_of_a_sequence_tell_whose_end_is_whose() {
    let actor = |id: &str, name: &str, key: &str| json!({"id": id, "user": {"name": name, "credentialUid": key}});
    let end =
        |id: &str, ip: &str| json!({"id": id, "ip": ip, "connection": {"direction": "INBOUND"}});
    let signal =
        |actors: Value, ends: Value| json!({"uid": "s", "actorIds": actors, "endpointIds": ends});
    let sequence = |signals: Value| {
        let sequence = json!({"actors": [actor("a", "alice", "AKIAEXAMPLE00000011"), actor("m", "mallory", "AKIAEXAMPLE00000012")],
            "endpoints": [end("e", "198.51.100.23"), end("f", "203.0.113.66")], "signals": signals});
        let service = json!({"detection": {"sequence": sequence}});
        let kind = "AttackSequence:IAM/CompromisedCredentials";
        callers(&guardduty_service(
            kind,
            json!({"resourceType": "AttackSequence"}),
            service,
        ))
    };
    insta::assert_snapshot!(sequence(json!([signal(json!(["a"]), json!(["e"])), signal(json!(["m"]), json!(["e", "f"]))])), @"
    alice AKIAEXAMPLE00000011 198.51.100.23
    mallory AKIAEXAMPLE00000012 198.51.100.23
    mallory AKIAEXAMPLE00000012 203.0.113.66
    ");
    insta::assert_snapshot!(sequence(json!([signal(json!(["a", "m"]), json!(["e", "f"]))])), @"
    alice AKIAEXAMPLE00000011 -
    mallory AKIAEXAMPLE00000012 -
    ");
}

#[test]
fn access_of_google_ties_all_that_it_names() {
    let key = "0123456789abcdef0123456789abcdef01234567";
    let finding = scc(json!({
        "access": {"principalEmail": "deploy@proj-alpha-1.iam.gserviceaccount.com", "callerIp": "203.0.113.66",
            "serviceAccountKeyName": format!("//iam.googleapis.com/projects/p/serviceAccounts/s/keys/{key}"),
            "serviceAccountDelegationInfo": [{"principalEmail": "mallory@evil.example"}]},
        "sourceProperties": {"properties": {"grant": {"principalEmail": "deploy@proj-alpha-1.iam.gserviceaccount.com"},
            "anomalousLocation": {"callerIp": "198.51.100.9", "principalEmail": "carol@example.com"}}},
    }));
    insta::assert_snapshot!(callers(&finding), @"
    carol@example.com - 198.51.100.9
    deploy@proj-alpha-1.iam.gserviceaccount.com 0123456789abcdef0123456789abcdef01234567 203.0.113.66
    mallory@evil.example 0123456789abcdef0123456789abcdef01234567 203.0.113.66
    ");
}

#[test]
fn evidences_of_ocsf_are_not_put_together() {
    let actor = |name: &str, key: Value| json!({"user": {"name": name, "credential_uid": key}});
    let finding = ocsf(json!({
        "actor": actor("dana", Value::Null), "src_endpoint": {"ip": "198.51.100.1"},
        "evidences": [
            {"actor": actor("ci-inventory", json!("AKIACI00000000000001")), "src_endpoint": {"ip": "198.51.100.23"}},
            {"actor": actor("mallory", Value::Null)}, {"src_endpoint": {"ip": "203.0.113.66"}},
            {"actor": actor("ci-inventory", Value::Null), "src_endpoint": {"ip": "10.0.0.7"},
                "dst_endpoint": {"ip": "203.0.113.9"}, "connection_info": {"direction_id": 2}}],
    }));
    insta::assert_snapshot!(callers(&finding), @"
    ci-inventory AKIACI00000000000001 198.51.100.23
    dana - 198.51.100.1
    mallory - -
    ");
}

#[test]
fn call_of_two_keys_is_tied_to_none() {
    let key = |id: &str, name: &str| json!({"Type": "AwsIamAccessKey", "Id": id, "Details": {"AwsIamAccessKey": {"PrincipalName": name}}});
    let called = json!({"AwsApiCallAction": {"Api": "ListUsers", "RemoteIpDetails": {"IpAddressV4": "198.51.100.23"}}});
    let finding = |resources: Value| asff(json!({"Resources": resources, "Action": called}));
    let one = key("AKIAEXAMPLE00000011", "alice");
    assert_eq!(
        callers(&finding(json!([one]))),
        "alice AKIAEXAMPLE00000011 198.51.100.23"
    );
    insta::assert_snapshot!(callers(&finding(json!([one, key("AKIAEXAMPLE00000012", "mallory")]))), @"
    alice AKIAEXAMPLE00000011 -
    mallory AKIAEXAMPLE00000012 -
    ");
}

#[test]
fn generic_feed_ties_one_of_each() {
    let fields = [
        ("id", "/id"),
        ("type", "/type"),
        ("principal", "/who"),
        ("access_key", "/key"),
        ("actor_ip", "/from"),
    ];
    let feed = GenericFeed {
        name: "acme".to_owned(),
        matches: "/who".to_owned(),
        fields: fields
            .map(|(field, pointer)| (field.to_owned(), pointer.to_owned()))
            .into(),
        ..GenericFeed::default()
    };
    let options = ReadOptions {
        generic: vec![feed],
        ..ReadOptions::default()
    };
    let callers = |who: Value| {
        let finding = json!({"id": "1", "type": "t", "who": who, "key": "AKIAEXAMPLE00000011", "from": "198.51.100.23"});
        let batch = read_message(finding.to_string().as_bytes(), &options).unwrap();
        told(&batch.alerts[0])
    };
    let whole = "alice AKIAEXAMPLE00000011 198.51.100.23";
    assert_eq!(callers(json!("alice")), whole);
    assert_eq!(callers(json!(["alice", "alice"])), whole);
    assert_eq!(callers(json!(["alice", "mallory"])), "");
}

#[test]
fn connection_alone_is_no_caller() {
    let probe = json!({"action": {"portProbeAction": {"portProbeDetails": [{"remoteIpDetails": {"ipAddressV4": "198.51.100.7"}}]}}});
    let resource = json!({"instanceDetails": {"instanceId": "i-0a1b2c3d4e5f60718"}});
    let finding = guardduty_service("Recon:EC2/PortProbeUnprotectedPort", resource, probe);
    assert_eq!(callers(&finding), "");
}
