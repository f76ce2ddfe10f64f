//! Classifies errors of chat completion servers.
//!
//! Codes count before messages; messages count only where servers give no code. Facts: OpenAI's error codes guide,
//! Azure's content filter and rate limit pages, OpenRouter's page on errors, the error bodies of vLLM, llama.cpp,
//! LiteLLM, Groq and DeepSeek.

use std::time::Duration;

use crate::chat::{ChatAnswer, ChatError, ChatFailure, ChatPart, Usage};
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::answer::AdapterAnswer;
use crate::gemini;
use crate::http::{
    ErrorBuilder, HEADER_PREFIXES, HttpReply, duration_from_secs, header_text, status_failure,
};
use crate::quirks::Quirks;

/// Returns the error of an answer with an error status, or the answer that the error contains.
///
/// # Errors
///
/// Returns an error in all other cases.
pub(super) async fn from_reply(
    reply: &mut HttpReply,
    quirks: &Quirks,
) -> Result<ChatAnswer, ChatError> {
    let after = reply
        .retry_after()
        .or_else(|| rate_limit_reset(&reply.headers));
    let body = reply.read_body().await?;
    if quirks.may_be_litellm && lacks_key(reply, &body) {
        let words =
            "the server fails where no key is sent: LiteLLM's proxy does so when it wants one";
        return Err(reply.errors.build(ChatFailure::Auth, words));
    }
    let fallback = status_failure(reply.status, after);
    Err(match serde_json::from_slice::<Value>(&body) {
        Ok(body) => {
            // Gemini's servers put the error into a list with one element.
            let body = body.get(0).unwrap_or(&body);
            let error = body
                .get("error")
                .filter(|error| !error.is_null())
                .unwrap_or(body);
            if let Some(text) = failed_generation(error) {
                let said = AdapterAnswer {
                    parts: vec![ChatPart::text(text)],
                    usage: Usage::default(),
                    id: None,
                };
                return said.into_chat_answer(&reply.errors, None);
            }
            classify_error(error, fallback, &reply.errors)
        }
        Err(_) => {
            let words = format!("{}: {}", reply.status, String::from_utf8_lossy(&body));
            reply.errors.build(fallback, &words)
        }
    })
}

/// Returns whether this is LiteLLM's answer to a request without a key: 500 with only the name of that status, as
/// text or, since 1.100, as JSON.
fn lacks_key(reply: &HttpReply, body: &[u8]) -> bool {
    let body = String::from_utf8_lossy(body).to_lowercase();
    let words = match serde_json::from_str::<Value>(&body) {
        Ok(body) => body
            .pointer("/error/message")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        Err(_) => body,
    };
    reply.status == StatusCode::INTERNAL_SERVER_ERROR
        && !reply.errors.has_key()
        && words.trim() == "internal server error"
}

/// Returns a model's text that is neither a call nor JSON to the schema, which Groq reports as a bad request. The
/// text counts as an unreadable answer: the model is shown it and may correct it once.
fn failed_generation(error: &Value) -> Option<&str> {
    let code = error.get("code").and_then(Value::as_str)?;
    let said = error.get("failed_generation").and_then(Value::as_str)?;
    matches!(failure_from_code(code), Some(ChatFailure::Malformed)).then_some(said)
}

/// Returns the error of an answer that began with a good status. Gateways and servers put the status that they could
/// no longer send into it (OpenRouter, LiteLLM, vLLM, SGLang).
pub(super) fn from_stream_error(error: &Value, errors: &ErrorBuilder) -> ChatError {
    let told = ["code", "status"].map(|key| error.get(key).and_then(status));
    let told = told.into_iter().flatten().next();
    let fallback = told.map_or(ChatFailure::Overloaded { after: None }, |status| {
        status_failure(status, None)
    });
    classify_error(error, fallback, errors)
}

/// Returns the status of a failure: a number, or its three digits as text.
fn status(value: &Value) -> Option<StatusCode> {
    let number = match value {
        Value::String(text) if text.len() == 3 => text.parse().ok()?,
        value => u16::try_from(value.as_u64()?).ok()?,
    };
    let status = StatusCode::from_u16(number).ok()?;
    (status.is_client_error() || status.is_server_error()).then_some(status)
}

fn classify_error(error: &Value, fallback: ChatFailure, errors: &ErrorBuilder) -> ChatError {
    let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
    if is_google_status(text("status")) {
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
        .find_map(|code| failure_from_code(code))
        .or_else(|| is_unknown_key(&codes, fallback).then_some(ChatFailure::Auth))
        .or_else(|| is_flagged_input(error).then_some(ChatFailure::Filtered))
        .or_else(|| failure_from_message(words))
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
    let mut error = errors.build(failure, &shown);
    if failure == ChatFailure::Malformed {
        // The model has answered and must be paid, but the usage is unknown.
        error.usage.output_tokens = 1;
    }
    error
}

/// Returns whether a status is a canonical code of Google's APIs. Then the error has Gemini's format, which
/// distinguishes a minute's quota from money.
fn is_google_status(status: &str) -> bool {
    let is_of_a_code = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    !status.is_empty() && status.bytes().all(is_of_a_code)
}

/// Returns whether LiteLLM looked up a key other than its master key without a database. With status 503 the database
/// is temporarily unavailable.
fn is_unknown_key(codes: &[&str], fallback: ChatFailure) -> bool {
    fallback == ChatFailure::BadRequest && codes.contains(&"no_db_connection")
}

/// Returns whether OpenRouter's moderation stopped a prompt, which has the status of a forbidden key.
fn is_flagged_input(error: &Value) -> bool {
    error.pointer("/metadata/flagged_input").is_some()
}

fn failure_from_code(code: &str) -> Option<ChatFailure> {
    Some(match code {
        "insufficient_quota"
        | "billing_hard_limit_reached"
        | "billing_not_active"
        | "insufficient_balance"
        | "budget_exceeded" => ChatFailure::Quota,
        "context_length_exceeded" | "exceed_context_size_error" | "string_above_max_length" => {
            ChatFailure::ContextTooLong
        }
        "content_filter"
        | "content_policy_violation"
        | "ResponsibleAIPolicyViolation"
        | "cyber_policy"
        | "bio_policy"
        | "misalignment_policy_violation"
        | "invalid_prompt" => ChatFailure::Filtered,
        "invalid_api_key" | "invalid_organization" | "account_deactivated" => ChatFailure::Auth,
        "tool_use_failed" | "json_validate_failed" => ChatFailure::Malformed,
        "model_not_found" | "DeploymentNotFound" => ChatFailure::BadRequest,
        _ => return None,
    })
}

fn failure_from_message(words: &str) -> Option<ChatFailure> {
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
        Some(ChatFailure::ContextTooLong)
    } else if says(&[
        "insufficient balance",
        "exceeded your current quota",
        "budget has been exceeded",
    ]) {
        Some(ChatFailure::Quota)
    } else if says(&["model produced output that does not match the expected"]) {
        // llama.cpp reports an error of its own when the model's output does not fit its chat template.
        Some(ChatFailure::Malformed)
    } else {
        None
    }
}

/// Returns when the exceeded limit is reset: `x-ratelimit-reset-requests` and `-tokens`, as `1s`, `6m0s` or `20ms`.
fn rate_limit_reset(headers: &HeaderMap) -> Option<Duration> {
    let limits = HEADER_PREFIXES
        .into_iter()
        .flat_map(|prefix| ["requests", "tokens"].map(|what| (prefix, what)));
    limits
        .filter_map(|(prefix, what)| {
            let left = header_text(headers, prefix, &format!("x-ratelimit-remaining-{what}"))?;
            let reset = header_text(headers, prefix, &format!("x-ratelimit-reset-{what}"))?;
            (left == "0").then(|| parse_duration(reset))?
        })
        .max()
}

fn parse_duration(text: &str) -> Option<Duration> {
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
    duration_from_secs(secs)
}
