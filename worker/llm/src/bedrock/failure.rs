//! What an error of Bedrock means.
//!
//! The service's exceptions count by their code; where there is none (a proxy's page, say) by the status.

use crate::chat::{ChatError, Failure};
use aws_sdk_bedrockruntime::config::http::HttpResponse;
use aws_sdk_bedrockruntime::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_bedrockruntime::operation::converse::ConverseError;
use nightshift_engine::with_causes;
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
                // What is neither is an identity that cannot be had.
                Failure::Auth
            };
            errors.make(failure, &words)
        }
        // Before anything was sent: no credentials, or no region.
        _ => errors.make(Failure::Auth, &with_causes(error)),
    }
}

/// How many bytes of an answer came before it broke.
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

/// What an answer's status says; nothing where it is a good one.
fn of_status(raw: &HttpResponse) -> Option<Failure> {
    let status = StatusCode::from_u16(raw.status().as_u16()).ok()?;
    (!status.is_success()).then(|| status_failure(status, after(raw)))
}
