//! Implements HTTP transport to a provider: a POST of JSON, bounded in time and size.
//!
//! Redirects are not followed, because they would carry a prompt to another address. Nothing is retried here; that is
//! the retry decorator's work. Every error is made by [`ErrorBuilder`], which removes keys.

mod client;
mod errors;
mod events;
mod reply;
mod retry_after;

use std::time::Duration;

use crate::chat::{ChatError, ChatFailure, ChatRequest, ChatTraits};
use bytes::Bytes;
use http_body_util::Full;
use nightshift_engine::key::KeySource;
use reqwest::Body;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::quirks::Quirks;
use crate::{ModelConfig, ModelError};

pub(crate) use client::build_client;
#[cfg(feature = "bedrock")]
pub(crate) use errors::causes;
pub(crate) use errors::{ErrorBuilder, status_failure};
pub(crate) use events::{EventStream, is_interrupted};
pub(crate) use reply::HttpReply;
pub(crate) use retry_after::{HEADER_PREFIXES, duration_from_secs, header_text, retry_after};

/// Maximum size of an answer. For a stream it bounds each event and the content of all events.
pub(crate) const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;
/// Maximum size of all events of an answer. The frame around each token is a hundred times as long as the token.
const MAX_EVENTS_BYTES: usize = 64 * 1024 * 1024;
/// Initial buffer size of a request, so that usual requests need no reallocation.
const INITIAL_BODY_BYTES: usize = 24 * 1024;
/// Default timeout of one request.
const REQUEST_SECS: u64 = 300;

/// The transport to one model.
pub(crate) struct HttpTransport {
    traits: ChatTraits,
    client: reqwest::Client,
    key: Option<KeySource>,
    key_header: HeaderName,
    headers: HeaderMap,
    timeout: Duration,
}

impl HttpTransport {
    /// Creates the transport.
    ///
    /// # Errors
    ///
    /// Returns an error when the configuration's CA file or headers are not usable.
    pub(crate) fn new(
        config: &ModelConfig,
        key: Option<KeySource>,
        quirks: &Quirks,
    ) -> Result<Self, ModelError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in &config.headers {
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| config.invalid_value("headers", "is no header"))?;
            let value = HeaderValue::from_str(value)
                .map_err(|_| config.invalid_value("headers", "is no header"))?;
            headers.insert(name, value);
        }
        Ok(Self {
            traits: quirks.traits(config),
            client: build_client(config, quirks.keep_alive)?,
            key,
            key_header: HeaderName::from_bytes(quirks.key_header.as_bytes()).map_err(|_| {
                config.invalid_value("provider", "has no usable header for its key")
            })?,
            headers,
            timeout: request_timeout(config),
        })
    }

    /// Adds one more header.
    pub(crate) fn with_header(mut self, name: &'static str, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Sends one request and waits for the head of its answer.
    pub(crate) async fn post<T: Serialize + Sync>(
        &self,
        request: &ChatRequest,
        url: &Url,
        body: &T,
    ) -> Result<HttpReply, ChatError> {
        let key = current_key(self.key.as_ref(), &self.traits.name)?;
        let errors = ErrorBuilder::new(&self.traits.name, key.clone());
        let mut headers = self.headers.clone();
        if let Some(key) = &key {
            headers.insert(self.key_header.clone(), self.key_value(key, &errors)?);
        }
        let mut written = Vec::with_capacity(INITIAL_BODY_BYTES);
        serde_json::to_writer(&mut written, body).map_err(|error| {
            errors.build(
                ChatFailure::BadRequest,
                &format!("the request cannot be written: {error}"),
            )
        })?;
        let until = request.deadline.min(Instant::now() + self.timeout);
        let sent = self
            .client
            .post(url.clone())
            .headers(headers)
            // A wrapped body can be sent once only. Otherwise a copy is held for a redirect until the model answers.
            .body(Body::wrap(Full::<Bytes>::from(written)))
            .send();
        match timeout_at(until, sent).await {
            Err(_) => Err(errors.build(ChatFailure::Timeout, "no answer began in time")),
            Ok(Err(error)) => Err(errors.transport_error(&error)),
            Ok(Ok(response)) if response.status().is_redirection() => {
                let words = "the server redirects, which is not followed: name the final address in `base_url`";
                Err(errors.build(ChatFailure::BadRequest, words))
            }
            Ok(Ok(response)) => {
                let most_output = self.traits.max_answer_tokens(request.max_output_tokens);
                Ok(HttpReply::new(response, until, errors, most_output))
            }
        }
    }

    fn key_value(
        &self,
        key: &SecretString,
        errors: &ErrorBuilder,
    ) -> Result<HeaderValue, ChatError> {
        let key = key.expose_secret().trim();
        let value = if self.key_header == reqwest::header::AUTHORIZATION {
            HeaderValue::from_str(&format!("Bearer {key}"))
        } else {
            HeaderValue::from_str(key)
        };
        let mut value = value.map_err(|_| {
            errors.build(ChatFailure::Auth, "the key holds characters that a header cannot carry: is it the right file or variable?")
        })?;
        value.set_sensitive(true);
        Ok(value)
    }
}

pub(crate) fn request_timeout(config: &ModelConfig) -> Duration {
    Duration::from_secs(config.request_secs.unwrap_or(REQUEST_SECS))
}

/// Reads the current key.
pub(crate) fn current_key(
    source: Option<&KeySource>,
    model: &str,
) -> Result<Option<SecretString>, ChatError> {
    source
        .map(|source| source())
        .transpose()
        .map_err(|problem| {
            ErrorBuilder::new(model, None).build(ChatFailure::Auth, &format!("no key: {problem}"))
        })
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
