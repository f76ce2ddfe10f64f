//! Implements the bot of a channel. It posts or edits the message of a case, keeps its thread up to date, and
//! finds its own messages.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use nightshift_engine::port::Clock;
use nightshift_pipeline::delivery_payload::DeliveryPayload;
use nightshift_pipeline::digest::Digest;
use nightshift_pipeline::port::DeliveryError;
use nightshift_render::Language;
use nightshift_render::slack::blocks::Message;
use nightshift_render::slack::thread::{self, DETAILS, ThreadReply};
use serde_json::{Value, json};

use super::super::http::Repeat;
use super::client::{self, Api, CallError};
use super::place::{self, DIGEST, MessageRef, PARENT, REPORT};

/// The pause between two messages of a channel, about one a second (<https://docs.slack.dev/apis/web-api/rate-limits>).
pub(super) const PACE: Duration = Duration::from_secs(1);
/// The time after which no further message of a thread is begun. Even with one hanging call, a delivery then stays
/// shorter than the channel's lease (45 s). The next attempt adds the rest.
const BUSY: TimeDelta = TimeDelta::seconds(12);
/// The age up to which the look-up searches for the replacement of a removed message.
const REPLACED: TimeDelta = TimeDelta::days(1);

/// The wait between two messages.
#[async_trait]
pub(super) trait Pacer: Send + Sync {
    async fn pause(&self, time: Duration);
}

pub(super) struct SleepPacer;

#[async_trait]
impl Pacer for SleepPacer {
    async fn pause(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

/// A channel that a bot posts to.
pub(super) struct Bot {
    pub(super) api: Api,
    pub(super) channel: String,
    pub(super) pacer: Arc<dyn Pacer>,
    pub(super) clock: Arc<dyn Clock>,
}

impl Bot {
    pub(super) async fn look_up(
        &self,
        case: &str,
        window: (DateTime<Utc>, Option<DateTime<Utc>>),
    ) -> Result<Option<MessageRef>, DeliveryError> {
        let is_it = |message: &client::ChannelMessage| {
            message.key(REPORT, "case") == Some(case) && message.key(REPORT, "part") == Some(PARENT)
        };
        place::find(&self.api, &self.channel, window, is_it).await
    }

    /// Posts the message or edits the existing one. Returns whether the message is new.
    pub(super) async fn show(
        &self,
        showing: &DeliveryPayload,
        message: &Message,
    ) -> Result<(MessageRef, bool), DeliveryError> {
        let Some(place) = showing.remote_id.as_deref().and_then(MessageRef::parse) else {
            return Ok((self.post(showing, message).await?, true));
        };
        match self.update(&place, showing, message).await {
            Ok(()) => return Ok((place, false)),
            Err(CallError::Failed(error)) => return Err(error),
            Err(CallError::Gone(_)) => {}
        }
        // Somebody removed the message. A replacement may exist if the answer to its post was lost.
        let day = self.clock.now() - REPLACED;
        let since = place.at().map_or(day, |at| at.max(day));
        let other = self.look_up(&showing.report.case_id, (since, None)).await?;
        if let Some(other) = other.filter(|other| *other != place) {
            match self.update(&other, showing, message).await {
                Ok(()) => return Ok((other, false)),
                Err(CallError::Failed(error)) => return Err(error),
                Err(CallError::Gone(_)) => {}
            }
        }
        Ok((self.post(showing, message).await?, true))
    }

    async fn post(
        &self,
        showing: &DeliveryPayload,
        message: &Message,
    ) -> Result<MessageRef, DeliveryError> {
        let metadata = place::metadata(&showing.report.case_id, PARENT, showing.version);
        let body = body(&self.channel, message, &metadata);
        let said = self
            .api
            .write("chat.postMessage", &body, Repeat::Doubles)
            .await?;
        let place = MessageRef::parse(&format!("{}/{}", said.channel, said.ts));
        place.ok_or_else(|| DeliveryError::Ambiguous {
            what: "Slack returned no id of the posted message".to_owned(),
        })
    }

    async fn update(
        &self,
        place: &MessageRef,
        showing: &DeliveryPayload,
        message: &Message,
    ) -> Result<(), CallError> {
        let metadata = place::metadata(&showing.report.case_id, PARENT, showing.version);
        let mut body = body(&place.channel, message, &metadata);
        add(&mut body, "ts", json!(place.ts));
        // Repeating an edit changes nothing.
        match self.api.write("chat.update", &body, Repeat::Harmless).await {
            // The message is in a previously configured channel, which may be gone.
            Err(CallError::Failed(DeliveryError::Permanent { what }))
                if place.channel != self.channel =>
            {
                Err(CallError::Gone(what))
            }
            said => said.map(drop),
        }
    }

    /// Deletes the message of a case. A missing message counts as deleted. When Slack refuses to delete, the message
    /// is edited instead.
    pub(super) async fn remove(
        &self,
        showing: &DeliveryPayload,
        message: &Message,
    ) -> Result<(), DeliveryError> {
        let Some(place) = showing.remote_id.as_deref().and_then(MessageRef::parse) else {
            return Ok(());
        };
        let body = json!({ "channel": place.channel, "ts": place.ts });
        let said = self.api.write("chat.delete", &body, Repeat::Harmless).await;
        let said = match said {
            Err(CallError::Failed(DeliveryError::Permanent { .. })) => {
                self.update(&place, showing, message).await
            }
            said => said.map(drop),
        };
        match said {
            Ok(()) | Err(CallError::Gone(_)) => Ok(()),
            Err(CallError::Failed(error)) => Err(error),
        }
    }

    /// Makes the thread what it should be: adds what is missing, and edits what has another content.
    pub(super) async fn update_thread(
        &self,
        place: &MessageRef,
        showing: &DeliveryPayload,
        mut below: Vec<ThreadReply>,
        (is_new, begun): (bool, DateTime<Utc>),
        language: Language,
    ) -> Result<(), DeliveryError> {
        let case = showing.report.case_id.as_str();
        let there = match is_new || below.is_empty() {
            true => BTreeMap::new(),
            false => place::parts(&self.api, place, case).await?,
        };
        let is_wanted = |part: &str| below.iter().any(|one| one.part == part);
        let details = there.keys().filter(|part| part.starts_with(DETAILS));
        let left = details.filter(|part| !is_wanted(part));
        let emptied: Vec<_> = left.map(|part| thread::emptied(part, language)).collect();
        below.extend(emptied);
        for reply in below {
            let content = reply.content();
            let posted = there.get(&reply.part);
            if posted.is_some_and(|posted| posted.content == content) {
                continue;
            }
            if self.clock.now() - begun > BUSY {
                return Err(DeliveryError::Transient {
                    what: "the rest of the thread follows".to_owned(),
                    after_secs: None,
                });
            }
            self.pacer.pause(PACE).await;
            let metadata = match content {
                Some(content) => place::metadata_of(case, &reply.part, showing.version, &content),
                None => place::metadata(case, &reply.part, showing.version),
            };
            let mut body = body(&place.channel, &reply.message, &metadata);
            if let Some(posted) = posted {
                add(&mut body, "ts", json!(posted.ts));
                self.api
                    .write("chat.update", &body, Repeat::Harmless)
                    .await?;
                continue;
            }
            add(&mut body, "thread_ts", json!(place.ts));
            if reply.is_broadcast {
                add(&mut body, "reply_broadcast", json!(true));
            }
            self.api
                .write("chat.postMessage", &body, Repeat::Doubles)
                .await?;
        }
        Ok(())
    }

    pub(super) async fn post_digest(
        &self,
        digest: &Digest,
        message: &Message,
        in_doubt: bool,
    ) -> Result<(), DeliveryError> {
        let day = digest.day.to_string();
        if in_doubt {
            let is_it = |one: &client::ChannelMessage| one.key(DIGEST, "day") == Some(&day);
            let window = (digest.until, None);
            let found = place::find(&self.api, &self.channel, window, is_it).await?;
            if found.is_some() {
                return Ok(());
            }
        }
        let metadata = json!({ "event_type": DIGEST, "event_payload": { "day": day } });
        let body = body(&self.channel, message, &metadata);
        self.api
            .write("chat.postMessage", &body, Repeat::Doubles)
            .await?;
        Ok(())
    }
}

/// Builds the body of a post. Slack parses and unfurls nothing of it.
pub(super) fn body(channel: &str, message: &Message, metadata: &Value) -> Value {
    json!({
        "channel": channel, "text": message.text, "blocks": message.blocks, "metadata": metadata,
        "parse": "none", "link_names": false, "unfurl_links": false, "unfurl_media": false,
    })
}

fn add(body: &mut Value, key: &str, value: Value) {
    if let Some(body) = body.as_object_mut() {
        body.insert(key.to_owned(), value);
    }
}
