//! Delivers cases to PagerDuty by the Events API v2. A case pages once, is acknowledged when somebody takes it, and
//! resolved when people close it. It pages again only when it was reopened and triaged again.
//!
//! The `dedup_key` is the case, so the same event twice is one alert. The key holds only while the alert is open: an
//! event after a resolve opens a new incident. Nothing is therefore sent after the resolve, whatever later triages say.
//! A reopened case is another alert with its own key. The remote id keeps the stage of the case at PagerDuty. Sources:
//! <https://developer.pagerduty.com/docs/events-api-v2/overview/> and "Send an Alert Event" of the API reference.

mod checkup;
mod config;
mod event;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod world;

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use nightshift_engine::doctor::HealthReport;
use nightshift_engine::key::KeySource;
use nightshift_engine::port::Clock;
use nightshift_pipeline::case_workflow::WorkflowStatus;
use nightshift_pipeline::delivery_payload::DeliveryPayload;
use nightshift_pipeline::port::{DeliveryError, DeliveryReceipt, Destination};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use url::Url;

use super::case_id;
use super::http::{Caller, DestinationError, Repeat};

pub use config::PagerDutyConfig;

/// The pause between two deliveries. An integration accepts some hundred events a minute ("Rate limits"), which a storm
/// must not use up.
const PACE: Duration = Duration::from_millis(500);
/// The wait before a lost event is sent again, unless the answer names one.
const RETRY_SECS: u64 = 5;

/// Delivers cases as pages.
pub struct PagerDutyDestination {
    config: PagerDutyConfig,
    caller: Caller,
    at: Url,
    routing_key: KeySource,
}

/// The last stage of a case that Nightshift sent to PagerDuty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Triggered,
    Acknowledged,
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

    /// Parses a stage. An unknown stage counts as resolved, so that nothing is sent for it.
    fn parse(text: &str) -> Self {
        match text {
            "triggered" => Self::Triggered,
            "acknowledged" => Self::Acknowledged,
            _ => Self::Resolved,
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

/// A page of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PageState {
    /// The number of the page: 1, plus one for each reopening of the case.
    number: usize,
    stage: Stage,
}

impl PageState {
    /// Returns the page that matches the current state of the case.
    fn from_payload(showing: &DeliveryPayload) -> Self {
        let stage = match showing.workflow.status {
            _ if showing.workflow.is_settled() => Stage::Resolved,
            WorkflowStatus::Acknowledged => Stage::Acknowledged,
            _ => Stage::Triggered,
        };
        Self {
            number: 1 + showing.workflow.reopenings(),
            stage,
        }
    }

    /// Parses the form that a remote id has.
    fn parse(text: &str) -> Self {
        let numbered = text
            .strip_suffix(')')
            .and_then(|text| text.split_once(" (page "));
        let (stage, number) = numbered.unwrap_or((text, "1"));
        Self {
            number: number.parse().unwrap_or(1),
            stage: Stage::parse(stage),
        }
    }

    /// Returns the same page at its first stage.
    const fn triggered(self) -> Self {
        Self {
            stage: Stage::Triggered,
            ..self
        }
    }

    /// Returns the key of the page's events.
    fn dedup_key(self, showing: &DeliveryPayload) -> Result<String, DeliveryError> {
        let case = case_id(&showing.report)?;
        Ok(match self.number {
            1 => case.to_string(),
            number => format!("{case}/{number}"),
        })
    }

    /// Returns the next page state on the way to that of the case, or `None` when both agree.
    fn next(self, showing: &DeliveryPayload, opens: bool) -> Option<Self> {
        let wanted = Self::from_payload(showing);
        let resolved = |page| Self {
            stage: Stage::Resolved,
            ..page
        };
        match self.number.cmp(&wanted.number) {
            // The case has a newer alert. People closed this one.
            Ordering::Less if self.stage < Stage::Resolved => Some(resolved(self)),
            Ordering::Less if opens => Some(wanted.triggered()),
            // It is unknown whether only the answer to the trigger was lost.
            Ordering::Less => (wanted.stage == Stage::Resolved).then(|| resolved(wanted)),
            Ordering::Equal => (self.stage < wanted.stage).then_some(wanted),
            Ordering::Greater => None,
        }
    }
}

impl fmt::Display for PageState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.stage.as_str())?;
        if self.number > 1 {
            write!(out, " (page {})", self.number)?;
        }
        Ok(())
    }
}

impl PagerDutyDestination {
    /// Creates a destination for the integration of this key. The key is read at each event.
    ///
    /// # Errors
    ///
    /// Fails when a key has an invalid value or the CA file cannot be read.
    pub fn new(
        config: PagerDutyConfig,
        routing_key: KeySource,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, DestinationError> {
        let at = config.check()?;
        let caller = Caller::new(&config.name, &at, &config.access(), clock)?;
        Ok(Self {
            config,
            caller,
            at,
            routing_key,
        })
    }

    /// Returns the event that would be sent, without the routing key.
    #[must_use]
    pub fn preview(&self, showing: &DeliveryPayload) -> Value {
        let wanted = PageState::from_payload(showing);
        let next = match showing.remote_id.as_deref().map(PageState::parse) {
            None => wanted.triggered(),
            Some(at) => at.next(showing, self.opens(showing)).unwrap_or(wanted),
        };
        self.event(next, showing)
            .unwrap_or_else(|error| json!({ "error": error.to_string() }))
    }

    /// Returns whether a case that has not paged, or was reopened, pages.
    fn opens(&self, showing: &DeliveryPayload) -> bool {
        self.config.policy().opens(showing) && !showing.report.is_canary()
    }

    fn event(&self, page: PageState, showing: &DeliveryPayload) -> Result<Value, DeliveryError> {
        let key = page.dedup_key(showing)?;
        match page.stage {
            Stage::Triggered => event::trigger(&showing.report, &key, &self.config),
            Stage::Acknowledged | Stage::Resolved => Ok(json!({
                "event_action": page.stage.action(), "dedup_key": key,
            })),
        }
    }

    async fn send(&self, page: PageState, showing: &DeliveryPayload) -> Result<(), DeliveryError> {
        let mut event = self.event(page, showing)?;
        let key = self.caller.secret("routing_key", &self.routing_key)?;
        if let Some(fields) = event.as_object_mut() {
            fields.insert("routing_key".to_owned(), json!(key.expose_secret()));
        }
        let post = self.caller.client().post(self.at.clone()).json(&event);
        // A trigger whose answer was lost must not be repeated once people closed its case. The outcome is looked up
        // first.
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

    async fn probe(&self) -> HealthReport {
        self.look_round().await
    }

    /// Pages for reports that the policy names, never for canaries. A case that has paged is followed: acknowledged,
    /// resolved, and paged again after a reopening.
    fn wants(&self, showing: &DeliveryPayload) -> bool {
        let opens = self.opens(showing);
        match showing.remote_id.as_deref().map(PageState::parse) {
            None => opens,
            Some(at) => at.next(showing, opens).is_some(),
        }
    }

    fn send_interval(&self) -> Duration {
        PACE
    }

    fn preview(&self, showing: &DeliveryPayload) -> Option<Value> {
        Some(Self::preview(self, showing))
    }

    /// Returns `None` for a case that was never closed, because repeating a trigger pages once. Otherwise the first
    /// trigger counts as sent, and its alert is resolved.
    async fn find(
        &self,
        showing: &DeliveryPayload,
        _: Duration,
    ) -> Result<Option<String>, DeliveryError> {
        let wanted = PageState::from_payload(showing);
        let first = PageState {
            number: 1,
            stage: Stage::Triggered,
        };
        Ok((wanted.stage == Stage::Resolved || wanted.number > 1).then(|| first.to_string()))
    }

    async fn deliver(&self, showing: &DeliveryPayload) -> Result<DeliveryReceipt, DeliveryError> {
        let opens = self.opens(showing);
        let mut at = match showing.remote_id.as_deref() {
            Some(text) => PageState::parse(text),
            None => {
                let triggered = PageState::from_payload(showing).triggered();
                self.send(triggered, showing).await?;
                triggered
            }
        };
        while let Some(next) = at.next(showing, opens) {
            self.send(next, showing)
                .await
                .map_err(|error| match error {
                    // The page exists, so any other error concerns an edit of it.
                    DeliveryError::Transient { what, after_secs } => DeliveryError::Partial {
                        what,
                        remote_id: at.to_string(),
                        after_secs,
                    },
                    DeliveryError::Ambiguous { what } => DeliveryError::Partial {
                        what,
                        remote_id: at.to_string(),
                        after_secs: Some(RETRY_SECS),
                    },
                    other => other,
                })?;
            at = next;
        }
        Ok(DeliveryReceipt {
            remote_id: Some(at.to_string()),
        })
    }
}

/// Returns what an operator can do about a status.
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

/// Reads the messages of `{"status": "invalid event", "message": "…", "errors": ["…"]}`.
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
