//! Checks the signed thinking of Claude. A thinking block must be returned unchanged, for newer models also after an
//! unchanged prefix.
//!
//! Sources: "Preserved thinking" of Anthropic's documentation, and "claude-messages-thinking-block-binding" of
//! Bedrock's. The prefix includes system, tools and all earlier messages, but no cache marks. Older models require the
//! block before their calls ("Extended thinking", "Preserving thinking blocks").

use serde_json::{Value, json};

use super::check::ValidationError;
use super::wire::signature;
use super::{ProviderErrorKind, model_rules};

/// Returns the signature of a thought after `after` messages of this request.
pub(super) fn sign(model: &str, body: &Value, after: usize, thought: &str) -> String {
    if !model_rules::anthropic(model).binds {
        return signature(thought);
    }
    let messages = body.get("messages").and_then(Value::as_array);
    let messages: Vec<&Value> = messages.into_iter().flatten().take(after).collect();
    let tools = body
        .get("tools")
        .or_else(|| body.pointer("/toolConfig/tools"));
    let mut before = json!([body.get("system"), tools, messages]);
    remove_marks(&mut before);
    signature(&format!("{thought} after {before}"))
}

/// Returns the number of messages.
pub(super) fn message_count(body: &Value) -> usize {
    let messages = body.get("messages").and_then(Value::as_array);
    messages.map_or(0, Vec::len)
}

/// Checks that every returned thought is the model's own and in its place.
pub(super) fn check(model: &str, body: &Value) -> Result<(), ValidationError> {
    let messages = body.get("messages").and_then(Value::as_array);
    for (index, message) in messages.into_iter().flatten().enumerate() {
        let blocks = message.get("content").and_then(Value::as_array);
        for (at, block) in blocks.into_iter().flatten().enumerate() {
            let of = |place: &str| block.pointer(place).and_then(Value::as_str);
            let thought = of("/thinking").or_else(|| of("/reasoningContent/reasoningText/text"));
            let signed =
                of("/signature").or_else(|| of("/reasoningContent/reasoningText/signature"));
            let (Some(thought), Some(signed)) = (thought, signed) else {
                continue;
            };
            if signed == sign(model, body, index, thought) {
                continue;
            }
            let why = if model_rules::anthropic(model).binds {
                " The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"."
            } else {
                ""
            };
            let words = format!(
                "messages.{index}.content.{at}: Invalid `signature` in `thinking` block.{why}"
            );
            return Err(ValidationError::request(
                ProviderErrorKind::BadRequest,
                words,
            ));
        }
    }
    Ok(())
}

/// Checks whether the model may think: with a budget, its last calls must begin with their thought.
pub(super) fn check_leading_thinking(body: &Value) -> Result<(), ValidationError> {
    let thinking = body
        .get("thinking")
        .or_else(|| body.pointer("/additionalModelRequestFields/thinking"));
    let kind = thinking.and_then(|thinking| thinking.get("type"));
    if kind.and_then(Value::as_str) != Some("enabled") {
        return Ok(());
    }
    let messages = body.get("messages").and_then(Value::as_array);
    let last = messages
        .into_iter()
        .flatten()
        .enumerate()
        .filter(|(_, message)| message.get("role").and_then(Value::as_str) == Some("assistant"))
        .last();
    let Some((index, message)) = last else {
        return Ok(());
    };
    let blocks = message.get("content").and_then(Value::as_array);
    let kinds: Vec<&str> = blocks.into_iter().flatten().map(kind_of).collect();
    match kinds.first() {
        Some(found) if *found != "thinking" && kinds.contains(&"tool_use") => {
            let words = format!(
                "messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block. We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`."
            );
            Err(ValidationError::request(
                ProviderErrorKind::BadRequest,
                words,
            ))
        }
        _ => Ok(()),
    }
}

/// Returns the kind of a block, at Anthropic and in Converse.
fn kind_of(block: &Value) -> &'static str {
    let named = block.get("type").and_then(Value::as_str);
    match named {
        Some("thinking" | "redacted_thinking") => "thinking",
        Some("tool_use") => "tool_use",
        Some(_) => "text",
        None if block.get("reasoningContent").is_some() => "thinking",
        None if block.get("toolUse").is_some() => "tool_use",
        None => "text",
    }
}

/// Removes the cache marks.
fn remove_marks(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("cache_control");
            map.values_mut().for_each(remove_marks);
        }
        Value::Array(list) => {
            list.retain(|item| item.get("cachePoint").is_none());
            list.iter_mut().for_each(remove_marks);
        }
        _ => {}
    }
}
