//! Builds errors of one request, without secrets.
//!
//! A provider's message is redacted, put onto one line and cut. The key that was sent is removed even where it does not
//! look like a secret. URLs are left out, because they belong to the configuration.

use std::error::Error;
use std::io;

use crate::chat::{ChatError, ChatFailure};
use nightshift_alert::text::{redact, single_line, truncate};
use nightshift_engine::error_chain::append_error_chain;
use reqwest::StatusCode;
use secrecy::{ExposeSecret, SecretString};

/// Maximum number of characters of a provider's message in an error.
const MAX_MESSAGE_CHARS: usize = 400;
/// Minimum length of a key that is removed. A shorter one is not a secret, and its removal would damage words.
const MIN_KEY_BYTES: usize = 6;

/// Factory for the errors of one request.
#[derive(Clone)]
pub(crate) struct ErrorBuilder {
    model: String,
    key: Option<SecretString>,
}

impl ErrorBuilder {
    pub(crate) fn new(model: &str, key: Option<SecretString>) -> Self {
        Self {
            model: model.to_owned(),
            key,
        }
    }

    /// Returns `provider/model`.
    pub(crate) fn model(&self) -> &str {
        &self.model
    }

    /// Returns whether a key was sent.
    pub(crate) const fn has_key(&self) -> bool {
        self.key.is_some()
    }

    pub(crate) fn build(&self, failure: ChatFailure, words: &str) -> ChatError {
        let key = self.key.as_ref().map(|key| key.expose_secret().trim());
        let words = match key.filter(|key| key.len() >= MIN_KEY_BYTES) {
            Some(key) => words.replace(key, "[key]"),
            None => words.to_owned(),
        };
        let (words, _) = redact(&words);
        let line = single_line(&words);
        ChatError::new(
            self.model.clone(),
            failure,
            truncate(&line, MAX_MESSAGE_CHARS).into_owned(),
        )
    }

    /// Returns the error of a request without a complete answer.
    pub(crate) fn transport_error(&self, error: &reqwest::Error) -> ChatError {
        let failure = if error.is_connect() {
            ChatFailure::Unreachable
        } else if error.is_timeout() {
            ChatFailure::Timeout
        } else if error.is_decode() && !is_connection_broken(error) {
            ChatFailure::Malformed
        } else {
            ChatFailure::Unreachable
        };
        self.build(failure, &describe_causes(error))
    }
}

/// Returns whether a body could not be read because its connection broke, which `reqwest` also reports as a decoding
/// error.
fn is_connection_broken(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| {
        cause.is::<hyper::Error>()
            || cause
                .downcast_ref::<io::Error>()
                .is_some_and(|error| error.kind() == io::ErrorKind::UnexpectedEof)
    })
}

/// Returns an error and its causes, innermost last.
pub(crate) fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// Returns the causes of an error as text, innermost last, without its URL.
fn describe_causes(error: &reqwest::Error) -> String {
    let words = if error.is_connect() {
        "cannot connect"
    } else {
        "the connection failed"
    };
    append_error_chain(words, error)
}

/// Returns the failure for a status, where the body has no better information.
pub(crate) fn status_failure(
    status: StatusCode,
    after: Option<std::time::Duration>,
) -> ChatFailure {
    match status.as_u16() {
        401 | 403 => ChatFailure::Auth,
        402 => ChatFailure::Quota,
        408 => ChatFailure::Timeout,
        413 => ChatFailure::ContextTooLong,
        429 => ChatFailure::RateLimited { after },
        409 | 424 | 500.. => ChatFailure::Overloaded { after },
        _ => ChatFailure::BadRequest,
    }
}
