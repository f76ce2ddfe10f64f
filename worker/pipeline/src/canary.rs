//! Defines canaries: signed alerts of Nightshift itself that travel through broker, triage and one destination. Their
//! age shows whether the whole path works.
//!
//! A canary is a message of one shape, signed with a key that only workers have. Any other message is read as usual, so
//! nobody without the key can make a canary and no content of an alert turns it into one. A signed message that is too
//! old may be a replay: it is set aside and proves nothing.

mod canary_loop;
mod closer;
mod signature;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use nightshift_alert::{
    Alert, AlertKey, CANARY_FEED, CloudProvider, ContentHash, EventTimes, FeedState, Resource,
    Severity,
};
use nightshift_engine::key::KeySource;

pub use canary_loop::CanaryLoop;
pub use closer::CanaryCloser;

/// Name under which canaries are closed.
pub const CANARY_CLOSER: &str = "nightshift canary";

/// Number of intervals after which a canary is too old to prove anything.
const MAX_AGE_INTERVALS: u32 = 2;

/// The settings by which canaries of one source are made and recognised.
#[derive(Clone)]
pub struct Canary {
    /// Source whose queue receives the canaries. Canaries from other sources are not accepted.
    pub source: String,
    /// Interval between canaries.
    pub every: Duration,
    /// Signing keys, separated by spaces: the first signs, and each is accepted. They are read at each use, so that a
    /// changed file takes effect at once.
    pub keys: KeySource,
}

impl Canary {
    /// Returns the number of the interval that contains this time, and the rest of the interval.
    pub(crate) fn interval(&self, now: DateTime<Utc>) -> (i64, Duration) {
        let every = i64::try_from(self.every.as_millis().max(1)).unwrap_or(i64::MAX);
        let now = now.timestamp_millis();
        let left = every - now.rem_euclid(every);
        (
            now.div_euclid(every),
            Duration::from_millis(left.unsigned_abs()),
        )
    }

    /// Returns the signed message of this interval, sent now.
    pub fn message(&self, number: i64, now: DateTime<Utc>) -> Result<Vec<u8>, String> {
        let keys = (self.keys)()?;
        signature::sign_message(&self.source, number, now, &keys)
    }

    /// Returns the alert if the message is a canary from this source, else `None`.
    #[must_use]
    pub fn verify_message(&self, source: &str, bytes: &[u8], now: DateTime<Utc>) -> Option<Alert> {
        let signed = signature::SignedCanary::parse(bytes).filter(|_| source == self.source)?;
        let keys = match (self.keys)() {
            Ok(keys) => keys,
            Err(why) => {
                tracing::warn!(
                    source.name = source,
                    why,
                    "cannot read canary keys; treating the message as an alert"
                );
                return None;
            }
        };
        if !signed.is_signed_for(source, &keys) {
            tracing::warn!(
                source.name = source,
                "message claims to be a canary but its signature is invalid; reading it as an alert"
            );
            return None;
        }
        let is_late =
            is_late(signed.at, now, self.every) || signed.at - now > self.max_clock_skew();
        Some(alert(source, signed.number, signed.at, is_late))
    }

    /// Returns how far the sender's clock may be ahead.
    fn max_clock_skew(&self) -> TimeDelta {
        TimeDelta::from_std(self.every).unwrap_or(TimeDelta::MAX)
    }
}

/// Returns whether a canary sent at this time is too old to prove anything.
fn is_late(sent: DateTime<Utc>, now: DateTime<Utc>, every: Duration) -> bool {
    TimeDelta::from_std(every * MAX_AGE_INTERVALS).is_ok_and(|most| now - sent > most)
}

/// Returns the alert of a canary. The alert is also a generated sample, so rules triage it and nobody has to act on
/// it.
fn alert(source: &str, number: i64, at: DateTime<Utc>, is_late: bool) -> Alert {
    let sent = at.to_rfc3339_opts(SecondsFormat::Secs, true);
    Alert {
        key: AlertKey {
            product: "nightshift".to_owned(),
            id: format!("canary:{source}:{number}"),
            account: String::new(),
        },
        content: ContentHash(format!("canary:{source}:{number}")),
        feed: CANARY_FEED.to_owned(),
        kind: "Nightshift:Canary".to_owned(),
        title: format!("Canary {number}: alerts get through"),
        description: format!("Sent through the source {source} at {sent}"),
        severity: Severity::Informational,
        severity_sent: "informational".to_owned(),
        provider: CloudProvider::Other,
        account: None,
        account_name: None,
        region: None,
        class: nightshift_alert::FindingClass::Threat,
        class_sent: None,
        action: None,
        resources: vec![Resource {
            kind: "Source".to_owned(),
            id: source.to_owned(),
            name: None,
            tags: BTreeMap::new(),
        }],
        indicators: Vec::new(),
        principals: Vec::new(),
        addresses: Vec::new(),
        callers: Vec::new(),
        direction: None,
        unreadable: Vec::new(),
        unseen: false,
        details: Vec::new(),
        remediation: None,
        finding_id: None,
        outcome: None,
        techniques: Vec::new(),
        times: EventTimes {
            first_seen: Some(at),
            last_seen: Some(at),
            created: Some(at),
            updated: Some(at),
        },
        count: 1,
        state: FeedState {
            sample: true,
            inactive: is_late,
            ..FeedState::default()
        },
        flags: Vec::new(),
        trace: None,
        raw: serde_json::json!({ "source": source, "n": number, "at": sent }).into(),
    }
}
