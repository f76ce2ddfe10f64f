//! Keeps a long step within the model's context window, by counting tokens before the limit is reached.
//!
//! The first message (alert, plan, step) and the newest results are not changed. Older results are replaced, oldest
//! first, by a line that names their evidence. A call and its result stay together, and no model summarises anything.
//! The complete results stay evidence and can be read again.

use super::tokens::{fair_share, tokens, tokens_of};
#[cfg(test)]
use nightshift_llm::chat::ChatRequest;
use nightshift_llm::chat::{CallArguments, ChatMessage, ChatPart, ChatRole, ChatTool};

/// Tokens of a message besides its text.
const MESSAGE_OVERHEAD: u64 = 8;

/// Size in bytes above which a data block is cut when a request was too long.
const LONG_BLOCK_BYTES: usize = 2_048;

/// Blocks that are never cut: typed fields of the alert, the plan, and what the answer must follow.
const UNCUT_BLOCKS: [&str; 6] = ["E0", "plan", "objective", "case", "step", "problems"];

/// Minimum number of bytes that is kept of a line in a cut block.
const MIN_LINE_BYTES: usize = 256;

/// Marker for the part that was cut.
const CUT_NOTE: &str = "[the rest is left out here to save room]";

/// Returns the tokens that all requests of a frame share: system text and tools.
pub(super) fn fixed_tokens(system: &str, tools: &[ChatTool]) -> u64 {
    let size = |tool: &ChatTool| {
        MESSAGE_OVERHEAD + tokens(&tool.name) + tokens(&tool.description) + tokens_of(&*tool.schema)
    };
    tokens(system) + tools.iter().map(size).sum::<u64>()
}

/// Returns the tokens of these messages.
pub(super) fn conversation_tokens(messages: &[ChatMessage]) -> u64 {
    messages.iter().map(|one| message_tokens(&one.parts)).sum()
}

/// Returns the tokens of a message with these parts.
pub(super) fn message_tokens(parts: &[ChatPart]) -> u64 {
    MESSAGE_OVERHEAD + parts.iter().map(part_tokens).sum::<u64>()
}

#[cfg(test)]
pub(super) fn request_tokens(request: &ChatRequest) -> u64 {
    fixed_tokens(&request.system, &request.tools) + conversation_tokens(&request.messages)
}

fn part_tokens(part: &ChatPart) -> u64 {
    match part {
        ChatPart::Text { text, .. } => text.tokens(tokens),
        ChatPart::Call(call) => {
            let arguments = match &call.arguments {
                CallArguments::Object(map) => tokens_of(map),
                CallArguments::Unreadable(text) => tokens(text),
            };
            MESSAGE_OVERHEAD + tokens(&call.name) + arguments
        }
        ChatPart::Result { text, .. } => MESSAGE_OVERHEAD + text.tokens(tokens),
        ChatPart::Opaque(opaque) => tokens_of(&opaque.value),
    }
}

/// Shortens old results once the request exceeds `most` tokens, of which `fixed` cannot be shortened. The request is
/// shortened to two thirds, so that the next turns need not be shortened again. Each prefix of the conversation is
/// compacted as it was in its own turn, so that earlier messages stay the same.
pub(super) fn compact(messages: &mut [ChatMessage], fixed: u64, most: u64) {
    let mut now = fixed;
    for end in 1..=messages.len() {
        let Some(asked) = messages.get_mut(..end) else {
            return;
        };
        let Some(newest) = asked.last() else { return };
        now += message_tokens(&newest.parts);
        if now > most && newest.role == ChatRole::User {
            shorten_results(asked, (most / 3 * 2).saturating_sub(fixed));
            now = fixed + conversation_tokens(asked);
        }
    }
}

/// Shortens a request that a provider found too long: old results first, then half of every long data block. Returns
/// false when nothing could be cut.
pub(super) fn shrink(messages: &mut [ChatMessage], fixed: u64) -> bool {
    let before = conversation_tokens(messages);
    let goal = before.saturating_sub(fixed) / 2;
    shorten_results(messages, goal);
    if conversation_tokens(messages) > goal {
        let ours = |message: &&mut ChatMessage| message.role == ChatRole::User;
        for message in messages.iter_mut().filter(ours) {
            message.parts.iter_mut().for_each(halve);
        }
    }
    conversation_tokens(messages) < before
}

/// Shortens old results until the messages have at most `goal` tokens, or none is left.
fn shorten_results(messages: &mut [ChatMessage], goal: u64) {
    let mut now = conversation_tokens(messages);
    let last = messages.len().saturating_sub(1);
    let ours = |message: &&mut ChatMessage| message.role == ChatRole::User;
    for message in messages.iter_mut().take(last).skip(1).filter(ours) {
        for part in &mut message.parts {
            if now <= goal {
                return;
            }
            let before = part_tokens(part);
            shorten(part);
            now = now.saturating_sub(before.saturating_sub(part_tokens(part)));
        }
    }
}

/// Replaces results by a line; other parts stay.
fn shorten(part: &mut ChatPart) {
    let (ChatPart::Result { text, .. } | ChatPart::Text { text, .. }) = part else {
        return;
    };
    let ids: Vec<&str> = text.lines().filter_map(evidence_name).collect();
    if !ids.is_empty() {
        *text = format!(
            "[left out here to save room: {}. Read it again with evidence_read.]\n",
            ids.join(", ")
        )
        .into();
    }
}

/// Halves each long data block, except those that are never cut.
fn halve(part: &mut ChatPart) {
    let (ChatPart::Result { text, .. } | ChatPart::Text { text, .. }) = part else {
        return;
    };
    let mut short = String::with_capacity(text.len());
    let mut lines = text.split_inclusive('\n');
    while let Some(line) = lines.next() {
        short.push_str(line);
        if block_name(line.trim_end()).is_none_or(|name| UNCUT_BLOCKS.contains(&name)) {
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
        if data.len() > LONG_BLOCK_BYTES {
            data = halved(&data);
        }
        short.push_str(&data);
        short.push_str(end.unwrap_or_default());
    }
    *text = short.into();
}

/// Returns half of this data. Each line is a result or a text about one. The beginning of each line stays, and short
/// lines stay whole. Only when all lines are short are the last ones removed.
fn halved(data: &str) -> String {
    let sizes: Vec<u64> = data.lines().map(|line| line.len() as u64).collect();
    let share = fair_share(&sizes, data.len() as u64 / 2);
    let most = usize::try_from(share).unwrap_or(usize::MAX);
    if most < MIN_LINE_BYTES {
        let end = data.floor_char_boundary(data.len() / 2);
        return format!("{}\n{CUT_NOTE}\n", data.get(..end).unwrap_or_default());
    }
    let mut short = String::with_capacity(data.len() / 2);
    for line in data.lines() {
        if line.len() > most.saturating_add(CUT_NOTE.len()) {
            let end = line.floor_char_boundary(most);
            short.push_str(line.get(..end).unwrap_or_default());
            short.push('\n');
            short.push_str(CUT_NOTE);
        } else {
            short.push_str(line);
        }
        short.push('\n');
    }
    short
}

/// Returns the evidence that a block holds.
fn evidence_name(line: &str) -> Option<&str> {
    block_name(line).filter(|name| name.starts_with('E'))
}

/// Returns the name of the block that begins with this line: `<data-KEY E3>`.
fn block_name(line: &str) -> Option<&str> {
    let (_, name) = line
        .strip_prefix("<data-")?
        .strip_suffix('>')?
        .split_once(' ')?;
    Some(name)
}
