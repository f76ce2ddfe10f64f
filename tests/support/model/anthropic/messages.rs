//! Checks Anthropic's conversations: blocks are not empty, and results follow their calls immediately.

use std::collections::BTreeSet;

use super::super::check::{JsonFields, JsonNode, ValidationError, is_name};
use super::super::model_rules::AnthropicRules;
use super::super::request::{MessagePart, Turn};
use super::validate::flag;

/// Parses the messages. Two consecutive ones of one role count as one, as at Anthropic.
pub(super) fn parse_messages(
    messages: &JsonNode<'_>,
    rules: AnthropicRules,
) -> Result<Vec<Turn>, ValidationError> {
    let list = messages.non_empty_list()?;
    let mut turns: Vec<Turn> = Vec::new();
    for (index, message) in list.iter().enumerate() {
        let turn = turn(message, index, index + 1 == list.len(), rules)?;
        match turns.last_mut() {
            Some(last) if last.by_model == turn.by_model => last.parts.extend(turn.parts),
            _ => turns.push(turn),
        }
    }
    match (turns.first(), turns.last()) {
        (Some(first), _) if first.by_model => {
            return Err(messages.rule_error("first message must use the \"user\" role"));
        }
        (_, Some(last)) if last.by_model && !rules.prefill => {
            return Err(messages.rule_error(
                "This model does not support assistant message prefill. The conversation must end with a user message.",
            ));
        }
        _ => {}
    }
    pairs(messages, &turns)?;
    Ok(turns)
}

/// Returns whether there are tool calls or results.
pub(super) fn have_calls(turns: &[Turn]) -> bool {
    turns
        .iter()
        .flat_map(|turn| &turn.parts)
        .any(|said| matches!(said, MessagePart::Call { .. } | MessagePart::Result { .. }))
}

fn turn(
    message: &JsonNode<'_>,
    index: usize,
    last: bool,
    rules: AnthropicRules,
) -> Result<Turn, ValidationError> {
    let fields = message.fields(&["role", "content"])?;
    let role = fields.required("role")?;
    let by_model = match role.one_of(&["user", "assistant", "system"])? {
        "system" if !rules.system_turns || index == 0 => {
            return Err(role.rule_error("Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role."));
        }
        role => role == "assistant",
    };
    let content = fields.required("content")?;
    let parts = if content.value.is_string() {
        let text = content.text()?;
        if text.trim().is_empty() {
            return Err(message.rule_error("all messages must have non-empty content except for the optional final assistant message"));
        }
        vec![MessagePart::Text(text.to_owned())]
    } else {
        let blocks = content.list()?;
        if blocks.is_empty() {
            return Err(message.rule_error("all messages must have non-empty content except for the optional final assistant message"));
        }
        blocks
            .iter()
            .map(|at| block(at, by_model))
            .collect::<Result<_, _>>()?
    };
    if by_model
        && last
        && let Some(MessagePart::Text(text)) = parts.last()
        && text.ends_with(char::is_whitespace)
    {
        return Err(
            message.rule_error("final assistant content cannot end with trailing whitespace")
        );
    }
    Ok(Turn { by_model, parts })
}

fn block(at: &JsonNode<'_>, by_model: bool) -> Result<MessagePart, ValidationError> {
    let kind = at.any_fields()?.required("type")?;
    match (kind.text()?, by_model) {
        ("text", true) => text_block(at).map(MessagePart::Text),
        ("text", false) => cited(at)
            .and_then(|()| text_block(at))
            .map(MessagePart::Text),
        ("tool_use", true) => call(at),
        ("tool_result", false) => result(at),
        ("thinking", true) => thinking(at),
        ("redacted_thinking", true) => {
            at.fields(&["type", "data"])?
                .required("data")?
                .non_empty_text()?;
            Ok(MessagePart::Thought)
        }
        (kind @ ("tool_use" | "tool_result" | "thinking" | "redacted_thinking"), _) => {
            let role = if by_model { "assistant" } else { "user" };
            Err(at.rule_error(format!("`{kind}` blocks can not be in `{role}` messages")))
        }
        (other, _) => Err(kind.rule_error(format!(
            "Input tag '{other}' found using 'type' does not match any of the expected tags"
        ))),
    }
}

/// Checks that user text has no citations, which version 2026-10-21 refuses and earlier ones ignored.
fn cited(at: &JsonNode<'_>) -> Result<(), ValidationError> {
    match at.any_fields()?.get("citations") {
        Some(citations) if !citations.list()?.is_empty() => {
            Err(citations.rule_error("citations are not permitted in user messages"))
        }
        _ => Ok(()),
    }
}

/// Parses a block of text, which must not be empty.
pub(super) fn text_block(at: &JsonNode<'_>) -> Result<String, ValidationError> {
    let fields = at.fields(&["type", "text", "cache_control", "citations"])?;
    fields.required("type")?.one_of(&["text"])?;
    mark(&fields)?;
    let text = fields.required("text")?.text()?;
    if text.is_empty() {
        return Err(at.rule_error("text content blocks must be non-empty"));
    }
    if text.trim().is_empty() {
        return Err(at.rule_error("text content blocks must contain non-whitespace text"));
    }
    Ok(text.to_owned())
}

/// Checks that a cache mark has the only type there is.
pub(super) fn mark(fields: &JsonFields<'_>) -> Result<(), ValidationError> {
    if let Some(mark) = fields.get("cache_control") {
        let mark = mark.fields(&["type", "ttl"])?;
        mark.required("type")?.one_of(&["ephemeral"])?;
        if let Some(ttl) = mark.get("ttl") {
            ttl.one_of(&["5m", "1h"])?;
        }
    }
    Ok(())
}

fn id<'a>(fields: &JsonFields<'a>, name: &str) -> Result<&'a str, ValidationError> {
    let at = fields.required(name)?;
    let id = at.text()?;
    if !is_name(id, 256, "_-") {
        return Err(at.rule_error("String should match pattern '^[a-zA-Z0-9_-]+$'"));
    }
    Ok(id)
}

fn call(at: &JsonNode<'_>) -> Result<MessagePart, ValidationError> {
    let fields = at.fields(&[
        "type",
        "id",
        "name",
        "input",
        "cache_control",
        "caller",
        "toolset_name",
    ])?;
    mark(&fields)?;
    let input = fields.required("input")?;
    if !input.value.is_object() {
        return Err(input.rule_error("Input should be a valid dictionary"));
    }
    Ok(MessagePart::Call {
        id: id(&fields, "id")?.to_owned(),
        name: fields.required("name")?.non_empty_text()?.to_owned(),
        arguments: input.value.clone(),
    })
}

fn result(at: &JsonNode<'_>) -> Result<MessagePart, ValidationError> {
    let fields = at.fields(&[
        "type",
        "tool_use_id",
        "content",
        "is_error",
        "cache_control",
        "toolset_name",
    ])?;
    mark(&fields)?;
    let failed = flag(&fields, "is_error")?;
    let text = match fields.get("content") {
        None => String::new(),
        Some(content) if content.value.is_string() => content.text()?.to_owned(),
        Some(content) => {
            let blocks = content.list()?;
            let texts: Vec<String> = blocks.iter().map(text_block).collect::<Result<_, _>>()?;
            texts.join("\n")
        }
    };
    if failed && text.is_empty() {
        return Err(at.rule_error("content cannot be empty if `is_error` is true"));
    }
    Ok(MessagePart::Result {
        id: id(&fields, "tool_use_id")?.to_owned(),
        text,
        failed,
    })
}

fn thinking(at: &JsonNode<'_>) -> Result<MessagePart, ValidationError> {
    let fields = at.fields(&["type", "thinking", "signature"])?;
    fields.required("thinking")?.text()?;
    fields.required("signature")?.text()?;
    Ok(MessagePart::Thought)
}

/// Checks that the next message begins with a result for every call, and that no result lacks its call.
fn pairs(messages: &JsonNode<'_>, turns: &[Turn]) -> Result<(), ValidationError> {
    let mut used = BTreeSet::new();
    let mut open: Vec<&str> = Vec::new();
    for turn in turns {
        if turn.by_model {
            open = Vec::new();
            for said in &turn.parts {
                if let MessagePart::Call { id, .. } = said {
                    if !used.insert(id.as_str()) {
                        return Err(messages.rule_error("`tool_use` ids must be unique"));
                    }
                    open.push(id);
                }
            }
            continue;
        }
        let mut text_before = false;
        for said in &turn.parts {
            let MessagePart::Result { id, .. } = said else {
                text_before = true;
                continue;
            };
            let Some(index) = open.iter().position(|known| known == id) else {
                return Err(messages.rule_error(format!(
                    "unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                )));
            };
            if text_before {
                break;
            }
            open.remove(index);
        }
        unanswered(messages, &open)?;
    }
    unanswered(messages, &open)
}

fn unanswered(messages: &JsonNode<'_>, open: &[&str]) -> Result<(), ValidationError> {
    if open.is_empty() {
        return Ok(());
    }
    Err(messages.rule_error(format!(
        "`tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        open.join(", ")
    )))
}
