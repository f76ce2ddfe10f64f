//! PagerDuty, Events API v2: a case pages once, is acknowledged when somebody has it, and resolved when people are done.
//!
//! The `dedup_key` is the case, so that the same event twice is one alert. It holds only while the alert is open: an event
//! that comes after a resolve opens a new incident and wakes somebody again, so nothing is sent once we resolved, and a case
//! triggers once and never again, whatever its later triages say. Where a case stands there is kept in the remote id. Sources:
//! <https://developer.pagerduty.com/docs/events-api-v2/overview/> and "Send an Alert Event" of the API reference.

mod checkup;
mod config;
mod event;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod world;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use nightshift_engine::{Checkup, Clock};
use nightshift_pipeline::{DeliveryError, DeskStatus, Destination, Sent, Showing};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use url::Url;

use super::case_id;
use super::http::{Caller, DestinationError, Repeat, SecretSource};

pub use config::PagerDutyConfig;

/// Between two deliveries: an integration takes some hundred events a minute ("Rate limits"), and a storm must not use them up.
const PACE: Duration = Duration::from_millis(500);
/// How long a lost event waits for the one that asks for less.
const RETRY_SECS: u64 = 5;

/// Pages people.
pub struct PagerDutyDestination {
    config: PagerDutyConfig,
    caller: Caller,
    at: Url,
    routing_key: SecretSource,
}

/// Where a case stands at PagerDuty, as far as we brought it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// It paged.
    Triggered,
    /// Somebody has it.
    Acknowledged,
    /// It is over.
    Resolved,
}

impl Stage {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Triggered => "triggered",
            Self::Acknowledged => "acknowledged",
            Self::Resolved => "resolved",
        }
    }

    /// As a remote id keeps it. One that is not known may be over, and what may be over is left alone.
    fn parse(text: &str) -> Self {
        match text {
            "triggered" => Self::Triggered,
            "acknowledged" => Self::Acknowledged,
            _ => Self::Resolved,
        }
    }

    /// Where people brought the case.
    fn of(showing: &Showing) -> Self {
        match showing.desk.status {
            _ if showing.desk.is_settled() => Self::Resolved,
            DeskStatus::Acknowledged => Self::Acknowledged,
            _ => Self::Triggered,
        }
    }

    const fn action(self) -> &'static str {
        match self {
            Self::Triggered => "trigger",
            Self::Acknowledged => "acknowledge",
            Self::Resolved => "resolve",
        }
    }
}

impl PagerDutyDestination {
    /// One for the integration of this key. The key is asked for at each event.
    ///
    /// # Errors
    ///
    /// When a key has a value that cannot be, or the CA file cannot be read.
    pub fn new(
        config: PagerDutyConfig,
        routing_key: SecretSource,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, DestinationError> {
        let at = config.check()?;
        let caller = Caller::new(&config.name, &at, &config.access, clock)?;
        Ok(Self {
            config,
            caller,
            at,
            routing_key,
        })
    }

    /// What would be sent; the routing key is left out.
    #[must_use]
    pub fn preview(&self, showing: &Showing) -> Value {
        let stage = match showing.remote_id {
            None => Stage::Triggered,
            Some(_) => Stage::of(showing),
        };
        self.event(stage, showing)
            .unwrap_or_else(|error| json!({ "error": error.to_string() }))
    }

    fn event(&self, stage: Stage, showing: &Showing) -> Result<Value, DeliveryError> {
        match stage {
            Stage::Triggered => event::trigger(&showing.report, &self.config),
            Stage::Acknowledged | Stage::Resolved => Ok(json!({
                "event_action": stage.action(), "dedup_key": case_id(&showing.report)?,
            })),
        }
    }

    async fn send(&self, stage: Stage, showing: &Showing) -> Result<(), DeliveryError> {
        let mut event = self.event(stage, showing)?;
        let key = self.caller.secret("routing_key", &self.routing_key)?;
        if let Some(fields) = event.as_object_mut() {
            fields.insert("routing_key".to_owned(), json!(key.expose_secret()));
        }
        let post = self.caller.client().post(self.at.clone()).json(&event);
        // A trigger whose answer was lost must not go out again when people are done with its case by then: it is looked up.
        let answer = self.caller.send(post, Repeat::Doubles).await?;
        let status = answer.status().as_u16();
        if status == 202 {
            return Ok(());
        }
        Err(answer.refused(hint(status), words).await)
    }
}

#[async_trait]
impl Destination for PagerDutyDestination {
    fn name(&self) -> &str {
        self.caller.name()
    }

    async fn examine(&self) -> Checkup {
        self.look_round().await
    }

    /// A page for what the policy names, and never for a canary; of what has paged already, only that somebody has it, or that people are done.
    fn wants(&self, showing: &Showing) -> bool {
        match showing.remote_id.as_deref().map(Stage::parse) {
            None => self.config.policy.opens(showing) && !showing.report.is_canary(),
            Some(stage) => Stage::of(showing) > stage,
        }
    }

    fn pace(&self) -> Duration {
        PACE
    }

    /// The same trigger twice pages once, so what is in doubt is sent again; unless people are done with it by now: then
    /// it counts as triggered, and is resolved.
    fn preview(&self, showing: &Showing) -> Option<Value> {
        Some(Self::preview(self, showing))
    }

    async fn find(&self, showing: &Showing, _: Duration) -> Result<Option<String>, DeliveryError> {
        let triggered = Stage::Triggered.as_str().to_owned();
        Ok((Stage::of(showing) == Stage::Resolved).then_some(triggered))
    }

    async fn deliver(&self, showing: &Showing) -> Result<Sent, DeliveryError> {
        let wanted = Stage::of(showing);
        let mut stage = match showing.remote_id.as_deref() {
            Some(text) => Stage::parse(text),
            None => {
                self.send(Stage::Triggered, showing).await?;
                Stage::Triggered
            }
        };
        if stage < wanted {
            self.send(wanted, showing)
                .await
                .map_err(|error| match error {
                    // It paged: what is left is an edit of that.
                    DeliveryError::Later { what, after_secs } => DeliveryError::Partly {
                        what,
                        remote_id: stage.as_str().to_owned(),
                        after_secs,
                    },
                    DeliveryError::Unclear { what } => DeliveryError::Partly {
                        what,
                        remote_id: stage.as_str().to_owned(),
                        after_secs: Some(RETRY_SECS),
                    },
                    other => other,
                })?;
            stage = wanted;
        }
        Ok(Sent {
            remote_id: Some(stage.as_str().to_owned()),
        })
    }
}

/// What somebody can do about an answer.
fn hint(status: u16) -> &'static str {
    match status {
        300..=399 => {
            " (redirects are not followed: leave `url` out, or set it to https://events.eu.pagerduty.com)"
        }
        400 => {
            " (is `routing_key` the integration key, 32 characters, of an Events API v2 integration?)"
        }
        401 | 403 | 404 => " (is `url` that of the Events API of your service region?)",
        413 => " (the event is larger than 512 KB)",
        _ => "",
    }
}

/// `{"status": "invalid event", "message": "…", "errors": ["…"]}`.
fn words(body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let message = body.get("message").and_then(Value::as_str)?;
    let errors = body.get("errors").and_then(Value::as_array);
    let errors = errors.map_or(&[][..], Vec::as_slice);
    let said = errors.iter().filter_map(Value::as_str);
    let all: Vec<&str> = std::iter::once(message).chain(said).collect();
    Some(all.join("; "))
}

impl fmt::Debug for PagerDutyDestination {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("PagerDutyDestination")
            .field("name", &self.caller.name())
            .field("host", &self.caller.host())
            .finish_non_exhaustive()
    }
}
