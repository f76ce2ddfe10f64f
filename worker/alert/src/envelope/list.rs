//! Finds several findings in one message: a JSON array, `Findings` of GuardDuty and Security Hub, SCC's list results, a
//! list that a configured feed names, and the lists of other products.

use std::borrow::Cow;

use serde_json::Value;

use super::{Wrappers, forwarders, json_text};
use crate::feed::{self, GenericFeed, is_same_key};

/// Location of lists in a value.
pub(super) enum ListLocation {
    /// The value itself.
    Root,
    /// These JSON pointers. A message with both `Findings` and `findings` has two lists.
    Pointers(Vec<String>),
}

/// Names of lists in other products (Alertmanager, Falcon, Microsoft Graph, Event Hubs), in lower case. Such a list
/// is opened when one of its elements is a finding and the enclosing object is not.
const KEYS: [&str; 10] = [
    "alerts",
    "detections",
    "events",
    "incidents",
    "items",
    "records",
    "resources",
    "results",
    "data",
    "value",
];

/// Fields that listing APIs write beside the findings, in any case and with or without `_`.
const METADATA_KEYS: [&str; 8] = [
    "nexttoken",
    "nextpagetoken",
    "responsemetadata",
    "$metadata",
    "readtime",
    "totalsize",
    "actionname",
    "actiondescription",
];

/// Returns the location of the lists of findings in a value, if there are any. `null` counts as an empty list.
///
/// An empty list counts only when the value has no other fields. Otherwise the fields are the finding, and the list
/// is one of them.
pub(super) fn elements(value: &Value) -> Option<ListLocation> {
    let map = match value {
        Value::Array(_) => return Some(ListLocation::Root),
        Value::Object(map) => map,
        _ => return None,
    };
    let filled = |key: &&String| map.get(*key).is_some_and(is_filled_list);
    let lists = map.iter().filter_map(|(key, inner)| {
        let has_elements = inner.is_array() || inner.is_null() || json_text::is_document(inner);
        (is_list(key) && has_elements).then_some(key)
    });
    let pointer = |key: &String| format!("/{key}");
    let mut pointers: Vec<String> = lists.clone().filter(filled).map(pointer).collect();
    if pointers.is_empty() && is_bare(value) {
        pointers.extend(lists.take(1).map(pointer));
    }
    (!pointers.is_empty()).then_some(ListLocation::Pointers(pointers))
}

/// Returns whether the value holds a list of findings that is not empty.
pub(super) fn is_filled(value: &Value) -> bool {
    match elements(value) {
        Some(ListLocation::Root) => is_filled_list(value),
        Some(ListLocation::Pointers(pointers)) => {
            let mut lists = pointers.iter().filter_map(|pointer| value.pointer(pointer));
            lists.any(is_filled_list)
        }
        None => false,
    }
}

/// Returns whether a list has elements, or is a text that may hold some.
fn is_filled_list(list: &Value) -> bool {
    match list {
        Value::Array(elements) => !elements.is_empty(),
        _ => json_text::is_document(list),
    }
}

/// Returns the elements of a list, each of which, as the list itself, may be JSON in a text.
pub(crate) fn list_elements(list: &Value) -> Vec<Cow<'_, Value>> {
    let opened = |value: &Value| json_text::document(value).map(Cow::Owned);
    match opened(list) {
        Some(Cow::Owned(Value::Array(elements))) => elements.into_iter().map(Cow::Owned).collect(),
        Some(document) => vec![document],
        None => {
            let elements = list.as_array().into_iter().flatten();
            elements
                .map(|element| opened(element).unwrap_or(Cow::Borrowed(element)))
                .collect()
        }
    }
}

/// Returns whether the value has only fields that APIs write beside their lists.
pub(super) fn is_bare(value: &Value) -> bool {
    let is_beside = |key: &String| METADATA_KEYS.iter().any(|known| is_same_key(key, known));
    let map = value.as_object().into_iter().flatten();
    map.map(|(key, _)| key)
        .all(|key| is_list(key) || is_beside(key))
}

/// Returns the location of findings in a value that is not a finding: the list that a feed names, else one of
/// [`KEYS`].
pub(super) fn find_list(value: &Value, feeds: &[GenericFeed]) -> Option<ListLocation> {
    let map = value.as_object()?;
    let named = feeds
        .iter()
        .filter(|feed| feed.has_list_in(value))
        .find_map(|feed| feed.list.clone());
    let holds_finding = |list: &Value| {
        let mut elements = list_elements(list).into_iter();
        elements.any(|element| {
            feed::recognises(&element, &Wrappers::default(), feeds)
                || forwarders::recognise(&element).is_some()
        })
    };
    let known = || {
        let key = map.iter().find(|(key, list)| {
            KEYS.iter().any(|known| key.eq_ignore_ascii_case(known)) && holds_finding(list)
        });
        key.map(|(key, _)| format!("/{key}"))
    };
    let pointer = named.or_else(known)?;
    (!feed::is_built_in(value)).then(|| ListLocation::Pointers(vec![pointer]))
}

fn is_list(key: &str) -> bool {
    is_same_key(key, "findings") || is_same_key(key, "listFindingsResults")
}

/// Takes the elements out, each with its pointer.
pub(super) fn take_elements(value: &mut Value, place: ListLocation) -> Vec<(String, Value)> {
    let pointers = match place {
        ListLocation::Root => vec![String::new()],
        ListLocation::Pointers(pointers) => pointers,
    };
    let lists = pointers.into_iter().flat_map(|pointer| {
        let list = value.pointer_mut(&pointer).map(Value::take);
        numbered(&pointer, list.unwrap_or_default())
    });
    lists.collect()
}

fn numbered(prefix: &str, list: Value) -> Vec<(String, Value)> {
    let elements = match list {
        Value::Array(elements) => elements,
        // The text is opened like any other JSON in a string.
        text if json_text::is_document(&text) => return vec![(prefix.to_owned(), text)],
        _ => return Vec::new(),
    };
    let numbered = elements.into_iter().enumerate();
    numbered
        .map(|(index, element)| (format!("{prefix}/{index}"), element))
        .collect()
}
