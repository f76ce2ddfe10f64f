//! A webhook: each report is POSTed as a CloudEvent, signed as Standard Webhooks wants it.
//!
//! The id of a post is that of the case and its revision, however often it is tried: a receiver that keeps the ids it
//! has seen takes a report once, also when its answer was lost and it is sent again. Nothing is looked up at the
//! receiver, and what is tried again, and when, is the delivery loop's. Sources: <https://www.standardwebhooks.com>
//! (specification 1.0), CloudEvents 1.0.2 and its HTTP binding, structured mode.

mod checkup;
mod config;
mod event;
mod signature;
mod trace;

#[cfg(test)]
mod stub;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use nightshift_engine::{Checkup, Clock};
use nightshift_pipeline::{DeliveryError, Destination, Sent, Showing};
use reqwest::StatusCode;
use reqwest::header::CONTENT_TYPE;
use url::Url;

use super::http::{Caller, DestinationError, Repeat, SecretSource};
use signature::Keys;
use trace::Trace;

pub use config::WebhookConfig;
#[cfg(test)]
pub(crate) use stub::{Post, Stub, read, say};

/// Media type of a CloudEvent in structured mode.
const CLOUD_EVENT: &str = "application/cloudevents+json; charset=utf-8";

/// POSTs reports to an address.
pub struct WebhookDestination {
    url: Url,
    caller: Caller,
    secret: SecretSource,
    traced: f64,
}

impl WebhookDestination {
    /// One that posts as the configuration says. The secret is asked for at each post, so that a changed one counts at
    /// the next: `whsec_` and the base64 of 24 to 64 bytes, or several of them with spaces between, each of which
    /// signs.
    ///
    /// # Errors
    ///
    /// When the address may not be posted to, or the proxy or the CA file cannot be used.
    pub fn new(
        config: WebhookConfig,
        secret: SecretSource,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, DestinationError> {
        let url = config.check()?;
        let caller = Caller::new(&config.name, &url, &config.access(), clock)?;
        Ok(Self {
            url,
            caller,
            secret,
            traced: config.traced,
        })
    }

    /// Whether there is a secret, and it can sign.
    ///
    /// # Errors
    ///
    /// Says what is wrong with it, never what it is.
    pub fn check_secret(&self) -> Result<(), DestinationError> {
        self.keys().map(|_| ())
    }

    fn keys(&self) -> Result<Keys, DestinationError> {
        let keys = (self.secret)().and_then(|secret| Keys::parse(&secret));
        keys.map_err(|problem| DestinationError::Secret {
            name: self.caller.name().to_owned(),
            key: "secret",
            problem,
        })
    }
}

#[async_trait]
impl Destination for WebhookDestination {
    fn name(&self) -> &str {
        self.caller.name()
    }

    async fn examine(&self) -> Checkup {
        self.look_round().await
    }

    /// A report that is shown already is posted again, with the same id: a receiver knows it for a double.
    async fn deliver(&self, showing: &Showing) -> Result<Sent, DeliveryError> {
        let trace = Trace::of(&showing.report, self.traced);
        let is_over = showing.is_spent_canary();
        let (id, body) = event::event(&showing.report, is_over, &trace)?;
        // A secret is mended by people, while the report waits.
        let keys = self.keys().map_err(|error| DeliveryError::Later {
            what: error.to_string(),
            after_secs: None,
        })?;
        let timestamp = self.caller.now().timestamp();
        let post = self
            .caller
            .client()
            .post(self.url.clone())
            .header(CONTENT_TYPE, CLOUD_EVENT)
            .headers(trace.headers())
            .header("webhook-id", &id)
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", keys.sign(&id, timestamp, &body))
            .body(body);
        let answer = self.caller.send(post, Repeat::Harmless).await?;
        let status = answer.status();
        if !status.is_success() {
            return Err(answer.refused(hint(status), |_| None).await);
        }
        Ok(Sent {
            remote_id: Some(id),
        })
    }
}

/// What somebody can do about an answer.
fn hint(status: StatusCode) -> &'static str {
    match status.as_u16() {
        300..=399 => " (redirects are not followed: set `url` to where it leads)",
        401 | 403 => " (does it know our `secret`?)",
        410 => " (it wants no more of them: take it out of the routes)",
        413 => " (reports are larger than it takes)",
        _ => "",
    }
}

impl fmt::Debug for WebhookDestination {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("WebhookDestination")
            .field("name", &self.caller.name())
            .field("host", &self.caller.host())
            .finish_non_exhaustive()
    }
}
