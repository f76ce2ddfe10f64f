//! From the bytes of a log file to its records, one at a time.
//!
//! Files of one object per line are read by the line, so that a broken line costs only itself. A file that is one array or
//! one object with a list (`{"Records": […]}`) is read as a stream: no more than one record is held at once.

use std::fmt;
use std::io::{self, BufRead, Read};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Longest line that is read; what is longer is no record.
const MAX_LINE_BYTES: u64 = 1024 * 1024;

/// What takes the records; it answers whether to go on.
pub(super) type Take<'a> = &'a mut dyn FnMut(Value) -> bool;

/// How a file ended.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended {
    /// Lines or values that could not be read.
    pub(super) broken: u64,
    /// Whether the taker said stop.
    pub(super) stopped: bool,
}

/// Hands every line to `take`, without its end; lines that are too long count as broken.
///
/// # Errors
///
/// When the file cannot be read on.
pub(super) fn lines(
    mut reader: impl BufRead,
    take: &mut dyn FnMut(&str) -> bool,
) -> io::Result<Ended> {
    let mut ended = Ended::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader
            .by_ref()
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(ended);
        }
        if line.len() as u64 == MAX_LINE_BYTES && !line.ends_with(b"\n") {
            ended.broken += 1;
            reader.skip_until(b'\n')?;
            continue;
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_start_matches('\u{feff}').trim();
        if !text.is_empty() && !take(text) {
            ended.stopped = true;
            return Ok(ended);
        }
    }
}

/// Hands every record to `take`: objects by the line, items of an array, items of a list under one of `lists`.
///
/// # Errors
///
/// When the file cannot be read on.
pub(super) fn json(
    mut reader: impl BufRead,
    lists: &'static [&'static str],
    take: Take<'_>,
) -> io::Result<Ended> {
    if is_by_line(reader.fill_buf()?, lists) {
        let mut broken = 0;
        let mut ended = lines(reader, &mut |line| {
            let Ok(value) = serde_json::from_str::<Value>(line) else {
                broken += 1;
                return true;
            };
            unpack(value, lists, take)
        })?;
        ended.broken += broken;
        return Ok(ended);
    }
    Ok(stream(reader, lists, take))
}

/// Whether the first line is a whole record, or no JSON at all.
fn is_by_line(head: &[u8], lists: &[&str]) -> bool {
    let head = head
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(head)
        .trim_ascii_start();
    if !matches!(head.first(), Some(b'{' | b'[')) {
        return true;
    }
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or(head);
    match serde_json::from_slice::<Value>(first) {
        Ok(Value::Object(map)) => !lists.iter().any(|list| map.contains_key(*list)),
        Ok(_) => false,
        // A broken first line that closes its brace is a line; one that does not goes on below.
        Err(error) => !error.is_eof(),
    }
}

/// The records in one value.
fn unpack(value: Value, lists: &[&str], take: Take<'_>) -> bool {
    match value {
        Value::Array(items) => items.into_iter().all(take),
        Value::Object(mut map) => {
            for list in lists {
                if let Some(Value::Array(items)) = map.remove(*list) {
                    return items.into_iter().all(take);
                }
            }
            take(Value::Object(map))
        }
        other => take(other),
    }
}

fn stream(reader: impl BufRead, lists: &'static [&'static str], take: Take<'_>) -> Ended {
    let mut ended = Ended::default();
    let mut deserializer = serde_json::Deserializer::from_reader(WithoutMark::new(reader));
    loop {
        let root = Root {
            lists,
            take: &mut *take,
            stopped: &mut ended.stopped,
        };
        match root.deserialize(&mut deserializer) {
            Ok(()) => {}
            Err(_) if ended.stopped => return ended,
            Err(error) => {
                // The end of the file where a value would begin is no fault.
                let at_end =
                    error.is_eof() && error.to_string().starts_with("EOF while parsing a value");
                ended.broken += u64::from(!at_end);
                return ended;
            }
        }
    }
}

/// A reader without the byte-order mark that some exports begin with.
struct WithoutMark<R> {
    inner: R,
    begun: bool,
}

impl<R> WithoutMark<R> {
    const fn new(inner: R) -> Self {
        Self {
            inner,
            begun: false,
        }
    }
}

impl<R: BufRead> Read for WithoutMark<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if !self.begun {
            self.begun = true;
            if self.inner.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
                self.inner.consume(3);
            }
        }
        self.inner.read(into)
    }
}

/// One top-level value.
struct Root<'a> {
    lists: &'static [&'static str],
    take: Take<'a>,
    stopped: &'a mut bool,
}

impl<'de> DeserializeSeed<'de> for Root<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Root<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object or an array of log records")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, access: A) -> Result<(), A::Error> {
        items(access, self.take, self.stopped)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        let mut rest = Map::new();
        let mut listed = false;
        while let Some(key) = access.next_key::<String>()? {
            if self.lists.contains(&key.as_str()) {
                listed = true;
                access.next_value_seed(Items {
                    take: &mut *self.take,
                    stopped: &mut *self.stopped,
                })?;
            } else if listed {
                access.next_value::<serde::de::IgnoredAny>()?;
            } else {
                rest.insert(key, access.next_value()?);
            }
        }
        if !listed && !(self.take)(Value::Object(rest)) {
            *self.stopped = true;
            return Err(serde::de::Error::custom("stopped"));
        }
        Ok(())
    }
}

/// The items of a list.
struct Items<'a> {
    take: Take<'a>,
    stopped: &'a mut bool,
}

impl<'de> DeserializeSeed<'de> for Items<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of log records")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, access: A) -> Result<(), A::Error> {
        items(access, self.take, self.stopped)
    }
}

fn items<'de, A: SeqAccess<'de>>(
    mut access: A,
    take: Take<'_>,
    stopped: &mut bool,
) -> Result<(), A::Error> {
    while let Some(item) = access.next_element::<Value>()? {
        if !take(item) {
            *stopped = true;
            return Err(serde::de::Error::custom("stopped"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> (Vec<i64>, Ended) {
        let mut seen = Vec::new();
        let ended = json(bytes, &["Records"], &mut |value| {
            seen.push(value.get("n").and_then(Value::as_i64).unwrap_or(-1));
            true
        })
        .unwrap();
        (seen, ended)
    }

    #[test]
    fn every_shape_of_a_file_is_read() {
        for text in [
            "{\"n\":1}\n{\"n\":2}\n",
            "\u{feff}{\"n\":1}\r\n\r\n{\"n\":2}",
            "[{\"n\":1},{\"n\":2}]",
            "\u{feff}[\n {\"n\":1},\n {\"n\":2}\n]\n",
            "{\"Records\":[{\"n\":1},{\"n\":2}]}",
            "{\n \"Records\": [\n  {\"n\":1},\n  {\"n\":2}\n ]\n}",
            "{\"Records\":[{\"n\":1}]}\n{\"Records\":[{\"n\":2}]}\n",
            "{\n \"n\": 1\n}\n{\n \"n\": 2\n}\n",
            "{\"digest\": {\"n\": 9}, \"Records\":[{\"n\":1},{\"n\":2}], \"more\": 1}",
        ] {
            assert_eq!(
                read(text.as_bytes()),
                (vec![1, 2], Ended::default()),
                "{text}"
            );
        }
    }

    #[test]
    fn a_broken_line_costs_only_itself_and_a_cut_file_its_end() {
        let (seen, ended) = read(b"{\"n\":1}\nnot json\n{\"n\":2}\n");
        assert_eq!((seen, ended.broken), (vec![1, 2], 1));
        let (seen, ended) = read(b"{broken}\n{\"n\":2}\n");
        assert_eq!((seen, ended.broken), (vec![2], 1));
        let (seen, ended) = read(b"{\"Records\":[{\"n\":1},{\"n\":2},{\"n\"");
        assert_eq!((seen, ended.broken), (vec![1, 2], 1));
        let long = format!(
            "{{\"n\":1}}\n{}\n{{\"n\":2}}\n",
            "x".repeat(3 * 1024 * 1024)
        );
        let (seen, ended) = read(long.as_bytes());
        assert_eq!((seen, ended.broken), (vec![1, 2], 1));
        assert_eq!(read(b""), (vec![], Ended::default()));
    }

    #[test]
    fn a_taker_stops_every_shape() {
        for text in [
            "{\"n\":1}\n{\"n\":2}\n",
            "[{\"n\":1},{\"n\":2}]",
            "{\"Records\":[{\"n\":1},{\"n\":2}]}",
            "{\n\"n\":1}\n{\"n\":2}",
        ] {
            let mut seen = 0;
            let ended = json(text.as_bytes(), &["Records"], &mut |_| {
                seen += 1;
                false
            });
            assert_eq!((seen, ended.unwrap().stopped), (1, true), "{text}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            read(&bytes);
        }

        #[test]
        fn json_like_text_never_panics(text in "[\\[\\]{}\":,n0-9Records \n]{0,120}") {
            read(text.as_bytes());
        }
    }
}
