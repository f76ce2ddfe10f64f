//! Tests that one finding has one key and one content in every wrapping.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use super::*;

/// A transport's envelope.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wrapping {
    Text,
    Sns,
    EventBridge,
    PubSub,
    CloudEvent,
    CloudEventBase64,
    List,
    Findings,
    Pascal,
}

pub(super) fn wrap(wrap: Wrapping, inner: &Value) -> Value {
    match wrap {
        Wrapping::Text => Value::String(inner.to_string()),
        Wrapping::Sns => {
            json!({"Type": "Notification", "MessageId": "m", "TopicArn": "arn:aws:sns:eu-west-1:1:t",
            "Message": inner.to_string(), "SubscribeURL": "https://sns.evil.example/confirm"})
        }
        Wrapping::EventBridge => {
            json!({"version": "0", "detail-type": "Some Finding", "source": "x", "detail": inner})
        }
        Wrapping::PubSub => {
            json!({"message": {"data": STANDARD.encode(inner.to_string()), "messageId": "1"}, "subscription": "s"})
        }
        Wrapping::CloudEvent => {
            json!({"specversion": "1.0", "type": "t", "source": "/s", "id": "1", "data": inner})
        }
        Wrapping::CloudEventBase64 => {
            json!({"specversion": "1.0", "type": "t", "source": "/s", "id": "1",
            "data_base64": STANDARD.encode(inner.to_string())})
        }
        Wrapping::List => json!([inner]),
        Wrapping::Findings => json!({"Findings": [inner]}),
        Wrapping::Pascal => pascal(inner),
    }
}

/// Returns the same JSON with `PascalCase` keys.
fn pascal(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, inner)| {
                let mut letters = key.chars();
                let first = letters.next().unwrap().to_ascii_uppercase();
                (format!("{first}{}", letters.as_str()), pascal(inner))
            })
            .collect(),
        Value::Array(items) => items.iter().map(pascal).collect(),
        other => other.clone(),
    }
}

fn findings() -> Vec<Value> {
    vec![
        parsed("guardduty-finding"),
        parsed("guardduty-eventbridge-credential-exfiltration")["detail"].clone(),
        parsed("scc-crypto-miner"),
        parsed("securityhub-eventbridge-discovery")["detail"]["findings"][0].clone(),
        parsed("ocsf-impossible-travel"),
    ]
}

#[test]
fn r1_pascal_and_camel_case_are_one_finding() {
    let camel = parsed("guardduty-eventbridge-credential-exfiltration")["detail"].clone();
    let (left, right) = (one_of(&camel), one_of(&wrap(Wrapping::Pascal, &camel)));
    assert_eq!(
        (left.key, left.content, left.indicators),
        (right.key, right.content, right.indicators)
    );
    assert_eq!(
        (left.kind, left.title, left.times, left.resources),
        (right.kind, right.title, right.times, right.resources)
    );
}

/// Compares content hashes with fixed values. The hashes are stored, so a change here makes a new revision of every
/// open case.
#[test]
fn contents_are_as_they_are_stored() {
    let content = |name: &str| one(sample(name)).content.0;
    insta::assert_snapshot!(content("scc-crypto-miner"), @"1a5218f8cf6a93131ad71da5042f95feb8fbef2dda15251c2cd568c1dc5d14ff");
    insta::assert_snapshot!(content("guardduty-finding"), @"52ec6203fea9a6cc4aea6f50354706f6a60d18f1c3d2aea5ada22e6f5df6a311");
    insta::assert_snapshot!(content("ocsf-impossible-travel"), @"794ec8fa5a8a94a9ebcffc0a891d099bc3f6f84ead213b9c672287f5546473aa");
}

#[test]
fn content_ignores_counters_times_and_texts_but_not_facts() {
    let before = one(sample("guardduty-finding"));
    let changed = |pointer: &str, value: Value| {
        let mut finding = parsed("guardduty-finding");
        *finding.pointer_mut(pointer).unwrap() = value;
        one_of(&finding)
    };
    for (pointer, value) in [
        ("/Service/Count", json!(99)),
        ("/Service/EventLastSeen", json!("2026-01-01T00:00:00Z")),
        ("/UpdatedAt", json!("2026-01-01T00:00:00Z")),
        ("/CreatedAt", json!(1_772_419_272.5)),
        ("/Title", json!("Another title")),
    ] {
        assert_eq!(changed(pointer, value).content, before.content, "{pointer}");
    }
    // A23: an earlier id with other facts is a material change.
    for (pointer, value) in [
        ("/Severity", json!(2)),
        ("/Type", json!("Other:EC2/Type")),
        ("/Service/Archived", json!(true)),
        (
            "/Service/Action/DnsRequestAction/Domain",
            json!("other.example.com"),
        ),
        ("/Resource/InstanceDetails/InstanceId", json!("i-2")),
    ] {
        let after = changed(pointer, value);
        assert_eq!(after.key, before.key);
        assert_ne!(after.content, before.content, "{pointer}");
    }
}

/// Returns the credential exfiltration in Security Hub's format.
fn asff_of_exfiltration() -> Value {
    let arn = "arn:aws:guardduty:eu-west-1:444455556666:detector/12abc34d567e8fa901bc2d34e56789f0/finding/a4c9b1d2e3f405162738495a6b7c8d9e";
    json!({
        "SchemaVersion": "2018-10-08", "Id": arn, "AwsAccountId": "444455556666", "Region": "eu-west-1",
        "ProductArn": "arn:aws:securityhub:eu-west-1::product/aws/guardduty", "ProductName": "GuardDuty",
        "GeneratorId": "arn:aws:guardduty:eu-west-1:444455556666:detector/12abc34d567e8fa901bc2d34e56789f0",
        "Types": ["Effects/Data Exfiltration/UnauthorizedAccess:IAMUser-InstanceCredentialExfiltration.OutsideAWS"],
        "FirstObservedAt": "2026-03-02T02:29:51.000Z", "LastObservedAt": "2026-03-02T02:38:40.000Z",
        "CreatedAt": "2026-03-02T02:36:02.118Z", "UpdatedAt": "2026-03-02T02:40:55.907Z",
        "Severity": {"Product": 8, "Label": "HIGH", "Normalized": 70},
        "Title": "Credentials were used from an external IP address.", "Description": "From 203.0.113.42.",
        "ProductFields": {
            "aws/guardduty/service/action/actionType": "AWS_API_CALL",
            "aws/guardduty/service/action/awsApiCallAction/api": "ListBuckets",
            "aws/guardduty/service/action/awsApiCallAction/remoteIpDetails/ipAddressV4": "203.0.113.42",
            "aws/guardduty/service/archived": "false",
            "aws/guardduty/service/count": "14",
            "aws/securityhub/FindingId": format!("arn:aws:securityhub:eu-west-1::product/aws/guardduty/{arn}"),
        },
        "Resources": [
            {"Type": "AwsIamAccessKey", "Id": "AWS::IAM::AccessKey:ASIAEXAMPLEKEY000001", "Details": {"AwsIamAccessKey": {
                "PrincipalId": "AROAEXAMPLEROLE000001:i-0a1b2c3d4e5f60718", "PrincipalType": "AssumedRole", "PrincipalName": "prod-payments-worker"}}},
            {"Type": "AwsEc2Instance", "Id": "arn:aws:ec2:eu-west-1:444455556666:instance/i-0a1b2c3d4e5f60718",
                "Tags": {"owner": "team-payments"}, "Details": {"AwsEc2Instance": {"IpV4Addresses": ["10.20.31.7", "52.18.4.201"]}}},
        ],
        "Workflow": {"Status": "NEW"}, "RecordState": "ACTIVE",
    })
}

#[test]
fn guardduty_through_security_hub_is_the_same_alert() {
    let native = one(sample("guardduty-eventbridge-credential-exfiltration"));
    let hub = one_of(&asff_of_exfiltration());
    assert_eq!(hub.key, native.key);
    assert_eq!(hub.kind, native.kind);
    assert_eq!(
        (hub.severity, hub.count, hub.times),
        (native.severity, native.count, native.times)
    );
    assert_eq!(hub.content, native.content);
    assert_eq!(hub.resources[1].tags["owner"], "team-payments");
    // The same with `Action` in addition to product fields.
    let mut value = asff_of_exfiltration();
    value["ProductFields"] = Value::Null;
    value["Action"] = json!({"ActionType": "AWS_API_CALL", "AwsApiCallAction": {"Api": "ListBuckets",
        "CallerType": "remoteIp", "RemoteIpDetails": {"IpAddressV4": "203.0.113.42"}}});
    assert_eq!(one_of(&value).content, native.content);
}

#[test]
fn a_fourth_envelope_is_refused() {
    for kind in [
        Wrapping::Sns,
        Wrapping::EventBridge,
        Wrapping::PubSub,
        Wrapping::CloudEvent,
        Wrapping::CloudEventBase64,
    ] {
        let nested = (0..4).fold(parsed("guardduty-finding"), |inner, _| wrap(kind, &inner));
        let error = error(&nested.to_string());
        assert!(
            matches!(error, ReadError::TooNested { limit: 3, .. }),
            "{kind:?}: {error}"
        );
    }
}

/// Findings of a generic feed with lists and envelopes that an attacker adds within or beside them.
#[test]
fn a23_a_finding_with_a_list_or_an_envelope_in_it_is_never_lost() {
    let options = ReadOptions {
        generic: vec![GenericFeed {
            name: "edr".to_owned(),
            matches: "/edr_rule".to_owned(),
            fields: [("id", "/id"), ("type", "/edr_rule")]
                .map(|(field, pointer)| (field.to_owned(), pointer.to_owned()))
                .into(),
            ..GenericFeed::default()
        }],
        ..ReadOptions::default()
    };
    let read = |value: &Value| read_message(value.to_string().as_bytes(), &options);
    for beside in [
        json!({"findings": []}),
        json!({"Findings": null}),
        json!({"findings": [{}]}),
        json!({"detail-type": "x", "detail": {"findings": []}}),
        json!({"detail-type": "x", "detail": parsed("guardduty-finding")}),
    ] {
        let mut value = json!({"edr_rule": "Ransomware", "id": "7"});
        let fields = beside.as_object().unwrap().clone();
        value.as_object_mut().unwrap().extend(fields);
        let batch = read(&value).unwrap();
        let keys: Vec<String> = batch
            .alerts
            .iter()
            .map(|alert| alert.key.to_string())
            .collect();
        assert_eq!((keys, batch.rejected), (vec!["edr/-/7".to_owned()], vec![]));
    }
    // Without its id it is neither a finding nor an empty page of findings.
    let nameless = json!({"edr_rule": "Ransomware", "findings": []});
    assert!(matches!(read(&nameless), Err(ReadError::Field { .. })));
    let strange = json!({"alarm": "Ransomware", "findings": null});
    assert!(matches!(
        read(&strange),
        Err(ReadError::UnknownShape { .. })
    ));
    // A second, empty list does not hide a filled one.
    let mut both = json!({"Findings": null});
    both["findings"] = json!([parsed("guardduty-finding")]);
    assert_eq!(read(&both).unwrap().alerts.len(), 1);
}

#[test]
fn feed_with_envelope_like_fields_still_gets_its_payload() {
    let options = ReadOptions {
        generic: vec![GenericFeed {
            name: "edr".to_owned(),
            matches: "/source".to_owned(),
            fields: [("id", "/id"), ("type", "/type")]
                .map(|(field, pointer)| (field.to_owned(), pointer.to_owned()))
                .into(),
            ..GenericFeed::default()
        }],
        ..ReadOptions::default()
    };
    let finding = json!({"source": "edr", "id": "7", "type": "Ransomware"});
    for kind in [
        Wrapping::CloudEvent,
        Wrapping::EventBridge,
        Wrapping::Findings,
    ] {
        let wrapped = wrap(kind, &finding).to_string();
        let batch = read_message(wrapped.as_bytes(), &options).unwrap();
        assert_eq!(batch.alerts[0].kind, "Ransomware", "{kind:?}");
    }
}

fn any_wrap() -> impl Strategy<Value = Wrapping> {
    prop::sample::select(vec![
        Wrapping::Text,
        Wrapping::Sns,
        Wrapping::EventBridge,
        Wrapping::PubSub,
        Wrapping::CloudEvent,
        Wrapping::CloudEventBase64,
        Wrapping::List,
        Wrapping::Findings,
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_nesting_up_to_three_gives_the_same_key_and_content(index in 0_usize..5, wraps in prop::collection::vec(any_wrap(), 0..4)) {
        let finding = findings().swap_remove(index);
        let plain = one_of(&finding);
        let wrapped = wraps.iter().fold(finding, |inner, kind| wrap(*kind, &inner));
        let read = one_of(&wrapped);
        prop_assert_eq!(read.key, plain.key);
        prop_assert_eq!(read.content, plain.content);
        prop_assert_eq!(read.raw, plain.raw);
    }
}
