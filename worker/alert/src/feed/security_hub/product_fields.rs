//! Rebuilds GuardDuty's fields from the paths of ASFF's `ProductFields`.

use serde_json::{Map, Value, json};

use super::super::Node;

/// Maximum depth of a path.
const MAX_DEPTH: usize = 16;

/// Returns the tree of the paths: `aws/guardduty/service/count` is `count` in `service`.
pub(super) fn restore_finding(node: Node<'_>) -> Value {
    let mut root = json!({});
    for (key, value) in node.at("ProductFields").members() {
        let Some(path) = key.strip_prefix("aws/guardduty/") else {
            continue;
        };
        if path.split('/').count() <= MAX_DEPTH {
            let value = value.value().cloned().unwrap_or(Value::Null);
            insert(&mut root, path, parse_list(value));
        }
    }
    restore_lists(root)
}

fn insert(root: &mut Value, path: &str, value: Value) {
    let mut place = root;
    for segment in path.split('/').flat_map(steps) {
        if !place.is_object() {
            *place = json!({});
        }
        let Value::Object(map) = place else { return };
        place = map.entry(segment).or_insert(Value::Null);
    }
    // A field with members appears once more by itself, empty.
    if !place.is_object() {
        *place = value;
    }
}

/// Returns the parts of a path segment. A list element is a part of its own: `threatNames.0_` is `threatNames` and
/// `0_`.
fn steps(segment: &str) -> impl Iterator<Item = &str> {
    let element = segment.rsplit_once('.');
    let (list, index) = match element.filter(|(list, end)| !list.is_empty() && index(end).is_some())
    {
        Some((list, end)) => (list, Some(end)),
        None => (segment, None),
    };
    std::iter::once(list).chain(index)
}

fn index(key: &str) -> Option<u16> {
    key.strip_suffix('_')?.parse().ok()
}

/// Converts an object whose keys are element numbers to a list. Gaps are closed, so that a large number makes no long
/// list.
fn restore_lists(value: Value) -> Value {
    let Value::Object(map) = value else {
        return value;
    };
    let is_list = !map.is_empty() && map.keys().all(|key| index(key).is_some());
    if !is_list {
        let members = map
            .into_iter()
            .map(|(key, value)| (key, restore_lists(value)));
        return Value::Object(members.collect::<Map<_, _>>());
    }
    let mut elements: Vec<_> = map.into_iter().collect();
    elements.sort_by_key(|(key, _)| index(key));
    elements
        .into_iter()
        .map(|(_, value)| restore_lists(value))
        .collect()
}

/// Returns a product field's value, which is text or a list as JSON text.
fn parse_list(value: Value) -> Value {
    match &value {
        Value::String(text) if text.starts_with('[') => serde_json::from_str(text).unwrap_or(value),
        _ => value,
    }
}
