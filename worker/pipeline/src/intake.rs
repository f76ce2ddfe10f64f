//! Intake: unwrap, parse, admit, commit, and only then ack.
//!
//! What cannot be read is a dead letter with its bytes, and opens one case per source and hour that says so.

use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};
use nightshift_alert::{
    Alert, Content, FeedState, Key, Provider, ReadOptions, Resource, Severity, Times,
};
use nightshift_engine::{Clock, Measure, Meter};
use sha2::{Digest, Sha256};

use crate::{Accepted, Inbox, Message, Source, StoreError};

/// One thing that a message held.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// The source's name.
    pub source: String,
    /// When it came.
    pub at: DateTime<Utc>,
    /// The alert: of a feed, or ours about a message that could not be read.
    pub alert: Box<Alert>,
    /// The bytes: of the message, or of the part that could not be read.
    pub raw: Arc<[u8]>,
    /// Why it could not be read, where it could not.
    pub unreadable: Option<String>,
    /// Whether a person asks for a triage, whatever is known.
    pub always: bool,
}

/// What became of the messages of one round.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Received {
    /// Messages taken.
    pub messages: usize,
    /// What became of their alerts.
    pub accepted: Vec<Accepted>,
}

/// Takes messages from one source into the inbox.
pub struct Intake {
    /// Where alerts wait.
    pub inbox: Arc<dyn Inbox>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where measurements go.
    pub meter: Arc<dyn Meter>,
    /// Generic feeds and limits of the source.
    pub options: ReadOptions,
}

/// Why a round of intake took nothing.
#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    /// The source.
    #[error(transparent)]
    Source(#[from] crate::SourceError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Intake {
    /// One round: receive, commit, ack. No message where the source has come to its end.
    ///
    /// # Errors
    ///
    /// When the source or the store fails; what was not committed is not acked.
    pub async fn round(&self, source: &dyn Source, most: usize) -> Result<Received, IntakeError> {
        let messages = source.receive(most).await?;
        let now = self.clock.now();
        let mut batch = Vec::new();
        for message in &messages {
            let mut options = self.options.clone();
            options.attributes.clone_from(&message.attributes);
            batch.extend(read_message(source.name(), message, &options, now));
        }
        let unreadable = batch.iter().filter(|a| a.unreadable.is_some()).count();
        let accepted = if batch.is_empty() {
            Vec::new()
        } else {
            self.inbox.accept(batch).await?
        };
        let ids: Vec<String> = messages.iter().map(|message| message.id.clone()).collect();
        if !ids.is_empty() {
            source.ack(&ids).await?;
        }
        self.count(source.name(), messages.len(), unreadable, &accepted);
        Ok(Received {
            messages: messages.len(),
            accepted,
        })
    }

    fn count(&self, source: &str, messages: usize, unreadable: usize, accepted: &[Accepted]) {
        for index in 0..messages {
            self.meter.count(&Measure::Message {
                source: source.to_owned(),
                outcome: if index < unreadable {
                    "dead_letter"
                } else {
                    "accepted"
                },
            });
        }
        for one in accepted {
            self.meter.count(&Measure::Alert {
                feed: one.feed.clone(),
                outcome: one.admission.as_str(),
            });
        }
    }
}

/// Everything that a message holds: its alerts, and what of it could not be read.
#[must_use]
pub fn read_message(
    source: &str,
    message: &Message,
    options: &ReadOptions,
    now: DateTime<Utc>,
) -> Vec<Arrival> {
    let whole: Arc<[u8]> = message.bytes.as_slice().into();
    let arrival = |alert, raw, unreadable| Arrival {
        source: source.to_owned(),
        at: now,
        alert: Box::new(alert),
        raw,
        unreadable,
        always: false,
    };
    let unread = |bytes: &[u8], error: &nightshift_alert::ReadError| {
        let why = error.to_string();
        let alert = unreadable_alert(source, bytes, &why, now);
        arrival(alert, bytes.into(), Some(why))
    };
    match nightshift_alert::read(&message.bytes, options) {
        Err(error) => vec![unread(&message.bytes, &error)],
        Ok(batch) => {
            let rejected: Vec<_> = batch
                .rejected
                .iter()
                .map(|one| unread(&one.bytes, &one.error))
                .collect();
            let read = batch
                .alerts
                .into_iter()
                .map(|alert| arrival(alert, Arc::clone(&whole), None));
            read.chain(rejected).collect()
        }
    }
}

/// Our own alert about a message that could not be read: one per source and hour.
#[must_use]
pub fn unreadable_alert(source: &str, bytes: &[u8], why: &str, now: DateTime<Utc>) -> Alert {
    let hour = now
        .to_rfc3339_opts(SecondsFormat::Secs, true)
        .chars()
        .take("2026-11-20T03".len())
        .collect::<String>();
    let digest = format!("{:x}", HexDigest(Sha256::digest(bytes).into()));
    let why = nightshift_alert::text::cut(why, 400);
    Alert {
        key: Key {
            product: "nightshift".to_owned(),
            id: format!("unreadable:{source}:{hour}"),
            account: String::new(),
        },
        content: Content("unreadable".to_owned()),
        feed: "nightshift".to_owned(),
        kind: "Nightshift:UnreadableMessage".to_owned(),
        title: format!("Unreadable message from {source}"),
        description: format!(
            "A message of {} bytes from {source} could not be read: {why}",
            bytes.len()
        ),
        severity: Severity::High,
        severity_sent: "high".to_owned(),
        provider: Provider::Other,
        account: None,
        account_name: None,
        region: None,
        class: None,
        action: None,
        resources: vec![Resource {
            kind: "Source".to_owned(),
            id: source.to_owned(),
            name: None,
            tags: std::collections::BTreeMap::new(),
        }],
        indicators: Vec::new(),
        techniques: Vec::new(),
        times: Times {
            first_seen: Some(now),
            last_seen: Some(now),
            created: Some(now),
            updated: Some(now),
        },
        count: 1,
        state: FeedState::default(),
        flags: Vec::new(),
        raw: serde_json::json!({
            "source": source,
            "size_bytes": bytes.len(),
            "sha256": digest,
            "error": why,
        }),
    }
}

/// SHA-256 as hex.
struct HexDigest([u8; 32]);

impl std::fmt::LowerHex for HexDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
