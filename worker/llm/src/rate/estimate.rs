//! Estimates the tokens of a request before it is made. The actual usage corrects the estimate later.

use std::io::{self, Write};

use crate::chat::{Arguments, ChatRequest, Part, Usage};
use serde::Serialize;

/// Estimates the tokens of the request and of an answer of usual length.
pub(crate) fn estimate(request: &ChatRequest) -> Usage {
    Usage {
        input_tokens: tokens_in(bytes(request)),
        output_tokens: output_tokens(request.max_output_tokens),
        ..Usage::default()
    }
}

/// Estimates the tokens of an answer.
pub(crate) fn tokens_of(parts: &[Part]) -> u64 {
    tokens_in(parts.iter().map(part).sum())
}

/// Estimates the tokens of a text of this many bytes. English and JSON have three to four bytes per token.
pub(crate) fn tokens_in(bytes: u64) -> u64 {
    bytes.saturating_mul(2).div_ceil(7)
}

/// Estimates the tokens of a usual answer. The limit is for the longest, including reasoning.
pub(crate) fn output_tokens(cap: u32) -> u64 {
    u64::from(cap) / 4
}

fn bytes(request: &ChatRequest) -> u64 {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    let tools = request
        .tools
        .iter()
        .map(|tool| length(&tool.name) + length(&tool.description) + json(&tool.schema));
    let output = request.output.as_ref();
    length(&request.system)
        + parts.map(part).sum::<u64>()
        + tools.sum::<u64>()
        + output.map_or(0, |output| json(output.schema.as_ref()))
}

fn part(part: &Part) -> u64 {
    match part {
        Part::Text { text, .. } => length(text),
        Part::Call(call) => {
            length(&call.name)
                + match &call.arguments {
                    Arguments::Object(object) => json(object),
                    Arguments::Unreadable(text) => length(text),
                }
        }
        Part::Result { name, text, .. } => length(name) + length(text),
        Part::Opaque(opaque) => json(&opaque.value),
    }
}

/// Returns the length of a text in bytes.
pub(crate) fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

/// Returns the length of a value as JSON without storing the JSON.
pub(crate) fn json(value: &impl Serialize) -> u64 {
    let mut counter = Counter(0);
    // Counting cannot fail, and a JSON value always serialises.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

struct Counter(u64);

impl Write for Counter {
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
    use crate::testing::{NOW, request, usage};

    #[test]
    fn everything_that_is_sent_counts() {
        let mut request = request(NOW);
        request.max_output_tokens = 0;
        let plain = bytes(&request);
        assert_eq!(plain, 18 + 11);
        request.tools = [ChatTool {
            name: "whois".to_owned(),
            description: "who".into(),
            schema: std::sync::Arc::new(json!({"type": "object"})),
        }]
        .into();
        assert_eq!(bytes(&request), plain + 5 + 3 + 17);
        assert_eq!(estimate(&request), usage(16, 0));
        request.max_output_tokens = 4_000;
        assert_eq!(estimate(&request), usage(16, 1_000));
    }
}
