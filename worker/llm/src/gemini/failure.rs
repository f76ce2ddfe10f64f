//! Classifies errors of Gemini.
//!
//! `error.status` is a canonical code of Google's APIs. `details` hold the time to wait (`RetryInfo`), the exceeded
//! quota (`QuotaFailure`) and the problem of a key (`ErrorInfo`).

use std::time::Duration;

use crate::chat::{ChatError, ChatFailure};
use serde_json::Value;

use crate::http::{ErrorBuilder, HttpReply, duration_from_secs, status_failure};

/// Returns the error of an answer with an error status.
pub(super) async fn from_reply(reply: &mut HttpReply) -> ChatError {
    let after = reply.retry_after();
    let body = match reply.read_body().await {
        Ok(body) => body,
        Err(error) => return error,
    };
    let fallback = status_failure(reply.status, after);
    let body = serde_json::from_slice::<Value>(&body).map_err(|_| body);
    // Some servers put the error into a list with one element.
    match &body {
        Ok(value) => match value.get(0).unwrap_or(value).get("error") {
            Some(error) => classify_error(error, fallback, &reply.errors),
            None => reply
                .errors
                .build(fallback, &format!("{}: {value}", reply.status)),
        },
        Err(bytes) => reply.errors.build(
            fallback,
            &format!("{}: {}", reply.status, String::from_utf8_lossy(bytes)),
        ),
    }
}

/// Returns the error of an answer that began with a good status.
pub(super) fn from_stream_error(error: &Value, errors: &ErrorBuilder) -> ChatError {
    classify_error(error, ChatFailure::Overloaded { after: None }, errors)
}

/// Classifies an error in Google's format.
pub(crate) fn classify_error(
    error: &Value,
    fallback: ChatFailure,
    errors: &ErrorBuilder,
) -> ChatError {
    let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
    let details: &[Value] = error
        .get("details")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice);
    let words = text("message");
    let after = details
        .iter()
        .find_map(retry_delay)
        .or(fallback.retry_after());
    let failure = failure_from_details(details)
        .or_else(|| failure_from_message(words))
        .or_else(|| failure_from_status(text("status"), after))
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

fn failure_from_status(status: &str, after: Option<Duration>) -> Option<ChatFailure> {
    Some(match status {
        "RESOURCE_EXHAUSTED" => ChatFailure::RateLimited { after },
        "UNAUTHENTICATED" | "PERMISSION_DENIED" => ChatFailure::Auth,
        "UNAVAILABLE" | "INTERNAL" | "ABORTED" | "UNKNOWN" => ChatFailure::Overloaded { after },
        "DEADLINE_EXCEEDED" | "CANCELLED" => ChatFailure::Timeout,
        "INVALID_ARGUMENT"
        | "NOT_FOUND"
        | "FAILED_PRECONDITION"
        | "OUT_OF_RANGE"
        | "UNIMPLEMENTED" => ChatFailure::BadRequest,
        _ => return None,
    })
}

fn failure_from_details(details: &[Value]) -> Option<ChatFailure> {
    details.iter().find_map(
        |detail| match detail.get("reason").and_then(Value::as_str) {
            Some("API_KEY_INVALID" | "API_KEY_SERVICE_BLOCKED" | "ACCESS_TOKEN_EXPIRED") => {
                Some(ChatFailure::Auth)
            }
            Some("BILLING_DISABLED") => Some(ChatFailure::Quota),
            _ => is_daily_quota(detail).then_some(ChatFailure::Quota),
        },
    )
}

/// Returns whether a daily quota was exceeded, for which a short wait does not help.
fn is_daily_quota(detail: &Value) -> bool {
    let violations = detail.get("violations").and_then(Value::as_array);
    violations.is_some_and(|violations| {
        violations.iter().any(|violation| {
            violation
                .get("quotaId")
                .and_then(Value::as_str)
                .is_some_and(|quota| quota.contains("PerDay"))
        })
    })
}

fn failure_from_message(words: &str) -> Option<ChatFailure> {
    let words = words.to_lowercase();
    let long = words.contains("input token count") && words.contains("exceeds");
    (long || words.contains("exceeds the maximum number of tokens"))
        .then_some(ChatFailure::ContextTooLong)
}

/// Parses `"retryDelay": "37s"`, also with a fraction.
fn retry_delay(detail: &Value) -> Option<Duration> {
    let delay = detail.get("retryDelay").and_then(Value::as_str)?;
    duration_from_secs(delay.strip_suffix('s')?.parse().ok()?)
}
