//! Records the content of requests and answers in the form of OpenTelemetry's GenAI conventions
//! (<https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/>, "Recording content on attributes").
//!
//! Opaque data, such as sealed reasoning, is not recorded. The JSON is always complete. The newest text is kept first,
//! because earlier spans hold the older text.

use crate::chat::{
    CallArguments, ChatAnswer, ChatMessage, ChatPart, ChatRole, StopReason, ToolCallPart,
};
use serde_json::{Value, json};

/// Maximum size of the texts in one attribute, as JSON. Attributes of traces end at 32,000 bytes.
const MAX_ATTRIBUTE_BYTES: usize = 28_000;
/// Size of a part without its text, in bytes.
const PART_OVERHEAD_BYTES: usize = 80;

/// Returns the system prompt.
pub(super) fn instructions(system: &str) -> String {
    let mut room = ByteBudget(MAX_ATTRIBUTE_BYTES);
    json!([{"type": "text", "content": room.take_text(system)}]).to_string()
}

/// Returns the earlier messages.
pub(super) fn input(messages: &[ChatMessage]) -> String {
    let mut room = ByteBudget(MAX_ATTRIBUTE_BYTES);
    let newest_first = messages.iter().rev();
    let told = newest_first.map(|message| {
        let is_result = |part: &ChatPart| matches!(part, ChatPart::Result { .. });
        let role = match message.role {
            ChatRole::Assistant => "assistant",
            ChatRole::User if message.parts.iter().all(is_result) => "tool",
            ChatRole::User => "user",
        };
        json!({"role": role, "parts": parts(&message.parts, &mut room)})
    });
    let mut told: Vec<Value> = told.collect();
    told.reverse();
    Value::from(told).to_string()
}

/// Returns the answer.
pub(super) fn output(answer: &ChatAnswer) -> String {
    let mut room = ByteBudget(MAX_ATTRIBUTE_BYTES);
    let parts = parts(&answer.parts, &mut room);
    json!([{"role": "assistant", "parts": parts, "finish_reason": finish_reason(answer.stop)}])
        .to_string()
}

/// Returns the convention's name for a stop reason.
pub(super) const fn finish_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Done => "stop",
        StopReason::Calls => "tool_call",
    }
}

fn parts(all: &[ChatPart], room: &mut ByteBudget) -> Vec<Value> {
    let told = all.iter().filter_map(|part| match part {
        ChatPart::Text { text, .. } => {
            Some(json!({"type": "text", "content": room.take_text(text)}))
        }
        ChatPart::Call(call) => Some(tool_call(call, room)),
        ChatPart::Result { id, text, .. } => {
            Some(json!({"type": "tool_call_response", "id": id, "response": room.take_text(text)}))
        }
        ChatPart::Opaque(_) => None,
    });
    told.collect()
}

fn tool_call(call: &ToolCallPart, room: &mut ByteBudget) -> Value {
    let arguments = match &call.arguments {
        CallArguments::Object(all) => {
            let text = Value::Object(all.clone()).to_string();
            let told = room.take_text(&text);
            match told == text {
                true => Value::Object(all.clone()),
                false => Value::from(told),
            }
        }
        CallArguments::Unreadable(text) => Value::from(room.take_text(text)),
    };
    json!({"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments})
}

/// Remaining bytes for texts.
struct ByteBudget(usize);

impl ByteBudget {
    /// Returns as much of a text as fits.
    fn take_text(&mut self, text: &str) -> String {
        let quoted = |text: &str| Value::from(text).to_string().len() + PART_OVERHEAD_BYTES;
        let mut length = text.len().min(self.0);
        let told = loop {
            let head = text.get(..text.floor_char_boundary(length));
            let head = head.unwrap_or_default();
            let over = quoted(head).saturating_sub(self.0);
            if over == 0 || head.is_empty() {
                break head;
            }
            // Escapes make the text longer, by at most five bytes per character.
            length = head.len().saturating_sub(over.div_ceil(6));
        };
        self.0 = self.0.saturating_sub(quoted(told));
        match told.len() < text.len() {
            true => format!("{told}…"),
            false => told.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::chat::OpaquePart;

    use super::*;
    use crate::testing::answer;

    fn said(role: ChatRole, parts: Vec<ChatPart>) -> ChatMessage {
        ChatMessage { role, parts }
    }

    fn call(arguments: CallArguments) -> ChatPart {
        ChatPart::Call(ToolCallPart {
            id: "c1".to_owned(),
            name: "watchlist".to_owned(),
            arguments,
            opaque: None,
        })
    }

    fn result(text: &str) -> ChatPart {
        ChatPart::Result {
            id: "c1".to_owned(),
            name: "watchlist".to_owned(),
            text: text.into(),
            is_error: false,
        }
    }

    #[test]
    fn a_conversation_is_written_as_the_conventions_have_it() {
        let sealed = OpaquePart::new("anthropic/x", json!({"signature": "sealed"}));
        let value = json!({"value": "203.0.113.7"});
        let arguments = CallArguments::Object(value.as_object().unwrap().clone());
        let told = input(&[
            said(ChatRole::User, vec![ChatPart::text("look")]),
            said(
                ChatRole::Assistant,
                vec![ChatPart::Opaque(sealed), call(arguments)],
            ),
            said(ChatRole::User, vec![result("listed")]),
        ]);
        let told: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(
            told,
            json!([
                {"role": "user", "parts": [{"type": "text", "content": "look"}]},
                {"role": "assistant", "parts": [
                    {"type": "tool_call", "id": "c1", "name": "watchlist", "arguments": {"value": "203.0.113.7"}}]},
                {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "listed"}]},
            ])
        );
        let mut answer = answer();
        answer.parts = vec![call(CallArguments::Unreadable("{".to_owned()))];
        answer.stop = StopReason::Calls;
        let told: Value = serde_json::from_str(&output(&answer)).unwrap();
        assert_eq!(
            told,
            json!([{"role": "assistant", "finish_reason": "tool_call", "parts": [
                {"type": "tool_call", "id": "c1", "name": "watchlist", "arguments": "{"}]}])
        );
    }

    #[test]
    fn however_long_it_is_it_stays_json_and_the_newest_is_told() {
        let long = "\"\n".repeat(40_000);
        let all = [
            said(ChatRole::User, vec![ChatPart::text(&*long)]),
            said(ChatRole::Assistant, vec![ChatPart::text("why")]),
            said(ChatRole::User, vec![result("so"), ChatPart::text(&*long)]),
        ];
        let told = input(&all);
        assert!(told.len() < 32_000, "{}", told.len());
        let read: Vec<Value> = serde_json::from_str(&told).unwrap();
        assert_eq!(read.len(), 3);
        let newest = read[2]["parts"][1]["content"].as_str().unwrap();
        assert!(newest.len() > 10_000, "{}", newest.len());
        assert!(instructions(&long).len() < 32_000);
    }
}
