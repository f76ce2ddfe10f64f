//! Tests malware scans: findings, and results that GuardDuty sends without a finding.

use super::*;
use crate::{FindingClass, Severity};

const THREATS: &str =
    include_str!("../../../../../../tests/fixtures/cases/01-guardduty-s3-object-scan-result.json");
const CLEAN: &str =
    include_str!("../../../../../../tests/fixtures/cases/01b-guardduty-s3-object-scan-clean.json");

#[test]
fn a_malicious_object_is_an_alert_with_its_place_and_time() {
    let alert = one(THREATS);
    assert_eq!(
        (
            alert.feed.as_str(),
            alert.key.product.as_str(),
            alert.kind.as_str()
        ),
        ("guardduty", "guardduty", "Object:S3/MaliciousFile")
    );
    assert_eq!(
        (alert.account.as_deref(), alert.region.as_deref()),
        (Some("111122223333"), Some("eu-west-1"))
    );
    assert_eq!(
        (alert.severity, alert.state.passed),
        (Severity::High, false)
    );
    let time = alert.times.first_seen.unwrap().to_rfc3339();
    assert_eq!(time, "2026-11-26T22:14:05+00:00");
    assert_eq!(alert.flags, []);
    insta::assert_snapshot!(format!("{}\n{}\n{}", alert.title, alert.description, told(&alert)), @"
    A scan found Trojan.Generic.Sample in an object of bucket field-upload-intake.
    The object is incoming/invoice-7731.zip.
    threat | MALWARE_SCAN | -
    S3Bucket arn:aws:s3:::field-upload-intake field-upload-intake
    S3Object arn:aws:s3:::field-upload-intake/incoming/invoice-7731.zip incoming/invoice-7731.zip
    related arn arn:aws:guardduty:eu-west-1:111122223333:malware-protection-plan/0a1b2c3d4e5f60718293
    related arn arn:aws:s3:::field-upload-intake
    related arn arn:aws:s3:::field-upload-intake/incoming/invoice-7731.zip
    target bucket field-upload-intake
    related file incoming/invoice-7731.zip
    threat_name: Trojan.Generic.Sample (incoming/invoice-7731.zip)
    ");
}

#[test]
fn an_object_has_one_key_whoever_carries_its_result() {
    let event = value(THREATS);
    let alert = one_of(&event);
    let sns = json!({"Type": "Notification", "MessageId": "m", "TopicArn": "arn:aws:sns:eu-west-1:1:t", "Message": THREATS});
    let mut text = event.clone();
    text["detail"] = json!(event["detail"].to_string());
    for wrapped in [sns, json!([event]), text] {
        let other = one_of(&wrapped);
        assert_eq!((&other.key, &other.content), (&alert.key, &alert.content));
    }
    // A later scan of the same version has the same key; another version has not.
    let mut again = event.clone();
    (again["id"], again["time"]) = (json!("other"), json!("2026-11-27T00:00:00Z"));
    assert_eq!(one_of(&again).key, alert.key);
    again["detail"]["s3ObjectDetails"]["versionId"] = json!("other");
    assert_ne!(one_of(&again).key, alert.key);
    let alone = one_of(&event["detail"]);
    assert_eq!((&alone.key.id, alone.account), (&alert.key.id, None));
}

#[test]
fn a_clean_object_is_a_check_that_passed() {
    let alert = one(CLEAN);
    assert!(alert.state.passed);
    assert_eq!(
        (alert.class, alert.severity),
        (FindingClass::Other, Severity::Informational)
    );
}

#[test]
fn an_object_that_was_not_scanned_is_told_and_is_no_threat() {
    for status in ["UNSUPPORTED", "ACCESS_DENIED", "FAILED", "SOMETHING_NEW"] {
        let mut event = value(CLEAN);
        event["detail"]["scanResultDetails"]["scanResultStatus"] = json!(status);
        let alert = one_of(&event);
        assert_eq!(
            (alert.class, alert.state.passed),
            (FindingClass::Other, false),
            "{status}"
        );
        assert!(alert.kind.ends_with(status) && alert.title.ends_with(status));
        assert!(has(
            &alert,
            IndicatorKind::Bucket,
            IndicatorRole::Target,
            "field-upload-intake"
        ));
    }
}

#[test]
fn states_of_plans_are_told_and_a_plan_that_works_passed() {
    let event = |state: &str, reasons: Value| {
        json!({"version": "0", "id": state, "detail-type": format!("GuardDuty Malware Protection Resource Status {state}"),
            "source": "aws.guardduty", "account": "111122223333", "time": "2026-11-26T22:14:05Z", "region": "eu-west-1",
            "resources": ["arn:aws:guardduty:eu-west-1:111122223333:malware-protection-plan/p"],
            "detail": {"schemaVersion": "1.0", "s3BucketDetails": {"bucketName": "intake"},
                "resourceStatus": state.to_uppercase(), "statusReasons": reasons}})
    };
    let warning = one_of(&event(
        "Warning",
        json!([{"code": "INSUFFICIENT_TEST_OBJECT_PERMISSIONS"}]),
    ));
    let active = one_of(&event("Active", Value::Null));
    assert_eq!(warning.key, active.key);
    assert_eq!((warning.state.passed, active.state.passed), (false, true));
    assert_eq!(warning.class, FindingClass::Other);
    assert_eq!(
        values(&warning, DetailKind::ErrorCode),
        ["INSUFFICIENT_TEST_OBJECT_PERMISSIONS"]
    );
}

#[test]
fn an_event_that_holds_a_finding_is_opened_by_whatever_name() {
    let event = json!({"detail-type": "GuardDuty Finding of another account", "source": "aws.guardduty",
        "detail": parsed("guardduty-finding")});
    let batch = read_all(&event.to_string());
    assert_eq!(batch.envelopes, ["eventbridge"]);
    assert_eq!(batch.alerts[0].key, one(sample("guardduty-finding")).key);
}

#[test]
fn threats_are_told_of_the_files_that_they_are_in() {
    let (one, other) = ("ab".repeat(32), "cd".repeat(32));
    let volumes = json!({"triggerFindingId": "f0", "scanDetections": {"highestSeverityThreatDetails": {"threatName": "EICAR"},
        "threatDetectedByName": {"threatNames": [{"name": "EICAR", "filePaths": [
            {"filePath": "/tmp/eicar.com", "hash": one, "volumeArn": "arn:aws:ec2:eu-west-1:111122223333:volume/vol-1"}]}]}}});
    let scan = json!({"threats": [{"name": "Miner", "itemPaths": [{"nestedItemPath": "a.zip/xmrig", "hash": other}]},
        {"name": "Worm", "hash": other}, {"name": "Nameless"}]});
    let service = json!({"ebsVolumeScanDetails": volumes, "malwareScanDetails": scan});
    let native = finding("Execution:EC2/MaliciousFile", json!({}), service);
    insta::assert_snapshot!(told(&one_in_both(&native, json!([]))), @"
    threat | MALWARE_SCAN | -
    related hash abababababababababababababababababababababababababababababababab
    related hash cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd
    related arn arn:aws:ec2:eu-west-1:111122223333:volume/vol-1
    related file /tmp/eicar.com
    related file a.zip/xmrig
    threat_name: EICAR (/tmp/eicar.com)
    threat_name: Miner (a.zip/xmrig)
    threat_name: Nameless
    threat_name: Worm (cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd)
    related_finding: f0
    ");
}

#[test]
fn a_second_object_under_the_same_finding_is_a_change() {
    let with = |keys: &[&str]| {
        let objects: Vec<Value> = keys
            .iter()
            .map(|key| json!({"objectArn": format!("arn:aws:s3:::intake/{key}"), "key": key}))
            .collect();
        let resource = json!({"resourceType": "S3Object",
            "s3BucketDetails": [{"name": "intake", "arn": "arn:aws:s3:::intake", "s3ObjectDetails": objects}]});
        one_of(&finding("Object:S3/MaliciousFile", resource, json!({})))
    };
    let (first, both) = (with(&["a.zip"]), with(&["a.zip", "b.zip"]));
    assert_eq!(first.key, both.key);
    assert_ne!(first.content, both.content);
    assert_eq!(both.resources[2].id, "arn:aws:s3:::intake/b.zip");
}
