//! Splits a log file into records.
//!
//! Files of one object per line are read by the line, so that a broken line loses only itself. A file that is one array
//! or one object with a list (`{"Records": […]}`) is read by `json_splitter`. Records are decoded as leniently as
//! alerts: callers write parts of them, and a strict parser would lose the whole record.

use std::io::{self, BufRead, Read};

use nightshift_alert::{ReadError, decode};
use serde_json::Value;

use super::json_splitter;

/// Longest record or line that is read.
pub(super) const MAX_RECORD_BYTES: usize = 1024 * 1024;

/// Receives the records and returns whether to continue.
pub(super) type ValueVisitor<'a> = &'a mut dyn FnMut(Value) -> bool;

/// The result of reading a file.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReadOutcome {
    /// Lines or values that could not be read.
    pub(super) malformed: u64,
    /// True if the receiver stopped.
    pub(super) stopped: bool,
}

/// Passes every line to `take`, without its line ending. Lines that are too long count as broken.
///
/// # Errors
///
/// Fails when the file cannot be read further.
pub(super) fn read_lines(
    mut reader: impl BufRead,
    take: &mut dyn FnMut(&str) -> bool,
) -> io::Result<ReadOutcome> {
    let mut ended = ReadOutcome::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader
            .by_ref()
            .take(MAX_RECORD_BYTES as u64)
            .read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(ended);
        }
        if line.len() == MAX_RECORD_BYTES && !line.ends_with(b"\n") {
            ended.malformed += 1;
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

/// Passes every record to `take`: one object per line, items of an array, or items of a list under one of `lists`.
///
/// # Errors
///
/// Fails when the file cannot be read further.
pub(super) fn read_json(
    mut reader: impl BufRead,
    lists: &'static [&'static str],
    take: ValueVisitor<'_>,
) -> io::Result<ReadOutcome> {
    if is_json_lines(reader.fill_buf()?, lists) {
        let mut broken = 0;
        let mut ended = read_lines(reader, &mut |line| {
            let Ok(decoded) = decode(line.as_bytes()) else {
                broken += 1;
                return true;
            };
            visit_items(decoded.value, lists, take)
        })?;
        ended.malformed += broken;
        return Ok(ended);
    }
    json_splitter::split_records(reader, lists, take)
}

/// Returns whether the first line is a complete record, or no JSON at all.
fn is_json_lines(head: &[u8], lists: &[&str]) -> bool {
    let head = head
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(head)
        .trim_ascii_start();
    if !matches!(head.first(), Some(b'{' | b'[')) {
        return true;
    }
    let Some(end) = head.iter().position(|byte| *byte == b'\n') else {
        return false;
    };
    let first = String::from_utf8_lossy(head.get(..end).unwrap_or(head));
    match decode(first.as_bytes()) {
        Ok(decoded) => decoded
            .value
            .as_object()
            .is_some_and(|map| !lists.iter().any(|list| map.contains_key(*list))),
        // A line that is broken before its end is a line; a value that lacks its end continues below.
        Err(ReadError::NotJson { column, .. }) => column <= first.trim_end().chars().count(),
        Err(_) => true,
    }
}

/// Passes the records in one value to `take`.
fn visit_items(value: Value, lists: &[&str], take: ValueVisitor<'_>) -> bool {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_ids(bytes: &[u8]) -> (Vec<i64>, ReadOutcome) {
        let mut seen = Vec::new();
        let ended = read_json(bytes, &["Records"], &mut |value| {
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
                read_ids(text.as_bytes()),
                (vec![1, 2], ReadOutcome::default()),
                "{text}"
            );
        }
    }

    #[test]
    fn a_broken_line_costs_only_itself_and_a_cut_file_its_end() {
        let (seen, ended) = read_ids(b"{\"n\":1}\nnot json\n{\"n\":2}\n");
        assert_eq!((seen, ended.malformed), (vec![1, 2], 1));
        let (seen, ended) = read_ids(b"{broken}\n{\"n\":2}\n");
        assert_eq!((seen, ended.malformed), (vec![2], 1));
        let (seen, ended) = read_ids(b"{\"Records\":[{\"n\":1},{\"n\":2},{\"n\"");
        assert_eq!((seen, ended.malformed), (vec![1, 2], 1));
        let long = format!(
            "{{\"n\":1}}\n{}\n{{\"n\":2}}\n",
            "x".repeat(3 * 1024 * 1024)
        );
        let (seen, ended) = read_ids(long.as_bytes());
        assert_eq!((seen, ended.malformed), (vec![1, 2], 1));
        assert_eq!(read_ids(b""), (vec![], ReadOutcome::default()));
    }

    #[test]
    fn a25_a_broken_record_costs_only_itself_in_every_shape() {
        let long = "x".repeat(MAX_RECORD_BYTES);
        for bad in [
            r#"{"n":, "a":1}"#,
            r#"{"n" 5}"#,
            r#"{"n": [7}}"#,
            "nonsense",
            &format!(r#"{{"n":5,"long":"{long}"}}"#),
        ] {
            for text in [
                format!("{{\"n\":1}}\n{bad}\n{{\"n\":2}}\n"),
                format!("[{{\"n\":1}},{bad},{{\"n\":2}}]"),
                format!("{{\"Records\":[{{\"n\":1}},{bad},{{\"n\":2}}]}}"),
                format!("{{\n\"more\":{bad},\"Records\":[{{\"n\":1}},{{\"n\":2}}, {bad}]}}"),
            ] {
                let (seen, ended) = read_ids(text.as_bytes());
                let told: String = text.chars().take(80).collect();
                assert_eq!((seen, ended.malformed), (vec![1, 2], 1), "{told}");
            }
        }
    }

    #[test]
    fn a25_what_a_strict_parser_refuses_is_still_read() {
        let deep = format!("{}{}", "[".repeat(1_000), "]".repeat(1_000));
        for odd in [
            r#""Mozilla\ud800""#,
            r#""\udc80""#,
            r#""a\x22b \' \u12""#,
            "1e400",
            "\"raw\ttab\"",
            deep.as_str(),
        ] {
            let record = format!("{{\"n\":1,\"agent\":{odd}}}");
            let large = format!(
                "{{\"Records\":[{record},{}{{\"n\":2}}]}}\n",
                " ".repeat(MAX_RECORD_BYTES)
            );
            for text in [
                format!("{record}\n{{\"n\":2}}\n"),
                format!("[{record},{{\"n\":2}}]"),
                format!("{{\n\"Records\": [\n{record},{{\"n\":2}}]}}"),
                large,
            ] {
                assert_eq!(
                    read_ids(text.as_bytes()),
                    (vec![1, 2], ReadOutcome::default()),
                    "{odd}"
                );
            }
        }
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
            let ended = read_json(text.as_bytes(), &["Records"], &mut |_| {
                seen += 1;
                false
            });
            assert_eq!((seen, ended.unwrap().stopped), (1, true), "{text}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            read_ids(&bytes);
        }

        #[test]
        fn json_like_text_never_panics(text in "[\\[\\]{}\":,n0-9Records \n]{0,120}") {
            read_ids(text.as_bytes());
        }
    }
}
