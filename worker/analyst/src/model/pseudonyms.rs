//! Pseudonyms: account ids, principals, hosts and internal addresses become tokens before the model sees them, and
//! are restored in its answer, including arguments and quotes. The engine never sees a token, and the model never
//! sees a value.
//!
//! A token is a keyed hash of its value, so that all requests of a case have the same one and no table is stored. The
//! values are collected again for each request. Sealed parts of a provider go back unchanged.
//!
//! The author of an alert chooses names in it, so names from data are replaced only in data, never in our own words.
//! When they cannot all be hidden, the question is not asked.

mod keys;
mod names;
mod shapes;
mod values;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use regex::{Captures, Regex};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::fence::{Fence, Piece};
use super::frame::About;
use super::settings::PseudonymSettings;
use names::{Found, Names};
use nightshift_llm::chat::{Arguments, ChatAnswer, ChatRequest, Part, Role};
use shapes::Shapes;
use values::Kind;

/// Number of hex digits of a token.
const DIGITS: usize = 12;

/// Tokens as a model may write them. A token may stand between underscores, which are word characters for `\b` but
/// not here. Only tokens that were given out are replaced.
static TOKENS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?:account|principal|host|address|name)-[0-9a-f]{12}").ok());

/// Values that are hidden in the requests of one question.
pub(super) struct Mask {
    key: String,
    fence: Fence,
    shapes: Shapes,
    /// Names that the operator gave; they are hidden in our own words too.
    own: Names,
    /// Names of the operator and values of the case.
    all: Names,
    tokens: &'static Regex,
    /// Hidden values by their tokens.
    hidden: Mutex<BTreeMap<String, String>>,
}

impl Mask {
    /// Collects the values to hide in this question.
    ///
    /// # Errors
    ///
    /// Describes why not everything could be hidden. The question must not be asked then.
    pub(super) fn new(settings: &PseudonymSettings, about: &About<'_>) -> Result<Self, String> {
        let own = values::own(settings);
        let all = values::of(&own, about)?;
        let tokens = TOKENS.as_ref();
        Ok(Self {
            key: about.setting.pseudonym_key.to_string(),
            fence: Fence::new(&about.setting.delimiter),
            shapes: Shapes::new(&settings.ranges)?,
            own: Names::new(&own),
            all: Names::new(&all),
            tokens: tokens.ok_or("what finds tokens cannot be made")?,
            hidden: Mutex::default(),
        })
    }

    pub(super) fn request(&self, request: &ChatRequest) -> ChatRequest {
        let mut request = request.clone();
        if let Cow::Owned(system) = self.hide(&self.own, &request.system, false) {
            request.system = system.into();
        }
        for message in &mut request.messages {
            let is_ours = message.role == Role::User;
            for part in &mut message.parts {
                match part {
                    Part::Text { text, .. } | Part::Result { text, .. } if is_ours => {
                        *text = self.hide_blocks(text).into();
                    }
                    Part::Text { text, .. } | Part::Result { text, .. } => {
                        *text = self.hide_data(text, true).into_owned().into();
                    }
                    Part::Call(call) => match &mut call.arguments {
                        Arguments::Object(map) => {
                            map.values_mut().for_each(|value| self.hide_value(value));
                        }
                        Arguments::Unreadable(text) => {
                            *text = self.hide_data(text, true).into_owned();
                        }
                    },
                    Part::Opaque(_) => {}
                }
            }
        }
        request
    }

    pub(super) fn answer(&self, mut answer: ChatAnswer) -> ChatAnswer {
        for part in &mut answer.parts {
            match part {
                // The text is JSON, or is parsed as such.
                Part::Text { text, .. } | Part::Result { text, .. } => {
                    *text = self.show(text, true).into_owned().into();
                }
                Part::Call(call) => match &mut call.arguments {
                    Arguments::Object(map) => {
                        map.values_mut().for_each(|value| self.show_value(value));
                    }
                    Arguments::Unreadable(text) => *text = self.show(text, true).into_owned(),
                },
                Part::Opaque(_) => {}
            }
        }
        if let Some(value) = &mut answer.structured {
            self.show_value(value);
        }
        answer
    }

    /// Hides values in a text of ours. Names from data are hidden only in its data blocks.
    fn hide_blocks(&self, text: &str) -> String {
        let pieces = self.fence.pieces(text);
        let hidden = pieces.into_iter().map(|piece| match piece {
            Piece::Ours(text) => self.hide(&self.own, text, false),
            Piece::Data(text) => self.hide_data(text, true),
        });
        hidden.collect()
    }

    /// Hides values in a text of data.
    fn hide_data<'a>(&self, text: &'a str, is_json: bool) -> Cow<'a, str> {
        self.hide(&self.all, text, is_json)
    }

    /// Replaces these names, and everything with the shape of a value, by tokens. If the text is JSON, both are found
    /// in JSON's spelling.
    fn hide<'a>(&self, names: &Names, text: &'a str, is_json: bool) -> Cow<'a, str> {
        let mut name = names.next(text, 0);
        let mut shape = self.shapes.next(text, 0);
        let mut out = String::new();
        let mut done = 0;
        while let Some(found) = first(name, shape) {
            out.push_str(text.get(done..found.start).unwrap_or_default());
            let value = text.get(found.start..found.end).unwrap_or_default();
            out.push_str(&self.token(found.kind, value, is_json));
            done = found.end;
            if name.is_some_and(|name| name.start < done) {
                name = names.next(text, done);
            }
            if shape.is_some_and(|shape| shape.start < done) {
                shape = self.shapes.next(text, done);
            }
        }
        if done == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(text.get(done..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// Returns the token of a value and remembers it.
    fn token(&self, kind: Kind, text: &str, is_json: bool) -> String {
        // The same value with and without escapes gets the same token.
        let value = if is_json {
            unescaped(text)
        } else {
            text.to_owned()
        };
        let mut digest = Sha256::new();
        for part in [self.key.as_str(), kind.word(), &value] {
            digest.update(part.as_bytes());
            digest.update([0]);
        }
        let token = format!("{}-{}", kind.word(), super::hex(&digest.finalize(), DIGITS));
        let mut hidden = self.hidden.lock().unwrap_or_else(PoisonError::into_inner);
        hidden.entry(token.clone()).or_insert(value);
        token
    }

    /// Restores the values in a text, escaped if the text is JSON.
    fn show<'a>(&self, text: &'a str, is_json: bool) -> Cow<'a, str> {
        let hidden = self.hidden.lock().unwrap_or_else(PoisonError::into_inner);
        self.tokens.replace_all(text, |found: &Captures<'_>| {
            let token = found.get(0).map_or("", |found| found.as_str());
            match hidden.get(token) {
                Some(value) if is_json => escaped(value),
                Some(value) => value.clone(),
                None => token.to_owned(),
            }
        })
    }

    fn hide_value(&self, value: &mut Value) {
        each_text(value, &|text| self.hide_data(text, false).into_owned());
    }

    fn show_value(&self, value: &mut Value) {
        each_text(value, &|text| self.show(text, false).into_owned());
    }
}

/// Returns the first of two matches, or the longer one when both begin at one place.
fn first(name: Option<Found>, shape: Option<Found>) -> Option<Found> {
    match (name, shape) {
        (Some(name), Some(shape)) => {
            let is_shape = (shape.start, name.end) < (name.start, shape.end);
            Some(if is_shape { shape } else { name })
        }
        (name, shape) => name.or(shape),
    }
}

fn each_text(value: &mut Value, change: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(list) => list.iter_mut().for_each(|inner| each_text(inner, change)),
        Value::Object(map) => map.values_mut().for_each(|inner| each_text(inner, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Decodes text from inside a JSON string. A text that cannot be decoded is returned as it is.
fn unescaped(text: &str) -> String {
    serde_json::from_str(&format!("\"{text}\"")).unwrap_or_else(|_| text.to_owned())
}

/// Encodes the value as the inside of a JSON string.
fn escaped(value: &str) -> String {
    let quoted = Value::from(value).to_string();
    quoted
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(value)
        .to_owned()
}

/// Returns whether this range is not part of a longer word or number.
fn is_word(text: &str, start: usize, end: usize) -> bool {
    let after = text.get(end..).and_then(|tail| tail.chars().next());
    begins_word(text, start) && !after.is_some_and(char::is_alphanumeric)
}

/// Returns whether no word continues here. The letter of an escape (`\n`) is not part of a word.
fn begins_word(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    match before.chars().next_back() {
        Some(c) => !c.is_alphanumeric() || ends_escape(text, at.saturating_sub(c.len_utf8())),
        None => true,
    }
}

/// Returns whether the preceding letter belongs to an escape.
fn ends_escape(text: &str, at: usize) -> bool {
    let (before, letter) = text.split_at_checked(at).unwrap_or_default();
    let backslashes = before.len() - before.trim_end_matches('\\').len();
    letter.starts_with(['b', 'f', 'n', 'r', 't']) && backslashes % 2 == 1
}

#[cfg(test)]
mod tests;
