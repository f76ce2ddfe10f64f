//! Implements Anthropic's Messages API: keys, versions and errors. Submodules have the other parts of the format. The
//! source is the types of the official Python SDK (anthropic 2), its error classes, and the API reference.

mod messages;
mod render;
mod tools;
mod validate;

use serde_json::json;

use super::check::{ValidationError, Violation};
use super::wire::{ErrorResponse, Request, is_wrong_key};
use super::{ProviderError, ProviderErrorKind};

pub(super) use render::render;
pub(super) use validate::check;

/// Since this version no model accepts sampling parameters. With an older version it depends on the model.
const NEWEST: &str = "2026-10-21";
const VERSIONS: [&str; 3] = [NEWEST, "2023-06-01", "2023-01-01"];

fn authenticate(request: &Request) -> Result<(), ValidationError> {
    let key = request.header("x-api-key").or_else(|| request.bearer());
    match key {
        Some(key) if is_wrong_key(key) => Err(ValidationError::request(
            ProviderErrorKind::Unauthenticated,
            "invalid x-api-key",
        )),
        Some(_) => Ok(()),
        None => Err(ValidationError::request(
            ProviderErrorKind::Unauthenticated,
            "x-api-key header is required",
        )),
    }
}

/// Returns whether the request has the newest version.
fn is_newest(request: &Request) -> Result<bool, ValidationError> {
    match request.header("anthropic-version") {
        Some(version) if VERSIONS.contains(&version) => Ok(version == NEWEST),
        Some(version) => Err(ValidationError::request(
            ProviderErrorKind::BadRequest,
            format!("anthropic-version: \"{version}\" is not a valid version"),
        )),
        None => Err(ValidationError::request(
            ProviderErrorKind::BadRequest,
            "anthropic-version: header is required",
        )),
    }
}

/// Converts an error into Anthropic's words.
pub(super) fn to_provider_error(wrong: &ValidationError) -> ProviderError {
    let at = wrong.dotted_path();
    let why = match &wrong.violation {
        Violation::Unknown => "Extra inputs are not permitted".to_owned(),
        Violation::Missing => "Field required".to_owned(),
        Violation::Not(kind) => format!("Input should be a valid {kind}"),
        Violation::Empty => {
            "List should have at least 1 item, String should have at least 1 character".to_owned()
        }
        Violation::Rule(message, _) | Violation::Request(_, message) => message.clone(),
    };
    let message = if at.is_empty() {
        why
    } else {
        format!("{at}: {why}")
    };
    ProviderError::new(ProviderErrorKind::BadRequest, message)
}

/// Renders an error in Anthropic's format.
pub(super) fn error_response(trouble: &ProviderError, id: &str) -> ErrorResponse {
    let (status, kind) = match trouble.kind {
        ProviderErrorKind::BadRequest
        | ProviderErrorKind::ContextTooLong
        | ProviderErrorKind::Filtered => (400, "invalid_request_error"),
        ProviderErrorKind::Unauthenticated => (401, "authentication_error"),
        ProviderErrorKind::Forbidden => (403, "permission_error"),
        ProviderErrorKind::NotFound => (404, "not_found_error"),
        ProviderErrorKind::TooLarge => (413, "request_too_large"),
        ProviderErrorKind::RateLimited | ProviderErrorKind::SpendLimit => (429, "rate_limit_error"),
        ProviderErrorKind::Overloaded => (529, "overloaded_error"),
        ProviderErrorKind::Unavailable => (503, "api_error"),
        ProviderErrorKind::Internal => (500, "api_error"),
    };
    let mut error = json!({"type": kind, "message": trouble.message});
    if trouble.kind == ProviderErrorKind::SpendLimit
        && let Some(fields) = error.as_object_mut()
    {
        let details = json!({"error_code": "enforced_spend_limit_reached"});
        fields.insert("details".to_owned(), details);
    }
    let mut headers = trouble.retry_after.headers();
    headers.push(("request-id", format!("req_{id}")));
    if trouble.kind == ProviderErrorKind::SpendLimit {
        headers.push(("x-should-retry", "false".to_owned()));
    }
    ErrorResponse {
        status,
        headers,
        body: json!({"type": "error", "error": error, "request_id": format!("req_{id}")}),
    }
}
