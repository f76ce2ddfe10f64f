//! Errors of one request, without secrets.
//!
//! A provider's message is redacted, put onto one line and cut. The key that was sent is removed even where it does
//! not look like a secret. URLs are left out, because they belong to the configuration.

use std::error::Error;
use std::io;

use crate::chat::{ChatError, Failure};
use nightshift_alert::text::{cut, redact, single_line};
use nightshift_engine::causes::and_causes;
use reqwest::StatusCode;
use secrecy::{ExposeSecret, SecretString};

/// Maximum number of characters of a provider's message in an error.
const MAX_WORDS: usize = 400;
/// Minimum length of a key that is removed. A shorter one is not a secret, and its removal would damage words.
const MIN_KEY: usize = 6;

/// Factory for the errors of one request.
#[derive(Clone)]
pub(crate) struct Errors {
    model: String,
    key: Option<SecretString>,
}

impl Errors {
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

    pub(crate) fn make(&self, failure: Failure, words: &str) -> ChatError {
        let key = self.key.as_ref().map(|key| key.expose_secret().trim());
        let words = match key.filter(|key| key.len() >= MIN_KEY) {
            Some(key) => words.replace(key, "[key]"),
            None => words.to_owned(),
        };
        let (words, _) = redact(&words);
        let line = single_line(&words);
        ChatError::new(
            self.model.clone(),
            failure,
            cut(&line, MAX_WORDS).into_owned(),
        )
    }

    /// Returns the error of a request without a complete answer.
    pub(crate) fn transport(&self, error: &reqwest::Error) -> ChatError {
        let failure = if error.is_connect() {
            Failure::Unreachable
        } else if error.is_timeout() {
            Failure::Timeout
        } else if error.is_decode() && !is_broken(error) {
            Failure::Malformed
        } else {
            Failure::Unreachable
        };
        self.make(failure, &chain(error))
    }
}

/// Returns whether a body could not be read because its connection broke, which `reqwest` also reports as a decoding
/// error.
fn is_broken(error: &reqwest::Error) -> bool {
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
fn chain(error: &reqwest::Error) -> String {
    let words = if error.is_connect() {
        "cannot connect"
    } else {
        "the connection failed"
    };
    and_causes(words, error)
}

/// Returns the failure for a status, where the body has no better information.
pub(crate) fn status_failure(status: StatusCode, after: Option<std::time::Duration>) -> Failure {
    match status.as_u16() {
        401 | 403 => Failure::Auth,
        402 => Failure::Quota,
        408 => Failure::Timeout,
        413 => Failure::ContextTooLong,
        429 => Failure::RateLimited { after },
        409 | 424 | 500.. => Failure::Overloaded { after },
        _ => Failure::BadRequest,
    }
}
