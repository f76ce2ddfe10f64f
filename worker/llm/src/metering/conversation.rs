//! The content of requests and answers in the form of OpenTelemetry's GenAI conventions
//! (<https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/>, "Recording content on attributes").
//!
//! Opaque data, such as sealed reasoning, is not recorded. The JSON is always complete. The newest text is kept
//! first, because earlier spans hold the older text.

use crate::chat::{Arguments, CallPart, ChatAnswer, ChatMessage, Part, Role, StopReason};
use serde_json::{Value, json};

/// Maximum size of the texts in one attribute, as JSON. Attributes of traces end at 32,000 bytes.
const MOST_BYTES: usize = 28_000;
/// Size of a part without its text, in bytes.
const FRAME: usize = 80;

/// Returns the system prompt.
pub(super) fn instructions(system: &str) -> String {
    let mut room = Room(MOST_BYTES);
    json!([{"type": "text", "content": room.take(system)}]).to_string()
}

/// Returns the earlier messages.
pub(super) fn input(messages: &[ChatMessage]) -> String {
    let mut room = Room(MOST_BYTES);
    let newest_first = messages.iter().rev();
    let told = newest_first.map(|message| {
        let is_result = |part: &Part| matches!(part, Part::Result { .. });
        let role = match message.role {
            Role::Assistant => "assistant",
            Role::User if message.parts.iter().all(is_result) => "tool",
            Role::User => "user",
        };
        json!({"role": role, "parts": parts(&message.parts, &mut room)})
    });
    let mut told: Vec<Value> = told.collect();
    told.reverse();
    Value::from(told).to_string()
}

/// Returns the answer.
pub(super) fn output(answer: &ChatAnswer) -> String {
    let mut room = Room(MOST_BYTES);
    let parts = parts(&answer.parts, &mut room);
    json!([{"role": "assistant", "parts": parts, "finish_reason": finish(answer.stop)}]).to_string()
}

/// Returns the convention's name for a stop reason.
pub(super) const fn finish(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Done => "stop",
        StopReason::Calls => "tool_call",
    }
}

fn parts(all: &[Part], room: &mut Room) -> Vec<Value> {
    let told = all.iter().filter_map(|part| match part {
        Part::Text { text, .. } => Some(json!({"type": "text", "content": room.take(text)})),
        Part::Call(call) => Some(called(call, room)),
        Part::Result { id, text, .. } => {
            Some(json!({"type": "tool_call_response", "id": id, "response": room.take(text)}))
        }
        Part::Opaque(_) => None,
    });
    told.collect()
}

fn called(call: &CallPart, room: &mut Room) -> Value {
    let arguments = match &call.arguments {
        Arguments::Object(all) => {
            let text = Value::Object(all.clone()).to_string();
            let told = room.take(&text);
            match told == text {
                true => Value::Object(all.clone()),
                false => Value::from(told),
            }
        }
        Arguments::Unreadable(text) => Value::from(room.take(text)),
    };
    json!({"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments})
}

/// Remaining bytes for texts.
struct Room(usize);

impl Room {
    /// Returns as much of a text as fits.
    fn take(&mut self, text: &str) -> String {
        let quoted = |text: &str| Value::from(text).to_string().len() + FRAME;
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
    use crate::chat::Opaque;

    use super::*;
    use crate::testing::answer;

    fn said(role: Role, parts: Vec<Part>) -> ChatMessage {
        ChatMessage { role, parts }
    }

    fn call(arguments: Arguments) -> Part {
        Part::Call(CallPart {
            id: "c1".to_owned(),
            name: "watchlist".to_owned(),
            arguments,
            opaque: None,
        })
    }

    fn result(text: &str) -> Part {
        Part::Result {
            id: "c1".to_owned(),
            name: "watchlist".to_owned(),
            text: text.into(),
            is_error: false,
        }
    }

    #[test]
    fn a_conversation_is_written_as_the_conventions_have_it() {
        let sealed = Opaque::new("anthropic/x", json!({"signature": "sealed"}));
        let value = json!({"value": "203.0.113.7"});
        let arguments = Arguments::Object(value.as_object().unwrap().clone());
        let told = input(&[
            said(Role::User, vec![Part::text("look")]),
            said(Role::Assistant, vec![Part::Opaque(sealed), call(arguments)]),
            said(Role::User, vec![result("listed")]),
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
        answer.parts = vec![call(Arguments::Unreadable("{".to_owned()))];
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
            said(Role::User, vec![Part::text(&*long)]),
            said(Role::Assistant, vec![Part::text("why")]),
            said(Role::User, vec![result("so"), Part::text(&*long)]),
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
