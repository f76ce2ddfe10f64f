//! Delivers reports to Slack. Each case is one message with the report in short, and the whole in its thread. Both are
//! edited as the case changes.
//!
//! Every message carries invisible metadata with its case and part. After a lost answer the message is found by that,
//! and only the missing parts of a thread are added. An incoming webhook can do none of this, so it posts each report
//! at least once. The crate `web` answers presses of buttons. Source: <https://docs.slack.dev>.

mod bot;
mod checkup;
mod client;
mod config;
mod hook;
mod place;

#[cfg(test)]
mod hands;
#[cfg(test)]
mod stub;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta};
use nightshift_alert::Severity;
use nightshift_engine::doctor::HealthReport;
use nightshift_engine::key::KeySource;
use nightshift_engine::port::Clock;
use nightshift_pipeline::case::CaseStatus;
use nightshift_pipeline::delivery_payload::DeliveryPayload;
use nightshift_pipeline::digest::Digest;
use nightshift_pipeline::port::{DeliveryError, DeliveryReceipt, Destination};
use nightshift_render::document::{Reader, document};
use nightshift_render::slack::blocks::{self, Message, Style};
use nightshift_render::slack::thread::{self, ThreadReply};
use nightshift_render::slack::{digest, rich};
use serde_json::{Value, json};

use super::case_id;
use super::http::{Caller, DestinationError, Repeat};
use bot::{Bot, PACE, Pacer, SleepPacer};
use client::Api;
use hook::Hook;
use place::{MessageRef, SETTLE};

pub use config::SlackConfig;

enum SlackConnection {
    Bot(Bot),
    Webhook(Hook),
}

/// Delivers reports to a Slack channel.
pub struct SlackDestination {
    name: String,
    connection: SlackConnection,
    style: Style,
    clock: Arc<dyn Clock>,
}

impl SlackDestination {
    /// Creates a destination for the configured channel. The secret is that of [`SlackConfig::secret`]. It is read at
    /// each call, so a change takes effect at the next one.
    ///
    /// # Errors
    ///
    /// Fails when a key has an invalid value, or the proxy or CA file cannot be used.
    pub fn new(
        config: SlackConfig,
        secret: KeySource,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, DestinationError> {
        Self::resting(config, secret, clock, Arc::new(SleepPacer))
    }

    fn resting(
        config: SlackConfig,
        secret: KeySource,
        clock: Arc<dyn Clock>,
        rest: Arc<dyn Pacer>,
    ) -> Result<Self, DestinationError> {
        config.check()?;
        let name = config.name.clone();
        let connection = if config.webhook_url.is_some() {
            SlackConnection::Webhook(Hook {
                name: name.clone(),
                url: secret,
                access: config.access(),
                clock: Arc::clone(&clock),
            })
        } else {
            let base = config.api()?;
            let caller = Caller::new(&name, &base, &config.access(), Arc::clone(&clock))?;
            SlackConnection::Bot(Bot {
                api: Api {
                    caller,
                    base,
                    token: secret,
                },
                channel: config.channel.clone(),
                pacer: rest,
                clock: Arc::clone(&clock),
            })
        };
        let style = Style {
            is_interactive: config.is_interactive(),
            links: config.links,
            language: config.language,
        };
        Ok(Self {
            name,
            connection,
            style,
            clock,
        })
    }

    /// Opens a dialogue for a person who pressed a button.
    ///
    /// # Errors
    ///
    /// Returns Slack's error message.
    pub async fn open_view(&self, trigger_id: &str, view: &Value) -> Result<(), String> {
        let body = json!({ "trigger_id": trigger_id, "view": view });
        self.answer("views.open", &body).await
    }

    /// Posts a message that only this person can see.
    ///
    /// # Errors
    ///
    /// Returns Slack's error message.
    pub async fn tell(&self, channel: &str, user: &str, text: &str) -> Result<(), String> {
        let body = json!({ "channel": channel, "user": user, "text": rich::escape(text) });
        self.answer("chat.postEphemeral", &body).await
    }

    async fn answer(&self, method: &str, body: &Value) -> Result<(), String> {
        let SlackConnection::Bot(bot) = &self.connection else {
            return Err("an incoming webhook cannot answer button presses".to_owned());
        };
        let said = bot.api.write(method, body, Repeat::Doubles).await;
        said.map(drop)
            .map_err(|error| DeliveryError::from(error).to_string())
    }

    /// Returns what would be sent: the message and, for a bot, the thread below it.
    #[must_use]
    pub fn preview(&self, showing: &DeliveryPayload) -> Value {
        let message = self.message(showing);
        let below: Vec<Value> = match &self.connection {
            SlackConnection::Bot(_) => self.below(showing).iter().map(preview).collect(),
            SlackConnection::Webhook(_) => Vec::new(),
        };
        json!({ "text": message.text, "blocks": message.blocks, "thread": below })
    }

    fn reader(&self) -> Reader {
        Reader {
            now: self.clock.now(),
            local: None,
            language: self.style.language,
            is_kept: true,
            is_page: false,
        }
    }

    /// Returns the message. Where there can be no thread, it also has what a thread would have.
    fn message(&self, showing: &DeliveryPayload) -> Message {
        let reader = self.reader();
        let mut message = blocks::message(showing, &self.style, reader);
        if matches!(self.connection, SlackConnection::Webhook(_)) && !showing.is_early() {
            let document = document(&showing.report, reader);
            thread::add_details(&mut message, &document, self.style.language);
        }
        message
    }

    fn below(&self, showing: &DeliveryPayload) -> Vec<ThreadReply> {
        thread::below(showing, &self.style, self.reader())
    }
}

fn preview(below: &ThreadReply) -> Value {
    json!({
        "part": below.part, "reply_broadcast": below.is_broadcast,
        "text": below.message.text, "blocks": below.message.blocks,
    })
}

#[async_trait]
impl Destination for SlackDestination {
    fn name(&self) -> &str {
        &self.name
    }

    async fn probe(&self) -> HealthReport {
        match &self.connection {
            SlackConnection::Bot(bot) => bot.examine().await,
            SlackConnection::Webhook(hook) => hook.examine().await,
        }
    }

    /// Wants early messages only for high or critical alerts, and counts and actions of people only when there is a
    /// message to edit.
    fn wants(&self, showing: &DeliveryPayload) -> bool {
        if matches!(self.connection, SlackConnection::Webhook(_)) {
            return !showing.is_early() && !showing.is_minor;
        }
        let is_shown = showing.remote_id.is_some();
        if !showing.is_early() {
            return !showing.is_minor || is_shown;
        }
        let report = &showing.report;
        if is_shown {
            // A report is not edited back into an early message. An early message whose report will not come is
            // updated.
            let is_report = showing
                .delivered
                .as_ref()
                .is_some_and(|shown| shown.is_report());
            return !is_report && (report.status == CaseStatus::Cancelled || showing.is_minor);
        }
        let is_urgent = report.severity >= Severity::High && !report.alert.sample;
        is_urgent && !showing.is_minor && report.status != CaseStatus::Cancelled
    }

    fn send_interval(&self) -> Duration {
        PACE
    }

    fn preview(&self, showing: &DeliveryPayload) -> Option<Value> {
        Some(Self::preview(self, showing))
    }

    async fn find(
        &self,
        showing: &DeliveryPayload,
        begun_ago: Duration,
    ) -> Result<Option<String>, DeliveryError> {
        let SlackConnection::Bot(bot) = &self.connection else {
            return Ok(None);
        };
        if begun_ago < SETTLE {
            return Err(DeliveryError::NotVisibleYet {
                what: "the answer was lost and Slack may still be processing the call".to_owned(),
                after_secs: (SETTLE - begun_ago).as_secs() + 1,
            });
        }
        let ago = TimeDelta::from_std(begun_ago).unwrap_or(TimeDelta::MAX);
        let begun = self.clock.now().checked_sub_signed(ago);
        let begun = begun.unwrap_or(DateTime::UNIX_EPOCH);
        let case = case_id(&showing.report)?;
        let found = bot.look_up(case, (begun, Some(begun))).await?;
        Ok(found.map(|place| place.to_id()))
    }

    async fn deliver(&self, showing: &DeliveryPayload) -> Result<DeliveryReceipt, DeliveryError> {
        case_id(&showing.report)?;
        let message = self.message(showing);
        let bot = match &self.connection {
            SlackConnection::Bot(bot) => bot,
            SlackConnection::Webhook(hook) => {
                let repeated = showing.in_doubt.then_some(self.style.language);
                hook.post(&message, repeated).await?;
                return Ok(DeliveryReceipt::default());
            }
        };
        if showing.is_spent_canary() {
            bot.remove(showing, &message).await?;
            return Ok(DeliveryReceipt::default());
        }
        let begun = self.clock.now();
        let (place, is_new) = bot.show(showing, &message).await?;
        let remote_id = place.to_id();
        let below = self.below(showing);
        let language = self.style.language;
        let thread = bot.update_thread(&place, showing, below, (is_new, begun), language);
        match thread.await {
            Ok(()) => Ok(DeliveryReceipt {
                remote_id: Some(remote_id),
            }),
            Err(error) => Err(partly(error, showing, remote_id)),
        }
    }

    async fn post_digest(&self, digest: &Digest, in_doubt: bool) -> Result<(), DeliveryError> {
        let message = digest::message(digest, &self.style);
        match &self.connection {
            SlackConnection::Bot(bot) => bot.post_digest(digest, &message, in_doubt).await,
            SlackConnection::Webhook(hook) => {
                let repeated = in_doubt.then_some(self.style.language);
                hook.post(&message, repeated).await
            }
        }
    }
}

/// Makes an error for a message that exists while its thread is incomplete. The next attempt looks up what is
/// missing.
fn partly(error: DeliveryError, showing: &DeliveryPayload, remote_id: String) -> DeliveryError {
    // When the message replaced a removed one, the outbox keeps the id of the removed one. The next attempt then sees
    // that the new message has no thread. A thread that Slack refuses for good is not retried.
    let is_refused = matches!(error, DeliveryError::Permanent { .. });
    let known = showing.remote_id.clone().filter(|id| {
        let is_place = MessageRef::parse(id).is_some();
        is_place && !is_refused
    });
    let remote_id = known.unwrap_or(remote_id);
    let (what, after_secs) = match error {
        DeliveryError::Transient { what, after_secs }
        | DeliveryError::Partial {
            what, after_secs, ..
        } => (what, after_secs),
        DeliveryError::NotVisibleYet { what, after_secs } => (what, Some(after_secs)),
        // Slack may still be working on the call. A look-up before the end of that would miss the message.
        DeliveryError::Ambiguous { what } => (what, Some(SETTLE.as_secs())),
        DeliveryError::Permanent { what } => (what, None),
    };
    DeliveryError::Partial {
        what,
        remote_id,
        after_secs,
    }
}

impl fmt::Debug for SlackDestination {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let channel = match &self.connection {
            SlackConnection::Bot(bot) => bot.channel.as_str(),
            SlackConnection::Webhook(_) => "an incoming webhook",
        };
        out.debug_struct("SlackDestination")
            .field("name", &self.name)
            .field("channel", &channel)
            .finish_non_exhaustive()
    }
}
