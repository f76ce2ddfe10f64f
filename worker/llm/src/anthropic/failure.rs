//! Classifies errors of Messages.
//!
//! `error.details.error_code` counts first, then `error.type`, then the status. The SDK warns that messages change,
//! but a prompt that is too long and a filtered answer have no code, so their messages are matched.

use crate::chat::{ChatError, Failure};
use serde_json::Value;

use crate::http::{Errors, Reply, status_failure};

/// Returns the error of an answer with an error status.
pub(super) async fn of(reply: &mut Reply) -> ChatError {
    let after = reply.after();
    let body = match reply.whole().await {
        Ok(body) => body,
        Err(error) => return error,
    };
    let fallback = status_failure(reply.status, after);
    match serde_json::from_slice::<Value>(&body)
        .ok()
        .as_ref()
        .and_then(|body| body.get("error"))
    {
        Some(error) => read(error, fallback, &reply.errors),
        None => reply.errors.make(
            fallback,
            &format!("{}: {}", reply.status, String::from_utf8_lossy(&body)),
        ),
    }
}

/// Returns the error of an answer that began with a good status.
pub(super) fn of_error(error: &Value, errors: &Errors) -> ChatError {
    read(error, Failure::Overloaded { after: None }, errors)
}

fn read(error: &Value, fallback: Failure, errors: &Errors) -> ChatError {
    let text = |pointer: &str| {
        error
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let words = text("/message");
    let failure = of_code(text("/details/error_code"))
        .or_else(|| of_words(words))
        .or_else(|| of_type(text("/type"), fallback))
        .unwrap_or(fallback);
    errors.make(
        failure,
        if words.is_empty() {
            "the provider gave no reason"
        } else {
            words
        },
    )
}

fn of_code(code: &str) -> Option<Failure> {
    Some(match code {
        "contract_spend_limit_reached"
        | "enforced_spend_limit_reached"
        | "linked_organization_spend_limit_reached"
        | "linked_organization_billing_unavailable"
        | "user_profile_billing_not_authorized" => Failure::Quota,
        "organization_on_hold" => Failure::Auth,
        "request_body_too_large_after_decoding" => Failure::ContextTooLong,
        _ => return None,
    })
}

/// Returns the failure for an error type. The time to wait is in the headers, which are already part of `fallback`.
fn of_type(kind: &str, fallback: Failure) -> Option<Failure> {
    let after = fallback.after();
    Some(match kind {
        "authentication_error" | "permission_error" => Failure::Auth,
        "billing_error" => Failure::Quota,
        "rate_limit_error" => Failure::RateLimited { after },
        "overloaded_error" | "api_error" => Failure::Overloaded { after },
        "timeout_error" => Failure::Timeout,
        "request_too_large" => Failure::ContextTooLong,
        "invalid_request_error" | "not_found_error" => Failure::BadRequest,
        _ => return None,
    })
}

/// Returns the failure for an error message, where there is no code.
fn of_words(words: &str) -> Option<Failure> {
    let words = words.to_lowercase();
    let says = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
    if says(&[
        "prompt is too long",
        "exceed context limit",
        "context window",
    ]) {
        Some(Failure::ContextTooLong)
    } else if says(&["api usage limits"]) {
        // A limit that the organisation or a workspace set itself: "You have reached your specified API usage
        // limits."
        Some(Failure::Quota)
    } else if says(&["content filtering policy"]) {
        Some(Failure::Filtered)
    } else {
        None
    }
}
