//! The body of a Messages answer.

use crate::chat::{CallPart, ChatAnswer, ChatError, Failure, Opaque, OutputSchema, Part, Usage};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::SchemaMode;
use crate::answer::{Read, arguments_of, failed};
use crate::http::Errors;

#[derive(Deserialize, Default)]
pub(super) struct Message {
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) content: Vec<Map<String, Value>>,
    pub(super) stop_reason: Option<String>,
    pub(super) stop_details: Option<StopDetails>,
    #[serde(default)]
    pub(super) usage: Tokens,
}

#[derive(Deserialize)]
pub(super) struct StopDetails {
    category: Option<String>,
    explanation: Option<String>,
}

#[derive(Deserialize, Default, Clone, Copy)]
pub(super) struct Tokens {
    pub(super) input_tokens: Option<u64>,
    pub(super) cache_creation_input_tokens: Option<u64>,
    pub(super) cache_read_input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) output_tokens_details: Option<OutputTokens>,
}

#[derive(Deserialize, Clone, Copy)]
pub(super) struct OutputTokens {
    thinking_tokens: Option<u64>,
}

impl Tokens {
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

pub(super) fn parse(bytes: &[u8], errors: &Errors) -> Result<Message, ChatError> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| {
        errors.make(
            Failure::Malformed,
            &format!("the answer is no JSON: {error}"),
        )
    })?;
    if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
        return Err(super::failure::of_error(error, errors));
    }
    if value.get("content").is_none() {
        return Err(errors.make(
            Failure::Malformed,
            "the answer is no message: it has no content",
        ));
    }
    serde_json::from_value(value).map_err(|error| {
        errors.make(
            Failure::Malformed,
            &format!("the answer is no message: {error}"),
        )
    })
}

pub(super) fn answer(
    message: Message,
    errors: &Errors,
    wanted: Option<(SchemaMode, &OutputSchema)>,
) -> Result<ChatAnswer, ChatError> {
    let usage = message.usage.usage();
    let stop = |failure, words: &str| Err(failed(errors, failure, words, usage));
    match message.stop_reason.as_deref() {
        Some("max_tokens") => {
            return stop(Failure::Truncated, "the answer reached its token limit");
        }
        Some("model_context_window_exceeded") => {
            return stop(
                Failure::ContextTooLong,
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
                Failure::Refused,
                why.unwrap_or("the model refused, and gave no reason"),
            );
        }
        // Only tools of the provider's own pause a turn, and none is requested.
        Some("pause_turn") => {
            return stop(
                Failure::Malformed,
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
    Read {
        parts,
        usage,
        id: message.id,
    }
    .finish(errors, wanted)
}

fn part(mut block: Map<String, Value>, model: &str) -> Part {
    let mut text = |key: &str| match block.get_mut(key).map(Value::take) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    match text("type").as_str() {
        "text" => Part::text(text("text")),
        "tool_use" => Part::Call(CallPart {
            id: text("id"),
            name: text("name"),
            arguments: arguments_of(block.remove("input").unwrap_or_default()),
            opaque: None,
        }),
        // Thinking, sealed or not, and future kinds go back unchanged.
        kind => {
            let kind = Value::String(kind.to_owned());
            block.insert("type".to_owned(), kind);
            Part::Opaque(Opaque::new(model, Value::Object(block)))
        }
    }
}
