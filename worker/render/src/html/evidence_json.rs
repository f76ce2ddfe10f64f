//! Renders evidence as readable JSON: every string is safe text, and depth, rows and bytes are bounded. Programs get the
//! whole evidence from `/api/v1`.

use nightshift_alert::text::sanitize;
use serde_json::{Map, Value};

/// The maximum number of bytes of all bodies of a page, and of one body.
pub(super) const BYTES: usize = 512 * 1024;
const BODY_BYTES: usize = 64 * 1024;
/// The maximum number of values of one body.
const NODES: usize = 2_000;
/// The bytes counted for a value beside its text: quotes, comma, indentation.
const VALUE_BYTES: usize = 16;
/// The deepest level.
const DEPTH: usize = 24;
/// The maximum number of characters of a string or key.
const STRING: usize = 2_000;
const KEY: usize = 120;

/// The remaining output budget. It is spent before the work is done, so that a flood takes no time either.
struct Budget {
    nodes: usize,
    bytes: usize,
    /// True if something was left out.
    spent: bool,
}

impl Budget {
    /// Returns whether there is room for a value, and records if there is none.
    fn takes(&mut self, depth: usize) -> bool {
        let fits = self.nodes > 0 && self.bytes > 0 && depth < DEPTH;
        self.nodes = self.nodes.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(VALUE_BYTES + depth);
        self.spent |= !fits;
        fits
    }

    fn text(&mut self, text: &str, most: usize) -> String {
        self.spent |= text.len() > most;
        let shown = sanitize(text, most);
        self.bytes = self.bytes.saturating_sub(shown.len());
        shown
    }
}

/// Returns the readable JSON, unless there is no room for it, and whether parts of it are missing.
pub(super) fn body(value: &Value, left: &mut usize) -> (Option<String>, bool) {
    let room = BODY_BYTES.min(*left);
    let mut budget = Budget {
        nodes: NODES,
        bytes: room,
        spent: false,
    };
    if !budget.takes(0) {
        return (None, true);
    }
    let tree = readable(value, 0, &mut budget);
    *left -= room - budget.bytes;
    let text = serde_json::to_string_pretty(&tree).unwrap_or_default();
    (Some(text), budget.spent)
}

fn readable(value: &Value, depth: usize, budget: &mut Budget) -> Value {
    match value {
        Value::String(text) => Value::String(budget.text(text, STRING)),
        Value::Array(items) => {
            let mut kept = Vec::new();
            for item in items {
                if !budget.takes(depth + 1) {
                    break;
                }
                kept.push(readable(item, depth + 1, budget));
            }
            Value::Array(kept)
        }
        Value::Object(map) => {
            let mut kept = Map::new();
            for (key, item) in map {
                if !budget.takes(depth + 1) {
                    break;
                }
                let key = budget.text(key, KEY);
                kept.insert(key, readable(item, depth + 1, budget));
            }
            Value::Object(kept)
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(value: &Value) -> (String, bool) {
        let (body, shortened) = body(value, &mut BYTES.clone());
        (body.unwrap(), shortened)
    }

    #[test]
    fn a_body_reads_as_it_is_and_carries_nothing_alive() {
        let value = json!({ "rows": [{ "ip": "185.220.101.42", "n": 3, "url": "https://evil.com/\u{202e}" }] });
        let (text, shortened) = shown(&value);
        assert!(
            text.contains("\"ip\": \"185.220.101[.]42\"") && text.contains("\"n\": 3"),
            "{text}"
        );
        assert!(
            text.contains("hxxps://evil[.]com/\"") && !shortened,
            "{text}"
        );
    }

    #[test]
    fn a17_too_long_deep_or_large_evidence_is_cut_and_reported() {
        let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
        for value in [json!("x".repeat(1 << 20)), json!(vec![1; 100_000]), deep] {
            let (text, shortened) = shown(&value);
            assert!(shortened && text.len() < 128 * 1024, "{}", text.len());
        }
        let (none, shortened) = body(&json!("abc"), &mut 0);
        assert!(none.is_none() && shortened);
    }
}
