//! PagerDuty, Events API v2: a case pages once, is acknowledged when somebody has it, and resolved when people are done. It
//! pages again only where it is open again after that, and is triaged again then.
//!
//! The `dedup_key` is the case, so that the same event twice is one alert. It holds only while the alert is open: an event
//! that comes after a resolve opens a new incident and wakes somebody again, so nothing is sent once we resolved, whatever
//! later triages say. A case that is open again is another alert, with a key of its own. Where a case stands there is kept
//! in the remote id. Sources:
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

    /// One that is not known may be over, and what may be over is left alone.
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

/// A page about a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Page {
    /// Which one: the first, and one more for each time that the case was open again.
    number: usize,
    stage: Stage,
}

impl Page {
    /// Where people brought the case.
    fn of(showing: &Showing) -> Self {
        let stage = match showing.desk.status {
            _ if showing.desk.is_settled() => Stage::Resolved,
            DeskStatus::Acknowledged => Stage::Acknowledged,
            _ => Stage::Triggered,
        };
        Self {
            number: 1 + showing.desk.reopenings(),
            stage,
        }
    }

    /// As a remote id keeps it.
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

    /// The same when it began.
    const fn triggered(self) -> Self {
        Self {
            stage: Stage::Triggered,
            ..self
        }
    }

    /// The key of its events.
    fn dedup_key(self, showing: &Showing) -> Result<String, DeliveryError> {
        let case = case_id(&showing.report)?;
        Ok(match self.number {
            1 => case.to_string(),
            number => format!("{case}/{number}"),
        })
    }

    /// What is to be done next to bring it where the case stands, and where that brings it; nothing where it is there.
    fn next(self, showing: &Showing, opens: bool) -> Option<Self> {
        let wanted = Self::of(showing);
        let resolved = |page| Self {
            stage: Stage::Resolved,
            ..page
        };
        match self.number.cmp(&wanted.number) {
            // It is another alert now; of this one people were done.
            Ordering::Less if self.stage < Stage::Resolved => Some(resolved(self)),
            Ordering::Less if opens => Some(wanted.triggered()),
            // Whether the answer to its trigger was lost is not known.
            Ordering::Less => (wanted.stage == Stage::Resolved).then(|| resolved(wanted)),
            Ordering::Equal => (self.stage < wanted.stage).then_some(wanted),
            Ordering::Greater => None,
        }
    }
}

impl fmt::Display for Page {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.stage.as_str())?;
        if self.number > 1 {
            write!(out, " (page {})", self.number)?;
        }
        Ok(())
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
        let wanted = Page::of(showing);
        let next = match showing.remote_id.as_deref().map(Page::parse) {
            None => wanted.triggered(),
            Some(at) => at.next(showing, self.opens(showing)).unwrap_or(wanted),
        };
        self.event(next, showing)
            .unwrap_or_else(|error| json!({ "error": error.to_string() }))
    }

    /// Whether a case that has not paged, or is open again, pages.
    fn opens(&self, showing: &Showing) -> bool {
        self.config.policy.opens(showing) && !showing.report.is_canary()
    }

    fn event(&self, page: Page, showing: &Showing) -> Result<Value, DeliveryError> {
        let key = page.dedup_key(showing)?;
        match page.stage {
            Stage::Triggered => event::trigger(&showing.report, &key, &self.config),
            Stage::Acknowledged | Stage::Resolved => Ok(json!({
                "event_action": page.stage.action(), "dedup_key": key,
            })),
        }
    }

    async fn send(&self, page: Page, showing: &Showing) -> Result<(), DeliveryError> {
        let mut event = self.event(page, showing)?;
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

    /// A page for what the policy names, and never for a canary; of what has paged already, that somebody has it, or that
    /// people are done, and a page again where it is open again.
    fn wants(&self, showing: &Showing) -> bool {
        let opens = self.opens(showing);
        match showing.remote_id.as_deref().map(Page::parse) {
            None => opens,
            Some(at) => at.next(showing, opens).is_some(),
        }
    }

    fn pace(&self) -> Duration {
        PACE
    }

    fn preview(&self, showing: &Showing) -> Option<Value> {
        Some(Self::preview(self, showing))
    }

    /// The same trigger twice pages once, so what is in doubt is sent again; unless people are, or were, done with it by now:
    /// then it counts as triggered, and is resolved.
    async fn find(&self, showing: &Showing, _: Duration) -> Result<Option<String>, DeliveryError> {
        let wanted = Page::of(showing);
        let first = Page {
            number: 1,
            stage: Stage::Triggered,
        };
        Ok((wanted.stage == Stage::Resolved || wanted.number > 1).then(|| first.to_string()))
    }

    async fn deliver(&self, showing: &Showing) -> Result<Sent, DeliveryError> {
        let opens = self.opens(showing);
        let mut at = match showing.remote_id.as_deref() {
            Some(text) => Page::parse(text),
            None => {
                let triggered = Page::of(showing).triggered();
                self.send(triggered, showing).await?;
                triggered
            }
        };
        while let Some(next) = at.next(showing, opens) {
            self.send(next, showing)
                .await
                .map_err(|error| match error {
                    // It paged: what is left is an edit of that.
                    DeliveryError::Later { what, after_secs } => DeliveryError::Partly {
                        what,
                        remote_id: at.to_string(),
                        after_secs,
                    },
                    DeliveryError::Unclear { what } => DeliveryError::Partly {
                        what,
                        remote_id: at.to_string(),
                        after_secs: Some(RETRY_SECS),
                    },
                    other => other,
                })?;
            at = next;
        }
        Ok(Sent {
            remote_id: Some(at.to_string()),
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
