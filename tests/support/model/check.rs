//! Reads a request strictly: unknown fields are refused, and errors contain the place of the problem.
//!
//! This module knows no provider. Each provider converts a [`ValidationError`] into its own message, code and status.

use serde_json::{Map, Value};

use super::provider_error::ProviderErrorKind;

/// A problem of a request and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ValidationError {
    /// JSON pointer into the body; empty for the whole request.
    pub(super) at: String,
    pub(super) violation: Violation,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Violation {
    /// The provider has no such field.
    Unknown,
    /// A required field is missing.
    Missing,
    /// The value has not this type.
    Not(&'static str),
    /// A list is empty that must not be.
    Empty,
    /// A rule of the provider is broken: its message, and its code if there is one.
    Rule(String, Option<&'static str>),
    /// A problem of keys, headers or paths.
    Request(ProviderErrorKind, String),
}

impl ValidationError {
    /// Creates an error about the whole request.
    pub(super) fn request(kind: ProviderErrorKind, message: impl Into<String>) -> Self {
        Self {
            at: String::new(),
            violation: Violation::Request(kind, message.into()),
        }
    }

    /// Adds a code of the provider.
    pub(super) fn with_code(mut self, code: &'static str) -> Self {
        if let Violation::Rule(_, known) = &mut self.violation {
            *known = Some(code);
        }
        self
    }

    /// Returns the place with brackets: `messages[0].content`.
    pub(super) fn bracketed_path(&self) -> String {
        let mut path = String::new();
        for segment in self.at.split('/').filter(|segment| !segment.is_empty()) {
            if segment.bytes().all(|byte| byte.is_ascii_digit()) {
                path.push_str(&format!("[{segment}]"));
            } else {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(segment);
            }
        }
        path
    }

    /// Returns the place with dots: `messages.0.content`.
    pub(super) fn dotted_path(&self) -> String {
        self.at.trim_start_matches('/').replace('/', ".")
    }

    /// Returns the last segment of the pointer.
    pub(super) fn name(&self) -> &str {
        self.at.rsplit('/').next().unwrap_or_default()
    }
}

/// A value of the body and its place.
#[derive(Debug, Clone)]
pub(super) struct JsonNode<'a> {
    pub(super) value: &'a Value,
    pub(super) at: String,
}

/// The fields of an object, all of which are known.
#[derive(Debug, Clone)]
pub(super) struct JsonFields<'a> {
    map: &'a Map<String, Value>,
    at: String,
}

impl<'a> JsonNode<'a> {
    /// Creates the root from the body.
    pub(super) fn root(value: &'a Value) -> Self {
        Self {
            value,
            at: String::new(),
        }
    }

    fn error(&self, what: Violation) -> ValidationError {
        ValidationError {
            at: self.at.clone(),
            violation: what,
        }
    }

    /// Creates an error for a broken rule at this place.
    pub(super) fn rule_error(&self, message: impl Into<String>) -> ValidationError {
        self.error(Violation::Rule(message.into(), None))
    }

    /// Creates an error for a field that is known elsewhere, or for another type.
    pub(super) fn unknown_field(&self) -> ValidationError {
        self.error(Violation::Unknown)
    }

    /// Reads an object that has no other fields than these.
    pub(super) fn fields(&self, known: &[&str]) -> Result<JsonFields<'a>, ValidationError> {
        let fields = self.any_fields()?;
        match fields.map.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(ValidationError {
                at: format!("{}/{key}", self.at),
                violation: Violation::Unknown,
            }),
            None => Ok(fields),
        }
    }

    /// Reads an object with any fields.
    pub(super) fn any_fields(&self) -> Result<JsonFields<'a>, ValidationError> {
        match self.value {
            Value::Object(map) => Ok(JsonFields {
                map,
                at: self.at.clone(),
            }),
            _ => Err(self.error(Violation::Not("object"))),
        }
    }

    pub(super) fn text(&self) -> Result<&'a str, ValidationError> {
        self.value
            .as_str()
            .ok_or_else(|| self.error(Violation::Not("string")))
    }

    /// Reads text that is not blank.
    pub(super) fn non_empty_text(&self) -> Result<&'a str, ValidationError> {
        let text = self.text()?;
        if text.trim().is_empty() {
            return Err(self.error(Violation::Empty));
        }
        Ok(text)
    }

    pub(super) fn list(&self) -> Result<Vec<Self>, ValidationError> {
        match self.value {
            Value::Array(items) => Ok(items
                .iter()
                .enumerate()
                .map(|(index, value)| Self {
                    value,
                    at: format!("{}/{index}", self.at),
                })
                .collect()),
            _ => Err(self.error(Violation::Not("array"))),
        }
    }

    /// Reads a list that is not empty.
    pub(super) fn non_empty_list(&self) -> Result<Vec<Self>, ValidationError> {
        let list = self.list()?;
        if list.is_empty() {
            return Err(self.error(Violation::Empty));
        }
        Ok(list)
    }

    pub(super) fn flag(&self) -> Result<bool, ValidationError> {
        self.value
            .as_bool()
            .ok_or_else(|| self.error(Violation::Not("boolean")))
    }

    /// Reads an integer of at least `least`.
    pub(super) fn integer(&self, least: u64) -> Result<u64, ValidationError> {
        let number = self
            .value
            .as_u64()
            .ok_or_else(|| self.error(Violation::Not("integer")))?;
        if number < least {
            return Err(self.rule_error(format!(
                "integer below minimum value: expected a value >= {least}, but got {number}"
            )));
        }
        Ok(number)
    }

    /// Reads a number within bounds.
    pub(super) fn number(&self, low: f64, high: f64) -> Result<f64, ValidationError> {
        let number = self
            .value
            .as_f64()
            .ok_or_else(|| self.error(Violation::Not("number")))?;
        if !(low..=high).contains(&number) {
            return Err(self.rule_error(format!(
                "number out of range: expected a value from {low} to {high}, but got {number}"
            )));
        }
        Ok(number)
    }

    /// Reads one of these words.
    pub(super) fn one_of(&self, words: &[&str]) -> Result<&'a str, ValidationError> {
        let word = self.text()?;
        if !words.contains(&word) {
            let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
            return Err(self.rule_error(format!(
                "invalid value: '{word}'. Supported values are: {}",
                words.join(", ")
            )));
        }
        Ok(word)
    }
}

impl<'a> JsonFields<'a> {
    /// Returns a field, or `None` when it is missing or null.
    pub(super) fn get(&self, name: &str) -> Option<JsonNode<'a>> {
        let value = self.map.get(name).filter(|value| !value.is_null())?;
        Some(JsonNode {
            value,
            at: format!("{}/{name}", self.at),
        })
    }

    /// Returns a required field.
    pub(super) fn required(&self, name: &str) -> Result<JsonNode<'a>, ValidationError> {
        self.get(name).ok_or_else(|| ValidationError {
            at: format!("{}/{name}", self.at),
            violation: Violation::Missing,
        })
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns all fields.
    pub(super) fn each(&self) -> impl Iterator<Item = (&'a str, JsonNode<'a>)> + '_ {
        self.map.iter().map(|(name, value)| {
            let at = format!("{}/{name}", self.at);
            (name.as_str(), JsonNode { value, at })
        })
    }

    /// Creates an error for a rule that the whole object breaks.
    pub(super) fn rule_error(&self, message: impl Into<String>) -> ValidationError {
        ValidationError {
            at: self.at.clone(),
            violation: Violation::Rule(message.into(), None),
        }
    }
}

/// Returns whether a name has only allowed characters and is not too long.
pub(super) fn is_name(name: &str, longest: usize, more: &str) -> bool {
    (1..=longest).contains(&name.len())
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || more.contains(letter))
}
