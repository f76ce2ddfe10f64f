//! The one way to a provider over HTTP: a POST of JSON, bounded in time and size.
//!
//! Redirects are not followed, for they would carry a prompt to where nobody sent it; nothing is tried twice, for that is
//! the retry decorator's work. Every error is made by [`Errors`], which lets no key through.

mod client;
mod errors;
mod events;
mod reply;
mod wait;

use std::time::Duration;

use crate::chat::{ChatError, ChatRequest, ChatTraits, Failure};
use bytes::Bytes;
use http_body_util::Full;
use reqwest::Body;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::quirks::Quirks;
use crate::{KeySource, ModelConfig, ModelError};

pub(crate) use client::client;
pub(crate) use errors::{Errors, causes, status_failure};
pub(crate) use events::{Events, is_broken_off};
pub(crate) use reply::Reply;
pub(crate) use wait::{PREFIXES, retry_after, seconds, text};

/// Bytes of an answer that are read; a longer one is none. Of one that comes in events: of each, and of what they tell.
pub(crate) const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of all events of an answer: what stands around each token is a hundred times as long.
const MAX_EVENTS_BYTES: usize = 64 * 1024 * 1024;
/// Room for a request of usual length: what grows is copied again and again.
const USUAL_BODY_BYTES: usize = 24 * 1024;
/// What one request may take where the configuration does not say.
const REQUEST_SECS: u64 = 300;

/// The way to one model.
pub(crate) struct Wire {
    traits: ChatTraits,
    client: reqwest::Client,
    key: Option<KeySource>,
    key_header: HeaderName,
    headers: HeaderMap,
    limit: Duration,
}

impl Wire {
    /// # Errors
    ///
    /// When the configuration's CA file or headers are not usable.
    pub(crate) fn new(
        config: &ModelConfig,
        key: Option<KeySource>,
        quirks: &Quirks,
    ) -> Result<Self, ModelError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in &config.headers {
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| config.bad("headers", "is no header"))?;
            let value =
                HeaderValue::from_str(value).map_err(|_| config.bad("headers", "is no header"))?;
            headers.insert(name, value);
        }
        Ok(Self {
            traits: quirks.traits(config),
            client: client(config, quirks.keep_alive)?,
            key,
            key_header: HeaderName::from_bytes(quirks.key_header.as_bytes())
                .map_err(|_| config.bad("provider", "has no usable header for its key"))?,
            headers,
            limit: request_limit(config),
        })
    }

    /// The same way with one more header on it.
    pub(crate) fn with_header(mut self, name: &'static str, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Sends one request, and waits for the head of its answer.
    pub(crate) async fn post<T: Serialize + Sync>(
        &self,
        request: &ChatRequest,
        url: &Url,
        body: &T,
    ) -> Result<Reply, ChatError> {
        let key = current_key(self.key.as_ref(), &self.traits.name)?;
        let errors = Errors::new(&self.traits.name, key.clone());
        let mut headers = self.headers.clone();
        if let Some(key) = &key {
            headers.insert(self.key_header.clone(), self.key_value(key, &errors)?);
        }
        let mut written = Vec::with_capacity(USUAL_BODY_BYTES);
        serde_json::to_writer(&mut written, body).map_err(|error| {
            errors.make(
                Failure::BadRequest,
                &format!("the request cannot be written: {error}"),
            )
        })?;
        let until = request.deadline.min(Instant::now() + self.limit);
        let sent = self
            .client
            .post(url.clone())
            .headers(headers)
            // What is wrapped can be sent once only: otherwise a copy is held, for a redirect, until the model answers.
            .body(Body::wrap(Full::<Bytes>::from(written)))
            .send();
        match timeout_at(until, sent).await {
            Err(_) => Err(errors.make(Failure::Timeout, "no answer began in time")),
            Ok(Err(error)) => Err(errors.transport(&error)),
            Ok(Ok(response)) if response.status().is_redirection() => {
                let words = "the server redirects, which is not followed: name the final address in `base_url`";
                Err(errors.make(Failure::BadRequest, words))
            }
            Ok(Ok(response)) => {
                let most_output = self.traits.most_output(request.max_output_tokens);
                Ok(Reply::new(response, until, errors, most_output))
            }
        }
    }

    fn key_value(&self, key: &SecretString, errors: &Errors) -> Result<HeaderValue, ChatError> {
        let key = key.expose_secret().trim();
        let value = if self.key_header == reqwest::header::AUTHORIZATION {
            HeaderValue::from_str(&format!("Bearer {key}"))
        } else {
            HeaderValue::from_str(key)
        };
        let mut value = value.map_err(|_| {
            errors.make(Failure::Auth, "the key holds characters that a header cannot carry: is it the right file or variable?")
        })?;
        value.set_sensitive(true);
        Ok(value)
    }
}

/// What one request may take.
pub(crate) fn request_limit(config: &ModelConfig) -> Duration {
    Duration::from_secs(config.request_secs.unwrap_or(REQUEST_SECS))
}

/// The key as it is now.
pub(crate) fn current_key(
    source: Option<&KeySource>,
    model: &str,
) -> Result<Option<SecretString>, ChatError> {
    source
        .map(|source| source())
        .transpose()
        .map_err(|problem| {
            Errors::new(model, None).make(Failure::Auth, &format!("no key: {problem}"))
        })
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
