//! Several findings in one message: a JSON array, `Findings` of GuardDuty and Security Hub, SCC's list results.

use serde_json::Value;

use crate::feed::is_same_key;

/// Where lists stand.
pub(super) enum Key {
    /// The value itself is the list.
    Itself,
    /// Under these keys: whoever writes `Findings` and `findings` has told of two lists.
    Under(Vec<String>),
}

/// What the APIs that list findings write beside them, in any case and with or without `_`.
const BESIDE: [&str; 8] = [
    "nexttoken",
    "nextpagetoken",
    "responsemetadata",
    "$metadata",
    "readtime",
    "totalsize",
    "actionname",
    "actiondescription",
];

/// Where the value holds lists of findings, if it does. `null` counts as an empty list.
///
/// An empty list is one where nothing else is told: beside other fields it is one of them, and they are the finding.
pub(super) fn elements(value: &Value) -> Option<Key> {
    let map = match value {
        Value::Array(_) => return Some(Key::Itself),
        Value::Object(map) => map,
        _ => return None,
    };
    let filled = |key: &&String| {
        let list = map.get(*key).and_then(Value::as_array);
        list.is_some_and(|list| !list.is_empty())
    };
    let is_bare = || {
        map.keys()
            .all(|key| is_list(key) || BESIDE.iter().any(|known| is_same_key(key, known)))
    };
    let lists = map.iter().filter_map(|(key, inner)| {
        (is_list(key) && (inner.is_array() || inner.is_null())).then_some(key)
    });
    let mut keys: Vec<String> = lists.clone().filter(filled).cloned().collect();
    if keys.is_empty() && is_bare() {
        keys.extend(lists.take(1).cloned());
    }
    (!keys.is_empty()).then_some(Key::Under(keys))
}

fn is_list(key: &str) -> bool {
    is_same_key(key, "findings") || is_same_key(key, "listFindingsResults")
}

/// The elements, each with its pointer.
pub(super) fn take(value: Value, key: Key) -> Vec<(String, Value)> {
    let (keys, mut map) = match (key, value) {
        (Key::Under(keys), Value::Object(map)) => (keys, map),
        (_, value) => return numbered("", value),
    };
    let lists = keys.into_iter().flat_map(|key| {
        let list = map.remove(&key).unwrap_or_default();
        numbered(&format!("/{key}"), list)
    });
    lists.collect()
}

fn numbered(prefix: &str, list: Value) -> Vec<(String, Value)> {
    let Value::Array(elements) = list else {
        return Vec::new();
    };
    let numbered = elements.into_iter().enumerate();
    numbered
        .map(|(index, element)| (format!("{prefix}/{index}"), element))
        .collect()
}
