//! Reads Cloud Audit Logs: `LogEntry` with an `AuditLog` as `protoPayload`.
//!
//! The fields are in <https://cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry> and
//! <https://cloud.google.com/logging/docs/reference/audit/auditlog/rest/Shared.Types/AuditLog>. The caller chooses the
//! user agent, the request and the names in it.

use serde_json::Value;

use super::envelope;
use super::log_record::{LogRecord, collect_texts, parse_timestamp, text_at};

/// Keys under which files and API answers hold their entries.
pub(super) const LIST_KEYS: &[&str] = &envelope::LIST_KEYS;

/// A field that every record has and no other entry of a sink.
pub(super) const PAYLOAD_FIELD: &str = "protoPayload";

pub(super) fn parse_record(record: &Value) -> Option<LogRecord> {
    let payload = record.get("protoPayload")?;
    let action = text_at(payload, "/methodName")?;
    let mut entry = LogRecord {
        at: record
            .get("timestamp")
            .or_else(|| record.get("receiveTimestamp"))
            .and_then(parse_timestamp),
        action: Some(action),
        service: text_at(payload, "/serviceName"),
        principals: principals(payload),
        access_key: key_id(payload),
        source_ip: text_at(payload, "/requestMetadata/callerIp"),
        ..LogRecord::default()
    };
    // 0 is OK: https://cloud.google.com/apis/design/errors (google.rpc.Code).
    let code = payload.pointer("/status/code").and_then(Value::as_i64);
    entry.is_failure = code.is_some_and(|code| code != 0);
    let resource = text_at(payload, "/resourceName");
    entry.mentions.extend(resource.clone());
    for part in [
        "/protoPayload/request",
        "/protoPayload/response",
        "/protoPayload/metadata",
        "/resource/labels",
    ] {
        if let Some(value) = record.pointer(part) {
            collect_texts(value, &mut entry.mentions);
        }
    }
    entry.set_column("principal", entry.principals.first().cloned());
    entry.set_column("access_key", entry.access_key.clone());
    entry.set_column("service", entry.service.clone());
    entry.set_column(
        "user_agent",
        text_at(payload, "/requestMetadata/callerSuppliedUserAgent"),
    );
    entry.set_column("region", region(record));
    entry.set_column("project", text_at(record, "/resource/labels/project_id"));
    entry.set_column("resource", resource);
    entry.set_column("error", code.filter(|code| *code != 0));
    entry.set_column("error_message", text_at(payload, "/status/message"));
    entry.set_column(
        "outcome",
        if entry.is_failure {
            "failure"
        } else {
            "success"
        },
    );
    entry.set_column(
        "permission_denied",
        code == Some(7) || has_denied_permission(payload),
    );
    let read_only = read_only(record, payload);
    entry.is_read_only = read_only == Some(true);
    entry.set_column("read_only", read_only);
    Some(entry)
}

/// Returns whether the platform says that the call only read, or `None` when the record does not say. The admin
/// activity log holds only mutating calls, and permissions have a type.
fn read_only(record: &Value, payload: &Value) -> Option<bool> {
    if text_at(record, "/logName").is_some_and(|name| name.ends_with("%2Factivity")) {
        return Some(false);
    }
    let checks = payload.get("authorizationInfo").and_then(Value::as_array)?;
    let mut types = checks
        .iter()
        .map(|check| text_at(check, "/permissionType"))
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
    .filter_map(|pointer| text_at(payload, pointer))
    .collect()
}

/// Returns the last part of `…/serviceAccounts/x/keys/KEY`.
fn key_id(payload: &Value) -> Option<String> {
    let name = text_at(payload, "/authenticationInfo/serviceAccountKeyName")?;
    name.rsplit('/').next().map(str::to_owned)
}

fn region(record: &Value) -> Option<String> {
    ["zone", "location", "region"]
        .iter()
        .find_map(|label| text_at(record, &format!("/resource/labels/{label}")))
}

fn has_denied_permission(payload: &Value) -> bool {
    payload
        .get("authorizationInfo")
        .and_then(Value::as_array)
        .is_some_and(|checks| {
            checks
                .iter()
                .any(|check| check.get("granted") == Some(&Value::Bool(false)))
        })
}
