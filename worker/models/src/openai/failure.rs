//! What an error of a chat completion server means.
//!
//! Codes count before words; words only where servers give no code. Facts: OpenAI's error codes guide, Azure's content
//! filter and rate limit pages, OpenRouter's page on errors, the error bodies of vLLM, llama.cpp, LiteLLM, Groq and DeepSeek.

use std::time::Duration;

use nightshift_analyst::chat::{ChatAnswer, ChatError, Failure, Part, Usage};
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::answer::Read;
use crate::gemini;
use crate::http::{Errors, Reply, seconds, status_failure};

/// The error of an answer that says so by its status; or the answer that it is nevertheless.
///
/// # Errors
///
/// In all other cases.
pub(super) async fn of(reply: &mut Reply) -> Result<ChatAnswer, ChatError> {
    let after = reply.after().or_else(|| after_reset(&reply.headers));
    let body = reply.whole().await?;
    let fallback = status_failure(reply.status, after);
    Err(match serde_json::from_slice::<Value>(&body) {
        Ok(body) => {
            // Gemini's servers put the error into a list of one.
            let body = body.get(0).unwrap_or(&body);
            let error = body
                .get("error")
                .filter(|error| !error.is_null())
                .unwrap_or(body);
            if let Some(text) = slip(error) {
                let said = Read {
                    parts: vec![Part::text(text)],
                    usage: Usage::default(),
                    id: None,
                };
                return said.finish(&reply.errors, None);
            }
            read(error, fallback, &reply.errors)
        }
        Err(_) => {
            let words = format!("{}: {}", reply.status, String::from_utf8_lossy(&body));
            reply.errors.make(fallback, &words)
        }
    })
}

/// What a model said that is no call and no JSON to the schema, which Groq tells as a fault of the request. It is an answer
/// like any that cannot be read: the model is shown it, and mends it once.
fn slip(error: &Value) -> Option<&str> {
    let code = error.get("code").and_then(Value::as_str)?;
    let said = error.get("failed_generation").and_then(Value::as_str)?;
    matches!(of_code(code), Some(Failure::Malformed)).then_some(said)
}

/// The error of an answer that began well. Gateways and servers put into it the status that they could not send any more
/// (OpenRouter, LiteLLM, vLLM, SGLang).
pub(super) fn of_error(error: &Value, errors: &Errors) -> ChatError {
    let told = ["code", "status"].map(|key| error.get(key).and_then(status));
    let told = told.into_iter().flatten().next();
    let fallback = told.map_or(Failure::Overloaded { after: None }, |status| {
        status_failure(status, None)
    });
    read(error, fallback, errors)
}

/// The status of a failure: a number, or its three digits as text.
fn status(value: &Value) -> Option<StatusCode> {
    let number = match value {
        Value::String(text) if text.len() == 3 => text.parse().ok()?,
        value => u16::try_from(value.as_u64()?).ok()?,
    };
    let status = StatusCode::from_u16(number).ok()?;
    (status.is_client_error() || status.is_server_error()).then_some(status)
}

fn read(error: &Value, fallback: Failure, errors: &Errors) -> ChatError {
    let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
    if is_googles(text("status")) {
        return gemini::error(error, fallback, errors);
    }
    let words = match error {
        Value::String(words) => words.as_str(),
        _ => [text("message"), text("detail")]
            .into_iter()
            .find(|words| !words.is_empty())
            .unwrap_or_default(),
    };
    let codes = [
        text("code"),
        text("type"),
        error
            .pointer("/innererror/code")
            .and_then(Value::as_str)
            .unwrap_or_default(),
    ];
    let failure = codes
        .iter()
        .find_map(|code| of_code(code))
        .or_else(|| was_flagged(error).then_some(Failure::Filtered))
        .or_else(|| of_words(words))
        .unwrap_or(fallback);
    let shown = if words.is_empty() {
        error.to_string()
    } else {
        words.to_owned()
    };
    // The parameter names what a server does not know, such as `response_format`.
    let shown = match text("param") {
        "" => shown,
        param => format!("{shown} ({param})"),
    };
    errors.make(failure, &shown)
}

/// Whether it is a canonical code of Google's APIs: then the error is one of Gemini's, and tells a minute's quota from money.
fn is_googles(status: &str) -> bool {
    let is_of_a_code = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    !status.is_empty() && status.bytes().all(is_of_a_code)
}

/// What OpenRouter says of a prompt that a moderation stopped, with the status of a key that may not.
fn was_flagged(error: &Value) -> bool {
    error.pointer("/metadata/flagged_input").is_some()
}

fn of_code(code: &str) -> Option<Failure> {
    Some(match code {
        "insufficient_quota"
        | "billing_hard_limit_reached"
        | "billing_not_active"
        | "insufficient_balance" => Failure::Quota,
        "context_length_exceeded" | "exceed_context_size_error" | "string_above_max_length" => {
            Failure::ContextTooLong
        }
        "content_filter"
        | "content_policy_violation"
        | "ResponsibleAIPolicyViolation"
        | "cyber_policy"
        | "bio_policy"
        | "misalignment_policy_violation"
        | "invalid_prompt" => Failure::Filtered,
        "invalid_api_key" | "invalid_organization" | "account_deactivated" => Failure::Auth,
        "tool_use_failed" | "json_validate_failed" => Failure::Malformed,
        "model_not_found" | "DeploymentNotFound" => Failure::BadRequest,
        _ => return None,
    })
}

fn of_words(words: &str) -> Option<Failure> {
    let words = words.to_lowercase();
    let says = |needles: &[&str]| needles.iter().any(|needle| words.contains(needle));
    if says(&[
        "maximum context length",
        "context window",
        "available context size",
        "prompt is too long",
        "longer than the model's context length",
        "longer than the maximum model length",
        "too long to fit into the model",
        "request too large",
    ]) {
        Some(Failure::ContextTooLong)
    } else if says(&[
        "insufficient balance",
        "exceeded your current quota",
        "budget has been exceeded",
    ]) {
        Some(Failure::Quota)
    } else {
        None
    }
}

/// When the limit that is used up begins anew: `x-ratelimit-reset-requests` and `-tokens`, as `1s`, `6m0s` or `20ms`.
fn after_reset(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: String| headers.get(name).and_then(|value| value.to_str().ok());
    ["requests", "tokens"]
        .into_iter()
        .filter(|what| {
            text(format!("x-ratelimit-remaining-{what}")).is_some_and(|left| left.trim() == "0")
        })
        .filter_map(|what| span(text(format!("x-ratelimit-reset-{what}"))?.trim()))
        .max()
}

fn span(text: &str) -> Option<Duration> {
    let mut secs = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|letter: char| letter.is_ascii_alphabetic())?;
        let (number, after) = rest.split_at_checked(end)?;
        let unit = after
            .find(|letter: char| !letter.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (unit, next) = after.split_at_checked(unit)?;
        let scale = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        secs += number.parse::<f64>().ok()? * scale;
        rest = next;
    }
    seconds(secs)
}
