//! Cleans a JSON tree from outside in one pass: removes hidden characters and secrets, bounds size and depth, and
//! flags each change.

use std::borrow::Cow;
use std::collections::HashSet;

use foldhash::fast::RandomState;
use serde_json::{Map, Value};

use super::argv::{is_arguments, known_program, redact_arguments};
use super::redact::{is_secret_key, redact_except};
use super::secret_fields::{
    is_cookie_name, is_cookie_setting, is_inner_value_key, is_no_secret, is_one_cookie,
    is_secret_number, is_value_key, secret_name,
};
use super::truncate::{MAX_PARTIAL_SECRET_BYTES, truncate_bytes, without_partial_word};
use super::{has_instructions, strip_hidden};
use crate::ContentFlag;
use crate::decode::{JsonLocation, PRUNED};

/// Maximum number of flags of one kind that name a path.
const MAX_FLAGS_PER_KIND: usize = 16;

/// Maximum depth of a secret below its key: lists of objects with values.
const MAX_SECRET_DEPTH: usize = 4;

/// Maximum length of an object's key, in bytes.
const MAX_KEY_BYTES: usize = 256;

/// Maximum length of a text that is remembered as clean, in bytes.
const MAX_REMEMBERED_BYTES: usize = 4096;

/// Limits of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonBounds {
    /// Maximum nesting; a scalar at the root has depth 0.
    pub depth: usize,
    /// Maximum length of a string, in bytes of UTF-8.
    pub text_bytes: usize,
    /// Maximum number of values, including objects and lists.
    pub nodes: usize,
}

impl Default for JsonBounds {
    fn default() -> Self {
        Self {
            depth: 64,
            text_bytes: 8192,
            nodes: 20_000,
        }
    }
}

/// Cleans every string and key of a tree in place, prunes the tree to `bounds`, and returns the flags.
pub fn clean_json(value: &mut Value, bounds: &JsonBounds) -> Vec<ContentFlag> {
    clean_json_except(value, bounds, &|_| false)
}

/// Cleans a tree like [`clean_json`], but keeps values for which `keep` holds although they look random. `keep` is
/// rarely called.
pub fn clean_json_except(
    value: &mut Value,
    bounds: &JsonBounds,
    keep: &dyn Fn(&str) -> bool,
) -> Vec<ContentFlag> {
    clean_json_recording(value, bounds, keep).0
}

/// Short texts of a tree that needed no cleaning and have no flags.
pub(crate) type CleanTexts = HashSet<String, RandomState>;

/// Cleans a tree like [`clean_json_except`] and also returns the clean texts, so that fields with the same text need
/// no second pass.
pub(crate) fn clean_json_recording(
    value: &mut Value,
    bounds: &JsonBounds,
    keep: &dyn Fn(&str) -> bool,
) -> (Vec<ContentFlag>, CleanTexts) {
    let mut pass = CleaningPass {
        bounds,
        keep,
        clean: HashSet::default(),
        program: "",
        nodes: 0,
        redacted: 0,
        hidden: 0,
        flags: Vec::new(),
    };
    pass.value(value, &JsonLocation::Root, 0);
    let clean = std::mem::take(&mut pass.clean);
    (pass.finish(), clean)
}

/// Removes hidden characters and secrets from one text and cuts it to `max_bytes`. Returns the flags.
pub(crate) fn clean_text(
    text: &str,
    max_bytes: usize,
    keep: &dyn Fn(&str) -> bool,
) -> (String, Vec<ContentFlag>) {
    let bounds = JsonBounds {
        text_bytes: max_bytes,
        ..JsonBounds::default()
    };
    let mut value = Value::String(text.to_owned());
    let flags = clean_json_except(&mut value, &bounds, keep);
    match value {
        Value::String(text) => (text, flags),
        _ => (String::new(), flags),
    }
}

struct CleaningPass<'a> {
    bounds: &'a JsonBounds,
    keep: &'a dyn Fn(&str) -> bool,
    /// Texts that needed no cleaning and have no flags, because rows repeat their values. A tree is too small for a
    /// secret seed to require the standard hash.
    clean: CleanTexts,
    /// The program of the next argument list.
    program: &'static str,
    nodes: usize,
    redacted: usize,
    hidden: usize,
    flags: Vec<ContentFlag>,
}

impl CleaningPass<'_> {
    fn value(&mut self, value: &mut Value, place: &JsonLocation<'_>, depth: usize) {
        self.nodes += 1;
        let program = std::mem::take(&mut self.program);
        match value {
            Value::String(text) => self.string(text, place),
            Value::Array(items) => {
                if depth >= self.bounds.depth && !items.is_empty() {
                    return self.prune(value, place);
                }
                let room = self.bounds.nodes.saturating_sub(self.nodes);
                if items.len() > room {
                    items.truncate(room);
                    self.flag_truncated(place);
                }
                for (index, item) in items.iter_mut().enumerate() {
                    self.value(item, &JsonLocation::Item(place, index), depth + 1);
                }
                self.redacted += redact_arguments(items, program, self.keep);
            }
            Value::Object(map) => {
                if depth >= self.bounds.depth && !map.is_empty() {
                    return self.prune(value, place);
                }
                self.object(map, place, depth);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn object(&mut self, map: &mut Map<String, Value>, place: &JsonLocation<'_>, depth: usize) {
        if !map.keys().all(|key| is_plain_key(key)) {
            return self.object_with_text(map, place, depth);
        }
        let beside = ObjectHints::new(map);
        let mut is_full = false;
        map.retain(|key, value| {
            is_full |= self.nodes >= self.bounds.nodes;
            if !is_full {
                self.clean_entry(key, value, &beside);
                self.value(value, &JsonLocation::Key(place, key), depth + 1);
            }
            !is_full
        });
        if is_full {
            self.flag_truncated(place);
        }
    }

    /// Cleans an object whose keys may need cleaning.
    fn object_with_text(
        &mut self,
        map: &mut Map<String, Value>,
        place: &JsonLocation<'_>,
        depth: usize,
    ) {
        let beside = ObjectHints::new(map);
        let entries = std::mem::take(map);
        for (key, mut value) in entries {
            if self.nodes >= self.bounds.nodes {
                self.flag_truncated(place);
                break;
            }
            let mut clean_key = key;
            self.key(&mut clean_key, place);
            self.clean_entry(&clean_key, &mut value, &beside);
            self.value(&mut value, &JsonLocation::Key(place, &clean_key), depth + 1);
            map.insert(unused_key(map, clean_key), value);
        }
    }

    /// Cleans the value of a key by the meaning of the key.
    fn clean_entry(&mut self, key: &str, value: &mut Value, beside: &ObjectHints) {
        let name = if is_secret_key(key) {
            Some(key)
        } else {
            beside.name.as_deref().filter(|_| is_value_key(key))
        };
        match name {
            Some(name) if is_cookie_setting(name) => {}
            Some(name) if is_cookie_name(name) => self.cookies(name, value, 0),
            Some(name) => self.secret(name, value, 0),
            None if is_arguments(key) => self.program = beside.program,
            None => {}
        }
    }

    /// Cleans a key of the object at this path.
    fn key(&mut self, key: &mut String, place: &JsonLocation<'_>) {
        if !is_plain_key(key) {
            self.string(key, place);
            if key.len() > MAX_KEY_BYTES {
                *key = truncate_bytes(key, MAX_KEY_BYTES).into_owned();
                self.flag_truncated(place);
            }
        }
    }

    fn string(&mut self, text: &mut String, place: &JsonLocation<'_>) {
        let is_short = text.len() <= MAX_REMEMBERED_BYTES;
        if is_short && self.clean.contains(text.as_str()) {
            return;
        }
        // Only the part that can stay is examined. The rest of a huge text is cut off below.
        let (visible, hidden) = strip_hidden(text);
        self.hidden += hidden;
        let margin = self
            .bounds
            .text_bytes
            .saturating_add(MAX_PARTIAL_SECRET_BYTES);
        let head = truncate_bytes(&visible, margin);
        let (mut clean, redacted) = redact_except(&head, self.keep);
        self.redacted += redacted;
        if head.len() < visible.len() {
            // Redaction may have made room for the word at the cut.
            clean = Cow::Owned(format!("{}…", without_partial_word(&clean)));
        }
        let short = truncate_bytes(&clean, self.bounds.text_bytes);
        let bound = text.floor_char_boundary(self.bounds.text_bytes);
        // The kept text may show instructions that the head of the raw text does not: joined words, or words behind
        // it.
        let is_other = matches!(visible, Cow::Owned(_)) || redacted > 0 && bound < text.len();
        let orders = has_instructions(text.get(..bound).unwrap_or(text))
            || is_other && has_instructions(&short);
        if orders {
            let path = place.path();
            self.flag(ContentFlag::Instructions { path });
        }
        if hidden == 0 && redacted == 0 && short.len() == text.len() {
            if is_short && !orders {
                self.clean.insert(text.clone());
            }
            return;
        }
        let was_cut = short.len() < clean.len() || head.len() < visible.len();
        *text = short.into_owned();
        if was_cut {
            self.flag_truncated(place);
        }
    }

    /// Redacts a value under the name of a secret, `depth` levels below it.
    fn secret(&mut self, name: &str, value: &mut Value, depth: usize) {
        let is_secret = match value {
            Value::String(text) => !is_no_secret(name, text) && !(self.keep)(text),
            Value::Number(number) => {
                is_secret_number(name, number) && !(self.keep)(&number.to_string())
            }
            Value::Array(items) if depth < MAX_SECRET_DEPTH => {
                for item in items {
                    self.secret(name, item, depth + 1);
                }
                false
            }
            Value::Object(map) if depth < MAX_SECRET_DEPTH => {
                for (_, inner) in map.iter_mut().filter(|(key, _)| is_inner_value_key(key)) {
                    self.secret(name, inner, depth + 1);
                }
                false
            }
            _ => false,
        };
        if is_secret {
            *value = Value::String("[redacted:secret_field]".to_owned());
            self.redacted += 1;
        }
    }

    /// Redacts a value under the name of cookies, `depth` levels below it: names with their values, or a list of
    /// cookies.
    fn cookies(&mut self, name: &str, value: &mut Value, depth: usize) {
        match value {
            Value::Array(items) if depth < MAX_SECRET_DEPTH => {
                for item in items {
                    self.cookies(name, item, depth + 1);
                }
            }
            Value::Object(map) if depth < MAX_SECRET_DEPTH && !is_one_cookie(map, depth == 0) => {
                let is_setting = map.keys().all(|key| is_cookie_setting(key));
                for (key, inner) in map
                    .iter_mut()
                    .filter(|(_, it)| !is_setting || has_object(it))
                {
                    self.cookies(key, inner, depth + 1);
                }
            }
            _ => self.secret(name, value, depth),
        }
    }

    fn prune(&mut self, value: &mut Value, place: &JsonLocation<'_>) {
        *value = Value::String(PRUNED.to_owned());
        self.flag_truncated(place);
    }

    fn flag_truncated(&mut self, place: &JsonLocation<'_>) {
        let path = place.path();
        self.flag(ContentFlag::Truncated { path });
    }

    /// Adds a flag that names a path.
    fn flag(&mut self, flag: ContentFlag) {
        let same_kind =
            |other: &&ContentFlag| std::mem::discriminant(*other) == std::mem::discriminant(&flag);
        if !self.flags.contains(&flag)
            && self.flags.iter().filter(same_kind).count() < MAX_FLAGS_PER_KIND
        {
            self.flags.push(flag);
        }
    }

    fn finish(mut self) -> Vec<ContentFlag> {
        if self.redacted > 0 {
            self.flags.push(ContentFlag::Redacted {
                count: self.redacted,
            });
        }
        if self.hidden > 0 {
            self.flags
                .push(ContentFlag::HiddenText { count: self.hidden });
        }
        self.flags
    }
}

/// Context that an object gives to its own values.
struct ObjectHints {
    /// The name of a secret, where its value is a sibling field.
    name: Option<String>,
    /// The program of the argument list.
    program: &'static str,
}

impl ObjectHints {
    fn new(map: &Map<String, Value>) -> Self {
        Self {
            name: secret_name(map),
            program: known_program(map),
        }
    }
}

/// Returns whether a value is an object, or a list with one.
fn has_object(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(Value::is_object),
        other => other.is_object(),
    }
}

/// Returns whether a key is a plain name that can hide nothing.
fn is_plain_key(key: &str) -> bool {
    key.len() <= 24
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns the key, with a mark where cleaning made two keys equal, so that no value is overwritten.
fn unused_key(map: &Map<String, Value>, key: String) -> String {
    if !map.contains_key(&key) {
        return key;
    }
    (map.len() + 1..)
        .map(|number| format!("{key}#{number}"))
        .find(|candidate| !map.contains_key(candidate))
        .unwrap_or(key)
}

#[cfg(test)]
mod tests;
