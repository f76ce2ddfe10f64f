//! Implements the common path of a request: checking, answering and refusing in the format of its provider.

use std::collections::BTreeMap;

use serde_json::Value;

use super::check::{ValidationError, Violation};
use super::reply::{StopReason, Usage};
use super::{Answer, Provider, ProviderError, ProviderErrorKind, RecordedRequest, ToolCall};
use super::{anthropic, bedrock, gemini, openai};

/// An unparsed request.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) provider: Provider,
    pub(super) model: Option<String>,
    pub(super) streamed: bool,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) query: BTreeMap<String, String>,
    pub(super) body: Value,
}

/// An answer with the data that a provider adds.
#[derive(Debug, Clone)]
pub(super) struct AnswerContext<'a> {
    pub(super) request: &'a RecordedRequest,
    pub(super) answer: &'a Answer,
    pub(super) usage: Usage,
    /// The unique part of ids in this answer.
    pub(super) id: String,
}

/// A rendered answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RenderedBody {
    Json(Value),
    /// Server-sent events, each with its blank line.
    Events(Vec<String>),
}

/// A rendered error.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ErrorResponse {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Value,
}

impl Request {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let value = self.headers.get(name)?.trim();
        (!value.is_empty()).then_some(value)
    }

    /// Returns the token of `Authorization: Bearer`.
    pub(super) fn bearer(&self) -> Option<&str> {
        let token = self
            .header("authorization")?
            .strip_prefix("Bearer ")?
            .trim();
        (!token.is_empty()).then_some(token)
    }

    pub(super) fn is_json(&self) -> bool {
        self.header("content-type")
            .is_some_and(|kind| kind.starts_with("application/json"))
    }
}

/// Returns whether the fake treats a key as wrong, for tests of refused keys.
pub(super) fn is_wrong_key(key: &str) -> bool {
    key.contains("wrong") || key.contains("invalid")
}

/// Checks a request by the rules of its provider.
pub(super) fn check(request: &Request) -> Result<RecordedRequest, ProviderError> {
    let checked = match request.provider {
        Provider::OpenAi | Provider::Azure => openai::check(request),
        Provider::Anthropic => anthropic::check(request),
        Provider::Gemini | Provider::Vertex => gemini::check(request),
        Provider::Bedrock => bedrock::check(request),
    };
    checked.map_err(|wrong| to_provider_error(request.provider, &wrong))
}

fn to_provider_error(provider: Provider, wrong: &ValidationError) -> ProviderError {
    if let Violation::Request(kind, message) = &wrong.violation {
        return ProviderError::new(*kind, message.clone());
    }
    match provider {
        Provider::OpenAi | Provider::Azure => openai::to_provider_error(wrong),
        Provider::Anthropic => anthropic::to_provider_error(wrong),
        Provider::Gemini | Provider::Vertex => gemini::to_provider_error(wrong),
        Provider::Bedrock => bedrock::to_provider_error(wrong),
    }
}

/// Renders an error in the format of its provider.
pub(super) fn error_response(
    provider: Provider,
    trouble: &ProviderError,
    id: &str,
) -> ErrorResponse {
    match provider {
        Provider::OpenAi | Provider::Azure => openai::error_response(provider, trouble, id),
        Provider::Anthropic => anthropic::error_response(trouble, id),
        Provider::Gemini | Provider::Vertex => gemini::error_response(trouble),
        Provider::Bedrock => bedrock::error_response(trouble, id),
    }
}

/// Renders an answer in the format of its provider.
pub(super) fn render(said: &AnswerContext<'_>) -> RenderedBody {
    match said.request.provider {
        Provider::OpenAi | Provider::Azure => openai::render(said),
        Provider::Anthropic => anthropic::render(said),
        Provider::Gemini | Provider::Vertex => gemini::render(said),
        Provider::Bedrock => RenderedBody::Json(bedrock::render(said)),
    }
}

impl AnswerContext<'_> {
    pub(super) fn call_id(&self, index: usize, prefix: &str) -> String {
        format!("{prefix}{}{index:03}", self.id)
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = (usize, &ToolCall)> {
        self.answer.calls.iter().enumerate()
    }

    /// Returns the stop reason in the provider's words.
    pub(super) fn stop<'w>(
        &self,
        done: &'w str,
        calls: &'w str,
        length: &'w str,
        refused: &'w str,
        filtered: &'w str,
    ) -> &'w str {
        match self.answer.stop {
            Some(StopReason::Length) => length,
            Some(StopReason::Refused) => refused,
            Some(StopReason::Filtered) => filtered,
            Some(StopReason::Done) => done,
            None if self.answer.calls.is_empty() => done,
            None => calls,
        }
    }
}

/// Returns a signature that only the fake makes, so that changed contents are detected.
pub(super) fn signature(of: &str) -> String {
    use base64::Engine as _;
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    ("fake", of).hash(&mut hasher);
    base64::engine::general_purpose::STANDARD.encode(format!("sig-{:016x}", hasher.finish()))
}

/// Splits text into at most 16 pieces, as a model streams it, without splitting a character.
pub(super) fn text_chunks(text: &str) -> Vec<String> {
    let size = text.chars().count().div_ceil(16).max(8);
    let letters: Vec<char> = text.chars().collect();
    letters
        .chunks(size)
        .map(|piece| piece.iter().collect())
        .collect()
}

/// Checks that the request is JSON, with this message otherwise.
pub(super) fn require_json(request: &Request, message: &str) -> Result<(), ValidationError> {
    if request.is_json() {
        return Ok(());
    }
    Err(ValidationError::request(
        ProviderErrorKind::BadRequest,
        message,
    ))
}
