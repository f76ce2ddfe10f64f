//! Tests message headers that a producer may write, as the parser below lapin reads them (docs/decisions/0028). A
//! message that the parser refuses would be redelivered indefinitely and block those behind it.

use lapin::types::parsing::{parse_field_table, parse_short_string};
use lapin::types::{AMQPValue, FieldTable};

/// Encodes a table with these entries.
fn table(entries: &[u8]) -> Vec<u8> {
    let length = u32::try_from(entries.len()).unwrap();
    [&length.to_be_bytes(), entries].concat()
}

/// Encodes an entry with this name, type and value.
fn entry(name: &[u8], kind: u8, value: &[u8]) -> Vec<u8> {
    let length = u8::try_from(name.len()).unwrap();
    [&[length], name, &[kind], value].concat()
}

/// Parses a table that is followed by another; neither may reach into the other.
fn parse_table(sent: &[u8]) -> FieldTable {
    let behind = table(&entry(b"behind", b't', &[1]));
    let both = [sent, &behind].concat();
    let (rest, first) = parse_field_table(&*both).unwrap();
    let (rest, second) = parse_field_table(rest).unwrap();
    assert!(rest.is_empty());
    assert!(second.contains_key("behind"));
    first
}

#[test]
fn text_that_is_no_utf_8_is_read() {
    let (rest, text) = parse_short_string(&b"\x03k\xe9!"[..]).unwrap();
    assert_eq!((rest, text.as_str()), (&b""[..], "k\u{fffd}!"));
    let read = parse_table(&table(&entry(b"k\xe9", b't', &[1])));
    assert_eq!(
        read.inner().get("k\u{fffd}"),
        Some(&AMQPValue::Boolean(true))
    );
}

#[test]
fn a_table_is_read_up_to_what_nobody_knows() {
    let known = entry(b"first", b't', &[1]);
    for unknown in [
        entry(b"second", b'?', &[1, 2, 3]),
        // A list that claims to be longer than the table.
        entry(b"second", b'A', &[0, 0, 0, 9]),
        vec![200],
    ] {
        let read = parse_table(&table(&[known.clone(), unknown, known.clone()].concat()));
        let names: Vec<_> = read.inner().keys().map(|name| name.as_str()).collect();
        assert_eq!(names, ["first"]);
    }
}

#[test]
fn f05_headers_of_any_depth_leave_the_process_its_stack() {
    // A frame of 128 KiB holds this many.
    for (kind, most) in [(b'F', 18_000), (b'A', 26_000)] {
        let mut sent = table(&[]);
        for _ in 0..most {
            let inner = match kind {
                b'F' => entry(b"a", kind, &sent),
                _ => [&[kind], &*sent].concat(),
            };
            sent = table(&inner);
        }
        let headers = table(&entry(b"a", kind, &sent));
        // This is the stack size of lapin's thread.
        let reading = std::thread::Builder::new()
            .stack_size(2 << 20)
            .spawn(move || parse_table(&headers))
            .unwrap();
        assert!(reading.join().unwrap().contains_key("a"));
    }
    // The next message may be nested as deeply again.
    let sent = table(&entry(b"a", b'F', &table(&entry(b"b", b't', &[1]))));
    let read = parse_table(&sent);
    let AMQPValue::FieldTable(inner) = read.inner().get("a").unwrap() else {
        unreachable!()
    };
    assert!(inner.contains_key("b"));
}
