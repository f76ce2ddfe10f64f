//! Builds responses to posts: committed, try again later, or refused with a reason.

use std::time::Duration;

use axum::Json;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use nightshift_pipeline::port::Disposition;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::source::{EnqueueError, HttpSource};
use crate::body::BodyError;

/// The time that a request waits for the commit, within the ten seconds for a response.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(7);
/// `Retry-After` in seconds.
const RETRY_AFTER_SECS: HeaderValue = HeaderValue::from_static("10");

/// The reason why a post is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum IntakeError {
    /// The request has no credentials.
    #[error(
        "who are you? Send `Authorization: Bearer …` with a token of the source, or sign the body as Standard Webhooks \
         has it (webhook-id, webhook-timestamp, webhook-signature)"
    )]
    Unauthenticated,
    /// The token belongs to no source.
    #[error("the token belongs to no source")]
    WrongToken,
    /// The signature headers are missing or malformed.
    #[error(
        "the signature cannot be read: webhook-id, webhook-timestamp (Unix seconds) and webhook-signature (v1,BASE64) \
         are wanted, each once"
    )]
    Unsigned,
    /// The timestamp is too far in the past or future.
    #[error("webhook-timestamp is more than five minutes off this clock; sign anew at each try")]
    OldSignature,
    /// No secret of a source made the signature.
    #[error("the signature matches no secret of a source, or the body was changed on its way")]
    WrongSignature,
    /// The body is no SNS message.
    #[error("this is no message of SNS: {0}")]
    NotSns(&'static str),
    /// The topic is not listed.
    #[error("no source here has this topic; list it in `sns.topics` of a [[source]]")]
    OtherTopic,
    /// The certificate is of another host.
    #[error(
        "SigningCertURL is not of the topic's own SNS (https://sns.REGION.amazonaws.com/SimpleNotificationService-….pem)"
    )]
    OtherCertificate,
    /// The message is not signed by SNS.
    #[error("the signature of SNS does not fit: {0}")]
    NotBySns(&'static str),
    /// The token is not from Pub/Sub.
    #[error("the token of Pub/Sub is not taken: {0}")]
    NotByPubsub(&'static str),
    /// The body was not read.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// The message was not committed in time.
    #[error(
        "not committed: the store does not answer, or the worker is stopping. Send it again; an \
         alert that was committed all the same becomes a sighting"
    )]
    NotCommitted,
    /// A secret of a source cannot be read, and no other secret matches.
    #[error("a secret of the source cannot be read now; send it again later")]
    NoSecret,
    /// Keys or certificates cannot be fetched.
    #[error("the signing keys cannot be fetched now; send it again later")]
    NoKeys,
}

impl IntakeError {
    fn status(&self) -> StatusCode {
        match self {
            Self::Unauthenticated
            | Self::WrongToken
            | Self::Unsigned
            | Self::OldSignature
            | Self::WrongSignature
            | Self::NotByPubsub(_) => StatusCode::UNAUTHORIZED,
            Self::OtherTopic | Self::OtherCertificate | Self::NotBySns(_) => StatusCode::FORBIDDEN,
            Self::NotSns(_) => StatusCode::BAD_REQUEST,
            Self::Body(unread) => unread.status(),
            Self::NotCommitted | Self::NoSecret | Self::NoKeys => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Returns whether the sender should try again later, since the request itself is fine.
    pub(super) fn is_retryable(&self) -> bool {
        self.status() == StatusCode::SERVICE_UNAVAILABLE
    }
}

impl From<EnqueueError> for IntakeError {
    fn from(busy: EnqueueError) -> Self {
        match busy {
            EnqueueError::Full => Self::Body(BodyError::MemoryFull),
            EnqueueError::Closing => Self::NotCommitted,
        }
    }
}

impl IntoResponse for IntakeError {
    fn into_response(self) -> Response {
        let status = self.status();
        let mut response = (status, Json(json!({"error": self.to_string()}))).into_response();
        let headers = response.headers_mut();
        if status == StatusCode::UNAUTHORIZED {
            let wanted = HeaderValue::from_static("Bearer realm=\"nightshift intake\"");
            headers.insert(WWW_AUTHENTICATE, wanted);
        }
        if self.is_retryable() {
            headers.insert(RETRY_AFTER, RETRY_AFTER_SECS);
        }
        response
    }
}

/// Waits until a message is settled and returns the response.
///
/// # Errors
///
/// Fails when the outcome is unknown. The failure is counted.
pub(super) async fn await_settlement(
    source: &HttpSource,
    fate: oneshot::Receiver<Disposition>,
) -> Result<Response, IntakeError> {
    let told = match timeout(COMMIT_TIMEOUT, fate).await {
        Ok(Ok(Disposition::Ack)) => json!({"outcome": "accepted"}),
        // A dead letter is committed too; sending it again would not help.
        Ok(Ok(Disposition::DeadLetter)) => json!({
            "outcome": "dead_letter",
            "why": "parts could not be read or stored as alerts: they are kept as dead letters \
             and announced in a case",
        }),
        Ok(Ok(Disposition::Nack) | Err(_)) | Err(_) => {
            return Err(source.record_rejection(IntakeError::NotCommitted));
        }
    };
    Ok(Json(told).into_response())
}
