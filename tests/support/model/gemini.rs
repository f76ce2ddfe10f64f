//! Implements Google's `generateContent` at the Gemini API and Vertex: keys and errors. Submodules have the other parts
//! of the format. The source is the types and converters of the official Python SDK (google-genai 3), and the API
//! reference.

mod contents;
mod render;
mod spelling;
mod tools;
mod validate;

use serde_json::{Value, json};

use super::check::{ValidationError, Violation};
use super::wire::{ErrorResponse, Request, is_wrong_key};
use super::{Provider, ProviderError, ProviderErrorKind};

pub(super) use render::render;
pub(super) use validate::check;

fn authenticate(request: &Request) -> Result<(), ValidationError> {
    let vertex = request.provider == Provider::Vertex;
    let key = if vertex {
        request.bearer()
    } else {
        let query = request.query.get("key").map(String::as_str);
        request
            .header("x-goog-api-key")
            .or_else(|| query.filter(|key| !key.is_empty()))
    };
    match key {
        Some(key) if !is_wrong_key(key) => Ok(()),
        Some(_) if !vertex => Err(ValidationError::request(
            ProviderErrorKind::BadRequest,
            "API key not valid. Please pass a valid API key.",
        )),
        None if !vertex => Err(ValidationError::request(
            ProviderErrorKind::Forbidden,
            "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
        )),
        _ => Err(ValidationError::request(
            ProviderErrorKind::Unauthenticated,
            "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.",
        )),
    }
}

/// Converts an error into Google's words.
pub(super) fn to_provider_error(wrong: &ValidationError) -> ProviderError {
    let at = wrong.bracketed_path();
    let message = match &wrong.violation {
        Violation::Unknown => {
            let parent = wrong.at.rsplit_once('/').map_or("", |(parent, _)| parent);
            let parent = ValidationError {
                at: parent.to_owned(),
                violation: Violation::Unknown,
            };
            let place = parent.bracketed_path();
            let place = if place.is_empty() {
                String::new()
            } else {
                format!(" at '{place}'")
            };
            format!(
                "Invalid JSON payload received. Unknown name \"{}\"{place}: Cannot find field.",
                wrong.name()
            )
        }
        Violation::Missing | Violation::Empty => {
            format!(
                "* GenerateContentRequest.{at}: {} is not specified",
                wrong.name()
            )
        }
        Violation::Not(kind) => format!("Invalid value at '{at}', expected {kind}"),
        Violation::Rule(message, _) if at.is_empty() => message.clone(),
        Violation::Rule(message, _) => format!("* GenerateContentRequest.{at}: {message}"),
        Violation::Request(_, message) => message.clone(),
    };
    ProviderError::new(ProviderErrorKind::BadRequest, message)
}

/// Renders an error in Google's format.
pub(super) fn error_response(trouble: &ProviderError) -> ErrorResponse {
    let (code, status) = match trouble.kind {
        ProviderErrorKind::BadRequest
        | ProviderErrorKind::ContextTooLong
        | ProviderErrorKind::Filtered
        | ProviderErrorKind::TooLarge => (400, "INVALID_ARGUMENT"),
        ProviderErrorKind::Unauthenticated => (401, "UNAUTHENTICATED"),
        ProviderErrorKind::Forbidden => (403, "PERMISSION_DENIED"),
        ProviderErrorKind::NotFound => (404, "NOT_FOUND"),
        ProviderErrorKind::RateLimited | ProviderErrorKind::SpendLimit => {
            (429, "RESOURCE_EXHAUSTED")
        }
        ProviderErrorKind::Overloaded | ProviderErrorKind::Unavailable => (503, "UNAVAILABLE"),
        ProviderErrorKind::Internal => (500, "INTERNAL"),
    };
    let mut error = json!({"code": code, "message": trouble.message, "status": status});
    let details = details(trouble);
    if !details.is_empty()
        && let Some(fields) = error.as_object_mut()
    {
        fields.insert("details".to_owned(), Value::Array(details));
    }
    // The details contain the wait, except for a date, which needs a header.
    let headers = match trouble.retry_after.google_retry_delay() {
        Some(_) => Vec::new(),
        None => trouble.retry_after.headers(),
    };
    ErrorResponse {
        status: code,
        headers,
        body: json!({"error": error}),
    }
}

fn details(trouble: &ProviderError) -> Vec<Value> {
    let mut details = Vec::new();
    let quota = match trouble.kind {
        ProviderErrorKind::RateLimited => "GenerateRequestsPerMinutePerProjectPerModel",
        ProviderErrorKind::SpendLimit => "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
        _ => "",
    };
    if !quota.is_empty() {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{
                "quotaMetric": "generativelanguage.googleapis.com/generate_requests", "quotaId": quota,
            }],
        }));
    }
    if let Some(delay) = trouble.retry_after.google_retry_delay() {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay,
        }));
    }
    if trouble.message.starts_with("API key not valid") {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID",
            "domain": "googleapis.com", "metadata": {"service": "generativelanguage.googleapis.com"},
        }));
    }
    details
}
