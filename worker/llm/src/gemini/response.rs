//! Parses the body of a `generateContent` answer.

use crate::chat::{
    ChatAnswer, ChatError, ChatFailure, ChatPart, OpaquePart, OutputSchema, ToolCallPart, Usage,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::GENERATED_ID_PREFIX;
use crate::SchemaMode;
use crate::answer::{AdapterAnswer, answer_error, arguments_from_value};
use crate::http::ErrorBuilder;
use crate::rate::{json_bytes, text_bytes};

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiResponse {
    #[serde(default)]
    pub(super) candidates: Vec<Candidate>,
    pub(super) prompt_feedback: Option<PromptFeedback>,
    #[serde(default)]
    pub(super) usage_metadata: GeminiUsage,
    pub(super) response_id: Option<String>,
    pub(super) error: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate {
    #[serde(default)]
    pub(super) content: CandidateContent,
    pub(super) finish_reason: Option<String>,
    pub(super) finish_message: Option<String>,
}

#[derive(Deserialize, Default)]
pub(super) struct CandidateContent {
    #[serde(default)]
    pub(super) parts: Vec<CandidatePart>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CandidatePart {
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) thought: bool,
    pub(super) thought_signature: Option<String>,
    pub(super) function_call: Option<FunctionCall>,
}

impl CandidatePart {
    /// Returns the size of the piece in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let of = |text: &Option<String>| text.as_deref().map_or(0, text_bytes);
        let call = self.function_call.as_ref();
        let call = call.map_or(0, |call| text_bytes(&call.name) + json_bytes(&call.args));
        of(&self.text) + of(&self.thought_signature) + call
    }
}

#[derive(Deserialize)]
pub(super) struct FunctionCall {
    id: Option<String>,
    #[serde(default)]
    name: String,
    #[serde(default)]
    args: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptFeedback {
    block_reason: Option<String>,
    block_reason_message: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct GeminiUsage {
    prompt_token_count: u64,
    tool_use_prompt_token_count: u64,
    cached_content_token_count: u64,
    candidates_token_count: u64,
    thoughts_token_count: u64,
}

impl GeminiUsage {
    /// Merges a later event. Of each number the larger one counts, because some events omit some numbers.
    pub(super) fn update(&mut self, later: Self) {
        *self = Self {
            prompt_token_count: self.prompt_token_count.max(later.prompt_token_count),
            tool_use_prompt_token_count: self
                .tool_use_prompt_token_count
                .max(later.tool_use_prompt_token_count),
            cached_content_token_count: self
                .cached_content_token_count
                .max(later.cached_content_token_count),
            candidates_token_count: self
                .candidates_token_count
                .max(later.candidates_token_count),
            thoughts_token_count: self.thoughts_token_count.max(later.thoughts_token_count),
        };
    }

    pub(super) const fn usage(&self) -> Usage {
        Usage {
            input_tokens: self.prompt_token_count + self.tool_use_prompt_token_count,
            cached_tokens: self.cached_content_token_count,
            cache_write_tokens: 0,
            output_tokens: self.candidates_token_count + self.thoughts_token_count,
            reasoning_tokens: self.thoughts_token_count,
        }
    }
}

pub(super) fn parse(bytes: &[u8], errors: &ErrorBuilder) -> Result<GeminiResponse, ChatError> {
    serde_json::from_slice(bytes).map_err(|error| {
        errors.build(
            ChatFailure::Malformed,
            &format!("the answer is no content: {error}"),
        )
    })
}

pub(super) fn answer(
    response: GeminiResponse,
    errors: &ErrorBuilder,
    calls_so_far: usize,
    wanted: Option<(SchemaMode, &OutputSchema)>,
) -> Result<ChatAnswer, ChatError> {
    let usage = response.usage_metadata.usage();
    if let Some(error) = response.error.filter(|error| !error.is_null()) {
        return Err(super::failure::from_stream_error(&error, errors));
    }
    if let Some((reason, message)) = response
        .prompt_feedback
        .and_then(|feedback| Some((feedback.block_reason?, feedback.block_reason_message)))
    {
        let words = format!("the prompt was blocked: {}", message.unwrap_or(reason));
        return Err(answer_error(errors, ChatFailure::Filtered, &words, usage));
    }
    let Some(candidate) = response.candidates.into_iter().next() else {
        return Err(answer_error(
            errors,
            ChatFailure::Malformed,
            "the answer has no candidates",
            usage,
        ));
    };
    if let Some(reason) = candidate.finish_reason.as_deref()
        && let Some(failure) = failure_from_finish_reason(reason)
    {
        let words = format!(
            "the answer ended with {reason}: {}",
            candidate.finish_message.unwrap_or_default()
        );
        return Err(answer_error(errors, failure, &words, usage));
    }
    let mut parts = Vec::with_capacity(candidate.content.parts.len());
    let mut calls = calls_so_far;
    for piece in candidate.content.parts {
        read_part(piece, errors.model(), &mut calls, &mut parts);
    }
    AdapterAnswer {
        parts,
        usage,
        id: response.response_id,
    }
    .into_chat_answer(errors, wanted)
}

/// Returns the failure for a finish reason, or `None` for a good one (SDK, `types.py`, `FinishReason`).
fn failure_from_finish_reason(reason: &str) -> Option<ChatFailure> {
    Some(match reason {
        "STOP" | "FINISH_REASON_UNSPECIFIED" => return None,
        "MAX_TOKENS" | "CONTINUATION" => ChatFailure::Truncated,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE"
        | "ESCALATION" | "MODEL_ARMOR" => ChatFailure::Filtered,
        "MISSING_THOUGHT_SIGNATURE" => ChatFailure::BadRequest,
        "PUP_LIMITED_DISABLED" => ChatFailure::Auth,
        _ => ChatFailure::Malformed,
    })
}

fn read_part(piece: CandidatePart, model: &str, calls: &mut usize, parts: &mut Vec<ChatPart>) {
    let opaque = piece
        .thought_signature
        .map(|signature| OpaquePart::new(model, json!({ "thoughtSignature": signature })));
    if let Some(call) = piece.function_call {
        *calls += 1;
        parts.push(ChatPart::Call(ToolCallPart {
            id: call
                .id
                .filter(|id| !id.is_empty())
                .unwrap_or_else(|| format!("{GENERATED_ID_PREFIX}{calls}")),
            name: call.name,
            arguments: arguments_from_value(call.args),
            opaque,
        }));
    } else if let Some(text) = piece.text.filter(|_| !piece.thought) {
        parts.push(ChatPart::text(text));
        parts.extend(opaque.map(ChatPart::Opaque));
    }
}
