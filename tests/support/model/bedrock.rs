//! Implements Amazon Bedrock's Converse API: signatures and errors. Submodules have the other parts of the format. The
//! source is the service model of botocore (bedrock-runtime), and the errors that people quote in public issues.

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

/// Checks for a bearer token, or for a signature that covers the required headers. The signature itself is not
/// computed, since the AWS SDKs make it and the fake does not have the secret.
fn authenticate(request: &Request) -> Result<(), ValidationError> {
    if let Some(token) = request.bearer() {
        return if is_wrong_key(token) {
            Err(ValidationError::request(
                ProviderErrorKind::Forbidden,
                "The security token included in the request is invalid.",
            ))
        } else {
            Ok(())
        };
    }
    let Some(header) = request.header("authorization") else {
        return Err(ValidationError::request(
            ProviderErrorKind::Forbidden,
            "Missing Authentication Token",
        ));
    };
    let signed = header.starts_with("AWS4-HMAC-SHA256 ")
        && [
            "Credential=",
            "/bedrock/aws4_request",
            "SignedHeaders=",
            "host",
            "x-amz-date",
            "Signature=",
        ]
        .iter()
        .all(|part| header.contains(part))
        && request.header("x-amz-date").is_some();
    if signed {
        return Ok(());
    }
    Err(ValidationError::request(
        ProviderErrorKind::Forbidden,
        "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.",
    ))
}

/// Converts an error into Amazon's words.
pub(super) fn to_provider_error(wrong: &ValidationError) -> ProviderError {
    let at = wrong.dotted_path();
    let message = match &wrong.violation {
        Violation::Unknown => format!(
            "The model returned the following errors: #/{at}: extraneous key [{}] is not permitted",
            wrong.name()
        ),
        Violation::Missing => format!(
            "1 validation error detected: Value null at '{at}' failed to satisfy constraint: Member must not be null"
        ),
        Violation::Not(kind) => format!("{at}: expected {kind}"),
        Violation::Empty => format!(
            "1 validation error detected: Value at '{at}' failed to satisfy constraint: Member must have length greater than or equal to 1"
        ),
        Violation::Rule(message, _) | Violation::Request(_, message) => message.clone(),
    };
    ProviderError::new(ProviderErrorKind::BadRequest, message)
}

/// Renders an error in Amazon's format, with its type in a header.
pub(super) fn error_response(trouble: &ProviderError, id: &str) -> ErrorResponse {
    let (status, kind) = match trouble.kind {
        ProviderErrorKind::BadRequest
        | ProviderErrorKind::ContextTooLong
        | ProviderErrorKind::Filtered
        | ProviderErrorKind::TooLarge => (400, "ValidationException"),
        ProviderErrorKind::Unauthenticated | ProviderErrorKind::Forbidden => {
            (403, "AccessDeniedException")
        }
        ProviderErrorKind::NotFound => (404, "ResourceNotFoundException"),
        ProviderErrorKind::RateLimited | ProviderErrorKind::SpendLimit => {
            (429, "ThrottlingException")
        }
        ProviderErrorKind::Overloaded | ProviderErrorKind::Unavailable => {
            (503, "ServiceUnavailableException")
        }
        ProviderErrorKind::Internal => (500, "InternalServerException"),
    };
    let kind = match trouble.message.as_str() {
        "Missing Authentication Token" => "MissingAuthenticationTokenException",
        text if text.starts_with("The security token") => "UnrecognizedClientException",
        text if text.starts_with("The request signature") => "InvalidSignatureException",
        _ => kind,
    };
    let mut headers = trouble.retry_after.headers();
    headers.push(("x-amzn-errortype", kind.to_owned()));
    headers.push(("x-amzn-requestid", id.to_owned()));
    ErrorResponse {
        status,
        headers,
        body: json!({"message": trouble.message}),
    }
}
