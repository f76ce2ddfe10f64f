//! Reads AWS CloudTrail records.
//!
//! The fields are in
//! <https://docs.aws.amazon.com/awscloudtrail/latest/userguide/cloudtrail-event-reference-record-contents.html>. The
//! platform writes the time, the event, the identity, the address, the region and the error code; the caller chooses
//! user agent, request parameters and, within the identity, the session name.

use serde_json::Value;

use super::envelope;
use super::log_record::{LogRecord, collect_texts, parse_timestamp, text_at};

/// Keys under which files hold their records.
pub(super) const LIST_KEYS: &[&str] = &envelope::LIST_KEYS;

/// A field that every record has.
pub(super) const EVENT_NAME_FIELD: &str = "eventName";

/// Returns whether a value without an event name is another CloudTrail format: an insight has the event name in its
/// details.
pub(super) fn is_insight_event(record: &Value) -> bool {
    record.get("insightDetails").is_some()
}

/// Returns whether a value seems to be a record whose name cannot be read.
pub(super) fn looks_like_record(record: &Value) -> bool {
    ["eventTime", "userIdentity", "eventSource"]
        .iter()
        .any(|field| record.get(field).is_some())
}

pub(super) fn parse_record(record: &Value) -> Option<LogRecord> {
    let action = text_at(record, "/eventName")?;
    let mut entry = LogRecord {
        at: record.get("eventTime").and_then(parse_timestamp),
        action: Some(action),
        service: text_at(record, "/eventSource"),
        principals: principals(record),
        access_key: text_at(record, "/userIdentity/accessKeyId"),
        source_ip: text_at(record, "/sourceIPAddress"),
        ..LogRecord::default()
    };
    let error = text_at(record, "/errorCode");
    let login_failed =
        text_at(record, "/responseElements/ConsoleLogin").as_deref() == Some("Failure");
    entry.is_failure = error.is_some() || login_failed;
    let read_only = record.get("readOnly").and_then(Value::as_bool);
    entry.is_read_only = read_only == Some(true);
    for part in [
        "resources",
        "requestParameters",
        "responseElements",
        "serviceEventDetails",
    ] {
        if let Some(value) = record.get(part) {
            collect_texts(value, &mut entry.mentions);
        }
    }
    // The session of an instance role is named after the instance.
    entry.mentions.extend(entry.principals.iter().cloned());
    entry.set_column("principal", entry.principals.first().cloned());
    entry.set_column("access_key", entry.access_key.clone());
    entry.set_column("service", entry.service.clone());
    entry.set_column("user_agent", text_at(record, "/userAgent"));
    entry.set_column("region", text_at(record, "/awsRegion"));
    entry.set_column("resource", resource(record));
    entry.set_column("error", error);
    entry.set_column("error_message", text_at(record, "/errorMessage"));
    entry.set_column(
        "outcome",
        if entry.is_failure {
            "failure"
        } else {
            "success"
        },
    );
    entry.set_column("read_only", read_only);
    entry.set_column("mfa", mfa(record));
    Some(entry)
}

/// Returns all names of the caller: ARN, role, user, principal id and its parts.
fn principals(record: &Value) -> Vec<String> {
    let mut names: Vec<String> = [
        "/userIdentity/arn",
        "/userIdentity/userName",
        "/userIdentity/sessionContext/sessionIssuer/userName",
        "/userIdentity/sessionContext/sessionIssuer/arn",
        "/userIdentity/principalId",
        "/userIdentity/invokedBy",
        "/userIdentity/onBehalfOf/userId",
    ]
    .iter()
    .filter_map(|pointer| text_at(record, pointer))
    .collect();
    // The root user has no name here; findings use the identity type.
    let kind = text_at(record, "/userIdentity/type");
    names.extend(kind.filter(|kind| names.is_empty() || kind == "Root"));
    let parts: Vec<String> = names
        .iter()
        .filter(|name| !name.starts_with("arn:"))
        .flat_map(|name| name.split(':'))
        .chain(names.iter().filter_map(|name| name.rsplit('/').next()))
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect();
    for part in parts {
        if !names.contains(&part) {
            names.push(part);
        }
    }
    names
}

/// Returns the resource: the first one of the record, else the parameter that names one.
fn resource(record: &Value) -> Option<String> {
    const PARAMETERS: [&str; 11] = [
        "bucketName",
        "roleArn",
        "roleName",
        "userName",
        "instanceId",
        "functionName",
        "secretId",
        "keyId",
        "clusterName",
        "dBInstanceIdentifier",
        "groupId",
    ];
    text_at(record, "/resources/0/ARN").or_else(|| {
        PARAMETERS
            .iter()
            .find_map(|name| text_at(record, &format!("/requestParameters/{name}")))
    })
}

/// Returns whether the session used MFA. CloudTrail writes this in two places, as text.
fn mfa(record: &Value) -> Option<bool> {
    let session = text_at(
        record,
        "/userIdentity/sessionContext/attributes/mfaAuthenticated",
    );
    let login = text_at(record, "/additionalEventData/MFAUsed");
    match session.or(login)?.to_ascii_lowercase().as_str() {
        "true" | "yes" => Some(true),
        "false" | "no" => Some(false),
        _ => None,
    }
}
