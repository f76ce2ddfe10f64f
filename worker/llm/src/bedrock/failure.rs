//! Classifies errors of Bedrock.
//!
//! The service's exceptions count by their code. An error without one (a proxy's page, for example) counts by its
//! status.

use crate::chat::{ChatError, ChatFailure};
use aws_sdk_bedrockruntime::config::http::HttpResponse;
use aws_sdk_bedrockruntime::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_bedrockruntime::operation::converse::ConverseError;
use nightshift_engine::error_chain::format_error_chain;
use reqwest::StatusCode;

use super::connector::BodyError;
use crate::http::{ErrorBuilder, causes, retry_after, status_failure};

pub(super) fn from_sdk_error(
    error: &SdkError<ConverseError, HttpResponse>,
    errors: &ErrorBuilder,
) -> ChatError {
    match error {
        SdkError::TimeoutError(_) => errors.build(ChatFailure::Timeout, "no answer in time"),
        SdkError::ServiceError(service) => from_service_error(service.err(), service.raw(), errors),
        SdkError::ResponseError(response) => {
            let failure = failure_from_status(response.raw()).unwrap_or(ChatFailure::Malformed);
            errors.build(
                failure,
                &format!("the answer cannot be read: {}", format_error_chain(error)),
            )
        }
        SdkError::DispatchFailure(dispatch) => {
            let words = format_error_chain(error);
            let failure = if matches!(find_body_error(error), Some(BodyError::TooLong { .. })) {
                ChatFailure::Malformed
            } else if dispatch.is_timeout() {
                ChatFailure::Timeout
            } else if dispatch.is_io() {
                ChatFailure::Unreachable
            } else {
                // The other errors mean that the identity could not be resolved.
                ChatFailure::Auth
            };
            errors.build(failure, &words)
        }
        // Nothing was sent: credentials or region are missing.
        _ => errors.build(ChatFailure::Auth, &format_error_chain(error)),
    }
}

/// Returns the number of bytes that arrived before an answer broke.
pub(super) fn received_bytes(error: &SdkError<ConverseError, HttpResponse>) -> usize {
    match find_body_error(error) {
        Some(BodyError::TooLong { came } | BodyError::Interrupted { came, .. }) => *came,
        None => 0,
    }
}

fn find_body_error(error: &SdkError<ConverseError, HttpResponse>) -> Option<&BodyError> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

fn from_service_error(
    error: &ConverseError,
    raw: &HttpResponse,
    errors: &ErrorBuilder,
) -> ChatError {
    let words = error.message().unwrap_or("the service gave no reason");
    let after = wait_from_headers(raw);
    let failure = match error.code().unwrap_or_default() {
        "ThrottlingException" | "TooManyRequestsException"
            if words.to_lowercase().contains("per day") =>
        {
            ChatFailure::Quota
        }
        "ThrottlingException" | "TooManyRequestsException" => ChatFailure::RateLimited { after },
        "ServiceQuotaExceededException" => ChatFailure::Quota,
        "ModelNotReadyException"
        | "InternalServerException"
        | "ServiceUnavailableException"
        | "ModelErrorException" => ChatFailure::Overloaded { after },
        "ModelTimeoutException" => ChatFailure::Timeout,
        "AccessDeniedException"
        | "UnrecognizedClientException"
        | "ExpiredTokenException"
        | "InvalidSignatureException"
        | "IncompleteSignatureException"
        | "MissingAuthenticationTokenException" => ChatFailure::Auth,
        "ValidationException" if is_too_long(words) => ChatFailure::ContextTooLong,
        "ValidationException" | "ResourceNotFoundException" => ChatFailure::BadRequest,
        _ => failure_from_status(raw).unwrap_or(ChatFailure::Malformed),
    };
    errors.build(failure, words)
}

fn is_too_long(words: &str) -> bool {
    let words = words.to_lowercase();
    [
        "too long",
        "too many input tokens",
        "maximum context length",
        "context window",
    ]
    .iter()
    .any(|part| words.contains(part))
}

fn wait_from_headers(raw: &HttpResponse) -> Option<std::time::Duration> {
    let headers = raw.headers().iter().filter_map(|(name, value)| {
        Some((
            name.parse::<reqwest::header::HeaderName>().ok()?,
            value.parse().ok()?,
        ))
    });
    retry_after(&headers.collect())
}

/// Returns the failure for an error status, or `None` for a good one.
fn failure_from_status(raw: &HttpResponse) -> Option<ChatFailure> {
    let status = StatusCode::from_u16(raw.status().as_u16()).ok()?;
    (!status.is_success()).then(|| status_failure(status, wait_from_headers(raw)))
}
