//! Classifies errors of Messages.
//!
//! `error.details.error_code` counts first, then `error.type`, then the status. The SDK warns that messages change,
//! but a prompt that is too long and a filtered answer have no code, so their messages are matched.

use crate::chat::{ChatError, ChatFailure};
use serde_json::Value;

use crate::http::{ErrorBuilder, HttpReply, status_failure};

/// Returns the error of an answer with an error status.
pub(super) async fn from_reply(reply: &mut HttpReply) -> ChatError {
    let after = reply.retry_after();
    let body = match reply.read_body().await {
        Ok(body) => body,
        Err(error) => return error,
    };
    let fallback = status_failure(reply.status, after);
    match serde_json::from_slice::<Value>(&body)
        .ok()
        .as_ref()
        .and_then(|body| body.get("error"))
    {
        Some(error) => classify_error(error, fallback, &reply.errors),
        None => reply.errors.build(
            fallback,
            &format!("{}: {}", reply.status, String::from_utf8_lossy(&body)),
        ),
    }
}

/// Returns the error of an answer that began with a good status.
pub(super) fn from_stream_error(error: &Value, errors: &ErrorBuilder) -> ChatError {
    classify_error(error, ChatFailure::Overloaded { after: None }, errors)
}

fn classify_error(error: &Value, fallback: ChatFailure, errors: &ErrorBuilder) -> ChatError {
    let text = |pointer: &str| {
        error
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let words = text("/message");
    let failure = failure_from_code(text("/details/error_code"))
        .or_else(|| failure_from_message(words))
        .or_else(|| failure_from_type(text("/type"), fallback))
        .unwrap_or(fallback);
    errors.build(
        failure,
        if words.is_empty() {
            "the provider gave no reason"
        } else {
            words
        },
    )
}

fn failure_from_code(code: &str) -> Option<ChatFailure> {
    Some(match code {
        "contract_spend_limit_reached"
        | "enforced_spend_limit_reached"
        | "linked_organization_spend_limit_reached"
        | "linked_organization_billing_unavailable"
        | "user_profile_billing_not_authorized" => ChatFailure::Quota,
        "organization_on_hold" => ChatFailure::Auth,
        "request_body_too_large_after_decoding" => ChatFailure::ContextTooLong,
        _ => return None,
    })
}

/// Returns the failure for an error type. The time to wait is in the headers, which are already part of `fallback`.
fn failure_from_type(kind: &str, fallback: ChatFailure) -> Option<ChatFailure> {
    let after = fallback.retry_after();
    Some(match kind {
        "authentication_error" | "permission_error" => ChatFailure::Auth,
        "billing_error" => ChatFailure::Quota,
        "rate_limit_error" => ChatFailure::RateLimited { after },
        "overloaded_error" | "api_error" => ChatFailure::Overloaded { after },
        "timeout_error" => ChatFailure::Timeout,
        "request_too_large" => ChatFailure::ContextTooLong,
        "invalid_request_error" | "not_found_error" => ChatFailure::BadRequest,
        _ => return None,
    })
}

/// Returns the failure for an error message, where there is no code.
fn failure_from_message(words: &str) -> Option<ChatFailure> {
    let words = words.to_lowercase();
    let says = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
    if says(&[
        "prompt is too long",
        "exceed context limit",
        "context window",
    ]) {
        Some(ChatFailure::ContextTooLong)
    } else if says(&["api usage limits"]) {
        // A limit that the organisation or a workspace set itself: "You have reached your specified API usage
        // limits."
        Some(ChatFailure::Quota)
    } else if says(&["content filtering policy"]) {
        Some(ChatFailure::Filtered)
    } else {
        None
    }
}
