//! Parses the body of a Messages answer.

use crate::chat::{
    ChatAnswer, ChatError, ChatFailure, ChatPart, OpaquePart, OutputSchema, ToolCallPart, Usage,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::SchemaMode;
use crate::answer::{AdapterAnswer, answer_error, arguments_from_value};
use crate::http::ErrorBuilder;

#[derive(Deserialize, Default)]
pub(super) struct AnthropicResponse {
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) content: Vec<Map<String, Value>>,
    pub(super) stop_reason: Option<String>,
    pub(super) stop_details: Option<StopDetails>,
    #[serde(default)]
    pub(super) usage: AnthropicUsage,
}

#[derive(Deserialize)]
pub(super) struct StopDetails {
    category: Option<String>,
    explanation: Option<String>,
}

#[derive(Deserialize, Default, Clone, Copy)]
pub(super) struct AnthropicUsage {
    pub(super) input_tokens: Option<u64>,
    pub(super) cache_creation_input_tokens: Option<u64>,
    pub(super) cache_read_input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) output_tokens_details: Option<OutputTokenDetails>,
}

#[derive(Deserialize, Clone, Copy)]
pub(super) struct OutputTokenDetails {
    thinking_tokens: Option<u64>,
}

impl AnthropicUsage {
    /// Converts the usage. The provider's input tokens exclude tokens read from or written to its cache.
    pub(super) fn usage(self) -> Usage {
        let cached = self.cache_read_input_tokens.unwrap_or(0);
        let written = self.cache_creation_input_tokens.unwrap_or(0);
        Usage {
            input_tokens: self.input_tokens.unwrap_or(0) + cached + written,
            cached_tokens: cached,
            cache_write_tokens: written,
            output_tokens: self.output_tokens.unwrap_or(0),
            reasoning_tokens: self
                .output_tokens_details
                .and_then(|details| details.thinking_tokens)
                .unwrap_or(0),
        }
    }

    /// Merges later, cumulative numbers. Gateways repeat zeros for numbers that came at the beginning, so a number
    /// never decreases.
    pub(super) fn update(&mut self, later: Self) {
        self.input_tokens = later.input_tokens.max(self.input_tokens);
        self.cache_creation_input_tokens = later
            .cache_creation_input_tokens
            .max(self.cache_creation_input_tokens);
        self.cache_read_input_tokens = later
            .cache_read_input_tokens
            .max(self.cache_read_input_tokens);
        self.output_tokens = later.output_tokens.max(self.output_tokens);
        self.output_tokens_details = later.output_tokens_details.or(self.output_tokens_details);
    }
}

pub(super) fn parse(bytes: &[u8], errors: &ErrorBuilder) -> Result<AnthropicResponse, ChatError> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| {
        errors.build(
            ChatFailure::Malformed,
            &format!("the answer is no JSON: {error}"),
        )
    })?;
    if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
        return Err(super::failure::from_stream_error(error, errors));
    }
    if value.get("content").is_none() {
        return Err(errors.build(
            ChatFailure::Malformed,
            "the answer is no message: it has no content",
        ));
    }
    serde_json::from_value(value).map_err(|error| {
        errors.build(
            ChatFailure::Malformed,
            &format!("the answer is no message: {error}"),
        )
    })
}

pub(super) fn answer(
    message: AnthropicResponse,
    errors: &ErrorBuilder,
    wanted: Option<(SchemaMode, &OutputSchema)>,
) -> Result<ChatAnswer, ChatError> {
    let usage = message.usage.usage();
    let stop = |failure, words: &str| Err(answer_error(errors, failure, words, usage));
    match message.stop_reason.as_deref() {
        Some("max_tokens") => {
            return stop(ChatFailure::Truncated, "the answer reached its token limit");
        }
        Some("model_context_window_exceeded") => {
            return stop(
                ChatFailure::ContextTooLong,
                "prompt and answer are longer than the model's window",
            );
        }
        Some("refusal") => {
            let details = message.stop_details.as_ref();
            let why = details.and_then(|details| {
                details
                    .explanation
                    .as_deref()
                    .or(details.category.as_deref())
            });
            return stop(
                ChatFailure::Refused,
                why.unwrap_or("the model refused, and gave no reason"),
            );
        }
        // Only tools of the provider's own pause a turn, and none is requested.
        Some("pause_turn") => {
            return stop(
                ChatFailure::Malformed,
                "the answer pauses where nothing can be waited for",
            );
        }
        _ => {}
    }
    let parts = message
        .content
        .into_iter()
        .map(|block| part(block, errors.model()))
        .collect();
    AdapterAnswer {
        parts,
        usage,
        id: message.id,
    }
    .into_chat_answer(errors, wanted)
}

fn part(mut block: Map<String, Value>, model: &str) -> ChatPart {
    let mut text = |key: &str| match block.get_mut(key).map(Value::take) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    match text("type").as_str() {
        "text" => ChatPart::text(text("text")),
        "tool_use" => ChatPart::Call(ToolCallPart {
            id: text("id"),
            name: text("name"),
            arguments: arguments_from_value(block.remove("input").unwrap_or_default()),
            opaque: None,
        }),
        // Thinking, sealed or not, and future kinds go back unchanged.
        kind => {
            let kind = Value::String(kind.to_owned());
            block.insert("type".to_owned(), kind);
            ChatPart::Opaque(OpaquePart::new(model, Value::Object(block)))
        }
    }
}
