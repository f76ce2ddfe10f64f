//! Implements pseudonyms: account ids, principals, hosts and internal addresses become tokens before the model sees
//! them, and are restored in its answer, including arguments and quotes. The engine never sees a token, and the model
//! never sees a value.
//!
//! A token is a keyed hash of its value, so that all requests of a case have the same one and no table is stored. The
//! values are collected again for each request. Sealed parts of a provider go back unchanged.
//!
//! The author of an alert chooses names in it, so names from data are replaced only in data, never in Nightshift's own
//! words. When they cannot all be hidden, the question is not asked.

mod keys;
mod names;
mod shapes;
mod values;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use parking_lot::Mutex;
use regex::{Captures, Regex};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::fence::{Fence, FencePiece};
use super::request_builder::PromptContext;
use super::settings::PseudonymSettings;
use names::{NameIndex, NameMatch};
use nightshift_llm::chat::{CallArguments, ChatAnswer, ChatPart, ChatRequest, ChatRole};
use shapes::ShapeMatcher;
use values::PseudonymKind;

/// Number of hex digits of a token.
const PSEUDONYM_DIGITS: usize = 12;

/// Tokens as a model may write them. A token may stand between underscores, which are word characters for `\b` but
/// not here. Only tokens that were given out are replaced.
static PSEUDONYM_PATTERN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?:account|principal|host|address|name)-[0-9a-f]{12}").ok());

/// Values that are hidden in the requests of one question.
pub(super) struct Pseudonymizer {
    key: String,
    fence: Fence,
    shapes: ShapeMatcher,
    /// Names that the operator gave; they are hidden in Nightshift's own words too.
    operator_names: NameIndex,
    /// Names of the operator and values of the case.
    all_names: NameIndex,
    pseudonym_pattern: &'static Regex,
    /// Hidden values by their tokens.
    values_by_pseudonym: Mutex<BTreeMap<String, String>>,
}

impl Pseudonymizer {
    /// Collects the values to hide in this question.
    ///
    /// # Errors
    ///
    /// Describes why not everything could be hidden. The question must not be asked then.
    pub(super) fn new(
        settings: &PseudonymSettings,
        about: &PromptContext<'_>,
    ) -> Result<Self, String> {
        let own = values::operator_names(settings);
        let all = values::collect_names(&own, about)?;
        let tokens = PSEUDONYM_PATTERN.as_ref();
        Ok(Self {
            key: about.question.pseudonym_key.to_string(),
            fence: Fence::new(&about.question.delimiter),
            shapes: ShapeMatcher::new(&settings.ranges)?,
            operator_names: NameIndex::new(&own),
            all_names: NameIndex::new(&all),
            pseudonym_pattern: tokens.ok_or("cannot compile the token pattern")?,
            values_by_pseudonym: Mutex::default(),
        })
    }

    pub(super) fn mask_request(&self, request: &ChatRequest) -> ChatRequest {
        let mut request = request.clone();
        if let Cow::Owned(system) = self.hide(&self.operator_names, &request.system, false) {
            request.system = system.into();
        }
        for message in &mut request.messages {
            let is_ours = message.role == ChatRole::User;
            for part in &mut message.parts {
                match part {
                    ChatPart::Text { text, .. } | ChatPart::Result { text, .. } if is_ours => {
                        *text = self.hide_blocks(text).into();
                    }
                    ChatPart::Text { text, .. } | ChatPart::Result { text, .. } => {
                        *text = self.hide_data(text, true).into_owned().into();
                    }
                    ChatPart::Call(call) => match &mut call.arguments {
                        CallArguments::Object(map) => {
                            map.values_mut().for_each(|value| self.hide_value(value));
                        }
                        CallArguments::Unreadable(text) => {
                            *text = self.hide_data(text, true).into_owned();
                        }
                    },
                    ChatPart::Opaque(_) => {}
                }
            }
        }
        request
    }

    pub(super) fn unmask_answer(&self, mut answer: ChatAnswer) -> ChatAnswer {
        for part in &mut answer.parts {
            match part {
                // True if the text is JSON, or is parsed as JSON.
                ChatPart::Text { text, .. } | ChatPart::Result { text, .. } => {
                    *text = self.reveal(text, true).into_owned().into();
                }
                ChatPart::Call(call) => match &mut call.arguments {
                    CallArguments::Object(map) => {
                        map.values_mut().for_each(|value| self.reveal_value(value));
                    }
                    CallArguments::Unreadable(text) => *text = self.reveal(text, true).into_owned(),
                },
                ChatPart::Opaque(_) => {}
            }
        }
        if let Some(value) = &mut answer.structured {
            self.reveal_value(value);
        }
        answer
    }

    /// Hides values in a text that Nightshift composed. Names from data are hidden only in its data blocks.
    fn hide_blocks(&self, text: &str) -> String {
        let pieces = self.fence.pieces(text);
        let hidden = pieces.into_iter().map(|piece| match piece {
            FencePiece::Ours(text) => self.hide(&self.operator_names, text, false),
            FencePiece::Data(text) => self.hide_data(text, true),
        });
        hidden.collect()
    }

    /// Hides values in a text of data.
    fn hide_data<'a>(&self, text: &'a str, is_json: bool) -> Cow<'a, str> {
        self.hide(&self.all_names, text, is_json)
    }

    /// Replaces these names, and everything with the shape of a value, by tokens. If the text is JSON, both are found
    /// in JSON's spelling.
    fn hide<'a>(&self, names: &NameIndex, text: &'a str, is_json: bool) -> Cow<'a, str> {
        let mut name = names.find_next(text, 0);
        let mut shape = self.shapes.find_next(text, 0);
        let mut out = String::new();
        let mut done = 0;
        while let Some(found) = earliest_match(name, shape) {
            out.push_str(text.get(done..found.start).unwrap_or_default());
            let value = text.get(found.start..found.end).unwrap_or_default();
            out.push_str(&self.pseudonym(found.kind, value, is_json));
            done = found.end;
            if name.is_some_and(|name| name.start < done) {
                name = names.find_next(text, done);
            }
            if shape.is_some_and(|shape| shape.start < done) {
                shape = self.shapes.find_next(text, done);
            }
        }
        if done == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(text.get(done..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// Returns the token of a value and remembers it.
    fn pseudonym(&self, kind: PseudonymKind, text: &str, is_json: bool) -> String {
        // The same value with and without escapes gets the same token.
        let value = if is_json {
            unescaped(text)
        } else {
            text.to_owned()
        };
        let mut digest = Sha256::new();
        for part in [self.key.as_str(), kind.as_str(), &value] {
            digest.update(part.as_bytes());
            digest.update([0]);
        }
        let token = format!(
            "{}-{}",
            kind.as_str(),
            super::hex(&digest.finalize(), PSEUDONYM_DIGITS)
        );
        let mut hidden = self.values_by_pseudonym.lock();
        hidden.entry(token.clone()).or_insert(value);
        token
    }

    /// Restores the values in a text, escaped if the text is JSON.
    fn reveal<'a>(&self, text: &'a str, is_json: bool) -> Cow<'a, str> {
        let hidden = self.values_by_pseudonym.lock();
        self.pseudonym_pattern
            .replace_all(text, |found: &Captures<'_>| {
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

    fn reveal_value(&self, value: &mut Value) {
        each_text(value, &|text| self.reveal(text, false).into_owned());
    }
}

/// Returns the first of two matches, or the longer one when both begin at one place.
fn earliest_match(name: Option<NameMatch>, shape: Option<NameMatch>) -> Option<NameMatch> {
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

/// Decodes text from inside a JSON string. A text that cannot be decoded is returned unchanged.
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
