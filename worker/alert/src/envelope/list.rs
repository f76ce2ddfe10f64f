//! Several findings in one message: a JSON array, `Findings` of GuardDuty and Security Hub, SCC's list results.

use serde_json::Value;

/// Where a list stands.
pub(super) enum Key {
    /// The value itself is the list.
    Itself,
    /// Under this key.
    Under(String),
}

/// What the APIs that list findings write beside them, in lower case.
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

/// Where the value holds a list of findings, if it does. `null` counts as an empty list.
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
            .all(|key| is_list(key) || BESIDE.iter().any(|known| key.eq_ignore_ascii_case(known)))
    };
    let mut lists = map.iter().filter_map(|(key, inner)| {
        (is_list(key) && (inner.is_array() || inner.is_null())).then_some(key)
    });
    let first = lists.clone().find(filled);
    let key = first.or_else(|| lists.next().filter(|_| is_bare()))?;
    Some(Key::Under(key.clone()))
}

fn is_list(key: &str) -> bool {
    key.eq_ignore_ascii_case("findings") || key.eq_ignore_ascii_case("listFindingsResults")
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
