//! Makes call ids that Claude accepts: plain characters, and unique in a conversation.
//!
//! Claude's own ids are such. Ids of another model of a chain may be `functions.look_up:0`, and ids made up for servers
//! without any repeat in each turn. A conversation with such ids is refused as a whole (Anthropic, "Tool use").

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::chat::{ChatMessage, ChatPart};

/// Maximum length of an id, at Anthropic and in Converse.
const MAX_ID_CHARS: usize = 64;

/// Returns the conversation with replacements for refused ids. Later messages do not change earlier ids, so that
/// requests keep their prefix.
pub(crate) fn normalize_call_ids(messages: Cow<'_, [ChatMessage]>) -> Cow<'_, [ChatMessage]> {
    let mut used = BTreeSet::new();
    let mut calls = messages.iter().flat_map(|message| &message.parts);
    if calls.all(|part| match part {
        ChatPart::Call(call) => is_valid_id(&call.id) && used.insert(call.id.as_str()),
        _ => true,
    }) {
        return messages;
    }
    let mut messages = messages.into_owned();
    let mut ids = CallIds::default();
    for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
        match part {
            ChatPart::Call(call) => ids.assign(&mut call.id),
            ChatPart::Result { id, .. } => ids.resolve(id),
            ChatPart::Text { .. } | ChatPart::Opaque(_) => {}
        }
    }
    Cow::Owned(messages)
}

/// The ids so far.
#[derive(Default)]
struct CallIds {
    used: BTreeSet<String>,
    /// Original and new ids of calls that have no result yet.
    open: Vec<(String, String)>,
}

impl CallIds {
    fn assign(&mut self, id: &mut String) {
        let was = id.clone();
        let mut number = self.used.len();
        while !is_valid_id(id) || !self.used.insert(id.clone()) {
            *id = format!("call_{number}");
            number += 1;
        }
        self.open.push((was, id.clone()));
    }

    fn resolve(&mut self, id: &mut String) {
        if let Some(at) = self.open.iter().position(|(was, _)| was == id) {
            *id = self.open.remove(at).1;
        }
    }
}

fn is_valid_id(id: &str) -> bool {
    let plain = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'-');
    (1..=MAX_ID_CHARS).contains(&id.len()) && id.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use crate::chat::{CallArguments, ChatRole, ToolCallPart};

    use super::*;

    /// Returns turns of calls with these ids and of their results, in the same or in reverse order.
    fn told(turns: &[&[&str]]) -> Vec<ChatMessage> {
        let call = |id: &&str| {
            ChatPart::Call(ToolCallPart {
                id: (*id).to_owned(),
                name: "t".to_owned(),
                arguments: CallArguments::Object(serde_json::Map::new()),
                opaque: None,
            })
        };
        let result = |id: &&str| ChatPart::Result {
            id: (*id).to_owned(),
            name: "t".to_owned(),
            text: "{}".into(),
            is_error: false,
        };
        let turn = |ids: &&[&str]| {
            [
                (ChatRole::Assistant, ids.iter().map(call).collect()),
                (ChatRole::User, ids.iter().map(result).collect()),
            ]
            .map(|(role, parts)| ChatMessage { role, parts })
        };
        turns.iter().flat_map(turn).collect()
    }

    #[test]
    fn ids_are_plain_and_each_is_there_once_with_its_result() {
        let long = "x".repeat(65);
        for (turns, fitting_turns) in [
            (
                vec![vec!["toolu_1", "b-2"], vec!["toolu_3"]],
                vec![vec!["toolu_1", "b-2"], vec!["toolu_3"]],
            ),
            (
                vec![
                    vec!["functions.x:0", "functions.x:1"],
                    vec!["functions.x:2"],
                ],
                vec![vec!["call_0", "call_1"], vec!["call_2"]],
            ),
            (
                vec![vec!["call_0", "call_1"], vec!["call_0"], vec!["call_0"]],
                vec![vec!["call_0", "call_1"], vec!["call_2"], vec!["call_3"]],
            ),
            // A made-up id may occur later as an original one.
            (
                vec![vec!["", &long], vec!["call_1", "call_0"]],
                vec![vec!["call_0", "call_1"], vec!["call_2", "call_3"]],
            ),
            (
                vec![vec!["a", "a"], vec!["call_4", "a", "a"]],
                vec![vec!["a", "call_1"], vec!["call_4", "call_3", "call_5"]],
            ),
        ] {
            let slices =
                |turns: &[Vec<&str>]| told(&turns.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let (given, wanted) = (slices(&turns), slices(&fitting_turns));
            let fit = normalize_call_ids(Cow::Borrowed(&given));
            assert_eq!(fit.as_ref(), wanted, "{turns:?}");
            assert_eq!(matches!(fit, Cow::Borrowed(_)), given == wanted);
            for end in (0..given.len()).step_by(2) {
                let before = normalize_call_ids(Cow::Borrowed(&given[..end]));
                assert_eq!(before.as_ref(), &wanted[..end], "{turns:?}");
            }
        }
    }
}
