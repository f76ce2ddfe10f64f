//! Implements the slow path: a small JSON reader that replaces and prunes where `serde_json` refuses.
//!
//! The reader is lenient about contents only, never about structure. A missing comma or a truncated document stays an
//! error, because its meaning is unknown. An escape that JSON does not have (`\x22`, which nginx writes for quotes in
//! requests) stays unchanged. Depth costs no stack, because deep subtrees are skipped by counting brackets.

use serde_json::{Map, Number, Value};

use super::{DecodedDocument, MAX_DEPTH, PRUNED, flag, push_segment};
use crate::{ContentFlag, ReadError};

pub(super) fn decode(text: &str) -> Result<DecodedDocument, ReadError> {
    let mut reader = LenientReader {
        text,
        offset: 0,
        path: String::new(),
        flags: Vec::new(),
    };
    if text.contains('\u{fffd}') {
        flag(
            &mut reader.flags,
            ContentFlag::Replaced {
                path: String::new(),
            },
        );
    }
    let value = reader.value(0)?;
    reader.skip_whitespace();
    if reader.peek().is_some() {
        return Err(reader.error("the end of the message"));
    }
    Ok(DecodedDocument {
        value,
        flags: reader.flags,
    })
}

struct LenientReader<'a> {
    text: &'a str,
    offset: usize,
    path: String,
    flags: Vec<ContentFlag>,
}

impl<'a> LenientReader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.offset..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.offset).copied()
    }

    /// Skips JSON white space, and NUL and byte-order marks, which some senders leave between values.
    fn skip_whitespace(&mut self) {
        let rest = self.rest();
        let kept = rest.trim_start_matches([' ', '\t', '\n', '\r', '\0', '\u{feff}']);
        self.offset += rest.len() - kept.len();
    }

    fn consume(&mut self, byte: u8) -> bool {
        let eaten = self.peek() == Some(byte);
        self.offset += usize::from(eaten);
        eaten
    }

    fn error(&self, expected: &'static str) -> ReadError {
        let before = self.text.get(..self.offset).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
        let found = match self.rest().chars().next() {
            None => "the end of the message".to_owned(),
            Some(character) => format!("{character:?}"),
        };
        ReadError::NotJson {
            path: String::new(),
            line,
            column,
            expected,
            found,
        }
    }

    fn flag_replaced(&mut self) {
        let path = self.path.clone();
        flag(&mut self.flags, ContentFlag::Replaced { path });
    }

    fn value(&mut self, depth: usize) -> Result<Value, ReadError> {
        self.skip_whitespace();
        match self.peek() {
            Some(b'{' | b'[') if depth >= MAX_DEPTH => self.skip_subtree(),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Value::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.literal(),
        }
    }

    fn literal(&mut self) -> Result<Value, ReadError> {
        for (word, value) in [
            ("null", Value::Null),
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
        ] {
            if self.rest().starts_with(word) {
                self.offset += word.len();
                return Ok(value);
            }
        }
        // Python and JavaScript write these for numbers that JSON cannot hold.
        for word in ["NaN", "Infinity", "-Infinity"] {
            if self.rest().starts_with(word) {
                self.offset += word.len();
                self.flag_replaced();
                return Ok(Value::String(word.to_owned()));
            }
        }
        Err(self.error("a JSON value"))
    }

    fn number(&mut self) -> Result<Value, ReadError> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'))
            .unwrap_or(rest.len());
        let literal = rest.get(..end).unwrap_or_default();
        if literal == "-" {
            return self.literal();
        }
        if let Ok(number) = literal.parse::<Number>() {
            self.offset += end;
            return Ok(Value::Number(number));
        }
        if literal.parse::<f64>().is_err() {
            return Err(self.error("a number"));
        }
        self.offset += end;
        self.flag_replaced();
        Ok(Value::String(literal.to_owned()))
    }

    fn array(&mut self, depth: usize) -> Result<Value, ReadError> {
        self.offset += 1;
        let mut items = Vec::new();
        self.skip_whitespace();
        if self.consume(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            let length = self.path.len();
            push_segment(&mut self.path, &items.len().to_string());
            items.push(self.value(depth + 1)?);
            self.path.truncate(length);
            self.skip_whitespace();
            if self.consume(b']') {
                return Ok(Value::Array(items));
            }
            if !self.consume(b',') {
                return Err(self.error("`,` or `]`"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, ReadError> {
        self.offset += 1;
        let mut map = Map::new();
        self.skip_whitespace();
        if self.consume(b'}') {
            return Ok(Value::Object(map));
        }
        loop {
            self.skip_whitespace();
            if self.peek() != Some(b'"') {
                return Err(self.error("a key in double quotes"));
            }
            let key = self.string()?;
            self.skip_whitespace();
            if !self.consume(b':') {
                return Err(self.error("`:`"));
            }
            let length = self.path.len();
            push_segment(&mut self.path, &key);
            if map.contains_key(&key) {
                let path = self.path.clone();
                flag(&mut self.flags, ContentFlag::DuplicateKey { path });
            }
            let value = self.value(depth + 1)?;
            self.path.truncate(length);
            map.insert(key, value);
            self.skip_whitespace();
            if self.consume(b'}') {
                return Ok(Value::Object(map));
            }
            if !self.consume(b',') {
                return Err(self.error("`,` or `}`"));
            }
        }
    }

    /// Skips a subtree that is too deep, reading only strings and brackets.
    fn skip_subtree(&mut self) -> Result<Value, ReadError> {
        let mut open = 0_usize;
        loop {
            let rest = self.rest();
            let Some(next) = rest.find(['{', '[', '}', ']', '"']) else {
                self.offset = self.text.len();
                return Err(self.error("the brackets to be closed"));
            };
            self.offset += next;
            match self.peek() {
                Some(b'"') => {
                    self.string()?;
                    continue;
                }
                Some(b'{' | b'[') => open += 1,
                _ => open = open.saturating_sub(1),
            }
            self.offset += 1;
            if open == 0 {
                let path = self.path.clone();
                flag(&mut self.flags, ContentFlag::Truncated { path });
                return Ok(Value::String(PRUNED.to_owned()));
            }
        }
    }

    /// Reads a string. The opening quote is next.
    fn string(&mut self) -> Result<String, ReadError> {
        self.offset += 1;
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let Some(next) = rest.find(['"', '\\', '\0']) else {
                self.offset = self.text.len();
                return Err(self.error("the closing `\"` of a string"));
            };
            text.push_str(rest.get(..next).unwrap_or_default());
            self.offset += next;
            match self.peek() {
                Some(b'"') => {
                    self.offset += 1;
                    return Ok(text);
                }
                Some(b'\\') => self.escape(&mut text),
                _ => {
                    self.offset += 1;
                    self.flag_replaced();
                }
            }
        }
    }

    fn escape(&mut self, text: &mut String) {
        self.offset += 1;
        let character = match self.peek() {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'u') => return self.unicode(text),
            _ => return self.keep_backslash(text),
        };
        self.offset += 1;
        text.push(character);
    }

    /// Keeps the backslash of an unknown escape. The characters after it are read as text.
    fn keep_backslash(&mut self, text: &mut String) {
        self.flag_replaced();
        text.push('\\');
    }

    fn unicode(&mut self, text: &mut String) {
        let Some(high) = self.hex() else {
            return self.keep_backslash(text);
        };
        let character = match high {
            0xd800..=0xdbff if self.rest().starts_with("\\u") => {
                let back = self.offset;
                self.offset += 1;
                match self.hex() {
                    Some(low @ 0xdc00..=0xdfff) => {
                        char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00))
                    }
                    _ => {
                        self.offset = back;
                        None
                    }
                }
            }
            other => char::from_u32(other),
        };
        match character {
            Some('\0') => self.flag_replaced(),
            Some(character) => text.push(character),
            None => {
                self.flag_replaced();
                text.push('\u{fffd}');
            }
        }
    }

    /// Returns the four hex digits after the `u` that is next. Returns `None` and consumes nothing when there are
    /// none.
    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.get(self.offset + 1..self.offset + 5)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let code = u32::from_str_radix(digits, 16).ok()?;
        self.offset += 5;
        Some(code)
    }
}
