//! Converts a provider's answer to this crate's type: the steps that all providers share.
//!
//! An adapter reads parts, usage and stop reason from its protocol. Here an answer by a forced tool becomes text, an
//! empty answer becomes an error, and JSON that the provider made to a schema is set apart.

use crate::chat::{
    Arguments, CallPart, ChatAnswer, ChatError, Failure, OutputSchema, Part, StopReason, Usage,
};
use serde_json::{Map, Value};

use crate::SchemaMode;
use crate::http::Errors;
use crate::rate::tokens_in;

/// Maximum levels of lists and objects in the arguments of a call or in an opaque value. No tool needs more, and JSON
/// that is nested a hundred deep could be written to journals and reports but not read back.
const MAX_LEVELS: usize = 16;

/// The answer as an adapter read it.
pub(crate) struct Read {
    pub(crate) parts: Vec<Part>,
    pub(crate) usage: Usage,
    pub(crate) id: Option<String>,
}

impl Read {
    /// Returns the answer to a request that asked for `wanted`.
    pub(crate) fn finish(
        mut self,
        errors: &Errors,
        wanted: Option<(SchemaMode, &OutputSchema)>,
    ) -> Result<ChatAnswer, ChatError> {
        let forced = match wanted {
            Some((SchemaMode::Tool, output)) => take_forced(&mut self.parts, &output.name),
            _ => None,
        };
        self.parts.retain_mut(is_shallow);
        let calls = self.parts.iter().any(|part| matches!(part, Part::Call(_)));
        let said = self
            .parts
            .iter()
            .any(|part| matches!(part, Part::Text { text, .. } if !text.trim().is_empty()));
        if !calls && !said {
            return Err(failed(
                errors,
                Failure::Malformed,
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
pub(crate) fn failed(errors: &Errors, failure: Failure, words: &str, usage: Usage) -> ChatError {
    ChatError {
        usage,
        ..errors.make(failure, words)
    }
}

/// Charges an error for an answer that broke off after this many bytes, whatever usage was reported. The charge is at
/// most the request's limit.
pub(crate) fn charged(error: ChatError, told: Usage, came: usize, most_output: u32) -> ChatError {
    let came = tokens_in(u64::try_from(came).unwrap_or(u64::MAX));
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
fn take_forced(parts: &mut [Part], name: &str) -> Option<Value> {
    let mut value = None;
    for part in parts {
        let Part::Call(call) = part else { continue };
        if call.name != name {
            continue;
        }
        let text = match std::mem::replace(&mut call.arguments, Arguments::Object(Map::new())) {
            Arguments::Object(object) => {
                let object = Value::Object(object);
                let text = object.to_string();
                value = Some(object);
                text
            }
            Arguments::Unreadable(text) => text,
        };
        *part = Part::text(text);
    }
    value
}

/// Returns whether a part can be kept. Arguments that are nested too deep become text, which every tool refuses. An
/// opaque value that is too deep is dropped.
fn is_shallow(part: &mut Part) -> bool {
    match part {
        Part::Call(call) => {
            if let Arguments::Object(object) = &mut call.arguments
                && object.values().any(|value| is_deeper(value, MAX_LEVELS))
            {
                let text = Value::Object(std::mem::take(object)).to_string();
                call.arguments = Arguments::Unreadable(text);
            }
            true
        }
        Part::Opaque(opaque) => !is_deeper(&opaque.value, MAX_LEVELS),
        Part::Text { .. } | Part::Result { .. } => true,
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
pub(crate) fn arguments_of_text(text: String) -> Arguments {
    if text.trim().is_empty() {
        return Arguments::Object(Map::new());
    }
    match serde_json::from_str::<Value>(&text) {
        Ok(Value::Object(object)) => Arguments::Object(object),
        Ok(Value::String(inner)) => match serde_json::from_str::<Value>(&inner) {
            Ok(Value::Object(object)) => Arguments::Object(object),
            _ => Arguments::Unreadable(text),
        },
        _ => Arguments::Unreadable(text),
    }
}

/// Returns arguments that came as a value.
pub(crate) fn arguments_of(value: Value) -> Arguments {
    match value {
        Value::Object(object) => Arguments::Object(object),
        Value::Null => Arguments::Object(Map::new()),
        Value::String(text) => arguments_of_text(text),
        other => Arguments::Unreadable(other.to_string()),
    }
}

/// Returns the arguments of an earlier call as an object, which every provider accepts.
pub(crate) fn arguments_back(call: &CallPart) -> Value {
    match &call.arguments {
        Arguments::Object(object) => Value::Object(object.clone()),
        Arguments::Unreadable(text) => serde_json::json!({ "unreadable": text }),
    }
}

#[cfg(test)]
mod tests;
