//! Classifies errors of Gemini.
//!
//! `error.status` is a canonical code of Google's APIs. `details` hold the time to wait (`RetryInfo`), the exceeded
//! quota (`QuotaFailure`) and the problem of a key (`ErrorInfo`).

use std::time::Duration;

use crate::chat::{ChatError, Failure};
use serde_json::Value;

use crate::http::{Errors, Reply, seconds, status_failure};

/// Returns the error of an answer with an error status.
pub(super) async fn of(reply: &mut Reply) -> ChatError {
    let after = reply.after();
    let body = match reply.whole().await {
        Ok(body) => body,
        Err(error) => return error,
    };
    let fallback = status_failure(reply.status, after);
    let body = serde_json::from_slice::<Value>(&body).map_err(|_| body);
    // Some servers put the error into a list of one.
    match &body {
        Ok(value) => match value.get(0).unwrap_or(value).get("error") {
            Some(error) => read(error, fallback, &reply.errors),
            None => reply
                .errors
                .make(fallback, &format!("{}: {value}", reply.status)),
        },
        Err(bytes) => reply.errors.make(
            fallback,
            &format!("{}: {}", reply.status, String::from_utf8_lossy(bytes)),
        ),
    }
}

/// Returns the error of an answer that began with a good status.
pub(super) fn of_error(error: &Value, errors: &Errors) -> ChatError {
    read(error, Failure::Overloaded { after: None }, errors)
}

/// Classifies an error in Google's format.
pub(crate) fn read(error: &Value, fallback: Failure, errors: &Errors) -> ChatError {
    let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
    let details: &[Value] = error
        .get("details")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice);
    let words = text("message");
    let after = details.iter().find_map(retry_info).or(fallback.after());
    let failure = of_details(details)
        .or_else(|| of_words(words))
        .or_else(|| of_status(text("status"), after))
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

fn of_status(status: &str, after: Option<Duration>) -> Option<Failure> {
    Some(match status {
        "RESOURCE_EXHAUSTED" => Failure::RateLimited { after },
        "UNAUTHENTICATED" | "PERMISSION_DENIED" => Failure::Auth,
        "UNAVAILABLE" | "INTERNAL" | "ABORTED" | "UNKNOWN" => Failure::Overloaded { after },
        "DEADLINE_EXCEEDED" | "CANCELLED" => Failure::Timeout,
        "INVALID_ARGUMENT"
        | "NOT_FOUND"
        | "FAILED_PRECONDITION"
        | "OUT_OF_RANGE"
        | "UNIMPLEMENTED" => Failure::BadRequest,
        _ => return None,
    })
}

fn of_details(details: &[Value]) -> Option<Failure> {
    details.iter().find_map(
        |detail| match detail.get("reason").and_then(Value::as_str) {
            Some("API_KEY_INVALID" | "API_KEY_SERVICE_BLOCKED" | "ACCESS_TOKEN_EXPIRED") => {
                Some(Failure::Auth)
            }
            Some("BILLING_DISABLED") => Some(Failure::Quota),
            _ => of_the_day(detail).then_some(Failure::Quota),
        },
    )
}

/// Returns whether a daily quota was exceeded, for which a short wait does not help.
fn of_the_day(detail: &Value) -> bool {
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

fn of_words(words: &str) -> Option<Failure> {
    let words = words.to_lowercase();
    let long = words.contains("input token count") && words.contains("exceeds");
    (long || words.contains("exceeds the maximum number of tokens"))
        .then_some(Failure::ContextTooLong)
}

/// Parses `"retryDelay": "37s"`, also with a fraction.
fn retry_info(detail: &Value) -> Option<Duration> {
    let delay = detail.get("retryDelay").and_then(Value::as_str)?;
    seconds(delay.strip_suffix('s')?.parse().ok()?)
}
