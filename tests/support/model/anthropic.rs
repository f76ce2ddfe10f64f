//! Anthropic's Messages API: keys, versions and errors. Submodules have the other parts of the format. Source: the
//! types of the official Python SDK (anthropic 2), its error classes, and the API reference.

mod messages;
mod render;
mod tools;
mod validate;

use serde_json::json;

use super::check::{What, Wrong};
use super::wire::{Refused, Request, is_wrong_key};
use super::{Kind, Trouble};

pub(super) use render::render;
pub(super) use validate::check;

/// Since this version no model accepts sampling parameters. With an older version it depends on the model.
const NEWEST: &str = "2026-10-21";
const VERSIONS: [&str; 3] = [NEWEST, "2023-06-01", "2023-01-01"];

fn authenticate(request: &Request) -> Result<(), Wrong> {
    let key = request.header("x-api-key").or_else(|| request.bearer());
    match key {
        Some(key) if is_wrong_key(key) => {
            Err(Wrong::request(Kind::Unauthenticated, "invalid x-api-key"))
        }
        Some(_) => Ok(()),
        None => Err(Wrong::request(
            Kind::Unauthenticated,
            "x-api-key header is required",
        )),
    }
}

/// Returns whether the request has the newest version.
fn is_newest(request: &Request) -> Result<bool, Wrong> {
    match request.header("anthropic-version") {
        Some(version) if VERSIONS.contains(&version) => Ok(version == NEWEST),
        Some(version) => Err(Wrong::request(
            Kind::BadRequest,
            format!("anthropic-version: \"{version}\" is not a valid version"),
        )),
        None => Err(Wrong::request(
            Kind::BadRequest,
            "anthropic-version: header is required",
        )),
    }
}

/// Converts an error into Anthropic's words.
pub(super) fn worded(wrong: &Wrong) -> Trouble {
    let at = wrong.dotted();
    let why = match &wrong.what {
        What::Unknown => "Extra inputs are not permitted".to_owned(),
        What::Missing => "Field required".to_owned(),
        What::Not(kind) => format!("Input should be a valid {kind}"),
        What::Empty => {
            "List should have at least 1 item, String should have at least 1 character".to_owned()
        }
        What::Rule(message, _) | What::Request(_, message) => message.clone(),
    };
    let message = if at.is_empty() {
        why
    } else {
        format!("{at}: {why}")
    };
    Trouble::new(Kind::BadRequest, message)
}

/// Renders an error in Anthropic's format.
pub(super) fn refuse(trouble: &Trouble, id: &str) -> Refused {
    let (status, kind) = match trouble.kind {
        Kind::BadRequest | Kind::ContextTooLong | Kind::Filtered => (400, "invalid_request_error"),
        Kind::Unauthenticated => (401, "authentication_error"),
        Kind::Forbidden => (403, "permission_error"),
        Kind::NotFound => (404, "not_found_error"),
        Kind::TooLarge => (413, "request_too_large"),
        Kind::RateLimited | Kind::SpendLimit => (429, "rate_limit_error"),
        Kind::Overloaded => (529, "overloaded_error"),
        Kind::Unavailable => (503, "api_error"),
        Kind::Internal => (500, "api_error"),
    };
    let mut error = json!({"type": kind, "message": trouble.message});
    if trouble.kind == Kind::SpendLimit
        && let Some(fields) = error.as_object_mut()
    {
        let details = json!({"error_code": "enforced_spend_limit_reached"});
        fields.insert("details".to_owned(), details);
    }
    let mut headers = trouble.wait.headers();
    headers.push(("request-id", format!("req_{id}")));
    if trouble.kind == Kind::SpendLimit {
        headers.push(("x-should-retry", "false".to_owned()));
    }
    Refused {
        status,
        headers,
        body: json!({"type": "error", "error": error, "request_id": format!("req_{id}")}),
    }
}
