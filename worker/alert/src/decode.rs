//! Decodes bytes to JSON leniently, so that an attacker cannot hide an alert behind bytes that a strict parser
//! refuses.
//!
//! Ordinary input takes `serde_json` with a visitor that also sees duplicate keys. Input that `serde_json` refuses
//! goes through [`lenient`], which accepts a byte-order mark, invalid UTF-8, lone surrogates, raw control characters,
//! numbers out of range and any depth. Each of these is replaced or pruned, and flagged. Other invalid input is an
//! error with line and column.

mod lenient;
mod strict;

use serde_json::Value;

use crate::{ContentFlag, ReadError};

/// Deepest nesting that decoding keeps. The limit of an alert ([`crate::text::JsonBounds`]) is stricter.
const MAX_DEPTH: usize = 100;

/// Maximum number of flags of one document.
const MAX_FLAGS: usize = 64;

/// Maximum number of characters of a key in a path.
const MAX_SEGMENT: usize = 128;

/// Replacement of a subtree that is too deep.
pub(crate) const PRUNED: &str = "[pruned]";

/// A JSON document and the flags of its decoding.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodedDocument {
    /// The document, without pruned parts.
    pub value: Value,
    /// Flags for replaced or pruned parts. Paths are relative to `value`.
    pub flags: Vec<ContentFlag>,
}

/// Reads one JSON document.
///
/// # Errors
/// Returns [`ReadError::Empty`] and [`ReadError::NotJson`].
pub fn decode(bytes: &[u8]) -> Result<DecodedDocument, ReadError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes
        .iter()
        .all(|byte| byte.is_ascii_whitespace() || *byte == 0)
    {
        return Err(ReadError::Empty);
    }
    match strict::decode(bytes) {
        Some(decoded) => Ok(decoded),
        None => lenient::decode(&String::from_utf8_lossy(bytes)),
    }
}

/// Location of a value. It is written as a pointer only for a flag.
pub(crate) enum JsonLocation<'a> {
    Root,
    Key(&'a JsonLocation<'a>, &'a str),
    Item(&'a JsonLocation<'a>, usize),
}

impl JsonLocation<'_> {
    /// Returns the location as a JSON pointer.
    pub(crate) fn path(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Key(above, key) => {
                let mut path = above.path();
                push_segment(&mut path, key);
                path
            }
            Self::Item(above, index) => format!("{}/{index}", above.path()),
        }
    }
}

/// Appends a key or index to a JSON pointer (RFC 6901).
pub(crate) fn push_segment(path: &mut String, segment: &str) {
    path.push('/');
    if segment.len() <= MAX_SEGMENT && !segment.contains(['~', '/']) {
        return path.push_str(segment);
    }
    for character in segment.chars().take(MAX_SEGMENT) {
        match character {
            '~' => path.push_str("~0"),
            '/' => path.push_str("~1"),
            other => path.push(other),
        }
    }
}

fn flag(flags: &mut Vec<ContentFlag>, flag: ContentFlag) {
    if flags.len() < MAX_FLAGS && !flags.contains(&flag) {
        flags.push(flag);
    }
}

#[cfg(test)]
mod tests;
