//! Parses the body of a chat completion.

use crate::chat::{
    ChatAnswer, ChatError, ChatFailure, ChatPart, OpaquePart, OutputSchema, ToolCallPart, Usage,
};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::SchemaMode;
use crate::answer::{AdapterAnswer, answer_error, arguments_from_value};
use crate::http::ErrorBuilder;
use crate::quirks::Quirks;

/// Deserialises a field that may be missing or null: Azure and gateways write empty fields as null.
pub(super) fn or_default<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

#[derive(Deserialize, Default)]
pub(super) struct Completion {
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) choices: Vec<Choice>,
    pub(super) usage: Option<OpenAiUsage>,
    pub(super) error: Option<Value>,
}

#[derive(Deserialize, Default)]
pub(super) struct Choice {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) message: CompletionMessage,
    pub(super) finish_reason: Option<String>,
}

#[derive(Deserialize, Default)]
pub(super) struct CompletionMessage {
    pub(super) content: Option<String>,
    pub(super) refusal: Option<String>,
    /// Reasoning at DeepSeek and servers of its models.
    pub(super) reasoning_content: Option<String>,
    /// Reasoning at newer vLLM versions; some versions write both fields.
    pub(super) reasoning: Option<String>,
    pub(super) tool_calls: Option<Vec<ToolCall>>,
}

#[derive(Deserialize, Default)]
pub(super) struct ToolCall {
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) function: ToolCallFunction,
}

#[derive(Deserialize, Default)]
pub(super) struct ToolCallFunction {
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) arguments: Value,
}

#[derive(Deserialize, Default, Clone, Copy)]
pub(super) struct OpenAiUsage {
    #[serde(default, deserialize_with = "or_default")]
    prompt_tokens: u64,
    #[serde(default, deserialize_with = "or_default")]
    completion_tokens: u64,
    #[serde(default, deserialize_with = "or_default")]
    total_tokens: u64,
    prompt_tokens_details: Option<PromptTokens>,
    completion_tokens_details: Option<CompletionTokens>,
    /// DeepSeek's name for cached tokens.
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Deserialize, Default, Clone, Copy)]
struct PromptTokens {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize, Default, Clone, Copy)]
struct CompletionTokens {
    reasoning_tokens: Option<u64>,
}

impl OpenAiUsage {
    pub(super) fn usage(self) -> Usage {
        let prompt = self.prompt_tokens_details.unwrap_or_default();
        Usage {
            input_tokens: self.prompt_tokens,
            cached_tokens: prompt
                .cached_tokens
                .or(self.prompt_cache_hit_tokens)
                .unwrap_or(0),
            cache_write_tokens: prompt.cache_write_tokens.unwrap_or(0),
            // xAI counts reasoning separately from the output; the sum holds both.
            output_tokens: self
                .completion_tokens
                .max(self.total_tokens.saturating_sub(self.prompt_tokens)),
            reasoning_tokens: self
                .completion_tokens_details
                .and_then(|details| details.reasoning_tokens)
                .unwrap_or(0),
        }
    }
}

pub(super) fn parse(bytes: &[u8], errors: &ErrorBuilder) -> Result<Completion, ChatError> {
    serde_json::from_slice(bytes).map_err(|error| {
        errors.build(
            ChatFailure::Malformed,
            &format!("the answer is no chat completion: {error}"),
        )
    })
}

pub(super) fn answer(
    completion: Completion,
    errors: &ErrorBuilder,
    quirks: &Quirks,
    wanted: Option<(SchemaMode, &OutputSchema)>,
) -> Result<ChatAnswer, ChatError> {
    let usage = completion.usage.map(OpenAiUsage::usage).unwrap_or_default();
    if let Some(error) = completion.error.filter(|error| !error.is_null()) {
        return Err(ChatError {
            usage,
            ..super::failure::from_stream_error(&error, errors)
        });
    }
    let Some(choice) = completion.choices.into_iter().next() else {
        return Err(answer_error(
            errors,
            ChatFailure::Malformed,
            "the answer has no choices",
            usage,
        ));
    };
    let refusal = choice.message.refusal.as_deref();
    if refusal.is_some_and(|text| !text.is_empty()) {
        // The model's words are not quoted, because the model chose them and reports show the error.
        return Err(answer_error(
            errors,
            ChatFailure::Refused,
            "the model refused in its own words",
            usage,
        ));
    }
    match choice.finish_reason.as_deref() {
        Some("length") => {
            return Err(answer_error(
                errors,
                ChatFailure::Truncated,
                "the answer reached its token limit",
                usage,
            ));
        }
        Some("content_filter") => {
            return Err(answer_error(
                errors,
                ChatFailure::Filtered,
                "the content filter stopped the answer",
                usage,
            ));
        }
        // DeepSeek ends an answer so in the middle.
        Some("insufficient_system_resource") => {
            return Err(answer_error(
                errors,
                ChatFailure::Overloaded { after: None },
                "the server had no room to end its answer",
                usage,
            ));
        }
        _ => {}
    }
    let parts = parts(choice.message, errors.model(), quirks);
    AdapterAnswer {
        parts,
        usage,
        id: completion.id,
    }
    .into_chat_answer(errors, wanted)
}

fn parts(message: CompletionMessage, model: &str, quirks: &Quirks) -> Vec<ChatPart> {
    let mut parts = Vec::new();
    let reasoning = [message.reasoning_content, message.reasoning];
    let reasoning = reasoning
        .into_iter()
        .flatten()
        .find(|text| !text.is_empty());
    if let Some(reasoning) = reasoning.filter(|_| quirks.reasoning_back) {
        parts.push(ChatPart::Opaque(OpaquePart::new(
            model,
            json!({ "reasoning_content": reasoning }),
        )));
    }
    if let Some(text) = message.content.filter(|text| !text.is_empty()) {
        parts.push(ChatPart::text(text));
    }
    for (index, call) in message.tool_calls.into_iter().flatten().enumerate() {
        parts.push(ChatPart::Call(ToolCallPart {
            id: call
                .id
                .filter(|id| !id.is_empty())
                .unwrap_or_else(|| format!("call_{index}")),
            name: call.function.name.unwrap_or_default(),
            arguments: arguments_from_value(call.function.arguments),
            opaque: None,
        }));
    }
    parts
}
