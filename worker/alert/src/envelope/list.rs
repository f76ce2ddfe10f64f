//! Several findings in one message: a JSON array, `Findings` of GuardDuty and Security Hub, SCC's list results.

use serde_json::Value;

/// Where a list stands.
pub(super) enum Key {
    /// The value itself is the list.
    Itself,
    /// Under this key.
    Under(String),
}

/// Where the value holds a list of findings, if it does. `null` counts as an empty list.
pub(super) fn elements(value: &Value) -> Option<Key> {
    match value {
        Value::Array(_) => Some(Key::Itself),
        Value::Object(map) => map
            .iter()
            .find(|(key, inner)| {
                let named = key.eq_ignore_ascii_case("findings")
                    || key.eq_ignore_ascii_case("listFindingsResults");
                named && (inner.is_array() || inner.is_null())
            })
            .map(|(key, _)| Key::Under(key.clone())),
        _ => None,
    }
}

/// The list's pointer and its elements.
pub(super) fn take(value: Value, key: Key) -> (String, Vec<Value>) {
    let (prefix, list) = match (key, value) {
        (Key::Under(key), Value::Object(mut map)) => {
            let list = map.remove(&key).unwrap_or_default();
            (format!("/{key}"), list)
        }
        (_, value) => (String::new(), value),
    };
    match list {
        Value::Array(elements) => (prefix, elements),
        _ => (prefix, Vec::new()),
    }
}
