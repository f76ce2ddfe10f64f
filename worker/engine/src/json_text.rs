//! JSON that is kept while a case is open.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// JSON as compact text. As a tree each small object of it takes more than 600 bytes, and a thousand cases may wait for
/// models at once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Value", from = "Value")]
pub struct JsonText(Box<str>);

impl JsonText {
    /// As a tree.
    #[must_use]
    pub fn value(&self) -> Value {
        // It was written from a tree: nothing in it cannot be read.
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    /// As it is kept: compact.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&Value> for JsonText {
    fn from(value: &Value) -> Self {
        Self(value.to_string().into())
    }
}

impl From<Value> for JsonText {
    fn from(value: Value) -> Self {
        Self::from(&value)
    }
}

impl From<JsonText> for Value {
    fn from(text: JsonText) -> Self {
        text.value()
    }
}

impl fmt::Debug for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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
    fn a17_what_is_as_deep_as_a_message_may_be_is_read_again() {
        let deepest = nightshift_alert::text::Bounds::default().depth;
        let value = (0..deepest).fold(json!("x"), |inner, _| json!([inner]));
        assert_eq!(JsonText::from(&value).value(), value);
    }
}
