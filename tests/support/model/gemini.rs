//! Google's `generateContent` at the Gemini API and Vertex: keys and errors. Submodules have the other parts of the
//! format. Source: the types and converters of the official Python SDK (google-genai 3), and the API reference.

mod contents;
mod render;
mod spelling;
mod tools;
mod validate;

use serde_json::{Value, json};

use super::check::{What, Wrong};
use super::wire::{Refused, Request, is_wrong_key};
use super::{Kind, Provider, Trouble};

pub(super) use render::render;
pub(super) use validate::check;

fn authenticate(request: &Request) -> Result<(), Wrong> {
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
        Some(_) if !vertex => Err(Wrong::request(
            Kind::BadRequest,
            "API key not valid. Please pass a valid API key.",
        )),
        None if !vertex => Err(Wrong::request(
            Kind::Forbidden,
            "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
        )),
        _ => Err(Wrong::request(
            Kind::Unauthenticated,
            "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.",
        )),
    }
}

/// Converts an error into Google's words.
pub(super) fn worded(wrong: &Wrong) -> Trouble {
    let at = wrong.bracketed();
    let message = match &wrong.what {
        What::Unknown => {
            let parent = wrong.at.rsplit_once('/').map_or("", |(parent, _)| parent);
            let parent = Wrong {
                at: parent.to_owned(),
                what: What::Unknown,
            };
            let place = parent.bracketed();
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
        What::Missing | What::Empty => {
            format!(
                "* GenerateContentRequest.{at}: {} is not specified",
                wrong.name()
            )
        }
        What::Not(kind) => format!("Invalid value at '{at}', expected {kind}"),
        What::Rule(message, _) if at.is_empty() => message.clone(),
        What::Rule(message, _) => format!("* GenerateContentRequest.{at}: {message}"),
        What::Request(_, message) => message.clone(),
    };
    Trouble::new(Kind::BadRequest, message)
}

/// Renders an error in Google's format.
pub(super) fn refuse(trouble: &Trouble) -> Refused {
    let (code, status) = match trouble.kind {
        Kind::BadRequest | Kind::ContextTooLong | Kind::Filtered | Kind::TooLarge => {
            (400, "INVALID_ARGUMENT")
        }
        Kind::Unauthenticated => (401, "UNAUTHENTICATED"),
        Kind::Forbidden => (403, "PERMISSION_DENIED"),
        Kind::NotFound => (404, "NOT_FOUND"),
        Kind::RateLimited | Kind::SpendLimit => (429, "RESOURCE_EXHAUSTED"),
        Kind::Overloaded | Kind::Unavailable => (503, "UNAVAILABLE"),
        Kind::Internal => (500, "INTERNAL"),
    };
    let mut error = json!({"code": code, "message": trouble.message, "status": status});
    let details = details(trouble);
    if !details.is_empty()
        && let Some(fields) = error.as_object_mut()
    {
        fields.insert("details".to_owned(), Value::Array(details));
    }
    // The details contain the wait, except for a date, which needs a header.
    let headers = match trouble.wait.google() {
        Some(_) => Vec::new(),
        None => trouble.wait.headers(),
    };
    Refused {
        status: code,
        headers,
        body: json!({"error": error}),
    }
}

fn details(trouble: &Trouble) -> Vec<Value> {
    let mut details = Vec::new();
    let quota = match trouble.kind {
        Kind::RateLimited => "GenerateRequestsPerMinutePerProjectPerModel",
        Kind::SpendLimit => "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
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
    if let Some(delay) = trouble.wait.google() {
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
