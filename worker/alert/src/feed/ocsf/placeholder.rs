//! Removes placeholders that products write where they have no value: `N/A`, `-`, `none`, `Unknown`, `Other`.

use std::borrow::Cow;

use serde_json::Value;

use super::super::check_name::non_placeholder;

/// OCSF's caption for a value outside an enumeration.
const OTHER: &str = "Other";

/// Returns the finding with `null` for each placeholder, so that no reader takes one for a type, a name or an id. The
/// raw finding keeps them.
pub(super) fn without_placeholders(value: &Value) -> Cow<'_, Value> {
    if has_placeholder(value) {
        Cow::Owned(copy_without_placeholders(value))
    } else {
        Cow::Borrowed(value)
    }
}

fn has_placeholder(value: &Value) -> bool {
    match value {
        Value::String(text) => is_placeholder(text),
        Value::Array(items) => items.iter().any(has_placeholder),
        Value::Object(members) => members.values().any(has_placeholder),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn copy_without_placeholders(value: &Value) -> Value {
    match value {
        Value::String(text) if is_placeholder(text) => Value::Null,
        Value::Array(items) => items.iter().map(copy_without_placeholders).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), copy_without_placeholders(value)))
            .collect(),
        other => other.clone(),
    }
}

fn is_placeholder(text: &str) -> bool {
    non_placeholder(text).is_none_or(|text| text.eq_ignore_ascii_case(OTHER))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn placeholders_become_null_at_any_depth() {
        let sent = json!({"a": "N/A", "b": [" none ", {"c": "Unknown", "d": "-", "e": ""}], "f": "Other one", "g": 0});
        let read = json!({"a": null, "b": [null, {"c": null, "d": null, "e": null}], "f": "Other one", "g": 0});
        assert_eq!(*without_placeholders(&sent), read);
        assert!(matches!(without_placeholders(&read), Cow::Borrowed(_)));
    }
}
