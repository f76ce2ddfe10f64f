//! Tests GuardDuty: actors, resources, actions and outcomes, natively and through Security Hub.

mod calls;
mod clusters;
mod connections;
mod logins;
mod runtime;
mod scans;
mod sequences;

use super::*;
use crate::DetailKind;

/// Returns action, outcome, resources, indicators and details of an alert, one per line.
fn told(alert: &Alert) -> String {
    let outcome = alert.outcome.map_or("-", |outcome| outcome.as_str());
    let action = alert.action.as_deref().unwrap_or("-");
    let mut lines = vec![format!("{} | {action} | {outcome}", alert.class)];
    lines.extend(alert.resources.iter().map(|one| {
        let name = one.name.as_deref().unwrap_or("-");
        format!("{} {} {name}", one.kind, one.id)
    }));
    lines.extend(
        alert
            .indicators
            .iter()
            .map(|one| format!("{} {} {}", one.role.as_str(), one.kind, one.value)),
    );
    lines.push(details(alert));
    lines.join("\n")
}

fn details(alert: &Alert) -> String {
    let lines = alert.details.iter().map(|one| match &one.about {
        Some(about) => format!("{}: {} ({about})", one.kind, one.value),
        None => format!("{}: {}", one.kind, one.value),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Returns a finding with this type, resource and service, and the common fields.
fn finding(kind: &str, resource: Value, service: Value) -> Value {
    let arn = "arn:aws:guardduty:eu-west-1:111122223333:detector/d0/finding/f1";
    let mut finding = json!({
        "schemaVersion": "2.0", "accountId": "111122223333", "region": "eu-west-1", "partition": "aws",
        "id": "f1", "arn": arn, "type": kind, "severity": 5,
        "createdAt": "2026-11-26T01:06:00Z", "updatedAt": "2026-11-26T01:06:00Z",
        "title": "What happened.", "description": "", "resource": resource,
        "service": {"serviceName": "guardduty", "detectorId": "d0", "archived": false, "count": 1,
            "eventFirstSeen": "2026-11-26T01:00:00Z", "eventLastSeen": "2026-11-26T01:05:00Z"},
    });
    let all = finding["service"].as_object_mut().unwrap();
    all.extend(service.as_object().unwrap().clone());
    finding
}

/// Returns the same finding in Security Hub's format: GuardDuty's fields by path, one path per list element.
fn asff(native: &Value, resources: Value) -> Value {
    let mut fields = serde_json::Map::new();
    for key in ["service", "resource"] {
        flatten(&native[key], &format!("aws/guardduty/{key}"), &mut fields);
    }
    for key in ["associatedAttackSequenceArn", "customDetectionRuleName"] {
        flatten(&native[key], &format!("aws/guardduty/{key}"), &mut fields);
    }
    json!({
        "SchemaVersion": "2018-10-08", "Id": native["arn"], "AwsAccountId": native["accountId"],
        "ProductArn": "arn:aws:securityhub:eu-west-1::product/aws/guardduty", "Region": native["region"],
        "GeneratorId": "arn:aws:guardduty:eu-west-1:111122223333:detector/d0",
        "Types": [format!("TTPs/{}", native["type"].as_str().unwrap())],
        "Title": native["title"], "Description": native["description"],
        "Severity": {"Product": native["severity"]}, "CreatedAt": native["createdAt"], "UpdatedAt": native["updatedAt"],
        "ProductFields": fields, "Resources": resources, "RecordState": "ACTIVE", "Workflow": {"Status": "NEW"},
    })
}

fn flatten(value: &Value, path: &str, out: &mut serde_json::Map<String, Value>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                flatten(inner, &format!("{path}/{key}"), out);
            }
            // A field with members appears once more by itself.
            out.insert(path.to_owned(), json!(""));
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                flatten(inner, &format!("{path}.{index}_"), out);
            }
        }
        Value::Null => {}
        Value::String(text) => {
            out.insert(path.to_owned(), json!(text));
        }
        other => {
            out.insert(path.to_owned(), json!(other.to_string()));
        }
    }
}

/// Reads a finding and checks that Security Hub's copy gives the same alert.
fn one_in_both(native: &Value, resources: Value) -> Alert {
    let alert = one_of(native);
    let hub = one_of(&asff(native, resources));
    assert_eq!(told(&hub), told(&alert));
    assert_eq!((&hub.key, &hub.content), (&alert.key, &alert.content));
    assert_eq!(hub.finding_id, alert.finding_id);
    assert_eq!(
        (&hub.callers, hub.direction, &hub.unreadable, hub.unseen),
        (
            &alert.callers,
            alert.direction,
            &alert.unreadable,
            alert.unseen
        )
    );
    alert
}

#[test]
fn a_finding_has_its_whole_arn_and_what_belongs_to_it() {
    let mut native = finding("Policy:IAMUser/RootCredentialUsage", json!({}), json!({}));
    native["associatedAttackSequenceArn"] =
        json!("arn:aws:guardduty:eu-west-1:111122223333:detector/d0/finding/bbb");
    native["customDetectionRuleName"] = json!("no-listing-from-outside");
    let alert = one_in_both(&native, json!([]));
    let arn = "arn:aws:guardduty:eu-west-1:111122223333:detector/d0/finding/f1";
    assert_eq!(alert.finding_id.as_deref(), Some(arn));
    insta::assert_snapshot!(told(&alert), @"
    threat | - | -
    custom_rule: no-listing-from-outside
    related_finding: arn:aws:guardduty:eu-west-1:111122223333:detector/d0/finding/bbb
    ");
    native["arn"] = Value::Null;
    native["id"] = json!(arn);
    assert_eq!(one_of(&native).finding_id.as_deref(), Some(arn));
    native["id"] = json!("f1");
    assert_eq!(one_of(&native).finding_id, None);
}

#[test]
fn additional_info_is_read_as_json_in_a_string_and_as_fields() {
    let info = json!({
        "threatListName": "our-list", "threatName": "bot", "unusualProtocol": "UDP", "localPort": 34875, "outBytes": "6841",
        "userAgent": {"fullUserAgent": "kali/1.0", "userAgentCategory": "kali"},
        "apiCalls": [{"name": "ListUsers", "count": 18}], "portsScannedSample": [22, 80],
        "anomalies": {"anomalousAPIs": "iam.amazonaws.com:[CreateUser:AccessDenied]"},
        "newPolicy": {"maxPasswordAge": "0", "requireNumbers": "true"},
        "oldPolicy": {"maxPasswordAge": "90", "requireNumbers": "true"},
    });
    let of = |info: Value| {
        let service = json!({"additionalInfo": info});
        one_of(&finding("Recon:EC2/Portscan", json!({}), service))
    };
    let fields = of(info.clone());
    insta::assert_snapshot!(details(&fields), @"
    operation: ListUsers
    user_agent: kali/1.0
    local_port: 34875
    remote_port: 22
    remote_port: 80
    protocol: UDP
    threat_list: our-list
    threat_name: bot
    event_count: 18 (ListUsers)
    bytes: 6841
    trait: iam.amazonaws.com:[CreateUser:AccessDenied]
    trait: maxPasswordAge: 90, now 0
    ");
    let text = of(json!({"type": "default", "value": info.to_string()}));
    assert_eq!(text.details, fields.details);
}

#[test]
fn what_was_unusual_is_told() {
    let behavior = json!({"account": {"apis": {"profileType": "FREQUENCY", "observations": {"text": ["DeleteTrail"]}}},
        "user": {"volume": {"observations": {"number": [4096]}}}});
    let service = json!({"detection": {"anomaly": {"unusual": {"behavior": behavior}}}});
    let alert = one_of(&finding(
        "Impact:S3/AnomalousBehavior.Delete",
        json!({}),
        service,
    ));
    insta::assert_snapshot!(details(&alert), @"
    trait: unusual apis for account: DeleteTrail
    trait: unusual volume for user: 4096
    ");
}

/// Returns the values of one kind of detail.
fn values(alert: &Alert, kind: DetailKind) -> Vec<&str> {
    alert.details_of(kind).collect()
}

#[test]
fn resource_of_an_unknown_kind_is_read_by_its_arn_or_name() {
    let arn = "arn:aws:kafka:eu-west-1:111122223333:cluster/orders/1";
    let of = |details: Value| {
        let resource = json!({"resourceType": "MSKCluster", "mskClusterDetails": details});
        one_of(&finding("Impact:MSK/TopicDeleted", resource, json!({})))
    };
    let whole = of(
        json!({"clusterArn": arn, "clusterName": "orders", "roleArn": "arn:aws:iam::111122223333:role/r",
        "tags": [{"key": "team", "value": "pay"}]}),
    );
    assert_eq!(whole.subject(), Some("orders"));
    insta::assert_snapshot!(told(&whole), @"
    threat | - | -
    MSKCluster arn:aws:kafka:eu-west-1:111122223333:cluster/orders/1 orders
    target arn arn:aws:kafka:eu-west-1:111122223333:cluster/orders/1
    ");
    let named = of(json!({"name": "orders"}));
    assert_eq!(named.subject(), Some("orders"));
    let other =
        of(json!({"clusterArn": arn.replace("orders", "refunds"), "clusterName": "refunds"}));
    assert_eq!(other.key, whole.key);
    assert_ne!(other.content, whole.content);
}
