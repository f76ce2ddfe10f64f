//! Checks OpenAI's conversations: roles, contents, and a result directly after every call.

use super::super::check::{JsonFields, JsonNode, ValidationError};
use super::super::request::{MessagePart, Turn};

const ROLES: [&str; 6] = [
    "system",
    "assistant",
    "user",
    "function",
    "tool",
    "developer",
];

/// Parses the messages into the system prompt and the turns.
pub(super) fn parse_messages(
    messages: &JsonNode<'_>,
    model: &str,
) -> Result<(String, Vec<Turn>), ValidationError> {
    let mut system = Vec::new();
    let mut turns = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let list = messages.non_empty_list()?;
    for message in &list {
        let role = message.any_fields()?.required("role")?;
        let role = role.one_of(&ROLES)?;
        if role != "tool" && !open.is_empty() {
            return Err(unanswered(message, &open));
        }
        match role {
            "system" | "developer" => {
                let fields = message.fields(&["role", "content", "name"])?;
                system.push(texts(&fields.required("content")?, &["text"])?);
            }
            "user" => turns.push(user(message)?),
            "assistant" => {
                let turn = assistant(message, model)?;
                open = ids(&turn);
                turns.push(turn);
            }
            "tool" => turns.push(result(message, &mut open)?),
            _ => {
                return Err(
                    message.rule_error("Messages of role 'function' are no longer supported.")
                );
            }
        }
    }
    if !open.is_empty() {
        return Err(unanswered(messages, &open));
    }
    Ok((system.join("\n\n"), turns))
}

/// Returns whether any message contains "json", which JSON mode requires.
pub(super) fn says_json(system: &str, turns: &[Turn]) -> bool {
    let says = |text: &str| text.to_lowercase().contains("json");
    says(system)
        || turns
            .iter()
            .flat_map(|turn| &turn.parts)
            .any(|said| match said {
                MessagePart::Text(text) | MessagePart::Result { text, .. } => says(text),
                _ => false,
            })
}

fn unanswered(at: &JsonNode<'_>, open: &[String]) -> ValidationError {
    at.rule_error(format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    ))
}

fn ids(turn: &Turn) -> Vec<String> {
    turn.parts
        .iter()
        .filter_map(|said| match said {
            MessagePart::Call { id, .. } => Some(id.clone()),
            _ => None,
        })
        .collect()
}

fn user(message: &JsonNode<'_>) -> Result<Turn, ValidationError> {
    let fields = message.fields(&["role", "content", "name"])?;
    let text = texts(&fields.required("content")?, &["text"])?;
    Ok(Turn {
        by_model: false,
        parts: vec![MessagePart::Text(text)],
    })
}

fn assistant(message: &JsonNode<'_>, model: &str) -> Result<Turn, ValidationError> {
    let mut known = vec![
        "role",
        "content",
        "name",
        "refusal",
        "audio",
        "function_call",
        "tool_calls",
    ];
    if model.starts_with("deepseek") {
        known.extend(["reasoning_content", "prefix"]);
    }
    let fields = message.fields(&known)?;
    let mut parts = Vec::new();
    if let Some(content) = fields.get("content") {
        parts.push(MessagePart::Text(texts(&content, &["text", "refusal"])?));
    }
    if let Some(refusal) = fields.get("refusal") {
        parts.push(MessagePart::Text(refusal.text()?.to_owned()));
    }
    if let Some(calls) = fields.get("tool_calls") {
        for at in calls.non_empty_list()? {
            parts.push(call(&at)?);
        }
    }
    if parts.is_empty() {
        return Err(fields
            .rule_error("Invalid value for 'content': expected a string, got null.")
            .with_code("invalid_type"));
    }
    Ok(Turn {
        by_model: true,
        parts,
    })
}

fn call(at: &JsonNode<'_>) -> Result<MessagePart, ValidationError> {
    let fields = at.fields(&["id", "type", "function"])?;
    fields.required("type")?.one_of(&["function"])?;
    let function = fields
        .required("function")?
        .fields(&["name", "arguments"])?;
    let text = function.required("arguments")?.text()?;
    Ok(MessagePart::Call {
        id: fields.required("id")?.non_empty_text()?.to_owned(),
        name: function.required("name")?.non_empty_text()?.to_owned(),
        arguments: serde_json::from_str(text).unwrap_or_else(|_| text.into()),
    })
}

fn result(message: &JsonNode<'_>, open: &mut Vec<String>) -> Result<Turn, ValidationError> {
    let fields = message.fields(&["role", "content", "tool_call_id"])?;
    let at = fields.required("tool_call_id")?;
    let id = at.non_empty_text()?;
    let Some(index) = open.iter().position(|known| known == id) else {
        return Err(message.rule_error(
            "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
        ));
    };
    open.remove(index);
    Ok(Turn {
        by_model: false,
        parts: vec![MessagePart::Result {
            id: id.to_owned(),
            text: texts(&fields.required("content")?, &["text"])?,
            failed: false,
        }],
    })
}

/// Reads text, or a list of text parts.
fn texts(content: &JsonNode<'_>, kinds: &[&str]) -> Result<String, ValidationError> {
    if content.value.is_string() {
        return content.text().map(str::to_owned);
    }
    let mut all = Vec::new();
    for part in content.non_empty_list()? {
        let kind = part.any_fields()?.required("type")?.one_of(kinds)?;
        let fields: JsonFields<'_> = part.fields(&["type", kind, "prompt_cache_breakpoint"])?;
        all.push(fields.required(kind)?.text()?.to_owned());
    }
    Ok(all.join("\n"))
}
