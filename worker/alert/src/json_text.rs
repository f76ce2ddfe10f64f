//! Defines compact JSON that is kept while a case is open.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// JSON as compact text. As a tree each small object takes more than 600 bytes, and a thousand cases may wait for
/// models at once.
#[derive(Clone)]
pub struct JsonText(Box<RawValue>);

impl JsonText {
    /// Parses the text to a tree.
    #[must_use]
    pub fn value(&self) -> Value {
        // The text was written from a tree, so parsing cannot fail.
        serde_json::from_str(self.as_str()).unwrap_or_default()
    }

    /// Returns an object with this text added under `key`.
    pub(crate) fn with(object: &Value, key: &str, text: &Self) -> Self {
        let fields = object.as_object().into_iter().flatten();
        // The keys are sorted as in a tree, so that the text equals that of a tree.
        let mut parts: BTreeMap<&str, JsonPart<'_>> = fields
            .map(|(name, value)| (name.as_str(), JsonPart::Tree(value)))
            .collect();
        parts.insert(key, JsonPart::Text(text));
        Self(to_raw_value(&parts).unwrap_or_default())
    }

    /// Returns the object without `key`, whose value is not parsed. A text that is not an object is returned
    /// unchanged.
    #[must_use]
    pub fn without(&self, key: &str) -> Self {
        let parts: Result<BTreeMap<String, &RawValue>, _> = serde_json::from_str(self.as_str());
        let Ok(mut parts) = parts else {
            return self.clone();
        };
        parts.remove(key);
        Self(to_raw_value(&parts).unwrap_or_default())
    }

    /// Returns the compact text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

/// A part of an object: a tree or a text.
#[derive(Serialize)]
#[serde(untagged)]
enum JsonPart<'a> {
    Tree(&'a Value),
    Text(&'a JsonText),
}

impl From<&Value> for JsonText {
    fn from(value: &Value) -> Self {
        // A tree always serialises to JSON.
        Self(to_raw_value(value).unwrap_or_default())
    }
}

impl From<Value> for JsonText {
    fn from(value: Value) -> Self {
        Self::from(&value)
    }
}

impl PartialEq for JsonText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for JsonText {}

/// Serialises as the JSON that the text holds.
impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Deserialises through a tree, because parts of internally tagged enums arrive as one.
impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

impl fmt::Debug for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_stay_as_they_are() {
        let value = json!([1e300, 0.1, -7, u64::MAX, i64::MIN, 1.0, "nul \0", {"": null}]);
        assert_eq!(JsonText::from(&value).value(), value);
    }

    #[test]
    fn an_object_can_be_told_without_one_of_its_fields() {
        let value = json!({"raw \"x\"": {"long": [1, 2]}, "a": "\u{0}é", "b": {"raw": 1}});
        let text = JsonText::from(&value);
        let rest = json!({"a": "\u{0}é", "b": {"raw": 1}});
        assert_eq!(text.without("raw \"x\""), JsonText::from(&rest));
        assert_eq!(text.without("raw"), text);
        let list = JsonText::from(&json!([1]));
        assert_eq!(list.without("a"), list);
    }

    #[test]
    fn it_is_written_as_what_it_holds_wherever_it_stands() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        enum TaggedText {
            Body { body: JsonText },
        }
        let value = json!({"b": [1, "x"], "a": null});
        let told = TaggedText::Body {
            body: JsonText::from(&value),
        };
        let whole = json!({"kind": "Body", "body": value});
        assert_eq!(serde_json::to_value(&told).unwrap(), whole);
        let text = serde_json::to_string(&told).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), whole);
        assert_eq!(serde_json::from_str::<TaggedText>(&text).unwrap(), told);
        assert_eq!(serde_json::from_value::<TaggedText>(whole).unwrap(), told);
    }

    #[test]
    fn a17_what_is_as_deep_as_a_message_may_be_is_read_again() {
        let deepest = crate::text::JsonBounds::default().depth;
        let value = (0..deepest).fold(json!("x"), |inner, _| json!([inner]));
        assert_eq!(JsonText::from(&value).value(), value);
    }
}
