//! Tests refused calls: every feed tells them as denied, wherever the refusal stands.

use super::*;
use crate::Outcome;

fn scc(source: Value) -> Alert {
    one_of(
        &json!({"notificationConfigName": "organizations/1/notificationConfigs/n", "finding": {
        "name": "organizations/1/sources/2/findings/refused", "parent": "organizations/1/sources/2",
        "resourceName": "//cloudresourcemanager.googleapis.com/projects/field-prod", "state": "ACTIVE",
        "category": "Initial Access: Excessive Permission Denied Actions", "findingClass": "THREAT", "severity": "HIGH",
        "eventTime": "2026-11-27T10:00:00Z", "createTime": "2026-11-27T10:00:00Z",
        "access": {"principalEmail": "eve@corp.example", "callerIp": "203.0.113.5"},
        "sourceProperties": {"properties": source}}}),
    )
}

fn ocsf(class: u64, api: Value) -> Alert {
    let call = json!({"actor": {"user": {"name": "alice"}}, "api": api});
    let mut event = json!({"class_uid": class, "is_alert": true, "activity_id": 1, "severity_id": 4,
        "time": 1_795_773_600_000_u64, "metadata": {"uid": "e-1", "product": {"name": "Field EDR"}},
        "finding_info": {"uid": "f-1", "title": "Odd call"}});
    let fields = event.as_object_mut().unwrap();
    if class == 2004 {
        fields.insert("evidences".to_owned(), json!([call]));
    } else {
        fields.extend(call.as_object().unwrap().clone());
    }
    one_of(&event)
}

#[test]
fn refused_calls_of_scc_are_told_as_denied() {
    let alert = scc(json!({"failedActions": [
        {"methodName": "google.iam.admin.v1.CreateServiceAccountKey", "serviceName": "iam.googleapis.com", "attemptTimes": "7"},
        {"methodName": "storage.buckets.list", "serviceName": "storage.googleapis.com", "attemptTimes": 2}]}));
    assert_eq!(alert.outcome, Some(Outcome::Denied));
    insta::assert_snapshot!(alert.what_happened(), @r#"Security Command Center reports: "Initial Access: Excessive Permission Denied Actions" by eve@corp.example from 203.0.113.5 on field-prod, which was denied; calls: google.iam.admin.v1.CreateServiceAccountKey and storage.buckets.list."#);
    let check = |granted: bool| {
        scc(json!({"methodName": "storage.buckets.list",
            "authorizationInfo": [{"permission": "storage.buckets.list", "granted": granted}]}))
        .outcome
    };
    assert_eq!(check(false), Some(Outcome::Denied));
    assert_eq!(check(true), None);
}

#[test]
fn refused_calls_of_ocsf_are_told_by_status_error_or_message() {
    for class in [2004, 6003] {
        for (response, outcome) in [
            (json!({"code": 403}), Some(Outcome::Denied)),
            (
                json!({"code": 403, "message": "AccessDenied"}),
                Some(Outcome::Denied),
            ),
            (json!({"code": "401"}), Some(Outcome::Denied)),
            (
                json!({"code": 400, "message": "User is not authorized to do that"}),
                Some(Outcome::Denied),
            ),
            (
                json!({"error": "AuthorizationError"}),
                Some(Outcome::Denied),
            ),
            (json!({"code": 404}), Some(Outcome::Failed)),
            (
                json!({"error": "Throttling", "code": 400}),
                Some(Outcome::Failed),
            ),
            (json!({"code": 200}), None),
            (json!({"message": "done"}), None),
            (json!({}), None),
        ] {
            let api = json!({"operation": "StopLogging", "service": {"name": "cloudtrail.amazonaws.com"},
                "response": response});
            assert_eq!(ocsf(class, api).outcome, outcome, "{class} {response}");
        }
    }
    let api = json!({"operation": "StopLogging", "service": {"name": "cloudtrail.amazonaws.com"},
        "response": {"code": 403}});
    insta::assert_snapshot!(ocsf(2004, api).what_happened(), @"alice tried to stop CloudTrail logging and was denied (403).");
}

#[test]
fn event_that_failed_for_lack_of_rights_was_denied() {
    let of = |detail: &str| {
        one_of(&json!({"class_uid": 3002, "is_alert": true, "activity_id": 1, "severity_id": 4, "status_id": 2,
            "status_detail": detail, "time": 1_795_773_600_000_u64,
            "metadata": {"uid": "e-2", "product": {"name": "Field IdP"}}, "user": {"name": "dana"}}))
        .outcome
    };
    assert_eq!(of("Access denied by policy"), Some(Outcome::Denied));
    assert_eq!(of("wrong password"), Some(Outcome::Failed));
}
