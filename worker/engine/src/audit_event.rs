//! Derives facts about rows of audit logs: whether a call changed something, failed or handed out credentials.

use std::net::IpAddr;

use chrono::{DateTime, Utc};
use nightshift_alert::is_public;
use serde_json::Value;

use crate::cloud_name::is_service;
use crate::exoneration::type_matches;

/// Prefixes of the names of read-only calls. They count where the platform does not say whether a call only read:
/// Cloud Audit Logs have method names alone.
const READ_VERBS: [&str; 12] = [
    "aggregatedlist",
    "batchget",
    "describe",
    "get",
    "head",
    "list",
    "lookup",
    "query",
    "scan",
    "search",
    "test",
    "watch",
];

/// Sign-ins, reports and self-reports of agents. CloudTrail does not mark them as reads, but they change nothing.
const ROUTINE_ACTIONS: [&str; 22] = [
    "CheckMfa",
    "ConsoleLogin",
    "CreateControlChannel",
    "CreateDataChannel",
    "CreateLogGroup",
    "CreateLogStream",
    "CredentialChallenge",
    "CredentialVerification",
    "ExitRole",
    "GenerateCredentialReport",
    "GenerateOrganizationsAccessReport",
    "GenerateServiceLastAccessedDetails",
    "OpenControlChannel",
    "OpenDataChannel",
    "PutComplianceItems",
    "PutEvaluations",
    "PutInventory",
    "RenewRole",
    "SwitchRole",
    "UpdateInstanceAssociationStatus",
    "UpdateInstanceInformation",
    "UserAuthentication",
];

/// Calls that the platform marks as reading but that hand out credentials of another principal, which is then another
/// caller in the log. <https://docs.aws.amazon.com/STS/latest/APIReference/API_Operations.html>
const CREDENTIAL_ACTIONS: [&str; 3] = ["AssumeRole*", "GetFederationToken", "GetSessionToken"];

/// Returns whether a call of this name changes something. `read_only` is the platform's own statement about the call.
#[must_use]
pub fn is_mutating(action: &str, read_only: Option<bool>) -> bool {
    !read_only.unwrap_or_else(|| reads_by_name(action)) && !ROUTINE_ACTIONS.contains(&action)
}

/// Returns whether a call of this name hands out credentials.
pub(crate) fn gives_credentials(action: &str) -> bool {
    let mut calls = CREDENTIAL_ACTIONS.iter();
    calls.any(|glob| type_matches(glob, action))
}

fn reads_by_name(action: &str) -> bool {
    let name = action.rsplit('.').next().unwrap_or(action);
    let name = name.to_ascii_lowercase();
    READ_VERBS.iter().any(|verb| name.starts_with(verb))
}

/// Returns whether the call of a row was refused or failed.
pub(crate) fn has_failed(row: &Value) -> bool {
    let outcome = row.get("outcome").and_then(Value::as_str);
    row.get("error").is_some_and(|error| !error.is_null())
        || outcome.is_some_and(|outcome| outcome != "success")
}

/// Returns a call in the form that registers use: `s3:PutObject`.
#[must_use]
pub fn call_name(action: &str, service: Option<&str>) -> String {
    let service = service.and_then(|service| service.split('.').next());
    service.map_or_else(
        || action.to_owned(),
        |service| format!("{service}:{action}"),
    )
}

/// Returns the rows of a log's answer.
pub(crate) fn rows(body: &Value) -> impl Iterator<Item = &Value> {
    let rows = body.get("rows").and_then(Value::as_array);
    rows.into_iter().flatten()
}

/// Parses the time in a value.
pub(crate) fn parse_time(value: &Value) -> Option<DateTime<Utc>> {
    let at = DateTime::parse_from_rfc3339(value.as_str()?).ok()?;
    Some(at.to_utc())
}

/// Returns whether a source is an internet address or is not known to be internal. A source that cannot be parsed
/// counts as external.
pub(crate) fn comes_from_outside(source: &str) -> bool {
    match source.parse::<IpAddr>() {
        Ok(address) => is_public(address),
        Err(_) => source != "AWS Internal" && !is_service(source),
    }
}
