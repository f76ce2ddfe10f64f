//! Opens envelopes around log records: EventBridge, CloudWatch Logs, Kinesis and Firehose, Pub/Sub, SNS and SQS, search
//! engines.
//!
//! Only values that are no records themselves are opened, and only where a carrier puts its payload. Other parts of a
//! record hold values chosen by callers, which must not become records of the platform.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::MultiGzDecoder;
use nightshift_alert::decode;
use serde_json::Value;

/// The keys under which carriers put one record or a list of records: as a value, as JSON in a string, or as Base64,
/// possibly compressed.
const PAYLOAD_KEYS: [&str; 14] = [
    "detail",
    "_source",
    "message",
    "Message",
    "body",
    "data",
    "kinesis",
    "Records",
    "records",
    "logEvents",
    "events",
    "entries",
    "hits",
    "value",
];

/// Lists that are split into items while they are read, beside those of the format.
pub(super) const LIST_KEYS: [&str; 5] = ["Records", "records", "logEvents", "events", "entries"];

/// Maximum number of envelopes around one record.
const MAX_DEPTH: usize = 6;

/// Maximum number of bytes of a decompressed payload.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct EnvelopePayloads {
    /// The values, including those within nested envelopes.
    pub(super) values: Vec<Value>,
    /// Payloads that could not be read.
    pub(super) malformed: usize,
}

impl EnvelopePayloads {
    /// Opens a value. The result is empty when the value is no envelope.
    pub(super) fn from_value(value: &Value) -> Self {
        let mut loads = Self::default();
        loads.open(value, 0);
        loads
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.values.is_empty() && self.malformed == 0
    }

    fn open(&mut self, value: &Value, depth: usize) {
        let Some(map) = value.as_object().filter(|_| depth < MAX_DEPTH) else {
            return;
        };
        for (key, load) in PAYLOAD_KEYS
            .iter()
            .filter_map(|key| Some((*key, map.get(*key)?)))
        {
            let read = match load {
                Value::String(text) => {
                    let read = decode_text(text);
                    let should_be = key == "data" || text.trim_start().starts_with('{');
                    self.malformed += usize::from(read.is_none() && should_be);
                    read
                }
                value => Some(value.clone()),
            };
            match read {
                Some(Value::Array(items)) => {
                    items.into_iter().for_each(|item| self.add(item, depth));
                }
                Some(item @ Value::Object(_)) => self.add(item, depth),
                _ => {}
            }
        }
    }

    fn add(&mut self, item: Value, depth: usize) {
        self.open(&item, depth + 1);
        self.values.push(item);
    }
}

/// Parses JSON in a string or in Base64.
fn decode_text(text: &str) -> Option<Value> {
    let text = text.trim();
    if text.starts_with(['{', '[']) {
        return decode(text.as_bytes()).ok().map(|decoded| decoded.value);
    }
    let bytes = STANDARD.decode(text).ok()?;
    let bytes = match bytes.starts_with(b"\x1f\x8b") {
        true => {
            let mut unpacked = Vec::new();
            let mut packed = MultiGzDecoder::new(bytes.as_slice()).take(MAX_BYTES);
            packed.read_to_end(&mut unpacked).ok()?;
            unpacked
        }
        false => bytes,
    };
    decode(&bytes).ok().map(|decoded| decoded.value)
}

/// Returns whether a value has a field of this name anywhere, also in JSON within a string. Such a value may be an
/// unreadable record.
pub(super) fn mentions_field(value: &Value, name: &str) -> bool {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(map) if map.contains_key(name) => return true,
            Value::Object(map) => open.extend(map.values()),
            Value::Array(items) => open.extend(items),
            Value::String(text) if text.contains(&format!("\"{name}\"")) => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn loads_are_found_where_carriers_put_them() {
        let record = json!({"eventName": "StopLogging"});
        let text = record.to_string();
        for wrapped in [
            json!({"detail-type": "AWS API Call via CloudTrail", "detail": record}),
            json!({"messageType": "DATA_MESSAGE", "logEvents": [{"id": "1", "message": text}]}),
            json!({"records": [{"recordId": "1", "data": STANDARD.encode(&text)}]}),
            json!({"Records": [{"kinesis": {"data": STANDARD.encode(&text)}}]}),
            json!({"Records": [{"messageId": "1", "body": json!({"Message": text}).to_string()}]}),
            json!({"hits": {"total": 1, "hits": [{"_index": "trail", "_source": record}]}}),
            json!({"message": {"data": STANDARD.encode(&text)}}),
        ] {
            let loads = EnvelopePayloads::from_value(&wrapped);
            assert!(loads.values.contains(&record), "{wrapped}");
            assert_eq!(loads.malformed, 0, "{wrapped}");
        }
        let elsewhere = json!({"requestParameters": {"x": record}, "note": text});
        assert!(EnvelopePayloads::from_value(&elsewhere).is_empty());
        for broken in [
            json!({"message": "{\"eventVersion\": "}),
            json!({"data": "c25hcHB5"}),
        ] {
            assert_eq!(
                EnvelopePayloads::from_value(&broken).malformed,
                1,
                "{broken}"
            );
        }
        assert!(mentions_field(&elsewhere, "eventName"));
        assert!(!mentions_field(&elsewhere, "methodName"));
    }
}
