//! Any log of JSON objects: fields by common names, or by the JSON pointers of the configuration.
//!
//! Nothing in such a log is believed more than any text: who writes it is not known here.

use std::collections::BTreeMap;

use nightshift_alert::text::redact;
use serde_json::{Map, Value};

use super::entry::{Entry, mentions, moment, text};

/// Keys under which files may hold their records.
pub(super) const LISTS: &[&str] = &[];

/// The fields and their common places, those of Elastic Common Schema and of Route 53 query logs among them. A field can be placed elsewhere by configuration.
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
        &["/outcome", "/event/outcome", "/result", "/status"],
    ),
    ("error", &["/error", "/error/message", "/error_code"]),
    ("bytes", &["/bytes", "/bytes_sent", "/network/bytes"]),
];

/// Largest record that is shown whole, in bytes of JSON.
const MAX_RECORD_BYTES: usize = 2048;

/// How applications say that something did not succeed.
const FAILED: [&str; 13] = [
    "failure", "failed", "fail", "error", "denied", "rejected", "refused", "invalid", "blocked",
    "locked", "timeout", "401", "403",
];

/// Longest text of a larger record, in characters.
const MAX_TEXT_CHARS: usize = 300;

pub(super) fn entry(record: &Value, fields: &BTreeMap<String, String>) -> Option<Entry> {
    record.as_object()?;
    let value = |field: &str| match fields.get(field) {
        Some(pointer) => record.pointer(pointer),
        None => FIELDS
            .iter()
            .filter(|(name, _)| *name == field)
            .flat_map(|(_, places)| places.iter())
            .filter_map(|pointer| record.pointer(pointer))
            .find(|value| !value.is_object() && !value.is_array() && !value.is_null()),
    };
    let word = |field: &str| value(field).and_then(|value| text(value, ""));
    let error = word("error");
    let mut entry = Entry {
        at: value("at").and_then(moment),
        action: word("action"),
        principals: word("principal").into_iter().collect(),
        access_key: word("access_key"),
        source_ip: word("source_ip"),
        destination_ip: word("destination_ip"),
        failed: error.is_some()
            || word("outcome").is_some_and(|outcome| {
                FAILED
                    .iter()
                    .any(|failed| outcome.eq_ignore_ascii_case(failed))
            }),
        bytes: value("bytes").and_then(Value::as_u64),
        ..Entry::default()
    };
    mentions(record, &mut entry.mentions);
    entry.column("principal", entry.principals.first().cloned());
    entry.column("destination_ip", entry.destination_ip.clone());
    entry.column(
        "destination_port",
        value("destination_port").cloned().unwrap_or_default(),
    );
    for field in ["user_agent", "resource", "instance", "outcome"] {
        entry.column(field, word(field));
    }
    entry.column("error", error);
    entry.column("record", shown(record));
    Some(entry)
}

/// The record itself, or its scalars where it is large.
fn shown(record: &Value) -> Value {
    if crate::guard::bytes(record) <= MAX_RECORD_BYTES {
        return record.clone();
    }
    let mut short = Map::new();
    for (key, value) in record.as_object().into_iter().flatten().take(32) {
        match value {
            Value::String(text) => {
                // Before the cut: half a secret is none that anybody knows.
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
