//! Identifies the Slack message that shows a case, and finds it by invisible metadata.
//! <https://docs.slack.dev/messaging/message-metadata>

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use nightshift_pipeline::port::DeliveryError;
use serde_json::{Value, json};

use super::client::{Api, ChannelMessage};

/// The type of the metadata of a report's messages.
pub(super) const REPORT: &str = "triage_report";
/// The type of the metadata of a digest.
pub(super) const DIGEST: &str = "triage_digest";
/// The part of a case that is the message itself, not its thread.
pub(super) const PARENT: &str = "report";
/// The time for which Slack may still process a call whose answer was lost. A look-up before that proves nothing.
pub(super) const SETTLE: Duration = Duration::from_secs(15);
/// The margin on both sides of a look-up, for a difference of the clocks and the duration of a call.
const MARGIN_SECS: i64 = 600;
/// The number of messages per page. One message can have 53 KB with all non-ASCII text escaped, and a page of these
/// must fit into the bound of an answer. Slack recommends at most 200
/// (<https://docs.slack.dev/apis/web-api/pagination>).
const PAGE: usize = 100;
/// The maximum number of pages that are read. If a channel has more than these within minutes, nothing is found and
/// nothing is sent. Slack allows 50 pages a minute (tier 3, <https://docs.slack.dev/apis/web-api/rate-limits>).
const MOST_PAGES: usize = 50;

/// The identity of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MessageRef {
    pub(super) channel: String,
    pub(super) ts: String,
}

impl MessageRef {
    /// Returns the id that the outbox keeps.
    pub(super) fn to_id(&self) -> String {
        format!("{}/{}", self.channel, self.ts)
    }

    /// Parses an id that the outbox keeps.
    pub(super) fn parse(id: &str) -> Option<Self> {
        let (channel, ts) = id.split_once('/')?;
        (!channel.is_empty() && is_ts(ts)).then(|| Self {
            channel: channel.to_owned(),
            ts: ts.to_owned(),
        })
    }

    /// Returns when the message was posted.
    pub(super) fn at(&self) -> Option<DateTime<Utc>> {
        let secs = self.ts.split('.').next()?.parse().ok()?;
        DateTime::from_timestamp(secs, 0)
    }
}

/// Returns whether this is a timestamp of Slack, such as `1700000000.000100`. It is also the id of a message in its
/// channel.
fn is_ts(ts: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    ts.split_once('.')
        .is_some_and(|(secs, rest)| is_number(secs) && is_number(rest) && ts.len() <= 30)
}

/// Builds the metadata of a message of a case.
pub(super) fn metadata(case: &str, part: &str, version: u64) -> Value {
    json!({ "event_type": REPORT, "event_payload": { "case": case, "part": part, "version": version } })
}

/// Builds the metadata of a message of a case that is edited when the hash of its content differs.
pub(super) fn metadata_of(case: &str, part: &str, version: u64, content: &str) -> Value {
    json!({
        "event_type": REPORT,
        "event_payload": { "case": case, "part": part, "version": version, "content": content },
    })
}

/// Finds the message that matches and was posted between these times.
pub(super) async fn find(
    api: &Api,
    channel: &str,
    (from, until): (DateTime<Utc>, Option<DateTime<Utc>>),
    is_it: impl Fn(&ChannelMessage) -> bool + Send + Sync,
) -> Result<Option<MessageRef>, DeliveryError> {
    let mut query = vec![
        ("channel", channel.to_owned()),
        ("include_all_metadata", "true".to_owned()),
        ("inclusive", "true".to_owned()),
        ("limit", PAGE.to_string()),
        ("oldest", stamp(from - TimeDelta::seconds(MARGIN_SECS))),
    ];
    if let Some(until) = until {
        query.push(("latest", stamp(until + TimeDelta::seconds(MARGIN_SECS))));
    }
    let mut found = None;
    pages(api, "conversations.history", query, |message| {
        if found.is_none() && is_it(message) {
            found = MessageRef::parse(&format!("{channel}/{}", message.ts));
        }
        found.is_none()
    })
    .await?;
    Ok(found)
}

/// A message of a thread.
#[derive(Debug)]
pub(super) struct PostedPart {
    pub(super) ts: String,
    /// The hash of its content, if it is edited.
    pub(super) content: Option<String>,
}

/// Returns the parts in the thread of a message, by their keys.
pub(super) async fn parts(
    api: &Api,
    place: &MessageRef,
    case: &str,
) -> Result<BTreeMap<String, PostedPart>, DeliveryError> {
    let query = vec![
        ("channel", place.channel.clone()),
        ("ts", place.ts.clone()),
        ("include_all_metadata", "true".to_owned()),
        ("limit", PAGE.to_string()),
    ];
    let mut parts = BTreeMap::new();
    pages(api, "conversations.replies", query, |message| {
        if let (Some(of), Some(part)) = (message.key(REPORT, "case"), message.key(REPORT, "part"))
            && of == case
        {
            let posted = PostedPart {
                ts: message.ts.clone(),
                content: message.key(REPORT, "content").map(str::to_owned),
            };
            parts.insert(part.to_owned(), posted);
        }
        true
    })
    .await?;
    Ok(parts)
}

/// Reads page after page until the last, or until `take` returns false.
async fn pages(
    api: &Api,
    method: &str,
    query: Vec<(&'static str, String)>,
    mut take: impl FnMut(&ChannelMessage) -> bool + Send,
) -> Result<(), DeliveryError> {
    let mut cursor = None;
    for _ in 0..MOST_PAGES {
        let mut query = query.clone();
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        let said = api.read(method, &query).await?;
        for message in &said.messages {
            if !take(message) {
                return Ok(());
            }
        }
        match said.next_cursor() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return Ok(()),
        }
    }
    Err(DeliveryError::Transient {
        what: format!("{method} has more than {MOST_PAGES} pages; the search is incomplete"),
        after_secs: None,
    })
}

fn stamp(at: DateTime<Utc>) -> String {
    format!("{}.000000", at.timestamp())
}
