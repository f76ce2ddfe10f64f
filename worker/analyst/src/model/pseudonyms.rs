//! Pseudonyms: account ids, principals, hosts and internal addresses become tokens before the model sees them, and are
//! put back in its answer, arguments and quotes included. The engine never sees a token, the model never a value.
//!
//! A token is a keyed hash of its value, so that all requests of a case have the same one and no table is kept: the
//! values of a request are found again when it is built. Sealed parts of a provider go back as they came.

mod values;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{LazyLock, Mutex, PoisonError};

use ipnet::IpNet;
use regex::{Captures, Regex, RegexBuilder};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::frame::About;
use super::settings::PseudonymSettings;
use crate::chat::{Arguments, ChatAnswer, ChatMessage, ChatRequest, Part};
use values::Kind;

/// Hex digits of a token.
const DIGITS: usize = 12;

/// Tokens as a model may write them. What stands around one does not matter: it may have been cut out between underscores,
/// which are no part of a word here but are to `\b`, and only a token that was given is replaced.
static TOKENS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?:account|principal|host|address|name)-[0-9a-f]{12}").ok());

/// Mail addresses, hidden wherever they stand and whole, though a name within one is hidden too.
const MAIL: &str = r"(?P<mail>[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+)";

/// What else is hidden wherever it stands: AWS account ids, AWS's names for private addresses, and whatever
/// may be an address.
const EVERYWHERE: &str = concat!(
    r"|(?P<account>[0-9]{12})",
    r"|(?P<host>ip-[0-9]{1,3}-[0-9]{1,3}-[0-9]{1,3}-[0-9]{1,3})",
    r"|(?P<ip>[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9a-fA-F]{1,4}(?::{1,2}[0-9a-fA-F]{1,4}){1,7}(?:::)?)",
);

/// Internal ranges: private, shared, link-local, unique local (RFC 1918, 6598, 3927, 4193, 4291).
const INTERNAL: [&str; 7] = [
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "100.64.0.0/10",
    "169.254.0.0/16",
    "fc00::/7",
    "fe80::/10",
];

/// What is hidden in the requests of one question.
pub(super) struct Mask {
    key: String,
    ranges: Vec<IpNet>,
    /// The values of the case by their lower-case spelling.
    kinds: BTreeMap<String, Kind>,
    pattern: Option<Regex>,
    /// Values by their tokens, as far as they were hidden.
    hidden: Mutex<BTreeMap<String, String>>,
}

impl Mask {
    /// What is to be hidden in this question.
    pub(super) fn new(settings: &PseudonymSettings, about: &About<'_>) -> Self {
        let kinds = values::of(settings, about);
        let internal = INTERNAL.iter().filter_map(|range| range.parse().ok());
        Self {
            key: about.setting.delimiter.to_string(),
            ranges: internal.chain(settings.ranges.iter().copied()).collect(),
            pattern: pattern(&kinds),
            kinds,
            hidden: Mutex::default(),
        }
    }

    /// The request with tokens.
    pub(super) fn request(&self, request: &ChatRequest) -> ChatRequest {
        let mut request = request.clone();
        if let Cow::Owned(system) = self.hide(&request.system) {
            request.system = system.into();
        }
        for part in request.messages.iter_mut().flat_map(parts) {
            match part {
                Part::Text { text, .. } | Part::Result { text, .. } => {
                    *text = self.hide(text).into_owned();
                }
                Part::Call(call) => match &mut call.arguments {
                    Arguments::Object(map) => {
                        map.values_mut().for_each(|value| self.hide_value(value));
                    }
                    Arguments::Unreadable(text) => *text = self.hide(text).into_owned(),
                },
                Part::Opaque(_) => {}
            }
        }
        request
    }

    /// The answer with the values put back.
    pub(super) fn answer(&self, mut answer: ChatAnswer) -> ChatAnswer {
        for part in &mut answer.parts {
            match part {
                // The text is JSON, or is read as such.
                Part::Text { text, .. } | Part::Result { text, .. } => {
                    *text = self.show(text, true).into_owned();
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

    /// Text with tokens instead of values.
    fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(pattern) = &self.pattern else {
            return Cow::Borrowed(text);
        };
        let mut out = String::new();
        let (mut done, mut from) = (0, 0);
        while let Some(found) = pattern.captures_at(text, from) {
            let Some(whole) = found.get(0) else { break };
            let kind = is_word(text, whole.start(), whole.end())
                .then(|| self.kind(&found, whole.as_str()))
                .flatten();
            if let Some(kind) = kind {
                out.push_str(text.get(done..whole.start()).unwrap_or_default());
                out.push_str(&self.token(kind, whole.as_str()));
                done = whole.end();
                from = done;
            } else {
                let next = text
                    .get(whole.start()..)
                    .and_then(|rest| rest.chars().next());
                from = whole.start() + next.map_or(1, char::len_utf8);
            }
        }
        if done == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(text.get(done..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// What kind of value was found, if it is to be hidden.
    fn kind(&self, found: &Captures<'_>, text: &str) -> Option<Kind> {
        let spelled = [text.to_lowercase(), unescaped(text).to_lowercase()];
        if let Some(kind) = spelled.iter().find_map(|text| self.kinds.get(text)) {
            return Some(*kind);
        }
        if found.name("mail").is_some() {
            return Some(Kind::Principal);
        }
        if found.name("account").is_some() {
            return Some(Kind::Account);
        }
        if found.name("host").is_some() {
            return Some(Kind::Host);
        }
        let address: IpAddr = text.parse().ok()?;
        self.ranges
            .iter()
            .any(|range| range.contains(&address))
            .then_some(Kind::Address)
    }

    /// The token of a value, which is remembered.
    fn token(&self, kind: Kind, text: &str) -> String {
        // As JSON writes it; the same value without escapes has the same token.
        let value = unescaped(text);
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

    /// Text with the values put back, escaped where the text is JSON.
    fn show<'a>(&self, text: &'a str, is_json: bool) -> Cow<'a, str> {
        let Some(tokens) = TOKENS.as_ref() else {
            return Cow::Borrowed(text);
        };
        let hidden = self.hidden.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.replace_all(text, |found: &Captures<'_>| {
            let token = found.get(0).map_or("", |found| found.as_str());
            match hidden.get(token) {
                Some(value) if is_json => escaped(value),
                Some(value) => value.clone(),
                None => token.to_owned(),
            }
        })
    }

    fn hide_value(&self, value: &mut Value) {
        each_text(value, &|text| self.hide(text).into_owned());
    }

    fn show_value(&self, value: &mut Value) {
        each_text(value, &|text| self.show(text, false).into_owned());
    }
}

fn parts(message: &mut ChatMessage) -> impl Iterator<Item = &mut Part> {
    message.parts.iter_mut()
}

fn each_text(value: &mut Value, change: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(list) => list.iter_mut().for_each(|inner| each_text(inner, change)),
        Value::Object(map) => map.values_mut().for_each(|inner| each_text(inner, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What a text means that stands in a JSON string; a text that cannot is taken as it is.
fn unescaped(text: &str) -> String {
    serde_json::from_str(&format!("\"{text}\"")).unwrap_or_else(|_| text.to_owned())
}

/// The inside of the value as a JSON string.
fn escaped(value: &str) -> String {
    let quoted = Value::from(value).to_string();
    quoted
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(value)
        .to_owned()
}

/// Whether what stands there is no part of a longer word or number.
fn is_word(text: &str, start: usize, end: usize) -> bool {
    let before = text.get(..start).and_then(|head| head.chars().next_back());
    let after = text.get(end..).and_then(|tail| tail.chars().next());
    !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
}

/// Mail addresses, all values with the longest first, then what else is hidden everywhere.
fn pattern(kinds: &BTreeMap<String, Kind>) -> Option<Regex> {
    let mut values: Vec<String> = kinds.keys().cloned().collect();
    values.extend(
        kinds
            .keys()
            .map(|value| escaped(value))
            .filter(|value| !kinds.contains_key(value)),
    );
    values.sort_by_key(|value| (std::cmp::Reverse(value.len()), value.clone()));
    let mut source: Vec<String> = values.iter().map(|value| regex::escape(value)).collect();
    if source.is_empty() {
        // Nothing that can match: what is hidden everywhere comes after.
        source.push("[^\\s\\S]".to_owned());
    }
    RegexBuilder::new(&format!("{MAIL}|(?i:{}){EVERYWHERE}", source.join("|")))
        .size_limit(64 << 20)
        .build()
        .ok()
}

#[cfg(test)]
mod tests;
