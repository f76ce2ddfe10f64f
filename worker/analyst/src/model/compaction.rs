//! Keeping a long step within the model's window, by counting and before the limit.
//!
//! The first message (alert, plan, step) and the newest results stay as they are. Of older results each is replaced by a
//! line that names its evidence, the oldest first; a call and its result are never parted, and nothing is summarised by
//! a model. The whole results stay evidence and can be read again.

use super::tokens::{shares, tokens, tokens_of};
#[cfg(test)]
use nightshift_llm::chat::ChatRequest;
use nightshift_llm::chat::{Arguments, ChatMessage, ChatTool, Part, Role};

/// Tokens that a message takes beside its text.
const FRAME: u64 = 8;

/// Blocks of data that are longer, in bytes, are cut where a request was found too long.
const LONG: usize = 2_048;

/// Blocks that stay whole: the alert's typed fields, what was planned, and what the answer has to heed.
const WHOLE: [&str; 6] = ["E0", "plan", "objective", "case", "step", "problems"];

/// A line of such a block keeps this many bytes at the least.
const LEAST_LINE: usize = 256;

/// Stands for what was cut.
const REST: &str = "[the rest is left out here to save room]";

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

/// Makes a request that a provider found too long shorter: old results go first, then half of every long data block.
/// False where there was nothing to leave out.
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

/// Makes each long block of data half as long, but for those that stay whole.
fn halve(part: &mut Part) {
    let (Part::Result { text, .. } | Part::Text { text, .. }) = part else {
        return;
    };
    let mut short = String::with_capacity(text.len());
    let mut lines = text.split_inclusive('\n');
    while let Some(line) = lines.next() {
        short.push_str(line);
        if name_of(line.trim_end()).is_none_or(|name| WHOLE.contains(&name)) {
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
            data = halved(&data);
        }
        short.push_str(&data);
        short.push_str(end.unwrap_or_default());
    }
    *text = short.into();
}

/// Half of this data. Its lines are results and what is told of them: of each its begin stays, the short ones whole, and
/// only where all are short it is the last ones that go.
fn halved(data: &str) -> String {
    let sizes: Vec<u64> = data.lines().map(|line| line.len() as u64).collect();
    let share = shares(&sizes, data.len() as u64 / 2);
    let most = usize::try_from(share).unwrap_or(usize::MAX);
    if most < LEAST_LINE {
        let end = data.floor_char_boundary(data.len() / 2);
        return format!("{}\n{REST}\n", data.get(..end).unwrap_or_default());
    }
    let mut short = String::with_capacity(data.len() / 2);
    for line in data.lines() {
        if line.len() > most.saturating_add(REST.len()) {
            let end = line.floor_char_boundary(most);
            short.push_str(line.get(..end).unwrap_or_default());
            short.push('\n');
            short.push_str(REST);
        } else {
            short.push_str(line);
        }
        short.push('\n');
    }
    short
}

/// The evidence that a block holds.
fn evidence_of(line: &str) -> Option<&str> {
    name_of(line).filter(|name| name.starts_with('E'))
}

/// The name of the block that begins with this line: `<data-KEY E3>`.
fn name_of(line: &str) -> Option<&str> {
    let (_, name) = line
        .strip_prefix("<data-")?
        .strip_suffix('>')?
        .split_once(' ')?;
    Some(name)
}
