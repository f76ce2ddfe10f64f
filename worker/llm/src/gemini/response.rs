//! The body of a `generateContent` answer.

use crate::chat::{CallPart, ChatAnswer, ChatError, Failure, Opaque, OutputSchema, Part, Usage};
use serde::Deserialize;
use serde_json::{Value, json};

use super::OWN_ID;
use crate::SchemaMode;
use crate::answer::{Read, arguments_of, failed};
use crate::http::Errors;
use crate::rate::{json as json_bytes, length};

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct Response {
    #[serde(default)]
    pub(super) candidates: Vec<Candidate>,
    pub(super) prompt_feedback: Option<Feedback>,
    #[serde(default)]
    pub(super) usage_metadata: Tokens,
    pub(super) response_id: Option<String>,
    pub(super) error: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate {
    #[serde(default)]
    pub(super) content: Content,
    pub(super) finish_reason: Option<String>,
    pub(super) finish_message: Option<String>,
}

#[derive(Deserialize, Default)]
pub(super) struct Content {
    #[serde(default)]
    pub(super) parts: Vec<Piece>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Piece {
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) thought: bool,
    pub(super) thought_signature: Option<String>,
    pub(super) function_call: Option<FunctionCall>,
}

impl Piece {
    /// Returns the size of the piece in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let of = |text: &Option<String>| text.as_deref().map_or(0, length);
        let call = self.function_call.as_ref();
        let call = call.map_or(0, |call| length(&call.name) + json_bytes(&call.args));
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
pub(super) struct Feedback {
    block_reason: Option<String>,
    block_reason_message: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Tokens {
    prompt_token_count: u64,
    tool_use_prompt_token_count: u64,
    cached_content_token_count: u64,
    candidates_token_count: u64,
    thoughts_token_count: u64,
}

impl Tokens {
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

pub(super) fn parse(bytes: &[u8], errors: &Errors) -> Result<Response, ChatError> {
    serde_json::from_slice(bytes).map_err(|error| {
        errors.make(
            Failure::Malformed,
            &format!("the answer is no content: {error}"),
        )
    })
}

pub(super) fn answer(
    response: Response,
    errors: &Errors,
    calls_so_far: usize,
    wanted: Option<(SchemaMode, &OutputSchema)>,
) -> Result<ChatAnswer, ChatError> {
    let usage = response.usage_metadata.usage();
    if let Some(error) = response.error.filter(|error| !error.is_null()) {
        return Err(super::failure::of_error(&error, errors));
    }
    if let Some((reason, message)) = response
        .prompt_feedback
        .and_then(|feedback| Some((feedback.block_reason?, feedback.block_reason_message)))
    {
        let words = format!("the prompt was blocked: {}", message.unwrap_or(reason));
        return Err(failed(errors, Failure::Filtered, &words, usage));
    }
    let Some(candidate) = response.candidates.into_iter().next() else {
        return Err(failed(
            errors,
            Failure::Malformed,
            "the answer has no candidates",
            usage,
        ));
    };
    if let Some(reason) = candidate.finish_reason.as_deref()
        && let Some(failure) = of_finish(reason)
    {
        let words = format!(
            "the answer ended with {reason}: {}",
            candidate.finish_message.unwrap_or_default()
        );
        return Err(failed(errors, failure, &words, usage));
    }
    let mut parts = Vec::with_capacity(candidate.content.parts.len());
    let mut calls = calls_so_far;
    for piece in candidate.content.parts {
        read(piece, errors.model(), &mut calls, &mut parts);
    }
    Read {
        parts,
        usage,
        id: response.response_id,
    }
    .finish(errors, wanted)
}

/// Returns the failure for a finish reason, or `None` for a good one (SDK, `types.py`, `FinishReason`).
fn of_finish(reason: &str) -> Option<Failure> {
    Some(match reason {
        "STOP" | "FINISH_REASON_UNSPECIFIED" => return None,
        "MAX_TOKENS" | "CONTINUATION" => Failure::Truncated,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE"
        | "ESCALATION" | "MODEL_ARMOR" => Failure::Filtered,
        "MISSING_THOUGHT_SIGNATURE" => Failure::BadRequest,
        "PUP_LIMITED_DISABLED" => Failure::Auth,
        _ => Failure::Malformed,
    })
}

fn read(piece: Piece, model: &str, calls: &mut usize, parts: &mut Vec<Part>) {
    let opaque = piece
        .thought_signature
        .map(|signature| Opaque::new(model, json!({ "thoughtSignature": signature })));
    if let Some(call) = piece.function_call {
        *calls += 1;
        parts.push(Part::Call(CallPart {
            id: call
                .id
                .filter(|id| !id.is_empty())
                .unwrap_or_else(|| format!("{OWN_ID}{calls}")),
            name: call.name,
            arguments: arguments_of(call.args),
            opaque,
        }));
    } else if let Some(text) = piece.text.filter(|_| !piece.thought) {
        parts.push(Part::text(text));
        parts.extend(opaque.map(Part::Opaque));
    }
}
