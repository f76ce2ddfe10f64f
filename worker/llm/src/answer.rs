//! Converts a provider's answer to this crate's type: the steps that all providers share.
//!
//! An adapter reads parts, usage and stop reason from its protocol. Here an answer by a forced tool becomes text, an
//! empty answer becomes an error, and JSON that the provider made to a schema is set apart.

use crate::chat::{
    CallArguments, ChatAnswer, ChatError, ChatFailure, ChatPart, OutputSchema, StopReason,
    ToolCallPart, Usage,
};
use serde_json::{Map, Value};

use crate::SchemaMode;
use crate::http::ErrorBuilder;
use crate::rate::tokens_from_bytes;

/// Maximum levels of lists and objects in the arguments of a call or in an opaque value. No tool needs more, and JSON
/// that is nested a hundred deep could be written to journals and reports but not read back.
const MAX_LEVELS: usize = 16;

/// The answer as an adapter read it.
pub(crate) struct AdapterAnswer {
    pub(crate) parts: Vec<ChatPart>,
    pub(crate) usage: Usage,
    pub(crate) id: Option<String>,
}

impl AdapterAnswer {
    /// Returns the answer to a request that asked for `wanted`.
    pub(crate) fn into_chat_answer(
        mut self,
        errors: &ErrorBuilder,
        wanted: Option<(SchemaMode, &OutputSchema)>,
    ) -> Result<ChatAnswer, ChatError> {
        let forced = match wanted {
            Some((SchemaMode::Tool, output)) => take_forced_answer(&mut self.parts, &output.name),
            _ => None,
        };
        self.parts.retain_mut(is_shallow_part);
        let calls = self
            .parts
            .iter()
            .any(|part| matches!(part, ChatPart::Call(_)));
        let said = self
            .parts
            .iter()
            .any(|part| matches!(part, ChatPart::Text { text, .. } if !text.trim().is_empty()));
        if !calls && !said {
            return Err(answer_error(
                errors,
                ChatFailure::Malformed,
                "the answer is empty",
                self.usage,
            ));
        }
        let mut answer = ChatAnswer {
            parts: self.parts,
            structured: forced,
            stop: if calls {
                StopReason::Calls
            } else {
                StopReason::Done
            },
            usage: self.usage,
            usd: 0.0,
            requests: 1,
            model: errors.model().to_owned(),
            id: self.id,
        };
        if !calls && matches!(wanted, Some((SchemaMode::Strict, _))) {
            answer.structured = serde_json::from_str(&answer.text()).ok();
        }
        Ok(answer)
    }
}

/// Returns an error of an answer that used tokens.
pub(crate) fn answer_error(
    errors: &ErrorBuilder,
    failure: ChatFailure,
    words: &str,
    usage: Usage,
) -> ChatError {
    ChatError {
        usage,
        ..errors.build(failure, words)
    }
}

/// Charges an error for an answer that broke off after this many bytes, regardless of the reported usage. The charge is
/// at most the request's limit.
pub(crate) fn charge_partial_answer(
    error: ChatError,
    told: Usage,
    came: usize,
    most_output: u32,
) -> ChatError {
    let came = tokens_from_bytes(u64::try_from(came).unwrap_or(u64::MAX));
    let output_tokens = told.output_tokens.max(came.min(most_output.into()));
    ChatError {
        usage: Usage {
            output_tokens,
            ..told
        },
        ..error
    }
}

/// Converts the call of the forced tool to text and returns its value.
fn take_forced_answer(parts: &mut [ChatPart], name: &str) -> Option<Value> {
    let mut value = None;
    for part in parts {
        let ChatPart::Call(call) = part else { continue };
        if call.name != name {
            continue;
        }
        let text = match std::mem::replace(&mut call.arguments, CallArguments::Object(Map::new())) {
            CallArguments::Object(object) => {
                let object = Value::Object(object);
                let text = object.to_string();
                value = Some(object);
                text
            }
            CallArguments::Unreadable(text) => text,
        };
        *part = ChatPart::text(text);
    }
    value
}

/// Returns whether a part can be kept. Arguments that are nested too deep become text, which every tool refuses. An
/// opaque value that is too deep is dropped.
fn is_shallow_part(part: &mut ChatPart) -> bool {
    match part {
        ChatPart::Call(call) => {
            if let CallArguments::Object(object) = &mut call.arguments
                && object.values().any(|value| is_deeper(value, MAX_LEVELS))
            {
                let text = Value::Object(std::mem::take(object)).to_string();
                call.arguments = CallArguments::Unreadable(text);
            }
            true
        }
        ChatPart::Opaque(opaque) => !is_deeper(&opaque.value, MAX_LEVELS),
        ChatPart::Text { .. } | ChatPart::Result { .. } => true,
    }
}

/// Returns whether a value has more levels of lists and objects than `levels`.
fn is_deeper(value: &Value, levels: usize) -> bool {
    let is_inside = |inner: &Value| is_deeper(inner, levels - 1);
    match value {
        Value::Array(list) => levels == 0 || list.iter().any(is_inside),
        Value::Object(object) => levels == 0 || object.values().any(is_inside),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Parses arguments that came as text. An object in a string is unwrapped. Nothing is repaired.
pub(crate) fn parse_arguments(text: String) -> CallArguments {
    if text.trim().is_empty() {
        return CallArguments::Object(Map::new());
    }
    match serde_json::from_str::<Value>(&text) {
        Ok(Value::Object(object)) => CallArguments::Object(object),
        Ok(Value::String(inner)) => match serde_json::from_str::<Value>(&inner) {
            Ok(Value::Object(object)) => CallArguments::Object(object),
            _ => CallArguments::Unreadable(text),
        },
        _ => CallArguments::Unreadable(text),
    }
}

/// Returns arguments that came as a value.
pub(crate) fn arguments_from_value(value: Value) -> CallArguments {
    match value {
        Value::Object(object) => CallArguments::Object(object),
        Value::Null => CallArguments::Object(Map::new()),
        Value::String(text) => parse_arguments(text),
        other => CallArguments::Unreadable(other.to_string()),
    }
}

/// Returns the arguments of an earlier call as an object, which every provider accepts.
pub(crate) fn arguments_as_object(call: &ToolCallPart) -> Value {
    match &call.arguments {
        CallArguments::Object(object) => Value::Object(object.clone()),
        CallArguments::Unreadable(text) => serde_json::json!({ "unreadable": text }),
    }
}

#[cfg(test)]
mod tests;
