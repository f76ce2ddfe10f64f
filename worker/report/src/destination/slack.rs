//! Slack: each case is one message, which is edited as the case goes on, with its details in the thread.
//!
//! Every message carries the case and the part that it is in metadata that nobody sees: after a lost answer the message
//! is looked up by it, and of a thread only the parts that are not there are added. An incoming webhook can do none of
//! that; it is the lesser way, and each report is posted at least once. What people press is answered elsewhere
//! (`web`). Source: <https://docs.slack.dev>.

mod blocks;
mod bot;
mod buttons;
mod change;
mod checkup;
mod client;
mod config;
mod digest;
mod hook;
mod limits;
mod place;
mod rich;
mod thread;

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
use nightshift_engine::{Checkup, Clock};
use nightshift_pipeline::{CaseStatus, DeliveryError, Destination, Digest, Sent, Showing};
use serde_json::{Value, json};

use super::case_id;
use super::http::{Caller, DestinationError, Repeat};
use crate::document::Reader;
use blocks::{Message, Style};
use bot::{Asleep, Bot, PACE, Rest};
use client::Api;
use hook::Hook;
use place::{Place, SETTLE};
use thread::Below;

pub use config::{SLACK_API, SlackConfig, SlackWay};

enum Way {
    Bot(Bot),
    Webhook(Hook),
}

/// Shows reports in a channel of Slack.
pub struct SlackDestination {
    name: String,
    way: Way,
    style: Style,
    clock: Arc<dyn Clock>,
}

impl SlackDestination {
    /// One that posts as the configuration says. Token and webhook address are asked for at each call, so that a
    /// changed one counts at the next.
    ///
    /// # Errors
    ///
    /// When a key has a value that cannot be, or the proxy or the CA file cannot be used.
    pub fn new(config: SlackConfig, clock: Arc<dyn Clock>) -> Result<Self, DestinationError> {
        Self::resting(config, clock, Arc::new(Asleep))
    }

    fn resting(
        config: SlackConfig,
        clock: Arc<dyn Clock>,
        rest: Arc<dyn Rest>,
    ) -> Result<Self, DestinationError> {
        config.check()?;
        let name = config.name.clone();
        let way = match &config.way {
            SlackWay::Bot {
                channel,
                token,
                api_url,
            } => {
                let base = config.api(api_url)?;
                let caller = Caller::new(&name, &base, &config.access, Arc::clone(&clock))?;
                Way::Bot(Bot {
                    api: Api {
                        caller,
                        base,
                        token: Arc::clone(token),
                    },
                    channel: channel.clone(),
                    rest,
                    clock: Arc::clone(&clock),
                })
            }
            SlackWay::Webhook { url } => Way::Webhook(Hook {
                name: name.clone(),
                url: Arc::clone(url),
                access: config.access.clone(),
                clock: Arc::clone(&clock),
            }),
        };
        let style = Style {
            links: config.links,
            language: config.language,
            is_interactive: config.interactive,
        };
        Ok(Self {
            name,
            way,
            style,
            clock,
        })
    }

    /// Opens a dialogue for somebody who pressed a button.
    ///
    /// # Errors
    ///
    /// What Slack said, in words.
    pub async fn open_view(&self, trigger_id: &str, view: &Value) -> Result<(), String> {
        let body = json!({ "trigger_id": trigger_id, "view": view });
        self.answer("views.open", &body).await
    }

    /// Says something in a channel to one person alone.
    ///
    /// # Errors
    ///
    /// What Slack said, in words.
    pub async fn tell(&self, channel: &str, user: &str, text: &str) -> Result<(), String> {
        let body = json!({ "channel": channel, "user": user, "text": rich::escape(text) });
        self.answer("chat.postEphemeral", &body).await
    }

    async fn answer(&self, method: &str, body: &Value) -> Result<(), String> {
        let Way::Bot(bot) = &self.way else {
            return Err("an incoming webhook answers nobody".to_owned());
        };
        let said = bot.api.write(method, body, Repeat::Doubles).await;
        said.map(drop)
            .map_err(|error| DeliveryError::from(error).to_string())
    }

    /// What would be sent: the message and, for a bot, what belongs below it.
    #[must_use]
    pub fn preview(&self, showing: &Showing) -> Value {
        let message = self.message(showing);
        let below: Vec<Value> = match &self.way {
            Way::Bot(_) => {
                let below = self.below(showing, &message, showing.remote_id.is_none());
                below.iter().map(preview).collect()
            }
            Way::Webhook(_) => Vec::new(),
        };
        json!({ "text": message.text, "blocks": message.blocks, "thread": below })
    }

    fn reader(&self) -> Reader {
        Reader {
            now: self.clock.now(),
            local: None,
            language: self.style.language,
            is_kept: true,
        }
    }

    fn message(&self, showing: &Showing) -> Message {
        blocks::message(showing, &self.style, self.reader())
    }

    fn below(&self, showing: &Showing, message: &Message, is_bare: bool) -> Vec<Below> {
        let is_cut = message.is_cut;
        thread::below(showing, &self.style, self.reader(), is_cut, is_bare)
    }
}

fn preview(below: &Below) -> Value {
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

    async fn examine(&self) -> Checkup {
        match &self.way {
            Way::Bot(bot) => bot.examine().await,
            Way::Webhook(hook) => hook.examine().await,
        }
    }

    /// Early only what is high or critical; counts and people's acts only where there is a message to edit.
    fn wants(&self, showing: &Showing) -> bool {
        if matches!(self.way, Way::Webhook(_)) {
            return !showing.is_early() && !showing.minor;
        }
        let is_shown = showing.remote_id.is_some();
        if !showing.is_early() {
            return !showing.minor || is_shown;
        }
        let report = &showing.report;
        if is_shown {
            // A report is not edited back into less; what was promised early and will not come is told.
            let is_report = showing
                .shown
                .as_ref()
                .is_some_and(|shown| shown.is_report());
            return !is_report && (report.status == CaseStatus::Cancelled || showing.minor);
        }
        let is_urgent = report.severity >= Severity::High && !report.alert.sample;
        is_urgent && !showing.minor && report.status != CaseStatus::Cancelled
    }

    fn pace(&self) -> Duration {
        PACE
    }

    fn preview(&self, showing: &Showing) -> Option<Value> {
        Some(Self::preview(self, showing))
    }

    async fn find(
        &self,
        showing: &Showing,
        begun_ago: Duration,
    ) -> Result<Option<String>, DeliveryError> {
        let Way::Bot(bot) = &self.way else {
            return Ok(None);
        };
        if begun_ago < SETTLE {
            return Err(DeliveryError::Settling {
                what: "its answer was lost, and Slack may still be doing it".to_owned(),
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

    async fn deliver(&self, showing: &Showing) -> Result<Sent, DeliveryError> {
        case_id(&showing.report)?;
        let message = self.message(showing);
        let bot = match &self.way {
            Way::Bot(bot) => bot,
            Way::Webhook(hook) => {
                let repeated = showing.in_doubt.then_some(self.style.language);
                hook.post(&message, repeated).await?;
                return Ok(Sent::default());
            }
        };
        if showing.is_spent_canary() {
            bot.remove(showing, &message).await?;
            return Ok(Sent::default());
        }
        let begun = self.clock.now();
        let (place, is_new) = bot.show(showing, &message).await?;
        let remote_id = place.to_id();
        let is_bare = showing.remote_id.as_ref() != Some(&remote_id);
        let below = self.below(showing, &message, is_bare);
        match bot.add_below(&place, showing, below, is_new, begun).await {
            Ok(()) => Ok(Sent {
                remote_id: Some(remote_id),
            }),
            Err(error) => Err(partly(error, showing, remote_id)),
        }
    }

    async fn post_digest(&self, digest: &Digest, in_doubt: bool) -> Result<(), DeliveryError> {
        let message = digest::message(digest, &self.style);
        match &self.way {
            Way::Bot(bot) => bot.post_digest(digest, &message, in_doubt).await,
            Way::Webhook(hook) => {
                let repeated = in_doubt.then_some(self.style.language);
                hook.post(&message, repeated).await
            }
        }
    }
}

/// The message stands, what belongs below it does not yet: it is looked up before it is added.
fn partly(error: DeliveryError, showing: &Showing, remote_id: String) -> DeliveryError {
    // Of a message that took another's place the outbox keeps the other's name: by that the next try, too, finds that its
    // thread is not the one that was told. A thread that is refused for ever is not worth it.
    let is_refused = matches!(error, DeliveryError::Never { .. });
    let known = showing.remote_id.clone().filter(|id| {
        let is_place = Place::parse(id).is_some();
        is_place && !is_refused
    });
    let remote_id = known.unwrap_or(remote_id);
    let (what, after_secs) = match error {
        DeliveryError::Later { what, after_secs }
        | DeliveryError::Partly {
            what, after_secs, ..
        } => (what, after_secs),
        DeliveryError::Settling { what, after_secs } => (what, Some(after_secs)),
        // Slack may still be doing it, and a look-up before that is done would not see it.
        DeliveryError::Unclear { what } => (what, Some(SETTLE.as_secs())),
        DeliveryError::Never { what } => (what, None),
    };
    DeliveryError::Partly {
        what,
        remote_id,
        after_secs,
    }
}

impl fmt::Debug for SlackDestination {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let channel = match &self.way {
            Way::Bot(bot) => bot.channel.as_str(),
            Way::Webhook(_) => "an incoming webhook",
        };
        out.debug_struct("SlackDestination")
            .field("name", &self.name)
            .field("channel", &channel)
            .finish_non_exhaustive()
    }
}
