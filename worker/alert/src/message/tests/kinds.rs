//! Tests kinds of findings beyond the samples: actions, resource types, sequences, classes, and generic feeds.

use super::*;
use crate::feed::GenericFeed;
use crate::{CloudProvider, Severity};

/// Returns a GuardDuty finding with this action and resource.
fn guardduty(action: Value, resource: Value) -> Alert {
    let mut value = parsed("guardduty-eventbridge-credential-exfiltration");
    value["detail"]["service"]["action"] = action;
    value["detail"]["resource"] = resource;
    one_of(&value)
}

#[test]
fn guardduty_network_roles_follow_the_direction() {
    let connection = |direction: &str| {
        guardduty(
            json!({"actionType": "NETWORK_CONNECTION", "networkConnectionAction": {
                "connectionDirection": direction, "remoteIpDetails": {"ipAddressV4": "198.51.100.9"},
                "localIpDetails": {"ipAddressV4": "10.0.0.4"}}}),
            json!({"resourceType": "Instance", "instanceDetails": {"instanceId": "i-1"}}),
        )
    };
    let inbound = connection("INBOUND");
    assert_eq!(
        inbound.action.as_deref(),
        Some("NETWORK_CONNECTION INBOUND")
    );
    assert!(has(
        &inbound,
        IndicatorKind::Ip,
        IndicatorRole::Actor,
        "198.51.100.9"
    ));
    let outbound = connection("OUTBOUND");
    assert!(has(
        &outbound,
        IndicatorKind::Ip,
        IndicatorRole::Remote,
        "198.51.100.9"
    ));
    assert!(has(
        &outbound,
        IndicatorKind::Ip,
        IndicatorRole::Related,
        "10.0.0.4"
    ));
}

#[test]
fn guardduty_port_probe_names_every_scanner() {
    let alert = guardduty(
        json!({"actionType": "PORT_PROBE", "portProbeAction": {"blocked": false, "portProbeDetails": [
            {"localPortDetails": {"port": 22}, "remoteIpDetails": {"ipAddressV4": "198.51.100.1"}},
            {"localPortDetails": {"port": 80}, "remoteIpDetails": {"ipAddressV4": "198.51.100.2"}}]}}),
        json!({"resourceType": "Instance", "instanceDetails": {"instanceId": "i-1"}}),
    );
    assert_eq!(alert.with_role(IndicatorRole::Actor).count(), 2);
    assert_eq!(alert.action.as_deref(), Some("PORT_PROBE"));
}

#[test]
fn guardduty_kubernetes_calls_have_user_verb_and_cluster() {
    let alert = guardduty(
        json!({"actionType": "KUBERNETES_API_CALL", "kubernetesApiCallAction": {"verb": "list", "resource": "secrets",
            "requestUri": "/api/v1/secrets", "sourceIps": ["198.51.100.5"], "remoteIpDetails": null}}),
        json!({"resourceType": "EKSCluster", "eksClusterDetails": {"name": "prod", "arn": "arn:aws:eks:eu-west-1:1:cluster/prod"},
            "kubernetesDetails": {"kubernetesUserDetails": {"username": "system:anonymous", "groups": ["system:unauthenticated"]}}}),
    );
    assert_eq!(
        alert.action.as_deref(),
        Some("KUBERNETES_API_CALL list secrets")
    );
    assert!(has(
        &alert,
        IndicatorKind::Principal,
        IndicatorRole::Actor,
        "system:anonymous"
    ));
    assert!(has(
        &alert,
        IndicatorKind::Ip,
        IndicatorRole::Actor,
        "198.51.100.5"
    ));
    assert!(has(
        &alert,
        IndicatorKind::Cluster,
        IndicatorRole::Target,
        "prod"
    ));
}

#[test]
fn address_set_by_a_kubernetes_client_is_no_actor() {
    let roles = |details: Value| {
        let alert = guardduty(
            json!({"actionType": "KUBERNETES_API_CALL", "kubernetesApiCallAction": {"verb": "list", "resource": "secrets",
                "sourceIps": ["192.0.2.77", "10.0.3.4", "203.0.113.5"], "remoteIpDetails": details}}),
            json!({"resourceType": "EKSCluster", "eksClusterDetails": {"name": "prod"}}),
        );
        let addresses = alert.indicators.iter();
        // The sample's description contains an address of its own.
        let addresses =
            addresses.filter(|one| one.kind == IndicatorKind::Ip && one.value != "203.0.113.42");
        let roles = addresses.map(|one| format!("{} {}", one.role.as_str(), one.value));
        roles.collect::<Vec<_>>().join("; ")
    };
    let last = "related 10.0.3.4; related 192.0.2.77; actor 203.0.113.5";
    assert_eq!(roles(json!({"ipAddressV4": "203.0.113.5"})), last);
    assert_eq!(roles(Value::Null), last);
    assert_eq!(
        roles(json!({"ipAddressV4": "198.51.100.5"})),
        "related 10.0.3.4; related 192.0.2.77; actor 198.51.100.5; related 203.0.113.5"
    );
}

#[test]
fn guardduty_databases_functions_buckets_and_tasks_are_targets() {
    let login = guardduty(
        json!({"actionType": "RDS_LOGIN_ATTEMPT", "rdsLoginAttemptAction": {"remoteIpDetails": {"ipAddressV4": "198.51.100.5"},
            "LoginAttributes": [{"user": "root", "successfulLoginAttempts": 1}]}}),
        json!({"resourceType": "RDSDBInstance", "rdsDbInstanceDetails": {"dbInstanceIdentifier": "orders",
            "dbInstanceArn": "arn:aws:rds:eu-west-1:1:db:orders"}, "rdsDbUserDetails": {"user": "root"}}),
    );
    assert!(has(
        &login,
        IndicatorKind::Database,
        IndicatorRole::Target,
        "orders"
    ));
    assert!(has(
        &login,
        IndicatorKind::Principal,
        IndicatorRole::Actor,
        "root"
    ));
    let function = guardduty(
        json!({}),
        json!({"resourceType": "Lambda", "lambdaDetails": {"functionName": "pay",
        "functionArn": "arn:aws:lambda:eu-west-1:1:function:pay"}}),
    );
    assert!(has(
        &function,
        IndicatorKind::Function,
        IndicatorRole::Target,
        "pay"
    ));
    assert_eq!(function.action, None);
    let bucket = guardduty(
        json!(null),
        json!({"resourceType": "S3Bucket",
        "s3BucketDetails": [{"name": "payroll", "arn": "arn:aws:s3:::payroll", "tags": [{"key": "env", "value": "prod"}]}]}),
    );
    assert!(has(
        &bucket,
        IndicatorKind::Bucket,
        IndicatorRole::Target,
        "payroll"
    ));
    assert_eq!(bucket.resources[0].tags["env"], "prod");
    let task = guardduty(
        json!({}),
        json!({"resourceType": "ECSCluster", "ecsClusterDetails": {"name": "c", "arn": "arn:aws:ecs:x:1:cluster/c",
        "taskDetails": {"arn": "arn:aws:ecs:x:1:task/c/9", "containers": [{"name": "app", "image": "nginx"}]}}}),
    );
    assert!(has(
        &task,
        IndicatorKind::Cluster,
        IndicatorRole::Target,
        "c"
    ));
    assert!(has(
        &task,
        IndicatorKind::Container,
        IndicatorRole::Target,
        "app"
    ));
}

#[test]
fn guardduty_malware_scans_name_files_and_digests() {
    let mut value = parsed("guardduty-finding");
    value["Service"]["Action"] = json!({});
    value["Service"]["EbsVolumeScanDetails"] = json!({"ScanDetections": {"ThreatDetectedByName": {"ThreatNames": [
        {"Name": "EICAR", "FilePaths": [{"FilePath": "/tmp/eicar.com", "Hash": "ab".repeat(32), "VolumeArn": "arn:aws:ec2:x:1:volume/vol-1"}]}]}}});
    let alert = one_of(&value);
    assert_eq!(alert.action.as_deref(), Some("MALWARE_SCAN"));
    assert!(has(
        &alert,
        IndicatorKind::File,
        IndicatorRole::Related,
        "/tmp/eicar.com"
    ));
    assert!(has(
        &alert,
        IndicatorKind::Hash,
        IndicatorRole::Related,
        &"ab".repeat(32)
    ));
}

#[test]
fn guardduty_attack_sequences_tie_signals_together() {
    let mut value = parsed("guardduty-eventbridge-credential-exfiltration");
    let detail = &mut value["detail"];
    detail["type"] = json!("AttackSequence:S3/CompromisedData");
    detail["severity"] = json!(9.0);
    detail["resource"] = json!({"resourceType": "AttackSequence"});
    detail["service"] = json!({"serviceName": "guardduty", "count": 1, "detection": {"sequence": {
        "uid": "s", "description": "A potential data compromise.",
        "actors": [{"id": "a", "user": {"name": "deployer", "uid": "AROA1", "type": "AssumedRole", "credentialUid": "ASIAEXAMPLEKEY000009"}}],
        "endpoints": [{"id": "e", "ip": "203.0.113.9", "connection": {"direction": "INBOUND"}}, {"id": "f", "domain": "exfil.example.com", "connection": {"direction": "OUTBOUND"}}],
        "resources": [
            {"uid": "arn:aws:s3:::payroll", "name": "payroll", "resourceType": "S3_BUCKET", "tags": [], "data": {"s3Bucket": {}}},
            {"uid": "arn:aws:ec2:eu-west-1:1:instance/i-7", "resourceType": "EC2_INSTANCE", "data": {"ec2Instance": {}}}],
        "signals": [
            {"uid": "1", "type": "FINDING", "firstSeenAt": 1_772_419_000.5, "lastSeenAt": 1_772_419_100, "signalIndicators": [{"key": "ATTACK_TECHNIQUE", "values": ["T1078.004 - Valid Accounts: Cloud Accounts"]}]},
            {"uid": "2", "type": "CLOUD_TRAIL", "firstSeenAt": 1_772_418_000, "lastSeenAt": 1_772_420_000}],
        "sequenceIndicators": [{"key": "ATTACK_TECHNIQUE", "values": ["T1485"]}, {"key": "MALICIOUS_IP", "values": ["203.0.113.10"]}],
    }}});
    let alert = one_of(&value);
    assert_eq!(alert.severity, Severity::Critical);
    assert_eq!(alert.action.as_deref(), Some("ATTACK_SEQUENCE"));
    for (kind, role, value) in [
        (IndicatorKind::Principal, IndicatorRole::Actor, "deployer"),
        (
            IndicatorKind::AccessKey,
            IndicatorRole::Actor,
            "ASIAEXAMPLEKEY000009",
        ),
        (IndicatorKind::Ip, IndicatorRole::Actor, "203.0.113.9"),
        (IndicatorKind::Ip, IndicatorRole::Actor, "203.0.113.10"),
        (
            IndicatorKind::Domain,
            IndicatorRole::Remote,
            "exfil.example.com",
        ),
        (IndicatorKind::Bucket, IndicatorRole::Target, "payroll"),
        (IndicatorKind::Instance, IndicatorRole::Target, "i-7"),
    ] {
        assert!(
            has(&alert, kind, role, value),
            "{kind} {value}: {:#?}",
            alert.indicators
        );
    }
    assert_eq!(
        alert
            .techniques
            .iter()
            .map(|t| t.id.as_str())
            .collect::<Vec<_>>(),
        ["T1078.004", "T1485"]
    );
    assert_eq!(
        alert.techniques[0].name.as_deref(),
        Some("Valid Accounts: Cloud Accounts")
    );
    assert_eq!(alert.times.first_seen.unwrap().timestamp(), 1_772_418_000);
    assert_eq!(alert.times.last_seen.unwrap().timestamp(), 1_772_420_000);
}

#[test]
fn scc_reads_every_class_and_list_results() {
    for class in [
        "THREAT",
        "VULNERABILITY",
        "MISCONFIGURATION",
        "OBSERVATION",
        "SCC_ERROR",
        "POSTURE_VIOLATION",
        "TOXIC_COMBINATION",
        "SENSITIVE_DATA_RISK",
        "CHOKEPOINT",
        "SOMETHING_NEW",
    ] {
        let mut value = parsed("scc-crypto-miner");
        value["finding"]["findingClass"] = json!(class);
        value["finding"]["mitreAttack"] =
            json!({"primaryTactic": "IMPACT", "primaryTechniques": ["DATA_DESTRUCTION"]});
        let alert = one_of(&json!({"listFindingsResults": [value]}));
        assert_eq!(alert.class_sent.as_deref(), Some(class));
        assert!(
            alert
                .techniques
                .iter()
                .any(|technique| technique.id == "T1485")
        );
    }
}

#[test]
fn ocsf_guardduty_takes_guardduty_s_key_and_evidence_has_roles() {
    let alert = one_of(&json!({
        "class_uid": 2004, "activity_id": 1, "severity_id": 5, "status_id": 1, "time": 1_772_420_400_000_u64,
        "metadata": {"product": {"name": "GuardDuty", "vendor_name": "Amazon"}, "version": "1.5.0"},
        "finding_info": {"uid": "arn:aws:guardduty:eu-west-1:444455556666:detector/1/finding/b7d1", "title": "t",
            "types": ["Discovery:IAMUser/AnomalousBehavior"]},
        "evidences": [{"src_endpoint": {"ip": "198.51.100.23"}, "dst_endpoint": {"hostname": "pool.example.com"},
            "actor": {"user": {"name": "ci", "credential_uid": "AKIAEXAMPLE00000001"}}, "api": {"operation": "ListUsers"},
            "process": {"name": "sh", "file": {"path": "/bin/sh", "hashes": [{"value": "cd".repeat(20)}]}}}],
        "resources": [{"uid": "arn:aws:ec2:eu-west-1:444455556666:instance/i-9", "type": "AWS::EC2::Instance", "tags": [{"name": "env", "value": "prod"}]}],
        "cloud": {"provider": "AWS", "account": {"uid": "444455556666"}, "region": "eu-west-1"},
    }));
    assert_eq!(alert.key.to_string(), "guardduty/444455556666/b7d1");
    assert_eq!(
        (alert.severity, alert.action.as_deref()),
        (Severity::Critical, Some("AWS_API_CALL ListUsers"))
    );
    assert_eq!(alert.resources[0].tags["env"], "prod");
    for (kind, role, value) in [
        (IndicatorKind::Ip, IndicatorRole::Actor, "198.51.100.23"),
        (
            IndicatorKind::AccessKey,
            IndicatorRole::Actor,
            "AKIAEXAMPLE00000001",
        ),
        (
            IndicatorKind::Domain,
            IndicatorRole::Remote,
            "pool.example.com",
        ),
        (IndicatorKind::Instance, IndicatorRole::Target, "i-9"),
        (
            IndicatorKind::Hash,
            IndicatorRole::Related,
            &"cd".repeat(20),
        ),
    ] {
        assert!(
            has(&alert, kind, role, value),
            "{kind} {value}: {:#?}",
            alert.indicators
        );
    }
}

fn edr() -> GenericFeed {
    let fields = [
        ("id", "/alert/id"),
        ("type", "/rule/name"),
        ("title", "/rule/title"),
        ("severity", "/rule/level"),
        ("account", "/tenant"),
        ("time", "/at"),
        ("actor_ip", "/net/src"),
        ("domain", "/net/names"),
        ("target", "/host/id"),
        ("hash", "/file/sha256"),
        ("provider", "/cloud"),
    ];
    GenericFeed {
        name: "edr".to_owned(),
        matches: "/vendor".to_owned(),
        fields: fields
            .iter()
            .map(|(field, pointer)| ((*field).to_owned(), (*pointer).to_owned()))
            .collect(),
        ..GenericFeed::default()
    }
}

#[test]
fn generic_feeds_read_by_pointers() {
    let feed = edr();
    assert_eq!(feed.faults(), [""; 0]);
    let options = ReadOptions {
        generic: vec![feed],
        ..ReadOptions::default()
    };
    let message = json!({"vendor": "acme", "alert": {"id": 77}, "rule": {"name": "Beacon", "title": "Beaconing", "level": 85},
        "tenant": "t-1", "at": 1_772_419_272.25, "net": {"src": "198[.]51[.]100[.]8", "names": ["a.example.com", "b.example.com"]},
        "host": {"id": "web-1"}, "file": {"sha256": "EF".repeat(32)}, "cloud": "azure"});
    let batch = read_message(message.to_string().as_bytes(), &options).unwrap();
    let alert = &batch.alerts[0];
    assert_eq!(alert.key.to_string(), "edr/t-1/77");
    assert_eq!(
        (alert.feed.as_str(), alert.severity, alert.provider),
        ("edr", Severity::High, CloudProvider::Azure)
    );
    assert!(has(
        alert,
        IndicatorKind::Ip,
        IndicatorRole::Actor,
        "198.51.100.8"
    ));
    assert!(has(
        alert,
        IndicatorKind::Domain,
        IndicatorRole::Remote,
        "b.example.com"
    ));
    assert!(has(
        alert,
        IndicatorKind::Instance,
        IndicatorRole::Target,
        "web-1"
    ));
    assert!(has(
        alert,
        IndicatorKind::Hash,
        IndicatorRole::Related,
        &"ef".repeat(32)
    ));
    let error = read_message(br#"{"vendor": "acme", "alert": {"id": {}}}"#, &options).unwrap_err();
    insta::assert_snapshot!(error.to_string(), @"edr at /alert/id: expected the finding's id (the feed's fields.id points there), found an empty object; a finding without it cannot be told from others");
}

#[test]
fn faults_of_a_generic_feed_are_named() {
    let mut feed = edr();
    feed.fields.remove("id");
    feed.fields.insert("colour".to_owned(), "/c".to_owned());
    feed.fields.insert("url".to_owned(), "c".to_owned());
    assert_eq!(feed.unknown_fields().collect::<Vec<_>>(), ["colour"]);
    assert_eq!(
        feed.faults(),
        [
            "url = \"c\" is no JSON pointer: begin with `/`",
            "id is needed",
        ]
    );
}

#[test]
fn cloud_events_in_binary_mode_are_told_by_attributes() {
    let mut options = ReadOptions::default();
    options
        .attributes
        .insert("ce-specversion".to_owned(), "1.0".to_owned());
    let batch = read_message(sample("guardduty-finding").as_bytes(), &options).unwrap();
    assert_eq!(batch.envelopes, ["cloudevents"]);
    assert_eq!(batch.alerts[0].key, one(sample("guardduty-finding")).key);
}

/// Returns a brute force against a database with the user name `qualys-scan`.
fn login(kind: &str, attributes: Value) -> Alert {
    let mut value = parsed("guardduty-eventbridge-credential-exfiltration");
    let detail = &mut value["detail"];
    detail["type"] = json!(kind);
    detail["resource"] = json!({"resourceType": "RDSDBInstance",
        "rdsDbInstanceDetails": {"dbInstanceIdentifier": "orders"}, "rdsDbUserDetails": {"user": "qualys-scan"}});
    detail["service"]["action"] = json!({"actionType": "RDS_LOGIN_ATTEMPT", "rdsLoginAttemptAction": {
        "remoteIpDetails": {"ipAddressV4": "198.51.100.5"}, "loginAttributes": [attributes]}});
    one_of(&value)
}

#[test]
fn a_name_that_somebody_tried_is_nobody_who_acted() {
    let failed = "CredentialAccess:RDS/AnomalousBehavior.FailedLogin";
    let successful = "CredentialAccess:RDS/AnomalousBehavior.SuccessfulLogin";
    for (kind, attributes, role) in [
        (
            failed,
            json!({"user": "qualys-scan", "failedLoginAttempts": 900, "successfulLoginAttempts": 0}),
            IndicatorRole::Related,
        ),
        (
            failed,
            json!({"user": "qualys-scan", "failedLoginAttempts": 900}),
            IndicatorRole::Related,
        ),
        (
            successful,
            json!({"user": "qualys-scan", "failedLoginAttempts": 900, "successfulLoginAttempts": 1}),
            IndicatorRole::Actor,
        ),
        (
            successful,
            json!({"user": "qualys-scan"}),
            IndicatorRole::Actor,
        ),
    ] {
        let alert = login(kind, attributes);
        assert!(
            has(&alert, IndicatorKind::Principal, role, "qualys-scan"),
            "{kind}: {:?}",
            alert.indicators
        );
        assert!(has(
            &alert,
            IndicatorKind::Ip,
            IndicatorRole::Actor,
            "198.51.100.5"
        ));
    }
}

#[test]
fn security_hub_keeps_each_of_many_resources() {
    let mut value = parsed("securityhub-eventbridge-discovery");
    let finding = &mut value["detail"]["findings"][0];
    let resource = |kind: &str, id: &str| json!({"Type": kind, "Id": id});
    finding["Resources"] = json!([
        resource("AwsS3Bucket", "arn:aws:s3:::public-site"),
        resource("AwsS3Bucket", "arn:aws:s3:::payroll-secrets"),
        resource(
            "AwsLambdaFunction",
            "arn:aws:lambda:eu-west-1:1:function:one"
        ),
        resource(
            "AwsLambdaFunction",
            "arn:aws:lambda:eu-west-1:1:function:two"
        ),
    ]);
    let alert = one_of(&value);
    for (kind, value) in [
        (IndicatorKind::Bucket, "public-site"),
        (IndicatorKind::Bucket, "payroll-secrets"),
        (IndicatorKind::Function, "one"),
        (IndicatorKind::Function, "two"),
    ] {
        assert!(
            has(&alert, kind, IndicatorRole::Target, value),
            "{value}: {:?}",
            alert.indicators
        );
    }
    assert_eq!(alert.resources.len(), 4, "{:?}", alert.resources);
}

#[test]
fn only_guardduty_says_in_a_title_that_nothing_happened() {
    let title = json!("[SAMPLE] Invoice 4711.pdf.exe");
    let mut ocsf = parsed("ocsf-impossible-travel");
    ocsf["finding_info"]["title"] = title.clone();
    assert!(!one_of(&ocsf).is_sample());
    ocsf["metadata"]["product"] = json!({"name": "GuardDuty", "vendor_name": "AWS"});
    assert!(one_of(&ocsf).is_sample());

    let mut hub = parsed("securityhub-eventbridge-discovery");
    let finding = &mut hub["detail"]["findings"][0];
    finding["Title"] = title;
    assert!(one_of(&hub).is_sample());
    hub["detail"]["findings"][0]["ProductArn"] =
        json!("arn:aws:securityhub:eu-west-1::product/mail-shield/edr");
    assert!(!one_of(&hub).is_sample());
}
