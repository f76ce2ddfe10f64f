use serde_json::json;

use super::*;

fn item(value: Value) -> Payload {
    Payload {
        path: String::new(),
        value,
        flags: Vec::new(),
        trace: None,
        wrappers: Wrappers::default(),
    }
}

#[test]
fn base64_is_read_in_both_alphabets_with_or_without_padding() {
    for text in ["eyJhIjoiPz8+In0=", "eyJhIjoiPz8-In0", "eyJhIjoi\nPz8+In0="] {
        assert_eq!(base64_bytes(text).as_deref(), Some(&br#"{"a":"??>"}"#[..]));
    }
    assert_eq!(base64_bytes("%%"), None);
}

#[test]
fn flags_follow_their_finding_out_of_the_envelope() {
    let flags = [
        ContentFlag::DuplicateKey {
            path: "/detail/findings/1/id".into(),
        },
        ContentFlag::DuplicateKey {
            path: "/detail/findings/10/id".into(),
        },
        ContentFlag::DuplicateKey {
            path: "/detail".into(),
        },
        ContentFlag::DuplicateKey {
            path: "/source".into(),
        },
        ContentFlag::Replaced {
            path: String::new(),
        },
    ];
    assert_eq!(
        flags_under(&flags, "/detail/findings/1"),
        [
            ContentFlag::DuplicateKey { path: "/id".into() },
            ContentFlag::DuplicateKey {
                path: String::new()
            },
            ContentFlag::Replaced {
                path: String::new()
            },
        ]
    );
}

#[test]
fn a_finding_with_fields_like_an_envelope_is_none() {
    for value in [
        json!({"message": "text", "type": "x"}),
        json!({"message": {"en": "text"}}),
        json!({"Type": "Notification of change", "Message": "x"}),
        json!({"detail": {"x": 1}}),
        json!({"specversion": "1.0"}),
    ] {
        assert!(unwrap(item(value), 0, &[]).unwrap().envelopes.is_empty());
    }
}

#[test]
fn lists_in_lists_have_an_end() {
    let nested = (0..6).fold(json!({}), |inner, _| json!([inner]));
    let unwrapped = unwrap(item(nested), 0, &[]).unwrap();
    assert!(
        matches!(&unwrapped.items[..], [Err(failed)] if matches!(failed.error, ReadError::TooNested { .. }))
    );
}

#[test]
fn two_lists_in_one_document_are_both_opened() {
    let document = json!({"Findings": [{"id": "a"}], "findings": [{"id": "b"}, {"id": "c"}], "listFindingsResults": []});
    let unwrapped = unwrap(item(document), 0, &[]).unwrap();
    let items = unwrapped.items.iter().flatten();
    let told: Vec<_> = items
        .map(|item| {
            (
                item.path.as_str(),
                item.value["id"].as_str().unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("/Findings/0", "a"),
            ("/findings/0", "b"),
            ("/findings/1", "c")
        ]
    );
}
