//! Implements the common part of all network destinations: access to the machine, reading of the secret, bounds on
//! answers, and the meaning of an answer or of its loss for a delivery.
//!
//! The protocol of each vendor is in its own module. Nothing is retried here: the delivery loop does that.

mod access;
mod answer;
mod error;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use nightshift_engine::key::KeySource;
use nightshift_engine::port::Clock;
use nightshift_pipeline::port::DeliveryError;
use reqwest::{Client, RequestBuilder};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

pub(crate) use access::HttpOptions;
pub(crate) use answer::{Answer, clean};
pub use error::DestinationError;

/// The effect of repeating a call whose answer was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// The call may be repeated: it only reads, or the receiver recognises duplicates.
    Harmless,
    /// The call must not be repeated blindly, because a duplicate would be visible. The outcome is looked up first.
    Doubles,
}

/// The HTTP client of one destination, for one machine.
pub(crate) struct Caller {
    name: String,
    host: String,
    client: Client,
    clock: Arc<dyn Clock>,
}

impl Caller {
    /// Creates a caller for the machine of this address, which [`HttpOptions::check`] accepted.
    ///
    /// # Errors
    ///
    /// Fails when the proxy is invalid, or the CA file cannot be read or holds no certificate.
    pub(crate) fn new(
        name: &str,
        url: &Url,
        access: &HttpOptions,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, DestinationError> {
        Ok(Self {
            name: name.to_owned(),
            host: url.host_str().unwrap_or_default().to_owned(),
            client: access.client(name, url)?,
            clock,
        })
    }

    /// Returns the name of the destination.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of the receiver for error messages. Paths and queries are often secret.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Returns the client that requests are built with.
    pub(crate) const fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Sends a request and returns the head of its answer, whatever the status.
    ///
    /// # Errors
    ///
    /// Returns [`DeliveryError::Transient`] when nothing was sent, and [`DeliveryError::Ambiguous`] when the request
    /// may have arrived and duplicates would be visible.
    pub(crate) async fn send(
        &self,
        request: RequestBuilder,
        repeat: Repeat,
    ) -> Result<Answer, DeliveryError> {
        let at = self.clock.now();
        match request.send().await {
            Ok(response) => Ok(Answer::new(&self.host, response, at, repeat)),
            Err(error) => Err(answer::lost(&self.host, &error, repeat)),
        }
    }

    /// Returns the current secret of this key in a form that fits a header. The secret is read at each call, so a
    /// corrected one takes effect while reports wait.
    ///
    /// # Errors
    ///
    /// Returns [`DeliveryError::Transient`] when there is no secret or it does not fit a header. The error never
    /// contains the secret.
    pub(crate) fn secret(
        &self,
        key: &'static str,
        source: &KeySource,
    ) -> Result<SecretString, DeliveryError> {
        let read = source().and_then(|secret| {
            let text = secret.expose_secret().trim();
            match text.bytes().all(|byte| byte.is_ascii_graphic()) {
                _ if text.is_empty() => Err("is empty".to_owned()),
                true => Ok(SecretString::from(text)),
                false => Err("contains characters that are not allowed in a header".to_owned()),
            }
        });
        read.map_err(|problem| DeliveryError::Transient {
            what: DestinationError::Secret {
                name: self.name.clone(),
                key,
                problem,
            }
            .to_string(),
            after_secs: None,
        })
    }
}
