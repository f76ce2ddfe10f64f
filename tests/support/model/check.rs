//! Reads a request strictly: every field is known or refused, and what is wrong is told with the place where it stands.
//!
//! Nothing here knows a provider. Each turns a [`Wrong`] into the words, codes and status of its own.

use serde_json::{Map, Value};

use super::trouble::Kind;

/// What is wrong with a request, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    /// A JSON pointer into the body; empty for the whole request.
    pub(super) at: String,
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// The provider has no such field.
    Unknown,
    /// A field that must be there is not.
    Missing,
    /// It is not of the type that it must be.
    Not(&'static str),
    /// A list that must hold something is empty.
    Empty,
    /// A rule of the provider's, in its words, with its code where it has one.
    Rule(String, Option<&'static str>),
    /// Not a matter of the body: keys, headers, paths.
    Request(Kind, String),
}

impl Wrong {
    /// A matter of the request as a whole.
    pub(super) fn request(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            at: String::new(),
            what: What::Request(kind, message.into()),
        }
    }

    /// With a code of the provider's.
    pub(super) fn coded(mut self, code: &'static str) -> Self {
        if let What::Rule(_, known) = &mut self.what {
            *known = Some(code);
        }
        self
    }

    /// Where it is, with the segments of the pointer joined in another way: `messages[0].content`.
    pub(super) fn bracketed(&self) -> String {
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

    /// Where it is: `messages.0.content`.
    pub(super) fn dotted(&self) -> String {
        self.at.trim_start_matches('/').replace('/', ".")
    }

    /// The last segment of the pointer.
    pub(super) fn name(&self) -> &str {
        self.at.rsplit('/').next().unwrap_or_default()
    }
}

/// A value of the body, and where it stands.
#[derive(Debug, Clone)]
pub(super) struct At<'a> {
    pub(super) value: &'a Value,
    pub(super) at: String,
}

/// The fields of an object, all of them known.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    map: &'a Map<String, Value>,
    at: String,
}

impl<'a> At<'a> {
    /// The body.
    pub(super) fn root(value: &'a Value) -> Self {
        Self {
            value,
            at: String::new(),
        }
    }

    fn fails(&self, what: What) -> Wrong {
        Wrong {
            at: self.at.clone(),
            what,
        }
    }

    /// A rule broken here.
    pub(super) fn wrong(&self, message: impl Into<String>) -> Wrong {
        self.fails(What::Rule(message.into(), None))
    }

    /// Something known that stands elsewhere, or is of another type, than here.
    pub(super) fn unknown(&self) -> Wrong {
        self.fails(What::Unknown)
    }

    /// An object with these fields at the most.
    pub(super) fn fields(&self, known: &[&str]) -> Result<Fields<'a>, Wrong> {
        let fields = self.any_fields()?;
        match fields.map.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(Wrong {
                at: format!("{}/{key}", self.at),
                what: What::Unknown,
            }),
            None => Ok(fields),
        }
    }

    /// An object with any fields.
    pub(super) fn any_fields(&self) -> Result<Fields<'a>, Wrong> {
        match self.value {
            Value::Object(map) => Ok(Fields {
                map,
                at: self.at.clone(),
            }),
            _ => Err(self.fails(What::Not("object"))),
        }
    }

    pub(super) fn text(&self) -> Result<&'a str, Wrong> {
        self.value
            .as_str()
            .ok_or_else(|| self.fails(What::Not("string")))
    }

    /// Text that is not blank.
    pub(super) fn filled_text(&self) -> Result<&'a str, Wrong> {
        let text = self.text()?;
        if text.trim().is_empty() {
            return Err(self.fails(What::Empty));
        }
        Ok(text)
    }

    pub(super) fn list(&self) -> Result<Vec<Self>, Wrong> {
        match self.value {
            Value::Array(items) => Ok(items
                .iter()
                .enumerate()
                .map(|(index, value)| Self {
                    value,
                    at: format!("{}/{index}", self.at),
                })
                .collect()),
            _ => Err(self.fails(What::Not("array"))),
        }
    }

    /// A list that is not empty.
    pub(super) fn filled_list(&self) -> Result<Vec<Self>, Wrong> {
        let list = self.list()?;
        if list.is_empty() {
            return Err(self.fails(What::Empty));
        }
        Ok(list)
    }

    pub(super) fn flag(&self) -> Result<bool, Wrong> {
        self.value
            .as_bool()
            .ok_or_else(|| self.fails(What::Not("boolean")))
    }

    /// A whole number, of this size at the least.
    pub(super) fn whole(&self, least: u64) -> Result<u64, Wrong> {
        let number = self
            .value
            .as_u64()
            .ok_or_else(|| self.fails(What::Not("integer")))?;
        if number < least {
            return Err(self.wrong(format!(
                "integer below minimum value: expected a value >= {least}, but got {number}"
            )));
        }
        Ok(number)
    }

    /// A number within bounds.
    pub(super) fn number(&self, low: f64, high: f64) -> Result<f64, Wrong> {
        let number = self
            .value
            .as_f64()
            .ok_or_else(|| self.fails(What::Not("number")))?;
        if !(low..=high).contains(&number) {
            return Err(self.wrong(format!(
                "number out of range: expected a value from {low} to {high}, but got {number}"
            )));
        }
        Ok(number)
    }

    /// One of these words.
    pub(super) fn one_of(&self, words: &[&str]) -> Result<&'a str, Wrong> {
        let word = self.text()?;
        if !words.contains(&word) {
            let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
            return Err(self.wrong(format!(
                "invalid value: '{word}'. Supported values are: {}",
                words.join(", ")
            )));
        }
        Ok(word)
    }
}

impl<'a> Fields<'a> {
    /// A field that may be left out, or be null.
    pub(super) fn get(&self, name: &str) -> Option<At<'a>> {
        let value = self.map.get(name).filter(|value| !value.is_null())?;
        Some(At {
            value,
            at: format!("{}/{name}", self.at),
        })
    }

    /// A field that must be there.
    pub(super) fn need(&self, name: &str) -> Result<At<'a>, Wrong> {
        self.get(name).ok_or_else(|| Wrong {
            at: format!("{}/{name}", self.at),
            what: What::Missing,
        })
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// All of them.
    pub(super) fn each(&self) -> impl Iterator<Item = (&'a str, At<'a>)> + '_ {
        self.map.iter().map(|(name, value)| {
            let at = format!("{}/{name}", self.at);
            (name.as_str(), At { value, at })
        })
    }

    /// A rule broken by the object as a whole.
    pub(super) fn wrong(&self, message: impl Into<String>) -> Wrong {
        Wrong {
            at: self.at.clone(),
            what: What::Rule(message.into(), None),
        }
    }
}

/// Whether a name is of these letters and within a length.
pub(super) fn is_name(name: &str, longest: usize, more: &str) -> bool {
    (1..=longest).contains(&name.len())
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || more.contains(letter))
}
