//! Converse's conversations: roles alternate, each block has one kind, and every tool use has a result.

use std::collections::BTreeSet;

use super::super::check::{At, Fields, Wrong, is_name};
use super::super::seen::{Said, Turn};

/// Returns the text of the system blocks.
pub(super) fn system(at: &At<'_>) -> Result<String, Wrong> {
    let mut texts = Vec::new();
    for block in at.list()? {
        let fields = block.fields(&["text", "cachePoint"])?;
        match (fields.get("text"), fields.get("cachePoint")) {
            (Some(text), None) => texts.push(text.filled_text()?.to_owned()),
            (None, Some(point)) => cache_point(&point)?,
            _ => return Err(union(&block)),
        }
    }
    Ok(texts.join("\n\n"))
}

pub(super) fn union(at: &At<'_>) -> Wrong {
    at.wrong(format!(
        "The value at {} must have exactly one of its members set.",
        at.at.trim_start_matches('/').replace('/', ".")
    ))
}

pub(super) fn cache_point(at: &At<'_>) -> Result<(), Wrong> {
    let point = at.fields(&["type", "ttl"])?;
    point.need("type")?.one_of(&["default"])?;
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
        .any(|said| matches!(said, Said::Call { .. } | Said::Result { .. }))
}

/// Checks the ids of calls by Claude's rules, as at Anthropic.
pub(super) fn plain_ids(at: &At<'_>, turns: &[Turn]) -> Result<(), Wrong> {
    let mut used = BTreeSet::new();
    for said in turns.iter().flat_map(|turn| &turn.parts) {
        let Said::Call { id, .. } = said else {
            continue;
        };
        if !is_name(id, 64, "_-") {
            return Err(at.wrong(
                "The model returned the following errors: String should match pattern '^[a-zA-Z0-9_-]+$'",
            ));
        }
        if !used.insert(id) {
            return Err(
                at.wrong("The model returned the following errors: `tool_use` ids must be unique")
            );
        }
    }
    Ok(())
}

/// Parses the messages.
pub(super) fn read(messages: &At<'_>) -> Result<Vec<Turn>, Wrong> {
    let mut turns: Vec<Turn> = Vec::new();
    for message in messages.filled_list()? {
        let fields = message.fields(&["role", "content"])?;
        let by_model = fields.need("role")?.one_of(&["user", "assistant"])? == "assistant";
        match turns.last() {
            None if by_model => {
                return Err(message.wrong("A conversation must start with a user message. Try again with a conversation that starts with a user message."));
            }
            Some(last) if last.by_model == by_model => {
                return Err(message.wrong("A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again."));
            }
            _ => {}
        }
        let content = fields.need("content")?;
        let blocks = content.list()?;
        if blocks.is_empty() {
            return Err(message.wrong(format!(
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

fn block(at: &At<'_>, by_model: bool) -> Result<Option<Said>, Wrong> {
    let kinds = [
        "text",
        "toolUse",
        "toolResult",
        "cachePoint",
        "reasoningContent",
    ];
    let fields = at.fields(&kinds)?;
    let given: Vec<(&str, At<'_>)> = kinds
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
                return Err(at.wrong(format!(
                    "The text field in the ContentBlock object at {} is blank. Add text to the text field, and try again.",
                    at.at.trim_start_matches('/').replace('/', ".")
                )));
            }
            Ok(Some(Said::Text(text.to_owned())))
        }
        ("cachePoint", _) => cache_point(inner).map(|()| None),
        ("toolUse", true) => call(inner).map(Some),
        ("toolResult", false) => result(inner).map(Some),
        ("reasoningContent", true) => reasoning(inner).map(Some),
        (kind, _) => {
            let role = if by_model { "assistant" } else { "user" };
            Err(at.wrong(format!(
                "{kind} content blocks can not be in {role} messages."
            )))
        }
    }
}

fn id(fields: &Fields<'_>) -> Result<String, Wrong> {
    let at = fields.need("toolUseId")?;
    let id = at.text()?;
    if !is_name(id, 64, "_.:-") {
        return Err(at.wrong("Value at 'toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.:-]+"));
    }
    Ok(id.to_owned())
}

fn call(at: &At<'_>) -> Result<Said, Wrong> {
    let fields = at.fields(&["toolUseId", "name", "input", "type"])?;
    let input = fields.need("input")?;
    if !input.value.is_object() {
        return Err(at.wrong(format!(
            "The format of the value at {} is invalid. Provide a json object for the field and try again.",
            input.at.trim_start_matches('/').replace('/', ".")
        )));
    }
    let name = fields.need("name")?;
    if !is_name(name.text()?, 64, "_-") {
        return Err(name.wrong("Value at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+"));
    }
    Ok(Said::Call {
        id: id(&fields)?,
        name: name.text()?.to_owned(),
        arguments: input.value.clone(),
    })
}

fn result(at: &At<'_>) -> Result<Said, Wrong> {
    let fields = at.fields(&["toolUseId", "content", "status", "type"])?;
    let failed = match fields.get("status") {
        Some(status) => status.one_of(&["success", "error"])? == "error",
        None => false,
    };
    let mut texts = Vec::new();
    for block in fields.need("content")?.list()? {
        let content = block.fields(&["text", "json"])?;
        match (content.get("text"), content.get("json")) {
            (Some(text), None) => texts.push(text.text()?.to_owned()),
            (None, Some(json)) if json.value.is_object() => texts.push(json.value.to_string()),
            (None, Some(json)) => {
                return Err(json.wrong(format!(
                    "The format of the value at {} is invalid. Provide a json object for the field and try again.",
                    json.at.trim_start_matches('/').replace('/', ".")
                )));
            }
            _ => return Err(union(&block)),
        }
    }
    if failed && texts.iter().all(String::is_empty) {
        return Err(at.wrong(format!(
            "The content field at {} cannot be empty when status value is error.",
            at.at.trim_start_matches('/').replace('/', ".")
        )));
    }
    Ok(Said::Result {
        id: id(&fields)?,
        text: texts.join("\n"),
        failed,
    })
}

fn reasoning(at: &At<'_>) -> Result<Said, Wrong> {
    let fields = at.fields(&["reasoningText", "redactedContent"])?;
    if let Some(text) = fields.get("reasoningText") {
        let text = text.fields(&["text", "signature"])?;
        text.need("text")?.text()?;
    }
    Ok(Said::Thought)
}

fn pairs(messages: &At<'_>, turns: &[Turn]) -> Result<(), Wrong> {
    let mut open: Vec<&str> = Vec::new();
    for (index, turn) in turns.iter().enumerate() {
        for said in &turn.parts {
            match said {
                Said::Result { id, .. } => {
                    let Some(known) = open.iter().position(|known| known == id) else {
                        return Err(messages.wrong(format!(
                            "The number of toolResult blocks at messages.{index}.content exceeds the number of toolUse blocks of previous turn."
                        )));
                    };
                    open.remove(known);
                }
                Said::Call { id, .. } => open.push(id),
                Said::Text(_) | Said::Thought => {}
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

fn unanswered(messages: &At<'_>, index: usize, open: &[&str]) -> Wrong {
    messages.wrong(format!(
        "Expected toolResult blocks at messages.{index}.content for the following Ids: {}",
        open.join(", ")
    ))
}
