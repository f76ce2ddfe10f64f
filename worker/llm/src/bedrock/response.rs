//! A Converse answer.

use crate::chat::{CallPart, ChatAnswer, ChatError, Failure, Opaque, OutputSchema, Part, Usage};
use aws_sdk_bedrockruntime::operation::RequestId;
use aws_sdk_bedrockruntime::operation::converse::ConverseOutput as Answer;
use aws_sdk_bedrockruntime::types::{
    ContentBlock, ConverseOutput, ReasoningContentBlock, TokenUsage,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::document;
use crate::SchemaMode;
use crate::answer::{Read, arguments_of, failed};
use crate::http::Errors;

pub(super) fn answer(
    answer: Answer,
    errors: &Errors,
    wanted: Option<(SchemaMode, &OutputSchema)>,
) -> Result<ChatAnswer, ChatError> {
    let usage = answer.usage.as_ref().map(usage).unwrap_or_default();
    let id = answer.request_id().map(str::to_owned);
    if let Some((failure, words)) = of_stop(answer.stop_reason.as_str()) {
        return Err(failed(errors, failure, words, usage));
    }
    let Some(ConverseOutput::Message(message)) = answer.output else {
        return Err(failed(
            errors,
            Failure::Malformed,
            "the answer holds no message",
            usage,
        ));
    };
    let parts = message
        .content
        .into_iter()
        .filter_map(|block| part(block, errors.model()))
        .collect();
    Read { parts, usage, id }.finish(errors, wanted)
}

/// Returns the failure for a stop reason, or `None` for a good one (service model, `StopReason`).
fn of_stop(reason: &str) -> Option<(Failure, &'static str)> {
    Some(match reason {
        "max_tokens" => (Failure::Truncated, "the answer reached its token limit"),
        "model_context_window_exceeded" => (
            Failure::ContextTooLong,
            "prompt and answer are longer than the model's window",
        ),
        "guardrail_intervened" => (Failure::Filtered, "a guardrail stopped prompt or answer"),
        "content_filtered" => (Failure::Filtered, "the content filter stopped the answer"),
        "malformed_model_output" | "malformed_tool_use" => {
            (Failure::Malformed, "the model's answer cannot be read")
        }
        _ => return None,
    })
}

/// Converts the usage. The service's input tokens exclude tokens read from or written to its cache.
fn usage(tokens: &TokenUsage) -> Usage {
    let count = |number: i32| u64::try_from(number).unwrap_or(0);
    let cached = tokens.cache_read_input_tokens.map_or(0, count);
    let written = tokens.cache_write_input_tokens.map_or(0, count);
    Usage {
        input_tokens: count(tokens.input_tokens) + cached + written,
        cached_tokens: cached,
        cache_write_tokens: written,
        output_tokens: count(tokens.output_tokens),
        reasoning_tokens: 0,
    }
}

fn part(block: ContentBlock, model: &str) -> Option<Part> {
    let opaque = |value: Value| Some(Part::Opaque(Opaque::new(model, value)));
    match block {
        ContentBlock::Text(text) => Some(Part::text(text)),
        ContentBlock::ToolUse(call) => Some(Part::Call(CallPart {
            id: call.tool_use_id,
            name: call.name,
            arguments: arguments_of(document::from(call.input)),
            opaque: None,
        })),
        ContentBlock::ReasoningContent(ReasoningContentBlock::ReasoningText(said)) => {
            opaque(json!({ "text": said.text, "signature": said.signature }))
        }
        ContentBlock::ReasoningContent(ReasoningContentBlock::RedactedContent(sealed)) => {
            opaque(json!({ "redactedContent": STANDARD.encode(sealed.as_ref()) }))
        }
        _ => None,
    }
}
