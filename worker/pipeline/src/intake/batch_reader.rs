//! Turns the bytes of messages into arrivals, and creates Nightshift's own alert about messages that cannot be read.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};
use nightshift_alert::{
    Alert, AlertKey, CloudProvider, ContentHash, EventTimes, FeedState, ReadError, ReadOptions,
    Resource, Severity, TraceContext,
};
use sha2::{Digest, Sha256};

use super::{Arrival, UnknownSeverities};
use crate::canary::Canary;
use crate::port::{AcceptedAlert, Disposition, Message};

/// Settings for reading the messages of a batch.
pub(super) struct BatchReader {
    pub(super) source: String,
    pub(super) options: ReadOptions,
    pub(super) canary: Option<Arc<Canary>>,
    pub(super) severities: Arc<UnknownSeverities>,
    pub(super) now: DateTime<Utc>,
}

/// The part of a batch that a message makes up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArrivalCount {
    /// This many arrivals, following those of earlier messages.
    Read(usize),
    /// The message was not read.
    Unread,
}

/// Returns the disposition of each message of a committed batch. A message is a dead letter if any part of it was
/// kept as one, because it was unreadable or the store refused it.
pub(super) fn dispositions<'a>(
    shares: &[ArrivalCount],
    mut accepted: &'a [AcceptedAlert],
) -> Vec<(Disposition, &'a [AcceptedAlert])> {
    let mut fate = |share: &ArrivalCount| {
        let ArrivalCount::Read(count) = *share else {
            return (Disposition::Nack, [].as_slice());
        };
        let (own, others) = accepted.split_at(count.min(accepted.len()));
        accepted = others;
        let fate = if own.iter().any(|one| one.dead_letter.is_some()) {
            Disposition::DeadLetter
        } else {
            Disposition::Ack
        };
        (fate, own)
    };
    shares.iter().map(&mut fate).collect()
}

impl BatchReader {
    /// Returns the arrivals of all messages, and the share of each message.
    pub(super) fn read_all(mut self, messages: &[Message]) -> (Arc<[Arrival]>, Vec<ArrivalCount>) {
        let mut batch = Vec::new();
        let mut shares = Vec::with_capacity(messages.len());
        for message in messages {
            self.options.attributes.clone_from(&message.attributes);
            let arrivals = match self.read_canary(message) {
                Some(canary) => vec![canary],
                None => read_message(&self.source, message, &self.options, self.now),
            };
            for arrival in &arrivals {
                self.severities.log(&self.source, &arrival.alert);
            }
            shares.push(ArrivalCount::Read(arrivals.len()));
            batch.extend(arrivals);
        }
        (batch.into(), shares)
    }

    /// Returns the canary if the message is one.
    fn read_canary(&self, message: &Message) -> Option<Arrival> {
        let canary = self.canary.as_ref()?;
        Some(Arrival {
            source: self.source.clone(),
            at: self.now,
            alert: Arc::new(canary.verify_message(&self.source, &message.bytes, self.now)?),
            raw: message.bytes.as_slice().into(),
            unreadable: None,
            on_demand: false,
            link: None,
        })
    }
}

/// Returns all alerts of a message and its unreadable parts.
#[must_use]
pub fn read_message(
    source: &str,
    message: &Message,
    options: &ReadOptions,
    now: DateTime<Utc>,
) -> Vec<Arrival> {
    read_with(
        nightshift_alert::read_message,
        source,
        message,
        options,
        now,
    )
}

/// Reads a message with this reader and catches its panic, so that a bug over one message does not stop the others.
pub(super) fn read_with(
    reader: impl Fn(&[u8], &ReadOptions) -> Result<nightshift_alert::MessageContents, ReadError>,
    source: &str,
    message: &Message,
    options: &ReadOptions,
    now: DateTime<Utc>,
) -> Vec<Arrival> {
    let whole: Arc<[u8]> = message.bytes.as_slice().into();
    let arrival = |alert, raw, unreadable| Arrival {
        source: source.to_owned(),
        at: now,
        alert: Arc::new(alert),
        raw,
        unreadable,
        on_demand: false,
        link: None,
    };
    let unread = |bytes: &[u8], why: String| {
        let alert = unreadable_alert(source, bytes, &why, now);
        arrival(alert, bytes.into(), Some(why))
    };
    // No state that the reader could leave half changed outlives the call.
    let read = catch_unwind(AssertUnwindSafe(|| reader(&message.bytes, options)));
    let read = read.map_err(|_| {
        tracing::error!(
            source.name = source,
            message.id = message.id,
            "parser panicked on a message; storing it as dead letter"
        );
        "a fault of this program: its reader panicked over this message; please report it"
            .to_owned()
    });
    match read.and_then(|read| read.map_err(|error| error.to_string())) {
        Err(why) => vec![unread(&message.bytes, why)],
        Ok(batch) => {
            let rejected: Vec<_> = batch
                .rejected
                .iter()
                .map(|one| unread(&one.bytes, one.error.to_string()))
                .collect();
            let shared = shared_traces(&batch.alerts);
            let read = batch.alerts.into_iter().map(|mut alert| {
                let link = alert.trace.take_if(|trace| shared.contains(trace));
                let arrival = arrival(alert, Arc::clone(&whole), None);
                Arrival { link, ..arrival }
            });
            read.chain(rejected).collect()
        }
    }
}

/// Returns the traces that more than one alert of a message has. One trace is one case, so each of these alerts gets
/// its own trace, linked to the shared one.
fn shared_traces(alerts: &[Alert]) -> Vec<TraceContext> {
    let mut shared = Vec::new();
    let mut seen = HashSet::new();
    for trace in alerts.iter().filter_map(|alert| alert.trace.as_ref()) {
        if !seen.insert(trace.trace_id()) && !shared.contains(trace) {
            shared.push(trace.clone());
        }
    }
    shared
}

/// Returns Nightshift's own alert about a message that could not be read: one per source and hour.
#[must_use]
pub fn unreadable_alert(source: &str, bytes: &[u8], why: &str, now: DateTime<Utc>) -> Alert {
    let digest = hex::encode(Sha256::digest(bytes));
    let why = nightshift_alert::text::truncate(why, 400);
    Alert {
        key: AlertKey {
            product: "nightshift".to_owned(),
            id: format!("unreadable:{source}:{}", hour(now)),
            account: String::new(),
        },
        content: ContentHash("unreadable".to_owned()),
        feed: "nightshift".to_owned(),
        kind: "Nightshift:UnreadableMessage".to_owned(),
        title: format!("Unreadable message from {source}"),
        description: format!(
            "A message of {} bytes from {source} could not be read: {why}",
            bytes.len()
        ),
        severity: Severity::High,
        severity_sent: "high".to_owned(),
        provider: CloudProvider::Other,
        account: None,
        account_name: None,
        region: None,
        class: nightshift_alert::FindingClass::Threat,
        class_sent: None,
        outcome: None,
        details: Vec::new(),
        remediation: None,
        finding_id: None,
        action: None,
        resources: vec![source_resource(source)],
        indicators: Vec::new(),
        principals: Vec::new(),
        addresses: Vec::new(),
        callers: Vec::new(),
        direction: None,
        unreadable: Vec::new(),
        unseen: false,
        techniques: Vec::new(),
        times: EventTimes {
            first_seen: Some(now),
            last_seen: Some(now),
            created: Some(now),
            updated: Some(now),
        },
        count: 1,
        state: FeedState::default(),
        flags: Vec::new(),
        trace: None,
        raw: serde_json::json!({
            "source": source,
            "size_bytes": bytes.len(),
            "sha256": digest,
            "error": why,
        })
        .into(),
    }
}

/// Returns the source as a resource that the alert concerns.
fn source_resource(source: &str) -> Resource {
    Resource {
        kind: "Source".to_owned(),
        id: source.to_owned(),
        name: None,
        tags: std::collections::BTreeMap::new(),
    }
}

/// Returns the hour of a time, as `2026-11-20T03`.
fn hour(time: DateTime<Utc>) -> String {
    let text = time.to_rfc3339_opts(SecondsFormat::Secs, true);
    text.chars().take("2026-11-20T03".len()).collect()
}
