//! AWS CloudTrail records.
//!
//! Fields: <https://docs.aws.amazon.com/awscloudtrail/latest/userguide/cloudtrail-event-reference-record-contents.html>.
//! The platform writes the time, the event, the identity, the address, the region and the error code; the caller chooses
//! user agent, request parameters and, within the identity, the session name.

use serde_json::Value;

use super::entry::{Entry, mentions, moment, text};
use super::wrapping;

/// Keys under which files hold their records.
pub(super) const LISTS: &[&str] = &wrapping::LISTS;

/// A field that every record has.
pub(super) const NAME: &str = "eventName";

/// Returns whether a value without an event name is another CloudTrail format: an insight has the event name in its
/// details.
pub(super) fn is_another_kind(record: &Value) -> bool {
    record.get("insightDetails").is_some()
}

/// Returns whether a value seems to be a record whose name cannot be read.
pub(super) fn seems_a_record(record: &Value) -> bool {
    ["eventTime", "userIdentity", "eventSource"]
        .iter()
        .any(|field| record.get(field).is_some())
}

pub(super) fn entry(record: &Value) -> Option<Entry> {
    let action = text(record, "/eventName")?;
    let mut entry = Entry {
        at: record.get("eventTime").and_then(moment),
        action: Some(action),
        service: text(record, "/eventSource"),
        principals: principals(record),
        access_key: text(record, "/userIdentity/accessKeyId"),
        source_ip: text(record, "/sourceIPAddress"),
        ..Entry::default()
    };
    let error = text(record, "/errorCode");
    let login_failed = text(record, "/responseElements/ConsoleLogin").as_deref() == Some("Failure");
    entry.failed = error.is_some() || login_failed;
    let read_only = record.get("readOnly").and_then(Value::as_bool);
    entry.reads = read_only == Some(true);
    for part in [
        "resources",
        "requestParameters",
        "responseElements",
        "serviceEventDetails",
    ] {
        if let Some(value) = record.get(part) {
            mentions(value, &mut entry.mentions);
        }
    }
    // The session of an instance role is named after the instance.
    entry.mentions.extend(entry.principals.iter().cloned());
    entry.column("principal", entry.principals.first().cloned());
    entry.column("access_key", entry.access_key.clone());
    entry.column("service", entry.service.clone());
    entry.column("user_agent", text(record, "/userAgent"));
    entry.column("region", text(record, "/awsRegion"));
    entry.column("resource", resource(record));
    entry.column("error", error);
    entry.column("error_message", text(record, "/errorMessage"));
    entry.column("outcome", if entry.failed { "failure" } else { "success" });
    entry.column("read_only", read_only);
    entry.column("mfa", mfa(record));
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
    .filter_map(|pointer| text(record, pointer))
    .collect();
    // The root user has no name here; findings use the identity type.
    let kind = text(record, "/userIdentity/type");
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
    text(record, "/resources/0/ARN").or_else(|| {
        PARAMETERS
            .iter()
            .find_map(|name| text(record, &format!("/requestParameters/{name}")))
    })
}

/// Returns whether the session used MFA. CloudTrail writes this in two places, as text.
fn mfa(record: &Value) -> Option<bool> {
    let session = text(
        record,
        "/userIdentity/sessionContext/attributes/mfaAuthenticated",
    );
    let login = text(record, "/additionalEventData/MFAUsed");
    match session.or(login)?.to_ascii_lowercase().as_str() {
        "true" | "yes" => Some(true),
        "false" | "no" => Some(false),
        _ => None,
    }
}
