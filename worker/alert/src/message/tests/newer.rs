//! Tests findings in the formats since 2025 and in the older ones.

use insta::assert_snapshot;

use super::*;

const NATIVE: &str =
    include_str!("../../../../../tests/fixtures/findings/guardduty-native-of-security-hub-v2.json");
const HUB: &str =
    include_str!("../../../../../tests/fixtures/findings/guardduty-security-hub-v2.json");

/// Returns resources and indicators, one per line.
fn told(alert: &Alert) -> String {
    let resources = alert.resources.iter().map(|one| {
        let name = one.name.as_deref().unwrap_or("-");
        format!("{} {} {name}", one.kind, one.id)
    });
    let indicators = alert
        .indicators
        .iter()
        .map(|one| format!("{} {} {}", one.role.as_str(), one.kind, one.value));
    resources.chain(indicators).collect::<Vec<_>>().join("\n")
}

/// Returns the changed Security Hub finding.
fn hub(change: impl FnOnce(&mut Value)) -> Alert {
    let mut message: Value = serde_json::from_str(HUB).unwrap();
    change(&mut message["detail"]["findings"][0]);
    one_of(&message)
}

#[test]
fn guardduty_through_the_newer_security_hub_is_the_same_alert() {
    let (native, through) = (one(NATIVE), one(HUB));
    assert_eq!(through.key, native.key);
    assert_eq!(
        (&through.kind, through.severity, &through.action),
        (&native.kind, native.severity, &native.action)
    );
    assert_eq!(through.content, native.content);
    assert_eq!(
        (through.count, through.times.created),
        (native.count, native.times.created)
    );
    assert_eq!(through.techniques[0].id, "T1562.008");
    assert_snapshot!(told(&through), @"
    AWS::CloudTrail::Trail audit-trail -
    AWS::IAM::AccessKey ASIAEXAMPLEKEY000003 ci-automation
    actor ip 198.51.100.9
    related principal AROAEXAMPLEROLE000003:aws-go-sdk-1753152318418995274
    actor principal ci-automation
    actor access_key ASIAEXAMPLEKEY000003
    ");
}

#[test]
fn newer_security_hub_spellings_of_times_types_users_are_read() {
    let native = one(NATIVE);
    let same = |alert: &Alert| (alert.key == native.key, alert.content == native.content);
    // `GetFindingsV2` writes a category before the type.
    let typed = hub(|finding| {
        finding["finding_info"]["types"] = json!(["Threats", native.kind]);
        finding["resources"][0]["user"] = finding["resources"][0]["data"]["user_name"].take();
    });
    assert_eq!(same(&typed), (true, true));
    let named_in_asff = hub(|finding| {
        finding["finding_info"]["types"] =
            json!(["TTPs/Defense Evasion/Stealth:IAMUser-CloudTrailLoggingDisabled"]);
    });
    assert_eq!(same(&named_in_asff), (true, true));
    let named = hub(|finding| {
        let resource = &mut finding["resources"][0];
        resource["user"] = json!({"name": resource["name"].take()});
        resource["data"] = Value::Null;
        finding["cloud"]["account"] = Value::Null;
    });
    assert_eq!(same(&named), (true, true));
    let dated = hub(|finding| {
        let info = finding["finding_info"].as_object_mut().unwrap();
        info.retain(|key, _| !key.ends_with("_time"));
        info.insert(
            "modified_time_dt".to_owned(),
            json!("2025-07-22T03:02:34.272Z"),
        );
    });
    assert_eq!(
        (dated.times.created, dated.times.updated),
        (native.times.created, native.times.updated)
    );
    let other = hub(|finding| {
        finding["metadata"]["product"] = json!({"name": "Inspector", "vendor_name": "AWS"});
        finding["finding_info"]["types"] = json!(["Vulnerabilities", "CVE"]);
    });
    assert_eq!(other.kind, "CVE");
    assert_eq!(other.action.as_deref(), Some("DeleteTrail"));
}

#[test]
fn ocsf_guardduty_actions_and_endpoints_match_native_ones() {
    let of = |evidence: Value| hub(|finding| finding["evidences"] = json!([evidence])).action;
    let ends = json!({"connection_info": {"direction": "Inbound"}, "src_endpoint": {"ip": "198.51.100.9"},
        "dst_endpoint": {"ip": "10.0.0.7"}});
    assert_eq!(
        of(ends.clone()).as_deref(),
        Some("NETWORK_CONNECTION INBOUND")
    );
    let mut out = ends.clone();
    out["connection_info"] = json!({"direction_id": 2});
    (out["src_endpoint"], out["dst_endpoint"]) =
        (ends["dst_endpoint"].clone(), ends["src_endpoint"].clone());
    assert_eq!(
        of(out.clone()).as_deref(),
        Some("NETWORK_CONNECTION OUTBOUND")
    );
    let alert = hub(|finding| finding["evidences"] = json!([out]));
    assert!(has(
        &alert,
        IndicatorKind::Ip,
        IndicatorRole::Related,
        "10.0.0.7"
    ));
    assert!(has(
        &alert,
        IndicatorKind::Ip,
        IndicatorRole::Remote,
        "198.51.100.9"
    ));
    let asked = json!({"query": {"hostname": "pool.example.com"}});
    assert_eq!(of(asked).as_deref(), Some("DNS_REQUEST"));
    let ran = json!({"process": {"name": "xmrig"}});
    assert_eq!(of(ran).as_deref(), Some("RUNTIME xmrig"));
    let alert = hub(|finding| finding["evidences"] = json!([ends]));
    assert!(has(
        &alert,
        IndicatorKind::Ip,
        IndicatorRole::Actor,
        "198.51.100.9"
    ));
    assert!(has(
        &alert,
        IndicatorKind::Ip,
        IndicatorRole::Related,
        "10.0.0.7"
    ));
    let sequence = hub(|finding| {
        finding["finding_info"]["types"] =
            json!(["Threats", "AttackSequence:EC2/CompromisedInstanceGroup"]);
        finding["finding_info"]["traits"] =
            json!([{"name": "MALICIOUS_DOMAIN", "values": ["c2.example.com"]}]);
    });
    assert_eq!(sequence.action.as_deref(), Some("ATTACK_SEQUENCE"));
    assert!(has(
        &sequence,
        IndicatorKind::Domain,
        IndicatorRole::Remote,
        "c2.example.com"
    ));
}

#[test]
fn a_recovery_point_and_what_was_found_in_it_are_named() {
    let text = include_str!("../../../../../tests/fixtures/findings/guardduty-recovery-point.json");
    assert_snapshot!(told(&one(text)), @r"
    RecoveryPoint arn:aws:backup:us-east-1:111122223333:recovery-point:8f6d2b7e prod
    related hash 275a021bbfb6489e54d471899f7db9d1663fc695ec2fe2a2c4538aabf651fd0f
    target arn arn:aws:backup:us-east-1:111122223333:recovery-point:8f6d2b7e
    related file s3://data/eicar.txt
    ");
}

#[test]
fn an_attack_sequence_names_pools_miners_and_files() {
    let text =
        include_str!("../../../../../tests/fixtures/findings/guardduty-attack-sequence.json");
    assert_snapshot!(told(&one(text)), @r"
    EC2_INSTANCE arn:aws:ec2:us-east-1:111122223333:instance/i-0abc12345678def01 i-0abc12345678def01
    remote ip 198.51.100.77
    remote domain pool.minexmr.com
    related arn arn:aws:ec2:us-east-1:111122223333:instance/i-0abc12345678def01
    target instance i-0abc12345678def01
    related process xmrig
    related file /tmp/xmrig
    ");
}

#[test]
fn newer_resources_of_guardduty_are_read() {
    let mut value: Value = serde_json::from_str(NATIVE).unwrap();
    value["detail"]["resource"] = json!({
        "resourceType": "EC2Image",
        "ebsSnapshotDetails": {"snapshotArn": "arn:aws:ec2:eu-west-1:1:snapshot/snap-1"},
        "ec2ImageDetails": {"imageArn": "arn:aws:ec2:eu-west-1:1:image/ami-1"},
        "bedrockGuardrailDetails": {"guardrails": [{"arn": "arn:aws:bedrock:eu-west-1:1:guardrail/g1", "version": "1"}]},
        "modelDetails": [{"modelId": "anthropic.some-model-v1"}],
    });
    value["detail"]["service"]["runtimeDetails"] = json!({"process": {"name": "dd"},
        "context": {"filePath": "/etc/shadow", "relatedFilePaths": ["/etc/passwd"]}});
    assert_snapshot!(told(&one_of(&value)), @"
    EC2Image arn:aws:ec2:eu-west-1:1:image/ami-1 ami-1
    EBSSnapshot arn:aws:ec2:eu-west-1:1:snapshot/snap-1 -
    BedrockGuardrail arn:aws:bedrock:eu-west-1:1:guardrail/g1 -
    BedrockModel anthropic.some-model-v1 -
    AWS::CloudTrail::Trail audit-trail -
    actor ip 198.51.100.9
    target arn arn:aws:bedrock:eu-west-1:1:guardrail/g1
    target arn arn:aws:ec2:eu-west-1:1:image/ami-1
    target arn arn:aws:ec2:eu-west-1:1:snapshot/snap-1
    target image ami-1
    related process dd
    related file /etc/passwd
    related file /etc/shadow
    ");
}
