//! Splits JSON that is not one record per line, by brackets and quotes alone.
//!
//! Callers write parts of a log, so an unreadable record must not lose another one. Each record is therefore parsed
//! only after it was cut out, and only one is held at a time.

use std::io::{self, BufRead};

use nightshift_alert::decode;

use super::records::{MAX_RECORD_BYTES, ReadOutcome, ValueVisitor};

/// Passes the items of arrays, the items of a list under one of `lists`, and other objects to `take`.
///
/// # Errors
///
/// Fails when the file cannot be read further.
pub(super) fn split_records(
    reader: impl BufRead,
    lists: &[&str],
    take: ValueVisitor<'_>,
) -> io::Result<ReadOutcome> {
    let mut cutter = JsonSplitter {
        reader,
        list_keys: lists,
        take,
        outcome: ReadOutcome::default(),
        is_truncated: false,
    };
    cutter.read_values()?;
    cutter.outcome.malformed += u64::from(cutter.is_truncated);
    Ok(cutter.outcome)
}

struct JsonSplitter<'a, R> {
    reader: R,
    list_keys: &'a [&'a str],
    take: ValueVisitor<'a>,
    outcome: ReadOutcome,
    /// True if the file ends within a value.
    is_truncated: bool,
}

impl<R: BufRead> JsonSplitter<'_, R> {
    /// Reads the values outside of all brackets.
    fn read_values(&mut self) -> io::Result<()> {
        let mut raw = Vec::new();
        while !self.outcome.stopped {
            match self.peek()? {
                None => return Ok(()),
                Some(b',') => self.reader.consume(1),
                Some(b'[') => self.read_list(&mut raw)?,
                Some(b'{') => self.read_object(&mut raw)?,
                Some(_) => {
                    self.outcome.malformed += 1;
                    self.reader.skip_until(b'\n')?;
                }
            }
        }
        Ok(())
    }

    /// Reads a list of records, beginning at its bracket.
    fn read_list(&mut self, raw: &mut Vec<u8>) -> io::Result<()> {
        self.reader.consume(1);
        while !self.outcome.stopped {
            match self.peek()? {
                Some(b',') => self.reader.consume(1),
                Some(b']') => {
                    self.reader.consume(1);
                    return Ok(());
                }
                Some(_) if self.read_value(raw)? => self.emit_record(raw),
                _ => {
                    self.is_truncated = true;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Reads an object that is a record or contains a list of records, beginning at its bracket.
    fn read_object(&mut self, raw: &mut Vec<u8>) -> io::Result<()> {
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
                Some(_) if self.read_value(raw)? => {
                    add(&mut object, raw);
                    // A space keeps adjacent values without a separator from becoming one value.
                    add(&mut object, b" ");
                    if self.names_a_list(raw) && self.peek()? == Some(b':') {
                        self.reader.consume(1);
                        add(&mut object, b":");
                        let next = self.peek()?;
                        listed |= matches!(next, Some(b'[' | b'n'));
                        if next == Some(b'[') {
                            self.read_list(raw)?;
                        }
                        if self.outcome.stopped {
                            return Ok(());
                        }
                    }
                }
                _ => {
                    self.is_truncated = true;
                    return Ok(());
                }
            }
        }
        if !listed {
            add(&mut object, b"}");
            self.emit_record(&object);
        }
        Ok(())
    }

    fn names_a_list(&self, raw: &[u8]) -> bool {
        let key = raw
            .strip_prefix(b"\"")
            .and_then(|key| key.strip_suffix(b"\""));
        key.is_some_and(|key| self.list_keys.iter().any(|list| list.as_bytes() == key))
    }

    fn emit_record(&mut self, raw: &[u8]) {
        match decode(raw) {
            Ok(decoded) if raw.len() <= MAX_RECORD_BYTES => {
                self.outcome.stopped = !(self.take)(decoded.value);
            }
            _ => self.outcome.malformed += 1,
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
    fn read_value(&mut self, raw: &mut Vec<u8>) -> io::Result<bool> {
        raw.clear();
        let mut value = JsonScanner::default();
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok(false);
            }
            let end = value.find_end(buffer);
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
struct JsonScanner {
    has_started: bool,
    depth: usize,
    quoted: bool,
    escaped: bool,
}

impl JsonScanner {
    /// Returns where the value ends within these bytes, if it does. A value has at least one byte, so that any byte
    /// is consumed.
    fn find_end(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            let first = !self.has_started;
            self.has_started = true;
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
