//! Cloud Audit Logs: `LogEntry` with an `AuditLog` as `protoPayload`.
//!
//! Fields: <https://cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry>,
//! <https://cloud.google.com/logging/docs/reference/audit/auditlog/rest/Shared.Types/AuditLog>. The caller chooses the user
//! agent, the request and the names in it.

use serde_json::Value;

use super::entry::{Entry, mentions, moment, text};
use super::wrapping;

/// Keys under which files and API answers hold their entries.
pub(super) const LISTS: &[&str] = &wrapping::LISTS;

/// A field that every record has and no other entry of a sink.
pub(super) const PAYLOAD: &str = "protoPayload";

pub(super) fn entry(record: &Value) -> Option<Entry> {
    let payload = record.get("protoPayload")?;
    let action = text(payload, "/methodName")?;
    let mut entry = Entry {
        at: record
            .get("timestamp")
            .or_else(|| record.get("receiveTimestamp"))
            .and_then(moment),
        action: Some(action),
        service: text(payload, "/serviceName"),
        principals: principals(payload),
        access_key: key_id(payload),
        source_ip: text(payload, "/requestMetadata/callerIp"),
        ..Entry::default()
    };
    // 0 is OK: https://cloud.google.com/apis/design/errors (google.rpc.Code).
    let code = payload.pointer("/status/code").and_then(Value::as_i64);
    entry.failed = code.is_some_and(|code| code != 0);
    let resource = text(payload, "/resourceName");
    entry.mentions.extend(resource.clone());
    for part in [
        "/protoPayload/request",
        "/protoPayload/response",
        "/protoPayload/metadata",
        "/resource/labels",
    ] {
        if let Some(value) = record.pointer(part) {
            mentions(value, &mut entry.mentions);
        }
    }
    entry.column("principal", entry.principals.first().cloned());
    entry.column("access_key", entry.access_key.clone());
    entry.column("service", entry.service.clone());
    entry.column(
        "user_agent",
        text(payload, "/requestMetadata/callerSuppliedUserAgent"),
    );
    entry.column("region", region(record));
    entry.column("project", text(record, "/resource/labels/project_id"));
    entry.column("resource", resource);
    entry.column("error", code.filter(|code| *code != 0));
    entry.column("error_message", text(payload, "/status/message"));
    entry.column("outcome", if entry.failed { "failure" } else { "success" });
    entry.column("permission_denied", code == Some(7) || denied(payload));
    let read_only = read_only(record, payload);
    entry.reads = read_only == Some(true);
    entry.column("read_only", read_only);
    Some(entry)
}

/// Returns whether the platform says that the call only read, or `None` when the record does not say. The admin
/// activity log holds only mutating calls, and permissions have a type.
fn read_only(record: &Value, payload: &Value) -> Option<bool> {
    if text(record, "/logName").is_some_and(|name| name.ends_with("%2Factivity")) {
        return Some(false);
    }
    let checks = payload.get("authorizationInfo").and_then(Value::as_array)?;
    let mut types = checks
        .iter()
        .map(|check| text(check, "/permissionType"))
        .collect::<Option<Vec<_>>>()?
        .into_iter()
        .peekable();
    types.peek()?;
    Some(types.all(|kind| kind.ends_with("_READ")))
}

fn principals(payload: &Value) -> Vec<String> {
    [
        "/authenticationInfo/principalEmail",
        "/authenticationInfo/principalSubject",
        "/authenticationInfo/serviceAccountDelegationInfo/0/firstPartyPrincipal/principalEmail",
    ]
    .iter()
    .filter_map(|pointer| text(payload, pointer))
    .collect()
}

/// Returns the last part of `…/serviceAccounts/x/keys/KEY`.
fn key_id(payload: &Value) -> Option<String> {
    let name = text(payload, "/authenticationInfo/serviceAccountKeyName")?;
    name.rsplit('/').next().map(str::to_owned)
}

fn region(record: &Value) -> Option<String> {
    ["zone", "location", "region"]
        .iter()
        .find_map(|label| text(record, &format!("/resource/labels/{label}")))
}

fn denied(payload: &Value) -> bool {
    payload
        .get("authorizationInfo")
        .and_then(Value::as_array)
        .is_some_and(|checks| {
            checks
                .iter()
                .any(|check| check.get("granted") == Some(&Value::Bool(false)))
        })
}
