//! Defines a log record in the form that all formats share.

use std::net::IpAddr;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

/// Maximum number of texts of one record that are searched. A CloudTrail record of 256 KB, the largest, has fewer.
const MAX_MENTIONS: usize = 16_384;

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct LogRecord {
    pub(super) at: Option<DateTime<Utc>>,
    /// End of the record, if it covers more than a moment.
    pub(super) until: Option<DateTime<Utc>>,
    pub(super) action: Option<String>,
    /// Service that handled the call, e.g. `s3.amazonaws.com`.
    pub(super) service: Option<String>,
    /// Names of the caller, the fullest first.
    pub(super) principals: Vec<String>,
    pub(super) access_key: Option<String>,
    pub(super) source_ip: Option<String>,
    pub(super) destination_ip: Option<String>,
    /// Other texts of the record that may name a value.
    pub(super) mentions: Vec<String>,
    pub(super) is_failure: bool,
    /// True if the record reports that the log lacks others of its time.
    pub(super) reports_gap: bool,
    /// True if the platform says that the call changes nothing.
    pub(super) is_read_only: bool,
    pub(super) bytes: Option<u64>,
    /// Columns that only this format has, or that it fills differently.
    pub(super) columns: Map<String, Value>,
}

impl LogRecord {
    /// Returns the row for an answer: the columns of the format, null where the record lacks one.
    pub(super) fn row(self) -> Value {
        let mut row = self.columns;
        row.insert("at".to_owned(), serde_json::json!(self.at));
        row.insert("action".to_owned(), Value::from(self.action));
        row.insert("source_ip".to_owned(), Value::from(self.source_ip));
        Value::Object(row)
    }

    /// Returns the record with canonical addresses, as alerts and rows use them. The original spellings are kept as
    /// mentions.
    pub(super) fn with_canonical_addresses(mut self) -> Self {
        for address in [&mut self.source_ip, &mut self.destination_ip] {
            let Some(written) = address.as_mut() else {
                continue;
            };
            let Some(canonical) =
                canonical_address(written).filter(|canonical| canonical != written)
            else {
                continue;
            };
            self.mentions.push(std::mem::replace(written, canonical));
        }
        if let Some(column) = self.columns.get_mut("destination_ip") {
            *column = Value::from(self.destination_ip.clone());
        }
        self
    }

    /// Returns start and end, which are equal for most records.
    pub(super) fn span(&self) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
        let at = self.at?;
        Some((at, self.until.map_or(at, |until| until.max(at))))
    }

    pub(super) fn set_column(&mut self, name: &str, value: impl Into<Value>) {
        self.columns.insert(name.to_owned(), value.into());
    }
}

/// Returns the canonical form of an address, `192.0.2.1` for `::ffff:192.0.2.1`, or `None` when the text is no
/// address.
pub(super) fn canonical_address(text: &str) -> Option<String> {
    let ip: IpAddr = text.trim().parse().ok()?;
    Some(ip.to_canonical().to_string())
}

/// Returns the text at a pointer, or `None` when the value is no text.
pub(super) fn text_at(record: &Value, pointer: &str) -> Option<String> {
    match value_at(record, pointer)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the value at a pointer without escapes. `Value::pointer` unescapes each part into a new string, which takes
/// a third of the time of a search.
fn value_at<'a>(record: &'a Value, pointer: &str) -> Option<&'a Value> {
    let mut parts = pointer.split('/').skip(1);
    parts.try_fold(record, |value, part| match value {
        Value::Object(map) => map.get(part),
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Collects all texts at and below a value.
pub(super) fn collect_texts(value: &Value, into: &mut Vec<String>) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        if into.len() >= MAX_MENTIONS {
            return;
        }
        match value {
            Value::String(text) if !text.is_empty() => into.push(text.clone()),
            Value::Array(items) => open.extend(items),
            Value::Object(map) => open.extend(map.values()),
            _ => {}
        }
    }
}

/// Parses a timestamp of a log: RFC 3339, or seconds, milliseconds, microseconds or nanoseconds since 1970.
pub(super) fn parse_timestamp(value: &Value) -> Option<DateTime<Utc>> {
    if let Value::String(text) = value {
        return crate::timestamp::parse(text, crate::timestamp::DayBoundary::Start)
            .or_else(|| from_unix_time(text.parse().ok()?));
    }
    from_unix_time(value.as_f64()?)
}

fn from_unix_time(number: f64) -> Option<DateTime<Utc>> {
    let millis = match number {
        n if !n.is_finite() || n < 0.0 => return None,
        n if n < 1e11 => n * 1e3,
        n if n < 1e14 => n,
        n if n < 1e17 => n / 1e3,
        n => n / 1e6,
    };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "bounded by the arms above; a saturated value is out of range for chrono"
    )]
    DateTime::from_timestamp_millis(millis as i64)
}
