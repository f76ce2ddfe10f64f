//! Keeping a long step within the model's window, by counting and before the limit.
//!
//! The first message (alert, plan, step) and the newest results stay as they are. Of older results each is replaced by a
//! line that names its evidence, the oldest first; a call and its result are never parted, and nothing is summarised by
//! a model. The whole results stay evidence and can be read again.

use super::tokens::{tokens, tokens_of};
use crate::chat::{Arguments, ChatMessage, ChatRequest, Part, Role};

/// Tokens that a message takes beside its text.
const FRAME: u64 = 8;

/// Blocks of evidence that are longer, in bytes, are cut where a request was found too long.
const LONG: usize = 2_048;

/// Tokens of a request: system, tools and messages.
pub(super) fn size(request: &ChatRequest) -> u64 {
    let tools: u64 = request
        .tools
        .iter()
        .map(|tool| {
            FRAME + tokens(&tool.name) + tokens(&tool.description) + tokens_of(&tool.schema)
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
                Arguments::Object(map) => tokens_of(map),
                Arguments::Unreadable(text) => tokens(text),
            };
            FRAME + tokens(&call.name) + arguments
        }
        Part::Result { text, .. } => FRAME + tokens(text),
        Part::Opaque(opaque) => tokens_of(&opaque.value),
    }
}

/// Shortens old results until the request has at most `most` tokens: then down to two thirds of it, so that the next
/// turns need not do it again.
pub(super) fn compact(request: &mut ChatRequest, most: u64) {
    if size(request) > most {
        leave_out(request, most / 3 * 2);
    }
}

/// Makes a request that a provider found too long shorter: old results go first, then the second half of every long data
/// block. False where there was nothing to leave out.
pub(super) fn shrink(request: &mut ChatRequest) -> bool {
    let before = size(request);
    leave_out(request, before / 2);
    if size(request) > before / 2 {
        let ours = |message: &&mut ChatMessage| message.role == Role::User;
        for message in request.messages.iter_mut().filter(ours) {
            message.parts.iter_mut().for_each(halve);
        }
    }
    size(request) < before
}

/// Shortens old results until the request has at most `goal` tokens, or there are no more of them.
fn leave_out(request: &mut ChatRequest, goal: u64) {
    let mut now = size(request);
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

/// Leaves out the second half of each long block of evidence; the alert's typed fields stay whole.
fn halve(part: &mut Part) {
    let (Part::Result { text, .. } | Part::Text { text, .. }) = part else {
        return;
    };
    let mut short = String::with_capacity(text.len());
    let mut lines = text.split_inclusive('\n');
    while let Some(line) = lines.next() {
        short.push_str(line);
        if evidence_of(line.trim_end()).is_none_or(|id| id == "E0") {
            continue;
        }
        let mut data = String::new();
        let end = lines.by_ref().find(|line| {
            let is_end = line.starts_with("</data-");
            if !is_end {
                data.push_str(line);
            }
            is_end
        });
        if data.len() > LONG {
            data.truncate(data.floor_char_boundary(data.len() / 2));
            data.push_str("\n[the rest is left out here to save room]\n");
        }
        short.push_str(&data);
        short.push_str(end.unwrap_or_default());
    }
    *text = short;
}

/// The evidence that a block holds, by its first line: `<data-KEY E3>`.
fn evidence_of(line: &str) -> Option<&str> {
    let (_, id) = line
        .strip_prefix("<data-")?
        .strip_suffix('>')?
        .split_once(' ')?;
    id.starts_with('E').then_some(id)
}
