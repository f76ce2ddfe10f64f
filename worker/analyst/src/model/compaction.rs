//! Keeping a long step within the model's window, by counting and before the limit.
//!
//! The first message (alert, plan, step) and the newest results stay as they are. Of older results each is replaced by a
//! line that names its evidence, the oldest first; a call and its result are never parted, and nothing is summarised by
//! a model. The whole results stay evidence and can be read again.

use super::tokens::tokens;
use crate::chat::{Arguments, ChatMessage, ChatRequest, Part, Role};

/// Tokens that a message takes beside its text.
const FRAME: u64 = 8;

/// Tokens of a request: system, tools and messages.
pub(super) fn size(request: &ChatRequest) -> u64 {
    let tools: u64 = request
        .tools
        .iter()
        .map(|tool| {
            FRAME
                + tokens(&tool.name)
                + tokens(&tool.description)
                + tokens(&tool.schema.to_string())
        })
        .sum();
    let messages: u64 = request.messages.iter().map(message_size).sum();
    tokens(&request.system) + tools + messages
}

fn message_size(message: &ChatMessage) -> u64 {
    FRAME + message.parts.iter().map(part_size).sum::<u64>()
}

fn part_size(part: &Part) -> u64 {
    match part {
        Part::Text { text, .. } => tokens(text),
        Part::Call(call) => {
            let arguments = match &call.arguments {
                Arguments::Object(map) => serde_json::to_string(map).unwrap_or_default(),
                Arguments::Unreadable(text) => text.clone(),
            };
            FRAME + tokens(&call.name) + tokens(&arguments)
        }
        Part::Result { text, .. } => FRAME + tokens(text),
        Part::Opaque(opaque) => tokens(&opaque.value.to_string()),
    }
}

/// Shortens old results until the request has at most `most` tokens: then down to two thirds of it, so that the next
/// turns need not do it again.
pub(super) fn compact(request: &mut ChatRequest, most: u64) {
    let mut now = size(request);
    if now <= most {
        return;
    }
    let goal = most / 3 * 2;
    let last = request.messages.len().saturating_sub(1);
    let ours = |message: &&mut ChatMessage| message.role == Role::User;
    for message in request.messages.iter_mut().take(last).skip(1).filter(ours) {
        for part in &mut message.parts {
            if now <= goal {
                return;
            }
            let before = part_size(part);
            shorten(part);
            now = now.saturating_sub(before.saturating_sub(part_size(part)));
        }
    }
}

/// Results become a line; what stands beside them stays.
fn shorten(part: &mut Part) {
    let (Part::Result { text, .. } | Part::Text { text, .. }) = part else {
        return;
    };
    let ids: Vec<&str> = text.lines().filter_map(evidence_of).collect();
    if !ids.is_empty() {
        *text = format!(
            "[left out here to save room: {}. Read it again with evidence_read.]\n",
            ids.join(", ")
        );
    }
}

/// The evidence that a block holds, by its first line: `<data-KEY E3>`.
fn evidence_of(line: &str) -> Option<&str> {
    let (_, id) = line
        .strip_prefix("<data-")?
        .strip_suffix('>')?
        .split_once(' ')?;
    id.starts_with('E').then_some(id)
}
