//! Checks Converse's conversations: roles alternate, each block has one kind, and every tool use has a result.

use std::collections::BTreeSet;

use super::super::check::{JsonFields, JsonNode, ValidationError, is_name};
use super::super::request::{MessagePart, Turn};

/// Returns the text of the system blocks.
pub(super) fn system(at: &JsonNode<'_>) -> Result<String, ValidationError> {
    let mut texts = Vec::new();
    for block in at.list()? {
        let fields = block.fields(&["text", "cachePoint"])?;
        match (fields.get("text"), fields.get("cachePoint")) {
            (Some(text), None) => texts.push(text.non_empty_text()?.to_owned()),
            (None, Some(point)) => cache_point(&point)?,
            _ => return Err(union(&block)),
        }
    }
    Ok(texts.join("\n\n"))
}

pub(super) fn union(at: &JsonNode<'_>) -> ValidationError {
    at.rule_error(format!(
        "The value at {} must have exactly one of its members set.",
        at.at.trim_start_matches('/').replace('/', ".")
    ))
}

pub(super) fn cache_point(at: &JsonNode<'_>) -> Result<(), ValidationError> {
    let point = at.fields(&["type", "ttl"])?;
    point.required("type")?.one_of(&["default"])?;
    if let Some(ttl) = point.get("ttl") {
        ttl.one_of(&["5m", "1h"])?;
    }
    Ok(())
}

/// Returns whether there are tool uses or results.
pub(super) fn have_calls(turns: &[Turn]) -> bool {
    turns
        .iter()
        .flat_map(|turn| &turn.parts)
        .any(|said| matches!(said, MessagePart::Call { .. } | MessagePart::Result { .. }))
}

/// Checks the ids of calls by Claude's rules, as at Anthropic.
pub(super) fn plain_ids(at: &JsonNode<'_>, turns: &[Turn]) -> Result<(), ValidationError> {
    let mut used = BTreeSet::new();
    for said in turns.iter().flat_map(|turn| &turn.parts) {
        let MessagePart::Call { id, .. } = said else {
            continue;
        };
        if !is_name(id, 64, "_-") {
            return Err(at.rule_error(
                "The model returned the following errors: String should match pattern '^[a-zA-Z0-9_-]+$'",
            ));
        }
        if !used.insert(id) {
            return Err(at.rule_error(
                "The model returned the following errors: `tool_use` ids must be unique",
            ));
        }
    }
    Ok(())
}

/// Parses the messages.
pub(super) fn parse_messages(messages: &JsonNode<'_>) -> Result<Vec<Turn>, ValidationError> {
    let mut turns: Vec<Turn> = Vec::new();
    for message in messages.non_empty_list()? {
        let fields = message.fields(&["role", "content"])?;
        let by_model = fields.required("role")?.one_of(&["user", "assistant"])? == "assistant";
        match turns.last() {
            None if by_model => {
                return Err(message.rule_error("A conversation must start with a user message. Try again with a conversation that starts with a user message."));
            }
            Some(last) if last.by_model == by_model => {
                return Err(message.rule_error("A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again."));
            }
            _ => {}
        }
        let content = fields.required("content")?;
        let blocks = content.list()?;
        if blocks.is_empty() {
            return Err(message.rule_error(format!(
                "The content field in the Message object at {} is empty. Add a ContentBlock object to the content field and try again.",
                message.at.trim_start_matches('/').replace('/', ".")
            )));
        }
        let mut parts = Vec::new();
        for at in &blocks {
            parts.extend(block(at, by_model)?);
        }
        turns.push(Turn { by_model, parts });
    }
    pairs(messages, &turns)?;
    Ok(turns)
}

fn block(at: &JsonNode<'_>, by_model: bool) -> Result<Option<MessagePart>, ValidationError> {
    let kinds = [
        "text",
        "toolUse",
        "toolResult",
        "cachePoint",
        "reasoningContent",
    ];
    let fields = at.fields(&kinds)?;
    let given: Vec<(&str, JsonNode<'_>)> = kinds
        .into_iter()
        .filter_map(|name| Some((name, fields.get(name)?)))
        .collect();
    let [(kind, inner)] = given.as_slice() else {
        return Err(union(at));
    };
    match (*kind, by_model) {
        ("text", _) => {
            let text = inner.text()?;
            if text.trim().is_empty() {
                return Err(at.rule_error(format!(
                    "The text field in the ContentBlock object at {} is blank. Add text to the text field, and try again.",
                    at.at.trim_start_matches('/').replace('/', ".")
                )));
            }
            Ok(Some(MessagePart::Text(text.to_owned())))
        }
        ("cachePoint", _) => cache_point(inner).map(|()| None),
        ("toolUse", true) => call(inner).map(Some),
        ("toolResult", false) => result(inner).map(Some),
        ("reasoningContent", true) => reasoning(inner).map(Some),
        (kind, _) => {
            let role = if by_model { "assistant" } else { "user" };
            Err(at.rule_error(format!(
                "{kind} content blocks can not be in {role} messages."
            )))
        }
    }
}

fn id(fields: &JsonFields<'_>) -> Result<String, ValidationError> {
    let at = fields.required("toolUseId")?;
    let id = at.text()?;
    if !is_name(id, 64, "_.:-") {
        return Err(at.rule_error("Value at 'toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.:-]+"));
    }
    Ok(id.to_owned())
}

fn call(at: &JsonNode<'_>) -> Result<MessagePart, ValidationError> {
    let fields = at.fields(&["toolUseId", "name", "input", "type"])?;
    let input = fields.required("input")?;
    if !input.value.is_object() {
        return Err(at.rule_error(format!(
            "The format of the value at {} is invalid. Provide a json object for the field and try again.",
            input.at.trim_start_matches('/').replace('/', ".")
        )));
    }
    let name = fields.required("name")?;
    if !is_name(name.text()?, 64, "_-") {
        return Err(name.rule_error("Value at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+"));
    }
    Ok(MessagePart::Call {
        id: id(&fields)?,
        name: name.text()?.to_owned(),
        arguments: input.value.clone(),
    })
}

fn result(at: &JsonNode<'_>) -> Result<MessagePart, ValidationError> {
    let fields = at.fields(&["toolUseId", "content", "status", "type"])?;
    let failed = match fields.get("status") {
        Some(status) => status.one_of(&["success", "error"])? == "error",
        None => false,
    };
    let mut texts = Vec::new();
    for block in fields.required("content")?.list()? {
        let content = block.fields(&["text", "json"])?;
        match (content.get("text"), content.get("json")) {
            (Some(text), None) => texts.push(text.text()?.to_owned()),
            (None, Some(json)) if json.value.is_object() => texts.push(json.value.to_string()),
            (None, Some(json)) => {
                return Err(json.rule_error(format!(
                    "The format of the value at {} is invalid. Provide a json object for the field and try again.",
                    json.at.trim_start_matches('/').replace('/', ".")
                )));
            }
            _ => return Err(union(&block)),
        }
    }
    if failed && texts.iter().all(String::is_empty) {
        return Err(at.rule_error(format!(
            "The content field at {} cannot be empty when status value is error.",
            at.at.trim_start_matches('/').replace('/', ".")
        )));
    }
    Ok(MessagePart::Result {
        id: id(&fields)?,
        text: texts.join("\n"),
        failed,
    })
}

fn reasoning(at: &JsonNode<'_>) -> Result<MessagePart, ValidationError> {
    let fields = at.fields(&["reasoningText", "redactedContent"])?;
    if let Some(text) = fields.get("reasoningText") {
        let text = text.fields(&["text", "signature"])?;
        text.required("text")?.text()?;
    }
    Ok(MessagePart::Thought)
}

fn pairs(messages: &JsonNode<'_>, turns: &[Turn]) -> Result<(), ValidationError> {
    let mut open: Vec<&str> = Vec::new();
    for (index, turn) in turns.iter().enumerate() {
        for said in &turn.parts {
            match said {
                MessagePart::Result { id, .. } => {
                    let Some(known) = open.iter().position(|known| known == id) else {
                        return Err(messages.rule_error(format!(
                            "The number of toolResult blocks at messages.{index}.content exceeds the number of toolUse blocks of previous turn."
                        )));
                    };
                    open.remove(known);
                }
                MessagePart::Call { id, .. } => open.push(id),
                MessagePart::Text(_) | MessagePart::Thought => {}
            }
        }
        if !turn.by_model && !open.is_empty() {
            return Err(unanswered(messages, index, &open));
        }
    }
    if open.is_empty() {
        return Ok(());
    }
    Err(unanswered(messages, turns.len(), &open))
}

fn unanswered(messages: &JsonNode<'_>, index: usize, open: &[&str]) -> ValidationError {
    messages.rule_error(format!(
        "Expected toolResult blocks at messages.{index}.content for the following Ids: {}",
        open.join(", ")
    ))
}
