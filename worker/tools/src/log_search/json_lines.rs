//! Reads any log of JSON objects, with fields at common names or at the JSON pointers of the configuration.
//!
//! Nothing in such a log is trusted, since its writer is unknown.

use std::collections::BTreeMap;

use nightshift_alert::text::redact;
use serde_json::{Map, Value};

use super::log_record::{LogRecord, collect_texts, parse_timestamp, text_at};

/// Keys under which files may hold their records.
pub(super) const LIST_KEYS: &[&str] = &[];

/// The fields and their common names, including those of Elastic Common Schema, Route 53 query logs, and the sign-ins
/// of Okta and Entra. The configuration can override each field.
pub(super) const FIELDS: [(&str, &[&str]); 13] = [
    (
        "at",
        &[
            "/timestamp",
            "/@timestamp",
            "/time",
            "/ts",
            "/date",
            "/eventTime",
            "/event_time",
            "/query_timestamp",
            "/published",
            "/createdDateTime",
        ],
    ),
    (
        "action",
        &[
            "/action",
            "/event/action",
            "/event",
            "/event_name",
            "/eventName",
            "/operation",
            "/method",
            "/eventType",
        ],
    ),
    (
        "principal",
        &[
            "/principal",
            "/user",
            "/user/name",
            "/username",
            "/user_name",
            "/actor",
            "/account",
            "/userPrincipalName",
            "/actor/alternateId",
        ],
    ),
    (
        "access_key",
        &["/access_key", "/access_key_id", "/accessKeyId"],
    ),
    (
        "source_ip",
        &[
            "/source_ip",
            "/src_ip",
            "/source/ip",
            "/client_ip",
            "/remote_addr",
            "/client/ip",
            "/client/ipAddress",
            "/ipAddress",
            "/ip",
            "/src",
            "/srcaddr",
        ],
    ),
    (
        "destination_ip",
        &[
            "/destination_ip",
            "/dst_ip",
            "/dest_ip",
            "/destination/ip",
            "/dst",
            "/dstaddr",
        ],
    ),
    (
        "destination_port",
        &[
            "/destination_port",
            "/dst_port",
            "/dest_port",
            "/destination/port",
        ],
    ),
    (
        "user_agent",
        &[
            "/user_agent",
            "/user_agent/original",
            "/userAgent",
            "/http_user_agent",
        ],
    ),
    (
        "resource",
        &[
            "/resource",
            "/resource_name",
            "/object",
            "/url",
            "/path",
            "/query_name",
        ],
    ),
    (
        "instance",
        &[
            "/instance",
            "/instance_id",
            "/host",
            "/host/name",
            "/hostname",
            "/srcids/instance",
        ],
    ),
    (
        "outcome",
        &[
            "/outcome",
            "/event/outcome",
            "/outcome/result",
            "/result",
            "/status",
        ],
    ),
    (
        "error",
        &[
            "/error",
            "/error/message",
            "/error_code",
            "/status/errorCode",
        ],
    ),
    ("bytes", &["/bytes", "/bytes_sent", "/network/bytes"]),
];

/// Largest record that is shown whole, in bytes of JSON.
const MAX_RECORD_BYTES: usize = 2048;

/// Words by which applications report a failure.
const FAILURE_WORDS: [&str; 11] = [
    "failure", "failed", "fail", "error", "deny", "denied", "rejected", "refused", "timeout",
    "401", "403",
];

/// Words for a failure that count only for calls: as a `status` they are often the state that a resource was set to.
const REJECTION_WORDS: [&str; 3] = ["invalid", "blocked", "locked"];

/// Longest text of a larger record, in characters.
const MAX_TEXT_CHARS: usize = 300;

pub(super) fn parse_record(record: &Value, fields: &BTreeMap<String, String>) -> Option<LogRecord> {
    record.as_object()?;
    let values = |field: &str| field_values(record, fields.get(field), field);
    let value = |field: &str| values(field).into_iter().next();
    let word = |field: &str| value(field).and_then(|value| text_at(value, ""));
    // Some applications also write a code for success.
    let error = word("error").filter(|error| error != "0");
    let status = record.get("status");
    let is_status = !fields.contains_key("outcome")
        && status.is_some_and(|it| value("outcome").is_some_and(|said| std::ptr::eq(it, said)));
    // A caller with several names is found by each.
    let principals = values("principal").into_iter();
    let mut entry = LogRecord {
        at: value("at").and_then(parse_timestamp),
        action: word("action"),
        principals: principals.filter_map(|name| text_at(name, "")).collect(),
        access_key: word("access_key"),
        source_ip: word("source_ip"),
        destination_ip: word("destination_ip"),
        is_failure: error.is_some()
            || word("outcome").is_some_and(|outcome| {
                let is = |word: &&str| outcome.eq_ignore_ascii_case(word);
                FAILURE_WORDS.iter().any(is) || (!is_status && REJECTION_WORDS.iter().any(is))
            }),
        bytes: value("bytes").and_then(Value::as_u64),
        ..LogRecord::default()
    };
    collect_texts(record, &mut entry.mentions);
    entry.set_column("principal", entry.principals.first().cloned());
    entry.set_column("destination_ip", entry.destination_ip.clone());
    entry.set_column(
        "destination_port",
        value("destination_port").cloned().unwrap_or_default(),
    );
    for field in ["user_agent", "resource", "instance", "outcome"] {
        entry.set_column(field, word(field));
    }
    entry.set_column("error", error);
    entry.set_column("record", shorten_record(record));
    Some(entry)
}

/// Returns the values of a field: at the configured pointer, else at all common names.
fn field_values<'a>(record: &'a Value, configured: Option<&String>, field: &str) -> Vec<&'a Value> {
    if let Some(pointer) = configured {
        return record.pointer(pointer).into_iter().collect();
    }
    FIELDS
        .iter()
        .filter(|(name, _)| *name == field)
        .flat_map(|(_, places)| places.iter())
        .filter_map(|pointer| record.pointer(pointer))
        .filter(|value| !value.is_object() && !value.is_array() && !value.is_null())
        .collect()
}

/// Returns the first text under a key that seems to name a caller, for a record whose principal was not recognised.
pub(super) fn find_unmapped_principal(record: &Value) -> Option<String> {
    const NAMING: [&str; 5] = ["user", "principal", "actor", "login", "email"];
    let names = |key: &str| {
        let key = key.to_ascii_lowercase();
        NAMING.iter().any(|word| key.contains(word)) && !key.contains("agent")
    };
    let mut open = vec![(String::new(), record, false)];
    while let Some((pointer, value, is_named)) = open.pop() {
        match value {
            Value::String(text) if is_named && !text.is_empty() => return Some(pointer),
            Value::Object(map) => open.extend(map.iter().rev().map(|(key, value)| {
                let key_in_pointer = key.replace('~', "~0").replace('/', "~1");
                (
                    format!("{pointer}/{key_in_pointer}"),
                    value,
                    is_named || names(key),
                )
            })),
            _ => {}
        }
    }
    None
}

/// Returns the record, or only its scalars when the record is large.
fn shorten_record(record: &Value) -> Value {
    if crate::output_guard::json_bytes(record) <= MAX_RECORD_BYTES {
        return record.clone();
    }
    let mut short = Map::new();
    for (key, value) in record.as_object().into_iter().flatten().take(32) {
        match value {
            Value::String(text) => {
                // Redaction comes before the cut, since half a secret is not recognised.
                let (text, _) = redact(text);
                let cut: String = text.chars().take(MAX_TEXT_CHARS).collect();
                let mark = if cut.len() < text.len() { "…" } else { "" };
                short.insert(key.clone(), Value::from(format!("{cut}{mark}")));
            }
            Value::Array(_) | Value::Object(_) => {
                short.insert(key.clone(), Value::from("…"));
            }
            scalar => {
                short.insert(key.clone(), scalar.clone());
            }
        }
    }
    Value::Object(short)
}
