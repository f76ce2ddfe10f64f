//! Defines texts of a conversation. Texts that many requests share are written as JSON once.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A text of a conversation. Clones share the text and its JSON form, because writing the same prompts again would be
/// most of a request's CPU cost.
#[derive(Clone)]
pub struct ChatText(TextStorage);

#[derive(Clone)]
enum TextStorage {
    Own(Arc<CountedText>),
    Shared(Arc<SharedText>),
}

/// A text with its token count, which is needed when a request is made and when it is charged.
struct CountedText {
    text: String,
    tokens: OnceLock<u64>,
}

struct SharedText {
    counted: CountedText,
    json: OnceLock<Option<Box<RawValue>>>,
}

impl ChatText {
    /// Creates a text that other requests will share.
    #[must_use]
    pub fn shared(text: impl Into<String>) -> Self {
        Self(TextStorage::Shared(Arc::new(SharedText {
            counted: text.into().into(),
            json: OnceLock::new(),
        })))
    }

    /// Returns the number of tokens according to `count`, which is called once.
    pub fn tokens(&self, count: impl FnOnce(&str) -> u64) -> u64 {
        let counted = self.counted_text();
        *counted.tokens.get_or_init(|| count(&counted.text))
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.counted_text().text
    }

    fn counted_text(&self) -> &CountedText {
        match &self.0 {
            TextStorage::Own(own) => own,
            TextStorage::Shared(shared) => &shared.counted,
        }
    }
}

impl Deref for ChatText {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl From<String> for CountedText {
    fn from(text: String) -> Self {
        Self {
            text,
            tokens: OnceLock::new(),
        }
    }
}

impl From<String> for ChatText {
    fn from(text: String) -> Self {
        Self(TextStorage::Own(Arc::new(text.into())))
    }
}

impl From<&str> for ChatText {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl PartialEq for ChatText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl fmt::Debug for ChatText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Display for ChatText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

/// Serialises to JSON only: a shared text is copied as it was first written.
impl Serialize for ChatText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let TextStorage::Shared(shared) = &self.0 {
            let write = || serde_json::value::to_raw_value(&shared.counted.text).ok();
            if let Some(json) = shared.json.get_or_init(write) {
                return json.serialize(serializer);
            }
        }
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for ChatText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_text_is_written_as_any_other() {
        let words = "line\n\"quoted\" \u{1} é";
        let (own, shared) = (ChatText::from(words), ChatText::shared(words));
        assert_eq!(own, shared);
        for _ in 0..2 {
            let told = serde_json::to_string(&shared).unwrap();
            assert_eq!(told, serde_json::to_string(&own).unwrap());
            assert_eq!(serde_json::from_str::<ChatText>(&told).unwrap(), shared);
            assert_eq!(serde_json::to_value(&shared).unwrap(), words);
        }
    }
}
