use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(text: &[u8]) -> DecodedDocument {
    decode(text).unwrap()
}

#[test]
fn a25_bad_surrogates_nul_bom_and_utf8_are_replaced_and_flagged() {
    let decoded = read(
        b"\xef\xbb\xbf{\"a\": \"x\\ud800y\", \"b\": \"n\\u0000ul\", \"c\": \"\\ud83d\\ude00\"}",
    );
    assert_eq!(
        decoded.value,
        json!({"a": "x\u{fffd}y", "b": "nul", "c": "😀"})
    );
    assert_eq!(
        decoded.flags,
        [
            ContentFlag::Replaced { path: "/a".into() },
            ContentFlag::Replaced { path: "/b".into() }
        ]
    );
    let decoded = read(b"{\"a\": \"x\xff\xfey\", \"b\": \"raw\0nul\ttab\"}\0");
    assert_eq!(
        decoded.value,
        json!({"a": "x\u{fffd}\u{fffd}y", "b": "rawnul\ttab"})
    );
    assert!(!decoded.flags.is_empty());
}

#[test]
fn a25_escapes_that_json_has_not_stay_as_they_stand() {
    let decoded = read(br#"{"a": "curl\x22 \'q\' \u12 \ud83d\uzz", "b": 1}"#);
    assert_eq!(
        decoded.value,
        json!({"a": "curl\\x22 \\'q\\' \\u12 \u{fffd}\\uzz", "b": 1})
    );
    assert_eq!(decoded.flags, [ContentFlag::Replaced { path: "/a".into() }]);
}

#[test]
fn a25_numbers_out_of_range_stay_as_text() {
    let decoded = read(br#"{"severity": 1e400, "n": -1E999, "x": NaN, "ok": 5.3}"#);
    assert_eq!(
        decoded.value,
        json!({"severity": "1e400", "n": "-1E999", "x": "NaN", "ok": 5.3})
    );
    assert_eq!(decoded.flags.len(), 3);
}

#[test]
fn a25_of_duplicate_keys_the_last_wins_on_both_paths() {
    for text in [
        &br#"{"a": {"s": 1, "s": 2}}"#[..],
        br#"{"a": {"s": 1, "s": 2}, "force": "\ud800"}"#,
    ] {
        let decoded = read(text);
        assert_eq!(decoded.value["a"]["s"], 2);
        assert!(decoded.flags.contains(&ContentFlag::DuplicateKey {
            path: "/a/s".into()
        }));
    }
}

#[test]
fn a25_depth_of_a_thousand_and_of_half_a_million_is_pruned() {
    for depth in [1_000, 500_000] {
        let text = format!(
            r#"{{"id": "x", "deep": {}"]"{}, "after": 1}}"#,
            "[".repeat(depth),
            "]".repeat(depth)
        );
        let decoded = read(text.as_bytes());
        assert_eq!(decoded.value["id"], "x");
        assert_eq!(decoded.value["after"], 1);
        assert!(matches!(decoded.flags[..], [ContentFlag::Truncated { .. }]));
    }
}

#[test]
fn structure_is_never_guessed() {
    for (text, line, column, expected) in [
        ("{\"a\": 1", 1, 8, "`,` or `}`"),
        ("{\"a\":\n  tru}", 2, 3, "a JSON value"),
        ("{\"a\" 1}", 1, 6, "`:`"),
        ("[1 2]", 1, 4, "`,` or `]`"),
        ("{a: 1}", 1, 2, "a key in double quotes"),
        ("\"abc", 1, 5, "the closing `\"` of a string"),
        ("hello", 1, 1, "a JSON value"),
        ("{} {}", 1, 4, "the end of the message"),
    ] {
        let error = decode(text.as_bytes()).unwrap_err();
        let ReadError::NotJson {
            line: l,
            column: c,
            expected: e,
            ..
        } = error
        else {
            panic!("{text}: {error}");
        };
        assert_eq!((l, c, e), (line, column, expected), "{text}");
    }
    assert_eq!(decode(b" \n\0"), Err(ReadError::Empty));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,20}".prop_map(|text| Value::from(text.replace('\0', ""))),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[a-zA-Z/~\"\\\\]{0,8}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn both_paths_read_ordinary_json_alike(value in any_json()) {
        let text = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(&lenient::decode(&text).unwrap().value, &value);
        prop_assert_eq!(&strict::decode(text.as_bytes()).unwrap().value, &value);
    }

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&bytes);
    }

    #[test]
    fn any_json_like_text_never_panics(text in r#"[\[\]{}",:\\u0-9a-fdDeE+.\-\x00 ]{0,80}"#) {
        let _ = decode(text.as_bytes());
    }
}
