//! Splitting of JSON that is not one record per line, by brackets and quotes alone.
//!
//! Callers write parts of a log, so an unreadable record must not lose another one. Each record is therefore parsed
//! only after it was cut out, and only one is held at a time.

use std::io::{self, BufRead};

use nightshift_alert::decode;

use super::records::{Ended, MAX_RECORD_BYTES, Take};

/// Passes the items of arrays, the items of a list under one of `lists`, and other objects to `take`.
///
/// # Errors
///
/// Fails when the file cannot be read further.
pub(super) fn read(reader: impl BufRead, lists: &[&str], take: Take<'_>) -> io::Result<Ended> {
    let mut cutter = Cutter {
        reader,
        lists,
        take,
        ended: Ended::default(),
        cut: false,
    };
    cutter.values()?;
    cutter.ended.broken += u64::from(cutter.cut);
    Ok(cutter.ended)
}

struct Cutter<'a, R> {
    reader: R,
    lists: &'a [&'a str],
    take: Take<'a>,
    ended: Ended,
    /// Whether the file ends within a value.
    cut: bool,
}

impl<R: BufRead> Cutter<'_, R> {
    /// Reads the values outside of all brackets.
    fn values(&mut self) -> io::Result<()> {
        let mut raw = Vec::new();
        while !self.ended.stopped {
            match self.peek()? {
                None => return Ok(()),
                Some(b',') => self.reader.consume(1),
                Some(b'[') => self.list(&mut raw)?,
                Some(b'{') => self.object(&mut raw)?,
                Some(_) => {
                    self.ended.broken += 1;
                    self.reader.skip_until(b'\n')?;
                }
            }
        }
        Ok(())
    }

    /// Reads a list of records, beginning at its bracket.
    fn list(&mut self, raw: &mut Vec<u8>) -> io::Result<()> {
        self.reader.consume(1);
        while !self.ended.stopped {
            match self.peek()? {
                Some(b',') => self.reader.consume(1),
                Some(b']') => {
                    self.reader.consume(1);
                    return Ok(());
                }
                Some(_) if self.value(raw)? => self.record(raw),
                _ => {
                    self.cut = true;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Reads an object that is a record or contains a list of records, beginning at its bracket.
    fn object(&mut self, raw: &mut Vec<u8>) -> io::Result<()> {
        self.reader.consume(1);
        let mut listed = false;
        let mut object = vec![b'{'];
        loop {
            match self.peek()? {
                Some(b'}') => break self.reader.consume(1),
                Some(byte @ (b',' | b':')) => {
                    self.reader.consume(1);
                    add(&mut object, &[byte]);
                }
                Some(_) if self.value(raw)? => {
                    add(&mut object, raw);
                    // A space keeps adjacent values without a separator from becoming one value.
                    add(&mut object, b" ");
                    if self.names_a_list(raw) && self.peek()? == Some(b':') {
                        self.reader.consume(1);
                        add(&mut object, b":");
                        let next = self.peek()?;
                        listed |= matches!(next, Some(b'[' | b'n'));
                        if next == Some(b'[') {
                            self.list(raw)?;
                        }
                        if self.ended.stopped {
                            return Ok(());
                        }
                    }
                }
                _ => {
                    self.cut = true;
                    return Ok(());
                }
            }
        }
        if !listed {
            add(&mut object, b"}");
            self.record(&object);
        }
        Ok(())
    }

    fn names_a_list(&self, raw: &[u8]) -> bool {
        let key = raw
            .strip_prefix(b"\"")
            .and_then(|key| key.strip_suffix(b"\""));
        key.is_some_and(|key| self.lists.iter().any(|list| list.as_bytes() == key))
    }

    fn record(&mut self, raw: &[u8]) {
        match decode(raw) {
            Ok(decoded) if raw.len() <= MAX_RECORD_BYTES => {
                self.ended.stopped = !(self.take)(decoded.value);
            }
            _ => self.ended.broken += 1,
        }
    }

    /// Returns the next byte that is neither white space nor part of a byte-order mark, without consuming it.
    fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            let buffer = self.reader.fill_buf()?;
            let blank = |byte: &u8| byte.is_ascii_whitespace() || b"\0\xef\xbb\xbf".contains(byte);
            let skipped = buffer.iter().take_while(|byte| blank(byte)).count();
            let next = buffer.get(skipped).copied();
            let at_end = buffer.is_empty();
            self.reader.consume(skipped);
            if next.is_some() || at_end {
                return Ok(next);
            }
        }
    }

    /// Reads one value and returns whether it ends before the file does. Of a value that is too long, only the head
    /// is kept.
    fn value(&mut self, raw: &mut Vec<u8>) -> io::Result<bool> {
        raw.clear();
        let mut value = Open::default();
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok(false);
            }
            let end = value.end(buffer);
            let taken = end.unwrap_or(buffer.len());
            add(raw, buffer.get(..taken).unwrap_or(buffer));
            self.reader.consume(taken);
            if end.is_some() {
                return Ok(true);
            }
        }
    }
}

/// Appends bytes up to the length that shows that a record is too long.
fn add(raw: &mut Vec<u8>, bytes: &[u8]) {
    let room = (MAX_RECORD_BYTES + 1).saturating_sub(raw.len());
    raw.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
}

/// A value that was not read to its end.
#[derive(Debug, Default)]
struct Open {
    begun: bool,
    depth: usize,
    quoted: bool,
    escaped: bool,
}

impl Open {
    /// Returns where the value ends within these bytes, if it does. A value has at least one byte, so that any byte
    /// is consumed.
    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            let first = !self.begun;
            self.begun = true;
            if self.quoted {
                let closes = !self.escaped && *byte == b'"';
                self.escaped = !self.escaped && *byte == b'\\';
                self.quoted = !closes;
                if closes && self.depth == 0 {
                    return Some(at + 1);
                }
                continue;
            }
            match byte {
                // A number or a word ends before any byte that cannot belong to it.
                b'"' | b'{' | b'[' if self.depth == 0 && !first => return Some(at),
                b'"' => self.quoted = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth > 1 => self.depth -= 1,
                b'}' | b']' if self.depth == 1 || first => return Some(at + 1),
                b'}' | b']' => return Some(at),
                _ if self.depth > 0 || first => {}
                b',' | b':' => return Some(at),
                _ if byte.is_ascii_whitespace() => return Some(at),
                _ => {}
            }
        }
        None
    }
}
