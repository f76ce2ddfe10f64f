//! Implements chat completions of OpenAI and Azure: keys and errors. Submodules have the other parts of the format. The
//! source is the types of the official Python SDK (openai 3), its error classes, and the API reference.

mod messages;
mod render;
mod servers;
mod tools;
mod validate;

use serde_json::{Value, json};

use super::check::{ValidationError, Violation};
use super::wire::{ErrorResponse, Request, is_wrong_key};
use super::{Provider, ProviderError, ProviderErrorKind};

pub(super) use render::render;
pub use servers::OpenAiServer;
pub(super) use validate::check;

fn authenticate(request: &Request) -> Result<(), ValidationError> {
    let azure = request.provider == Provider::Azure;
    let key = match request.bearer() {
        None if azure => request.header("api-key"),
        key => key,
    };
    let message = match key {
        Some(key) if !is_wrong_key(key) => return Ok(()),
        _ if azure => "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.".to_owned(),
        Some(_) => "Incorrect API key provided: ***. You can find your API key at https://platform.openai.com/account/api-keys.".to_owned(),
        None => "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).".to_owned(),
    };
    Err(ValidationError::request(
        ProviderErrorKind::Unauthenticated,
        message,
    ))
}

/// Converts an error into OpenAI's words.
pub(super) fn to_provider_error(wrong: &ValidationError) -> ProviderError {
    let at = wrong.bracketed_path();
    let top = !wrong.at.trim_start_matches('/').contains('/');
    let (message, code) = match &wrong.violation {
        Violation::Unknown if top => (
            format!("Unrecognized request argument supplied: {at}"),
            None,
        ),
        Violation::Unknown => (
            format!("Unknown parameter: '{at}'."),
            Some("unknown_parameter"),
        ),
        Violation::Missing => (
            format!("Missing required parameter: '{at}'."),
            Some("missing_required_parameter"),
        ),
        Violation::Not(kind) => (
            format!("Invalid type for '{at}': expected {kind}."),
            Some("invalid_type"),
        ),
        Violation::Empty => (
            format!("Invalid '{at}': empty. Expected at least 1 item or character."),
            Some("empty_array"),
        ),
        Violation::Rule(message, code) => (message.clone(), *code),
        Violation::Request(_, message) => (message.clone(), None),
    };
    let mut trouble = ProviderError::new(ProviderErrorKind::BadRequest, message);
    trouble.param = (!at.is_empty()).then_some(at);
    trouble.code = code;
    trouble
}

/// Renders an error in the format of OpenAI and Azure.
pub(super) fn error_response(
    provider: Provider,
    trouble: &ProviderError,
    id: &str,
) -> ErrorResponse {
    let azure = provider == Provider::Azure;
    let (status, kind, code) = match trouble.kind {
        ProviderErrorKind::BadRequest | ProviderErrorKind::TooLarge => {
            (400, "invalid_request_error", trouble.code)
        }
        ProviderErrorKind::ContextTooLong => (
            400,
            "invalid_request_error",
            Some("context_length_exceeded"),
        ),
        ProviderErrorKind::Filtered => (400, "invalid_request_error", Some("content_filter")),
        ProviderErrorKind::Unauthenticated => {
            (401, "invalid_request_error", Some("invalid_api_key"))
        }
        ProviderErrorKind::Forbidden => (403, "invalid_request_error", trouble.code),
        ProviderErrorKind::NotFound => (404, "invalid_request_error", trouble.code),
        ProviderErrorKind::RateLimited => (429, "requests", Some("rate_limit_exceeded")),
        ProviderErrorKind::SpendLimit => (429, "insufficient_quota", Some("insufficient_quota")),
        ProviderErrorKind::Overloaded | ProviderErrorKind::Unavailable => {
            (503, "server_error", None)
        }
        ProviderErrorKind::Internal => (500, "server_error", None),
    };
    let body = if azure
        && matches!(
            trouble.kind,
            ProviderErrorKind::Unauthenticated
                | ProviderErrorKind::RateLimited
                | ProviderErrorKind::NotFound
        ) {
        let code = trouble
            .code
            .map_or_else(|| status.to_string(), str::to_owned);
        json!({"error": {"code": code, "message": trouble.message}})
    } else if azure && trouble.kind == ProviderErrorKind::Filtered {
        filtered(&trouble.message)
    } else {
        json!({"error": {
            "message": trouble.message, "type": kind, "param": trouble.param, "code": code,
        }})
    };
    let mut headers = trouble.retry_after.headers();
    headers.push(("x-request-id", format!("req_{id}")));
    ErrorResponse {
        status,
        headers,
        body,
    }
}

/// Returns which filter applied, as Azure reports it.
fn filtered(message: &str) -> Value {
    json!({"error": {
        "message": message, "type": null, "param": "prompt", "code": "content_filter", "status": 400,
        "innererror": {
            "code": "ResponsibleAIPolicyViolation",
            "content_filter_result": {
                "hate": {"filtered": false, "severity": "safe"},
                "jailbreak": {"filtered": true, "detected": true},
            },
        },
    }})
}
