//! Errors of one request, with nothing in them that must not be read.
//!
//! What a provider says is redacted, brought onto one line and cut; the key that was sent is taken out even where it
//! looks like no secret. URLs are left out: they belong to the configuration.

use std::error::Error;
use std::io;

use crate::chat::{ChatError, Failure};
use nightshift_alert::text::{cut, redact, single_line};
use nightshift_engine::and_causes;
use reqwest::StatusCode;
use secrecy::{ExposeSecret, SecretString};

/// Characters of a provider's words that an error holds.
const MAX_WORDS: usize = 400;
/// A key shorter than this is no secret, and would take letters out of words.
const MIN_KEY: usize = 6;

/// Makes the errors of one request.
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

    /// `provider/model`.
    pub(crate) fn model(&self) -> &str {
        &self.model
    }

    /// Whether a key was sent.
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

    /// A request that got no answer, or lost it on the way.
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

/// Whether a body could not be read because its connection broke: `reqwest` calls that an error of decoding, too.
fn is_broken(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| {
        cause.is::<hyper::Error>()
            || cause
                .downcast_ref::<io::Error>()
                .is_some_and(|error| error.kind() == io::ErrorKind::UnexpectedEof)
    })
}

/// An error and its causes, innermost last.
pub(crate) fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// The causes of an error in words, innermost last; its URL left out.
fn chain(error: &reqwest::Error) -> String {
    let words = if error.is_connect() {
        "cannot connect"
    } else {
        "the connection failed"
    };
    and_causes(words, error)
}

/// What a status says where the body says no more.
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
