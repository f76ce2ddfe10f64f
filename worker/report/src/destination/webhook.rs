//! A webhook: each report is POSTed as a CloudEvent, signed as Standard Webhooks wants it.
//!
//! The id of a post is that of the case and its revision, however often it is tried: a receiver that keeps the ids it has
//! seen takes a report once, also when its answer was lost and it is sent again. Nothing is looked up at the receiver, and
//! what is tried again, and when, is the delivery loop's. Sources: <https://www.standardwebhooks.com> (specification 1.0),
//! CloudEvents 1.0.2 and its HTTP binding, structured mode.

mod answer;
mod config;
mod event;
mod signature;

#[cfg(test)]
mod stub;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use nightshift_engine::Clock;
use nightshift_pipeline::{DeliveryError, Destination, Sent, Showing};
use reqwest::Client;
use reqwest::header::CONTENT_TYPE;
use secrecy::SecretString;
use url::Url;

use signature::Keys;

pub use config::{WebhookConfig, WebhookError};

/// Gives the secret as it is now, or says in words why there is none; the words never hold it.
pub type SecretSource = Arc<dyn Fn() -> Result<SecretString, String> + Send + Sync>;

/// Media type of a CloudEvent in structured mode.
const CLOUD_EVENT: &str = "application/cloudevents+json; charset=utf-8";

/// POSTs reports to an address.
pub struct WebhookDestination {
    name: String,
    url: Url,
    client: Client,
    secret: SecretSource,
    clock: Arc<dyn Clock>,
}

impl WebhookDestination {
    /// One that posts as the configuration says. The secret is asked for at each post, so that a changed one counts at
    /// the next: `whsec_` and the base64 of 24 to 64 bytes, or several of them with spaces between, each of which signs.
    ///
    /// # Errors
    ///
    /// When the address may not be posted to, or the proxy or the CA file cannot be used.
    pub fn new(
        config: WebhookConfig,
        secret: SecretSource,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, WebhookError> {
        let url = config.check()?;
        let client = config.client(&url)?;
        Ok(Self {
            name: config.name,
            url,
            client,
            secret,
            clock,
        })
    }

    /// Whether there is a secret, and it can sign.
    ///
    /// # Errors
    ///
    /// Says what is wrong with it, never what it is.
    pub fn check_secret(&self) -> Result<(), WebhookError> {
        self.keys().map(|_| ())
    }

    fn keys(&self) -> Result<Keys, WebhookError> {
        let keys = (self.secret)().and_then(|secret| Keys::parse(&secret));
        keys.map_err(|problem| WebhookError::Secret {
            name: self.name.clone(),
            problem,
        })
    }
}

#[async_trait]
impl Destination for WebhookDestination {
    fn name(&self) -> &str {
        &self.name
    }

    /// A report that is shown already is posted again, with the same id: a receiver knows it for a double.
    async fn deliver(&self, showing: &Showing) -> Result<Sent, DeliveryError> {
        let (id, body) = event::event(&showing.report)?;
        // A secret is mended by people, while the report waits.
        let keys = self.keys().map_err(|error| DeliveryError::Later {
            what: error.to_string(),
            after_secs: None,
        })?;
        let at = self.clock.now();
        let timestamp = at.timestamp();
        let answer = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, CLOUD_EVENT)
            .header("webhook-id", &id)
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", keys.sign(&id, timestamp, &body))
            .body(body)
            .send()
            .await
            .map_err(|error| answer::lost(&self.host(), &error))?;
        answer::read(&self.host(), answer, at).await?;
        Ok(Sent {
            remote_id: Some(id),
        })
    }
}

impl WebhookDestination {
    /// What errors call the receiver: paths and queries of webhooks are often secrets.
    fn host(&self) -> String {
        self.url.host_str().unwrap_or_default().to_owned()
    }
}

impl fmt::Debug for WebhookDestination {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("WebhookDestination")
            .field("name", &self.name)
            .field("host", &self.host())
            .finish_non_exhaustive()
    }
}
