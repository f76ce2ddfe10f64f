//! Parses a Converse answer.

use crate::chat::{
    ChatAnswer, ChatError, ChatFailure, ChatPart, OpaquePart, OutputSchema, ToolCallPart, Usage,
};
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
use crate::answer::{AdapterAnswer, answer_error, arguments_from_value};
use crate::http::ErrorBuilder;

pub(super) fn answer(
    answer: Answer,
    errors: &ErrorBuilder,
    wanted: Option<(SchemaMode, &OutputSchema)>,
) -> Result<ChatAnswer, ChatError> {
    let usage = answer.usage.as_ref().map(usage).unwrap_or_default();
    let id = answer.request_id().map(str::to_owned);
    if let Some((failure, words)) = failure_from_stop_reason(answer.stop_reason.as_str()) {
        return Err(answer_error(errors, failure, words, usage));
    }
    let Some(ConverseOutput::Message(message)) = answer.output else {
        return Err(answer_error(
            errors,
            ChatFailure::Malformed,
            "the answer holds no message",
            usage,
        ));
    };
    let parts = message
        .content
        .into_iter()
        .filter_map(|block| part(block, errors.model()))
        .collect();
    AdapterAnswer { parts, usage, id }.into_chat_answer(errors, wanted)
}

/// Returns the failure for a stop reason, or `None` for a good one (service model, `StopReason`).
fn failure_from_stop_reason(reason: &str) -> Option<(ChatFailure, &'static str)> {
    Some(match reason {
        "max_tokens" => (ChatFailure::Truncated, "the answer reached its token limit"),
        "model_context_window_exceeded" => (
            ChatFailure::ContextTooLong,
            "prompt and answer are longer than the model's window",
        ),
        "guardrail_intervened" => (
            ChatFailure::Filtered,
            "a guardrail stopped prompt or answer",
        ),
        "content_filtered" => (
            ChatFailure::Filtered,
            "the content filter stopped the answer",
        ),
        "malformed_model_output" | "malformed_tool_use" => {
            (ChatFailure::Malformed, "the model's answer cannot be read")
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

fn part(block: ContentBlock, model: &str) -> Option<ChatPart> {
    let opaque = |value: Value| Some(ChatPart::Opaque(OpaquePart::new(model, value)));
    match block {
        ContentBlock::Text(text) => Some(ChatPart::text(text)),
        ContentBlock::ToolUse(call) => Some(ChatPart::Call(ToolCallPart {
            id: call.tool_use_id,
            name: call.name,
            arguments: arguments_from_value(document::json_from_document(call.input)),
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
