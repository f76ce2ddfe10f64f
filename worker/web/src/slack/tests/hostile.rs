//! Tests with arbitrary signed payloads: each gets a response, and nothing stored is long, hidden, or mentions
//! anybody.

use nightshift_alert::text::strip_hidden;
use nightshift_pipeline::case_workflow::{ACTION_NAME_CHARS, ACTION_NOTE_CHARS};
use proptest::prelude::*;

use super::*;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.unwrap().block_on(future)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,40}",
        "\\PC{0,2000}",
        "[()<>@!#|*_~` a-zU0-9]{0,80}",
        Just("<!channel> @everyone [~admin] <@U1|ana>".to_owned()),
        Just("\u{1b}[2J\u{202e}\u{200b}\u{e0041}\0\r\n".to_owned()),
        Just(format!("a{}", "\u{301}".repeat(5_000))),
    ]
}

/// Generates JSON in which the names of Slack's fields are frequent.
fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z:_.0-9-]{0,20}".prop_map(Value::from),
        Just(json!("block_actions")),
        Just(json!("view_submission")),
        Just(json!("nightshift:mute")),
        Just(json!(VALUE)),
    ];
    let name = prop_oneof![
        Just("type"),
        Just("user"),
        Just("id"),
        Just("actions"),
        Just("action_id"),
        Just("value"),
        Just("view"),
        Just("state"),
        Just("values"),
        Just("private_metadata"),
        Just("callback_id"),
        Just("channel"),
        Just("x"),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a06_a22_names_and_notes_are_short_visible_and_mention_nobody(name in text(), written in text()) {
        let room = SlackFixture::new();
        let mut disagree = click("nightshift:disagree", VALUE, "U1");
        disagree["user"]["name"] = json!(name);
        let judged = block_on(async {
            room.post(&disagree).await;
            let mut form = submit(&room.last_view(), json!({
                "verdict": { "verdict": { "selected_option": { "value": "false_positive" } } },
                "note": { "note": { "value": written } },
            }));
            form["user"]["name"] = json!(name);
            let answer = room.post(&form).await;
            assert_eq!((answer.status.as_u16(), answer.text.as_str()), (200, ""));
            room.store.judged.lock().unwrap()[0].1.clone()
        });
        prop_assert!(judged.by.starts_with("slack:U1"), "{}", judged.by);
        prop_assert!(judged.by.chars().count() <= ACTION_NAME_CHARS, "{}", judged.by);
        prop_assert!(judged.note.chars().count() <= ACTION_NOTE_CHARS);
        for kept in [&judged.by, &judged.note] {
            prop_assert_eq!(strip_hidden(kept).1, 0, "{:?}", kept);
        }
        for token in ["<!", "<@", "<#", "@everyone", "[~", "\n"] {
            prop_assert!(!judged.by.contains(token), "{}", judged.by);
        }
        for [.., line] in room.shown.lines.lock().unwrap().iter() {
            prop_assert!(line.is_ascii() && line.len() < 300, "{line}");
        }
    }

    #[test]
    fn no_signed_payload_ends_in_an_error_of_ours(mut payload in json(), kind in "block_actions|view_submission") {
        if let Value::Object(map) = &mut payload {
            map.insert("type".to_owned(), kind.into());
        }
        let room = SlackFixture::new();
        let answer = block_on(room.post(&payload));
        prop_assert!([200, 400].contains(&answer.status.as_u16()), "{}", answer.status);
        prop_assert_eq!(room.writes(), 0);
    }

    #[test]
    fn no_signed_body_does_either(body in prop::collection::vec(any::<u8>(), 0..200)) {
        let body = String::from_utf8_lossy(&body).into_owned();
        let answer = block_on(SlackFixture::new().send(signed(&format!("payload={body}"), SECRET)));
        prop_assert!([200, 400].contains(&answer.status.as_u16()), "{}", answer.status);
    }
}
