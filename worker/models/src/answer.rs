//! From a provider's answer to ours: what all providers have in common.
//!
//! An adapter reads parts, usage and the reason to stop out of its protocol; here an answer by a forced tool becomes text
//! again, an empty answer becomes an error, and JSON that the provider made to a schema is set apart.

use nightshift_analyst::chat::{
    Arguments, CallPart, ChatAnswer, ChatError, Failure, OutputSchema, Part, StopReason, Usage,
};
use serde_json::{Map, Value};

use crate::SchemaMode;
use crate::http::Errors;

/// What an adapter read.
pub(crate) struct Read {
    pub(crate) parts: Vec<Part>,
    pub(crate) usage: Usage,
    pub(crate) id: Option<String>,
}

impl Read {
    /// The answer to a request that asked for `wanted`.
    pub(crate) fn finish(
        mut self,
        errors: &Errors,
        wanted: Option<(SchemaMode, &OutputSchema)>,
    ) -> Result<ChatAnswer, ChatError> {
        let forced = match wanted {
            Some((SchemaMode::Tool, output)) => take_forced(&mut self.parts, &output.name),
            _ => None,
        };
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

/// An error of an answer that used tokens all the same.
pub(crate) fn failed(errors: &Errors, failure: Failure, words: &str, usage: Usage) -> ChatError {
    ChatError {
        usage,
        ..errors.make(failure, words)
    }
}

/// The answer that came as a call of the forced tool becomes text; its value is given back.
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

/// Arguments that came as text. An object in a string is unwrapped; nothing is mended.
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

/// Arguments that came as a value.
pub(crate) fn arguments_of(value: Value) -> Arguments {
    match value {
        Value::Object(object) => Arguments::Object(object),
        Value::Null => Arguments::Object(Map::new()),
        Value::String(text) => arguments_of_text(text),
        other => Arguments::Unreadable(other.to_string()),
    }
}

/// The arguments of an earlier call as every provider takes them: an object.
pub(crate) fn arguments_back(call: &CallPart) -> Value {
    match &call.arguments {
        Arguments::Object(object) => Value::Object(object.clone()),
        Arguments::Unreadable(text) => serde_json::json!({ "unreadable": text }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_unwrapped_and_never_mended() {
        let object = |value: Value| Arguments::Object(value.as_object().unwrap().clone());
        let bad = |text: &str| Arguments::Unreadable(text.to_owned());
        for (text, read) in [
            ("", object(json!({}))),
            ("{\"a\": 1}", object(json!({"a": 1}))),
            ("\"{\\\"a\\\": 1}\"", object(json!({"a": 1}))),
            ("{\"a\": 1,}", bad("{\"a\": 1,}")),
            ("[1]", bad("[1]")),
            ("\"x\"", bad("\"x\"")),
        ] {
            assert_eq!(arguments_of_text(text.to_owned()), read, "{text}");
        }
        assert_eq!(arguments_of(json!([1])), bad("[1]"));
        assert_eq!(arguments_of(json!("{}")), object(json!({})));
    }
}
