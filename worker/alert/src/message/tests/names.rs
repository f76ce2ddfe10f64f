//! Tests that names of resources and types are told whole, and that placeholders are nothing, in every feed.

use super::*;
use crate::feed::GenericFeed;

/// Ids of resources that look random and are none of the known kinds.
const RESOURCES: [&str; 4] = [
    "PayStack-OrdersQueueB7C1D2E3-Yk38gMq7StX6",
    "00u7z8Y9x0W1v2U3t4S5",
    "ocid1.instance.oc1.iad.bnvwdmkux7zdbceo5nwxyr4u3t7al6yl8r3e7i2k4g5h6j7k8l9m",
    "2Ji3Lk4Mn5Or6Qs7Tu8Wv9Xy1Za2BcDeF",
];

/// Types that look random.
const TYPES: [&str; 4] = [
    "AWS.EC2.SGDenies1111ToPort33RDPv5",
    "CVE20221886PrintLadySMBv4RCEX32",
    "EC2SecurityGroupEgress0To65535IPv4IPv6",
    "SMBv2NTLMv1WeakCipherSuiteDHE2048RSA3DES",
];

fn generic() -> GenericFeed {
    let names = [
        "id",
        "type",
        "title",
        "description",
        "account",
        "region",
        "resource",
        "principal",
        "actor_ip",
        "process",
        "command_line",
        "technique",
        "remediation",
    ];
    let fields = names.iter();
    GenericFeed {
        name: "siem".to_owned(),
        matches: "/type".to_owned(),
        fields: fields
            .map(|name| ((*name).to_owned(), format!("/{name}")))
            .collect(),
        ..GenericFeed::default()
    }
}

fn read(message: &Value) -> MessageContents {
    let options = ReadOptions {
        generic: vec![generic()],
        ..ReadOptions::default()
    };
    read_message(message.to_string().as_bytes(), &options).unwrap()
}

/// Returns an alert of this type about this resource from every feed that takes types and resources of others.
fn alerts(kind: &str, resource: &str) -> Vec<Alert> {
    let title = format!("{kind} on {resource}");
    let about = format!("See users/{resource} and {kind}.");
    let messages = [
        json!({"type": kind, "id": "1", "title": title, "description": about, "resource": resource}),
        json!({"SchemaVersion": "2018-10-08", "Id": "x/1", "AwsAccountId": "111122223333", "Region": "eu-west-1",
            "ProductArn": "arn:aws:securityhub:eu-west-1:111122223333:product/example/edr", "GeneratorId": kind,
            "Types": ["TTPs"], "Severity": {"Label": "HIGH"}, "Title": title, "Description": about,
            "RecordState": "ACTIVE", "Resources": [{"Type": "Other", "Id": resource}]}),
        json!({"class_uid": 2004, "severity_id": 4, "time": 1_795_142_472_000_u64,
            "metadata": {"product": {"name": "Falcon", "vendor_name": "CrowdStrike"}},
            "finding_info": {"uid": "1", "title": title, "desc": about, "analytic": {"name": kind}},
            "resources": [{"uid": resource, "type": "Other"}]}),
        json!({"name": "organizations/1/sources/2/findings/f1", "category": kind, "findingClass": "THREAT",
            "severity": "HIGH", "state": "ACTIVE", "description": about, "resourceName": resource,
            "eventTime": "2026-11-26T01:00:00Z"}),
    ];
    messages
        .iter()
        .map(|message| read(message).alerts.remove(0))
        .collect()
}

fn redactions(alert: &Alert) -> bool {
    alert.to_json().to_string().contains("redacted")
}

#[test]
fn ids_of_resources_are_never_redacted() {
    for resource in RESOURCES {
        for alert in alerts("Beacon", resource) {
            let ids: Vec<&str> = alert.resources.iter().map(|one| one.id.as_str()).collect();
            assert_eq!(ids, [resource], "{}", alert.feed);
            assert!(!redactions(&alert), "{}: {}", alert.feed, alert.to_json());
        }
    }
}

#[test]
fn types_are_never_redacted() {
    for kind in TYPES {
        for alert in alerts(kind, "web-1") {
            assert_eq!(alert.kind, kind, "{}", alert.feed);
            assert!(!redactions(&alert), "{}: {}", alert.feed, alert.to_json());
        }
    }
}

#[test]
fn a_title_that_is_the_last_part_of_the_type_stays() {
    let kind = "SMBv2TLSv1WeakCipherSuiteDHE2048RSA3DES";
    let finding = json!({"SchemaVersion": "2018-10-08", "Id": "x/1", "AwsAccountId": "111122223333",
        "ProductArn": "arn:aws:securityhub:eu-west-1:111122223333:product/example/edr", "GeneratorId": "edr",
        "Types": [format!("TTPs/Execution/{kind}")], "Severity": {"Label": "HIGH"}, "Title": kind, "Description": "d",
        "Region": "eu-west-1", "RecordState": "ACTIVE", "Resources": [{"Type": "Other", "Id": "web-1"}]});
    let alert = one_of(&finding);
    assert_eq!(alert.kind, format!("TTPs/Execution/{kind}"));
    assert_eq!(alert.title, kind);
}

#[test]
fn another_resource_with_a_random_tail_is_other_content() {
    let other = "PayStack-OrdersQueueB7C1D2E3-Zl49hNr8TuY7";
    let first = alerts("Beacon", RESOURCES[0]);
    for (first, second) in first.iter().zip(alerts("Beacon", other)) {
        assert_eq!(first.key, second.key);
        assert_ne!(first.content, second.content, "{}", first.feed);
    }
}

#[test]
fn a21_a_random_text_that_is_no_resource_goes() {
    let key = "bC4yL0nR3wS8uZ6xA2dE9fG1";
    for alert in &alerts("Beacon", "web-1") {
        assert!(!redactions(alert), "{}", alert.feed);
    }
    for resource in ["web-1", "https://x.example/q?k=bC4yL0nR3wS8uZ6xA2dE9fG1"] {
        let mut message = json!({"type": "Beacon", "id": "1", "resource": resource});
        message["description"] = json!(format!("The key {key} was found."));
        let alert = read(&message).alerts.remove(0);
        assert_eq!(
            alert.description,
            "The key [redacted:high_entropy] was found."
        );
        message["type"] = json!(format!("Key {key} was found"));
        let alert = read(&message).alerts.remove(0);
        assert_eq!(alert.kind, "Key [redacted:high_entropy] was found");
    }
}

#[test]
fn random_tails_of_types_of_generic_feeds_are_cut() {
    for (sent, kind) in [
        ("public.0f1e1d00-0000-4000-8000-000000000027", "public"),
        ("public (0f1e1d00-0000-4000-8000-000000000027)", "public"),
        ("rule_9f8e7d6c5b4a", "rule"),
        ("check-1764194400", "check"),
        ("public-01JDQ4Z8W3N5T7V9X2B4C6D8F0", "public"),
        ("5710", "5710"),
        // Rules of some products are named by nothing else.
        (
            "0f1e1d00-0000-4000-8000-000000000027",
            "0f1e1d00-0000-4000-8000-000000000027",
        ),
    ] {
        let alert = read(&json!({"type": sent, "id": "1"})).alerts.remove(0);
        assert_eq!(alert.kind, kind);
    }
}

#[test]
fn placeholders_are_nothing_in_generic_feeds() {
    for word in [
        "N/A",
        "-",
        "none",
        "NULL",
        "unknown",
        "TBD",
        "not specified",
    ] {
        let mut message: Value = json!({});
        for name in generic().fields.keys() {
            message[name] = json!(word);
        }
        message["id"] = json!("1");
        message["type"] = json!("Beacon");
        let alert = read(&message).alerts.remove(0);
        assert_eq!(alert.key.to_string(), "siem/-/1", "{word}");
        assert_eq!(
            (
                alert.kind.as_str(),
                alert.title.as_str(),
                alert.description.as_str()
            ),
            ("Beacon", "Beacon", "")
        );
        assert_eq!(
            (&alert.account, &alert.region, &alert.remediation),
            (&None, &None, &None)
        );
        assert!(
            alert.resources.is_empty() && alert.indicators.is_empty(),
            "{word}"
        );
        assert!(
            alert.details.is_empty() && alert.techniques.is_empty(),
            "{word}"
        );
        assert!(alert.unreadable.is_empty(), "{word}");
        message["type"] = json!(word);
        message["title"] = json!("Beacon seen");
        assert_eq!(read(&message).alerts.remove(0).kind, "Beacon seen");
    }
}

#[test]
fn a_placeholder_is_no_id_of_a_finding() {
    let options = ReadOptions {
        generic: vec![generic()],
        ..ReadOptions::default()
    };
    let message = json!({"type": "Beacon", "id": "N/A"}).to_string();
    let error = read_message(message.as_bytes(), &options).unwrap_err();
    assert!(matches!(error, ReadError::Field { .. }), "{error}");
}

#[test]
fn placeholders_are_nothing_in_security_hub_guardduty_and_scc() {
    for word in ["N/A", "-", "unknown"] {
        let finding = json!({"SchemaVersion": "2018-10-08", "Id": "x/1", "AwsAccountId": "111122223333",
            "ProductArn": "arn:aws:securityhub:eu-west-1:111122223333:product/example/edr", "GeneratorId": "beacon",
            "Types": [word], "Severity": {"Label": "HIGH"}, "Title": word, "Description": word, "RecordState": "ACTIVE",
            "Region": word, "Process": {"Name": word, "Path": word}, "Network": {"SourceIpV4": word, "SourceDomain": word},
            "Malware": [{"Name": word, "Path": word}], "Resources": [{"Type": "Other", "Id": word}]});
        let mut guardduty =
            parsed("guardduty-eventbridge-credential-exfiltration")["detail"].clone();
        guardduty["title"] = json!(word);
        guardduty["description"] = json!(word);
        guardduty["region"] = json!(word);
        guardduty["service"]["additionalInfo"] =
            json!({"threatName": word, "threatListName": word});
        let mut scc = parsed("scc-crypto-miner");
        scc["finding"]["description"] = json!(word);
        scc["finding"]["processes"] =
            json!([{"name": word, "binary": {"path": word}, "args": [word]}]);
        scc["finding"]["access"] =
            json!({"principalEmail": word, "callerIp": word, "methodName": word});
        for (message, resources) in [(finding, 0), (guardduty, 1), (scc, 1)] {
            let alert = one_of(&message);
            assert_eq!(alert.resources.len().min(1), resources, "{}", alert.feed);
            let mut told = alert.to_json_without_raw();
            told["severity_sent"] = Value::Null;
            assert!(
                !told.to_string().contains(&format!("\"{word}\"")),
                "{}: {told}",
                alert.feed
            );
            assert!(
                alert.unreadable.is_empty(),
                "{}: {:?}",
                alert.feed,
                alert.unreadable
            );
        }
    }
}

#[test]
fn credentials_without_an_id_are_an_unread_actor() {
    for id in [json!("N/A"), json!({"Id": "AKIAEXAMPLE"})] {
        let message = json!({"SchemaVersion": "2018-10-08", "Id": "x/1", "AwsAccountId": "111122223333",
            "ProductArn": "arn:aws:securityhub:eu-west-1:111122223333:product/example/edr", "GeneratorId": "beacon",
            "Severity": {"Label": "HIGH"}, "Title": "Odd calls", "RecordState": "ACTIVE",
            "Resources": [{"Type": "AwsIamAccessKey", "Id": id}]});
        let unreadable = one_of(&message).unreadable;
        assert_eq!(
            unreadable.into_iter().collect::<Vec<_>>(),
            ["/Resources/0/Id"]
        );
    }
}
