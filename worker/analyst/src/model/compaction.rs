//! Keeping a long step within the model's window, by counting and before the limit.
//!
//! The first message (alert, plan, step) and the newest results stay as they are. Of older results each is replaced by a
//! line that names its evidence, the oldest first; a call and its result are never parted, and nothing is summarised by
//! a model. The whole results stay evidence and can be read again.

use super::tokens::{tokens, tokens_of};
#[cfg(test)]
use crate::chat::ChatRequest;
use crate::chat::{Arguments, ChatMessage, ChatTool, Part, Role};

/// Tokens that a message takes beside its text.
const FRAME: u64 = 8;

/// Blocks of evidence that are longer, in bytes, are cut where a request was found too long.
const LONG: usize = 2_048;

/// Tokens of what all requests of a frame share: the system text and the tools.
pub(super) fn fixed(system: &str, tools: &[ChatTool]) -> u64 {
    let size = |tool: &ChatTool| {
        FRAME + tokens(&tool.name) + tokens(&tool.description) + tokens_of(&*tool.schema)
    };
    tokens(system) + tools.iter().map(size).sum::<u64>()
}

/// Tokens of what was said.
pub(super) fn said(messages: &[ChatMessage]) -> u64 {
    messages.iter().map(|one| message(&one.parts)).sum()
}

/// Tokens of a message with these parts.
pub(super) fn message(parts: &[Part]) -> u64 {
    FRAME + parts.iter().map(part_size).sum::<u64>()
}

/// Tokens of a request.
#[cfg(test)]
pub(super) fn size(request: &ChatRequest) -> u64 {
    fixed(&request.system, &request.tools) + said(&request.messages)
}

fn part_size(part: &Part) -> u64 {
    match part {
        Part::Text { text, .. } => text.tokens(tokens),
        Part::Call(call) => {
            let arguments = match &call.arguments {
                Arguments::Object(map) => tokens_of(map),
                Arguments::Unreadable(text) => tokens(text),
            };
            FRAME + tokens(&call.name) + arguments
        }
        Part::Result { text, .. } => FRAME + text.tokens(tokens),
        Part::Opaque(opaque) => tokens_of(&opaque.value),
    }
}

/// Shortens old results until the request has at most `most` tokens, of which `fixed` cannot be shortened: then down to two
/// thirds of it, so that the next turns need not do it again. What earlier turns left out is left out as they did, for
/// each is asked after the same conversation as the last, and what was added.
pub(super) fn compact(messages: &mut [ChatMessage], fixed: u64, most: u64) {
    let mut now = fixed;
    for end in 1..=messages.len() {
        let Some(asked) = messages.get_mut(..end) else {
            return;
        };
        let Some(newest) = asked.last() else { return };
        now += message(&newest.parts);
        if now > most && newest.role == Role::User {
            leave_out(asked, (most / 3 * 2).saturating_sub(fixed));
            now = fixed + said(asked);
        }
    }
}

/// Makes a request that a provider found too long shorter: old results go first, then the second half of every long data
/// block. False where there was nothing to leave out.
pub(super) fn shrink(messages: &mut [ChatMessage], fixed: u64) -> bool {
    let before = said(messages);
    let goal = before.saturating_sub(fixed) / 2;
    leave_out(messages, goal);
    if said(messages) > goal {
        let ours = |message: &&mut ChatMessage| message.role == Role::User;
        for message in messages.iter_mut().filter(ours) {
            message.parts.iter_mut().for_each(halve);
        }
    }
    said(messages) < before
}

/// Shortens old results until so many tokens were said, or there are no more of them.
fn leave_out(messages: &mut [ChatMessage], goal: u64) {
    let mut now = said(messages);
    let last = messages.len().saturating_sub(1);
    let ours = |message: &&mut ChatMessage| message.role == Role::User;
    for message in messages.iter_mut().take(last).skip(1).filter(ours) {
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
        )
        .into();
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
    *text = short.into();
}

/// The evidence that a block holds, by its first line: `<data-KEY E3>`.
fn evidence_of(line: &str) -> Option<&str> {
    let (_, id) = line
        .strip_prefix("<data-")?
        .strip_suffix('>')?
        .split_once(' ')?;
    id.starts_with('E').then_some(id)
}
