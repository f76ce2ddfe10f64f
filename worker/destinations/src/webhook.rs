//! Delivers reports to webhooks: each report is POSTed as a CloudEvent, signed according to Standard Webhooks.
//!
//! The id of a post consists of the case and its revision, and is the same at each attempt. A receiver that keeps ids
//! therefore takes a report once. Nothing is looked up at the receiver, and the delivery loop decides about retries.
//! Sources: <https://www.standardwebhooks.com> (specification 1.0), CloudEvents 1.0.2 and its HTTP binding, structured
//! mode.

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
use nightshift_engine::doctor::HealthReport;
use nightshift_engine::key::KeySource;
use nightshift_engine::port::Clock;
use nightshift_pipeline::delivery_payload::DeliveryPayload;
use nightshift_pipeline::port::{DeliveryError, DeliveryReceipt, Destination};
use reqwest::StatusCode;
use reqwest::header::CONTENT_TYPE;
use url::Url;

use super::http::{Caller, DestinationError, Repeat};
use signature::Keys;
use trace::Trace;

pub use config::WebhookConfig;
#[cfg(test)]
pub(crate) use stub::{Post, Stub, read, say};

/// The media type of a CloudEvent in structured mode.
const CLOUD_EVENT: &str = "application/cloudevents+json; charset=utf-8";

/// POSTs reports to an address.
pub struct WebhookDestination {
    url: Url,
    caller: Caller,
    secret: KeySource,
    traced: f64,
}

impl WebhookDestination {
    /// Creates a destination for the configured address. The secret is read at each post, so a change takes effect at
    /// the next one. It is `whsec_` and the base64 of 24 to 64 bytes, or several of these separated by spaces, each
    /// of which signs.
    ///
    /// # Errors
    ///
    /// Fails when the address is not allowed, or the proxy or CA file cannot be used.
    pub fn new(
        config: WebhookConfig,
        secret: KeySource,
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

    /// Checks that there is a secret that can sign.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the secret without showing it.
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

    async fn probe(&self) -> HealthReport {
        self.look_round().await
    }

    /// Posts the report. A repeated post has the same id, so the receiver recognises the duplicate.
    async fn deliver(&self, showing: &DeliveryPayload) -> Result<DeliveryReceipt, DeliveryError> {
        let trace = Trace::from_report(&showing.report, self.traced);
        let is_over = showing.is_spent_canary();
        let (id, body) = event::event(&showing.report, is_over, &trace)?;
        // A bad secret is retryable, because people can correct it while the report waits.
        let keys = self.keys().map_err(|error| DeliveryError::Transient {
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
        Ok(DeliveryReceipt {
            remote_id: Some(id),
        })
    }
}

/// Returns what an operator can do about a status.
fn hint(status: StatusCode) -> &'static str {
    match status.as_u16() {
        300..=399 => " (redirects are not followed: set `url` to where it leads)",
        401 | 403 => " (does the receiver have the same `secret`?)",
        410 => " (the endpoint is gone: remove it from the routes)",
        413 => " (the report is larger than the receiver accepts)",
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
