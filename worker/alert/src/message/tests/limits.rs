//! Tests limits of an alert: actors come first, and dropped values are recorded as unseen.

use super::bases::{guardduty, guardduty_service, ocsf, scc, with_roles};
use super::*;

fn numbered(count: usize, one: impl Fn(usize) -> Value) -> Value {
    (0..count).map(one).collect()
}

/// Returns an API call on a bucket with this many objects.
fn objects(count: usize) -> Alert {
    let mut finding = guardduty(json!({}));
    let object = |n| json!({"objectArn": format!("arn:aws:s3:::pay/{n}"), "key": format!("k{n}"), "hash": format!("{n:064x}")});
    finding["resource"]["s3BucketDetails"] =
        json!([{"name": "pay", "s3ObjectDetails": numbered(count, object)}]);
    one_of(&finding)
}

#[test]
fn caller_is_read_behind_thousands_of_objects() {
    let alert = objects(2200);
    insta::assert_snapshot!(with_roles(&alert, &[IndicatorRole::Actor, IndicatorRole::Target]), @"
    actor ip 198.51.100.23
    actor principal ci-inventory
    actor access_key ASIAEXAMPLE00000001
    target bucket pay
    ");
    assert_eq!(alert.callers.len(), 1);
    assert!(alert.unseen);
    assert!(!objects(60).unseen);
}

#[test]
fn caller_is_read_behind_thousands_of_resources() {
    let resource = |n| json!({"type": "AWS::S3::Bucket", "uid": format!("arn:aws:s3:::b{n}"), "name": format!("b{n}")});
    let mallory =
        json!({"actor": {"user": {"name": "mallory"}}, "src_endpoint": {"ip": "203.0.113.66"}});
    let finding =
        |count| ocsf(json!({"resources": numbered(count, resource), "evidences": [mallory]}));
    let alert = one_of(&finding(4200));
    insta::assert_snapshot!(with_roles(&alert, &[IndicatorRole::Actor]), @"
    actor ip 203.0.113.66
    actor principal mallory
    ");
    assert_eq!((alert.unseen, alert.indicators.len()), (true, 256));
    assert!(!one_of(&finding(64)).unseen);
    assert!(one_of(&finding(65)).unseen);
}

#[test]
fn actors_and_far_ends_beyond_the_limit_are_unseen() {
    let ends = |direction: u8| {
        let evidence = move |n: usize| {
            let ip = format!("203.0.{}.{}", n / 250, n % 250);
            json!({"connection_info": {"direction_id": direction}, "src_endpoint": {"ip": if direction == 1 { ip.as_str() } else { "10.0.0.1" }},
                "dst_endpoint": {"ip": if direction == 1 { "10.0.0.1" } else { ip.as_str() }}})
        };
        move |count| one_of(&ocsf(json!({"evidences": numbered(count, evidence)})))
    };
    for direction in [1, 2] {
        assert!(!ends(direction)(200).unseen, "{direction}");
        assert!(ends(direction)(300).unseen, "{direction}");
        assert!(ends(direction)(5000).unseen, "{direction}");
    }
}

#[test]
fn related_values_beyond_the_limit_are_no_loss() {
    let names: Vec<String> = (0..6000).map(|n| format!("h{n}.example.com")).collect();
    let chunks: Vec<Value> = names
        .chunks(300)
        .map(|chunk| json!({"name": chunk[0], "args": [chunk.join(" ")]}))
        .collect();
    let alert = one_of(&scc(
        json!({"processes": chunks, "access": {"principalEmail": "alice@example.com"}}),
    ));
    assert_eq!(alert.indicators.len(), 256);
    assert!(
        alert
            .flags
            .iter()
            .any(|flag| matches!(flag, crate::ContentFlag::Truncated { .. }))
    );
    assert!(!alert.unseen);
    assert!(has(
        &alert,
        IndicatorKind::Principal,
        IndicatorRole::Actor,
        "alice@example.com"
    ));
}

#[test]
fn what_is_too_deep_is_unseen() {
    let mut deep = json!({"callerIp": "203.0.113.66"});
    for _ in 0..200 {
        deep = json!({ "a": deep });
    }
    let mut finding = guardduty(json!({}));
    finding["service"]["additionalInfo"] = deep;
    assert!(one_of(&finding).unseen);
    let mut record = json!({"callerIp": "203.0.113.66"});
    let properties =
        |record: &Value| one_of(&scc(json!({"sourceProperties": {"properties": record}})));
    assert!(!properties(&record).unseen);
    for _ in 0..8 {
        record = json!({ "a": record });
    }
    assert!(properties(&record).unseen);
}

#[test]
fn affected_resources_beyond_the_limit_are_unseen() {
    let call = |count| {
        let names = numbered(count, |n| json!(format!("b{n}")));
        let call = json!({"action": {"awsApiCallAction": {"api": "DeleteBucket", "affectedResources": {"AWS::S3::Bucket": names}}}});
        one_of(&guardduty_service(
            "Impact:S3/AnomalousBehavior.Delete",
            json!({"resourceType": "AccessKey"}),
            call,
        ))
    };
    assert!(!call(64).unseen);
    assert!(call(65).unseen);
}

#[test]
fn one_of_two_equal_keys_is_unseen() {
    let text = guardduty(json!({})).to_string();
    let twice = text.replace(
        "\"userName\":\"ci-inventory\"",
        "\"userName\":\"mallory\",\"userName\":\"ci-inventory\"",
    );
    assert_ne!(text, twice);
    assert_eq!((one(&text).unseen, one(&twice).unseen), (false, true));
}
