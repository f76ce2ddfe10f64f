//! Classifies errors of Bedrock.
//!
//! The service's exceptions count by their code. An error without one (a proxy's page, for example) counts by its
//! status.

use crate::chat::{ChatError, Failure};
use aws_sdk_bedrockruntime::config::http::HttpResponse;
use aws_sdk_bedrockruntime::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_bedrockruntime::operation::converse::ConverseError;
use nightshift_engine::causes::with_causes;
use reqwest::StatusCode;

use super::connector::Broken;
use crate::http::{Errors, causes, retry_after, status_failure};

pub(super) fn of(error: &SdkError<ConverseError, HttpResponse>, errors: &Errors) -> ChatError {
    match error {
        SdkError::TimeoutError(_) => errors.make(Failure::Timeout, "no answer in time"),
        SdkError::ServiceError(service) => of_service(service.err(), service.raw(), errors),
        SdkError::ResponseError(response) => {
            let failure = of_status(response.raw()).unwrap_or(Failure::Malformed);
            errors.make(
                failure,
                &format!("the answer cannot be read: {}", with_causes(error)),
            )
        }
        SdkError::DispatchFailure(dispatch) => {
            let words = with_causes(error);
            let failure = if matches!(broken(error), Some(Broken::TooLong { .. })) {
                Failure::Malformed
            } else if dispatch.is_timeout() {
                Failure::Timeout
            } else if dispatch.is_io() {
                Failure::Unreachable
            } else {
                // The other errors mean that the identity could not be resolved.
                Failure::Auth
            };
            errors.make(failure, &words)
        }
        // Nothing was sent: credentials or region are missing.
        _ => errors.make(Failure::Auth, &with_causes(error)),
    }
}

/// Returns the number of bytes that arrived before an answer broke.
pub(super) fn came(error: &SdkError<ConverseError, HttpResponse>) -> usize {
    match broken(error) {
        Some(Broken::TooLong { came } | Broken::Off { came, .. }) => *came,
        None => 0,
    }
}

fn broken(error: &SdkError<ConverseError, HttpResponse>) -> Option<&Broken> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

fn of_service(error: &ConverseError, raw: &HttpResponse, errors: &Errors) -> ChatError {
    let words = error.message().unwrap_or("the service gave no reason");
    let after = after(raw);
    let failure = match error.code().unwrap_or_default() {
        "ThrottlingException" | "TooManyRequestsException"
            if words.to_lowercase().contains("per day") =>
        {
            Failure::Quota
        }
        "ThrottlingException" | "TooManyRequestsException" => Failure::RateLimited { after },
        "ServiceQuotaExceededException" => Failure::Quota,
        "ModelNotReadyException"
        | "InternalServerException"
        | "ServiceUnavailableException"
        | "ModelErrorException" => Failure::Overloaded { after },
        "ModelTimeoutException" => Failure::Timeout,
        "AccessDeniedException"
        | "UnrecognizedClientException"
        | "ExpiredTokenException"
        | "InvalidSignatureException"
        | "IncompleteSignatureException"
        | "MissingAuthenticationTokenException" => Failure::Auth,
        "ValidationException" if too_long(words) => Failure::ContextTooLong,
        "ValidationException" | "ResourceNotFoundException" => Failure::BadRequest,
        _ => of_status(raw).unwrap_or(Failure::Malformed),
    };
    errors.make(failure, words)
}

fn too_long(words: &str) -> bool {
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

fn after(raw: &HttpResponse) -> Option<std::time::Duration> {
    let headers = raw.headers().iter().filter_map(|(name, value)| {
        Some((
            name.parse::<reqwest::header::HeaderName>().ok()?,
            value.parse().ok()?,
        ))
    });
    retry_after(&headers.collect())
}

/// Returns the failure for an error status, or `None` for a good one.
fn of_status(raw: &HttpResponse) -> Option<Failure> {
    let status = StatusCode::from_u16(raw.status().as_u16()).ok()?;
    (!status.is_success()).then(|| status_failure(status, after(raw)))
}
