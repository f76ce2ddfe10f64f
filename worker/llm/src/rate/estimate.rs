//! Estimates the tokens of a request before it is made. The actual usage corrects the estimate later.

use std::io::{self, Write};

use crate::chat::{CallArguments, ChatPart, ChatRequest, Usage};
use serde::Serialize;

/// Estimates the tokens of the request and of an answer of usual length.
pub(crate) fn estimate_usage(request: &ChatRequest) -> Usage {
    Usage {
        input_tokens: tokens_from_bytes(request_bytes(request)),
        output_tokens: usual_output_tokens(request.max_output_tokens),
        ..Usage::default()
    }
}

/// Estimates the tokens of an answer.
pub(crate) fn part_tokens(parts: &[ChatPart]) -> u64 {
    tokens_from_bytes(parts.iter().map(part_bytes).sum())
}

/// Estimates the tokens of a text of this many bytes. English and JSON have three to four bytes per token.
pub(crate) fn tokens_from_bytes(bytes: u64) -> u64 {
    bytes.saturating_mul(2).div_ceil(7)
}

/// Estimates the tokens of a usual answer. The limit is for the longest, including reasoning.
pub(crate) fn usual_output_tokens(cap: u32) -> u64 {
    u64::from(cap) / 4
}

fn request_bytes(request: &ChatRequest) -> u64 {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    let tools = request.tools.iter().map(|tool| {
        text_bytes(&tool.name) + text_bytes(&tool.description) + json_bytes(&tool.schema)
    });
    let output = request.output.as_ref();
    text_bytes(&request.system)
        + parts.map(part_bytes).sum::<u64>()
        + tools.sum::<u64>()
        + output.map_or(0, |output| json_bytes(output.schema.as_ref()))
}

fn part_bytes(part: &ChatPart) -> u64 {
    match part {
        ChatPart::Text { text, .. } => text_bytes(text),
        ChatPart::Call(call) => {
            text_bytes(&call.name)
                + match &call.arguments {
                    CallArguments::Object(object) => json_bytes(object),
                    CallArguments::Unreadable(text) => text_bytes(text),
                }
        }
        ChatPart::Result { name, text, .. } => text_bytes(name) + text_bytes(text),
        ChatPart::Opaque(opaque) => json_bytes(&opaque.value),
    }
}

/// Returns the length of a text in bytes.
pub(crate) fn text_bytes(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

/// Returns the length of a value as JSON without storing the JSON.
pub(crate) fn json_bytes(value: &impl Serialize) -> u64 {
    let mut counter = ByteCounter(0);
    // Counting cannot fail, and a JSON value always serialises.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

struct ByteCounter(u64);

impl Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::chat::ChatTool;
    use serde_json::json;

    use super::*;
    use crate::testing::{NOW, request_with, usage};

    #[test]
    fn everything_that_is_sent_counts() {
        let mut request = request_with(NOW);
        request.max_output_tokens = 0;
        let plain = request_bytes(&request);
        assert_eq!(plain, 18 + 11);
        request.tools = [ChatTool {
            name: "whois".to_owned(),
            description: "who".into(),
            schema: std::sync::Arc::new(json!({"type": "object"})),
        }]
        .into();
        assert_eq!(request_bytes(&request), plain + 5 + 3 + 17);
        assert_eq!(estimate_usage(&request), usage(16, 0));
        request.max_output_tokens = 4_000;
        assert_eq!(estimate_usage(&request), usage(16, 1_000));
    }
}
