//! Responses to posts: committed, try again later, or refused with a reason.

use std::time::Duration;

use axum::Json;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use nightshift_pipeline::port::Fate;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::source::{Busy, HttpSource};
use crate::body::Unread;

/// How long a request waits for the commit, within the ten seconds for a response.
const COMMIT: Duration = Duration::from_secs(7);
/// `Retry-After` in seconds.
const AGAIN: HeaderValue = HeaderValue::from_static("10");

/// The reason why a post is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    /// The request has no credentials.
    #[error(
        "who are you? Send `Authorization: Bearer …` with a token of the source, or sign the body as Standard Webhooks \
         has it (webhook-id, webhook-timestamp, webhook-signature)"
    )]
    Nobody,
    /// The token belongs to no source.
    #[error("this is no token of any source here")]
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
    #[error("the signature is by no secret of any source here, or the body was changed on its way")]
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
    Unread(#[from] Unread),
    /// The message was not committed in time.
    #[error(
        "not committed: the store does not answer, or the worker ends. Send it again; what was committed all the same \
         will be a sighting"
    )]
    NotCommitted,
    /// A secret of a source cannot be read, and no other secret matches.
    #[error("what this is checked with cannot be read at the moment; send it again later")]
    NoSecret,
    /// Keys or certificates cannot be fetched.
    #[error("what the signature is checked with cannot be had at the moment; send it again later")]
    NoKeys,
}

impl Refused {
    fn status(&self) -> StatusCode {
        match self {
            Self::Nobody
            | Self::WrongToken
            | Self::Unsigned
            | Self::OldSignature
            | Self::WrongSignature
            | Self::NotByPubsub(_) => StatusCode::UNAUTHORIZED,
            Self::OtherTopic | Self::OtherCertificate | Self::NotBySns(_) => StatusCode::FORBIDDEN,
            Self::NotSns(_) => StatusCode::BAD_REQUEST,
            Self::Unread(unread) => unread.status(),
            Self::NotCommitted | Self::NoSecret | Self::NoKeys => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Returns whether the sender should try again later, since the request itself is fine.
    pub(super) fn is_later(&self) -> bool {
        self.status() == StatusCode::SERVICE_UNAVAILABLE
    }
}

impl From<Busy> for Refused {
    fn from(busy: Busy) -> Self {
        match busy {
            Busy::Full => Self::Unread(Unread::Full),
            Busy::Closing => Self::NotCommitted,
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = self.status();
        let mut response = (status, Json(json!({"error": self.to_string()}))).into_response();
        let headers = response.headers_mut();
        if status == StatusCode::UNAUTHORIZED {
            let wanted = HeaderValue::from_static("Bearer realm=\"nightshift intake\"");
            headers.insert(WWW_AUTHENTICATE, wanted);
        }
        if self.is_later() {
            headers.insert(RETRY_AFTER, AGAIN);
        }
        response
    }
}

/// Waits until a message is settled and returns the response.
///
/// # Errors
///
/// Fails when the outcome is unknown. The failure is counted.
pub(super) async fn settled(
    source: &HttpSource,
    fate: oneshot::Receiver<Fate>,
) -> Result<Response, Refused> {
    let told = match timeout(COMMIT, fate).await {
        Ok(Ok(Fate::Committed)) => json!({"outcome": "accepted"}),
        // A dead letter is committed too; sending it again would not help.
        Ok(Ok(Fate::Unreadable)) => json!({
            "outcome": "dead_letter",
            "why": "some of it could not be read or stored as an alert: it is kept as a dead letter, and a case says so",
        }),
        Ok(Ok(Fate::Back) | Err(_)) | Err(_) => {
            return Err(source.away(Refused::NotCommitted));
        }
    };
    Ok(Json(told).into_response())
}
