//! What every destination on the network shares: how its machine may be reached, how its secret is read, how much of an
//! answer is read, and what an answer or its loss means for a delivery.
//!
//! A vendor's own protocol stays with the vendor. Nothing is tried again here: that, and when, is the delivery loop's.

mod access;
mod answer;
mod error;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use nightshift_engine::Clock;
use nightshift_pipeline::DeliveryError;
use reqwest::{Client, RequestBuilder};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

pub use access::Access;
pub(crate) use answer::{Answer, clean};
pub use error::DestinationError;

/// Gives the secret as it is now, or says in words why there is none; the words never hold it.
pub type SecretSource = Arc<dyn Fn() -> Result<SecretString, String> + Send + Sync>;

/// What it means that an answer is lost: whether the same call may be sent again as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It may: it only reads, or the receiver knows a double for what it is.
    Harmless,
    /// It may not: done twice it shows twice, so what became of it is looked up first.
    Doubles,
}

/// Calls one machine for one destination.
pub(crate) struct Caller {
    name: String,
    host: String,
    client: Client,
    clock: Arc<dyn Clock>,
}

impl Caller {
    /// One for the machine of this address, which [`Access::check`] let through.
    ///
    /// # Errors
    ///
    /// When the proxy is none, or the CA file cannot be read or holds no certificate.
    pub(crate) fn new(
        name: &str,
        url: &Url,
        access: &Access,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, DestinationError> {
        Ok(Self {
            name: name.to_owned(),
            host: url.host_str().unwrap_or_default().to_owned(),
            client: access.client(name, url)?,
            clock,
        })
    }

    /// The name of the destination.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What errors call the receiver: paths and queries are often secrets.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// To begin a request with.
    pub(crate) const fn client(&self) -> &Client {
        &self.client
    }

    /// Now.
    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Sends a request, and has the head of its answer, whatever that says.
    ///
    /// # Errors
    ///
    /// [`DeliveryError::Later`] where nothing was sent, [`DeliveryError::Unclear`] where it may have been and doubles
    /// show.
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

    /// The secret of this key as it is now, fit for a header. People mend one while the report waits.
    ///
    /// # Errors
    ///
    /// [`DeliveryError::Later`] where there is none, or it cannot stand in a header; it is never shown.
    pub(crate) fn secret(
        &self,
        key: &'static str,
        source: &SecretSource,
    ) -> Result<SecretString, DeliveryError> {
        let read = source().and_then(|secret| {
            let text = secret.expose_secret().trim();
            match text.bytes().all(|byte| byte.is_ascii_graphic()) {
                _ if text.is_empty() => Err("is empty".to_owned()),
                true => Ok(SecretString::from(text)),
                false => Err("holds characters that no header can hold".to_owned()),
            }
        });
        read.map_err(|problem| DeliveryError::Later {
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
