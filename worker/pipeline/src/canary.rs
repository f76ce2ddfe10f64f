//! Canaries: signed alerts of Nightshift itself that travel through broker, triage and one destination. Their age
//! shows whether the whole path works.
//!
//! A canary is a message of one shape, signed with a key that only workers have. Any other message is read as usual,
//! so nobody without the key can make a canary and no content of an alert turns it into one. A signed message that is
//! too old may be a replay: it is set aside and proves nothing.

mod ending;
mod sending;
mod signed;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use nightshift_alert::{
    Alert, CANARY_FEED, Content, FeedState, Key, Provider, Resource, Severity, Times,
};
use secrecy::SecretString;

pub use ending::CanaryEnding;
pub use sending::CanarySending;

/// Returns the signing keys, separated by spaces: the first signs, and each is accepted. Called at each use, so that
/// a changed file takes effect at once.
pub type CanaryKeys = Arc<dyn Fn() -> Result<SecretString, String> + Send + Sync>;

/// Name under which canaries are closed.
pub const CANARY_CLOSER: &str = "nightshift canary";

/// Number of intervals after which a canary is too old to prove anything.
const LATE: u32 = 2;

/// How canaries of one source are made and recognised.
#[derive(Clone)]
pub struct Canary {
    /// Source whose queue receives the canaries. Canaries from other sources are not accepted.
    pub source: String,
    /// Interval between canaries.
    pub every: Duration,
    /// Signing keys.
    pub keys: CanaryKeys,
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
        signed::write(&self.source, number, now, &keys)
    }

    /// Returns the alert if the message is a canary from this source, else `None`.
    #[must_use]
    pub fn read(&self, source: &str, bytes: &[u8], now: DateTime<Utc>) -> Option<Alert> {
        let signed = signed::Signed::read(bytes).filter(|_| source == self.source)?;
        let keys = match (self.keys)() {
            Ok(keys) => keys,
            Err(why) => {
                tracing::warn!(
                    source.name = source,
                    why,
                    "no canary can be told from a forged one"
                );
                return None;
            }
        };
        if !signed.is_of(source, &keys) {
            tracing::warn!(
                source.name = source,
                "a message says that it is a canary, and is not signed as one"
            );
            return None;
        }
        let is_late = is_late(signed.at, now, self.every) || signed.at - now > self.ahead();
        Some(alert(source, signed.number, signed.at, is_late))
    }

    /// Returns how far the sender's clock may be ahead.
    fn ahead(&self) -> TimeDelta {
        TimeDelta::from_std(self.every).unwrap_or(TimeDelta::MAX)
    }
}

/// Returns whether a canary sent at this time is too old to prove anything.
fn is_late(sent: DateTime<Utc>, now: DateTime<Utc>, every: Duration) -> bool {
    TimeDelta::from_std(every * LATE).is_ok_and(|most| now - sent > most)
}

/// Returns the alert of a canary. The alert is also a generated sample, so rules triage it and nobody has to act on
/// it.
fn alert(source: &str, number: i64, at: DateTime<Utc>, is_late: bool) -> Alert {
    let sent = at.to_rfc3339_opts(SecondsFormat::Secs, true);
    Alert {
        key: Key {
            product: "nightshift".to_owned(),
            id: format!("canary:{source}:{number}"),
            account: String::new(),
        },
        content: Content(format!("canary:{source}:{number}")),
        feed: CANARY_FEED.to_owned(),
        kind: "Nightshift:Canary".to_owned(),
        title: format!("Canary {number}: alerts get through"),
        description: format!("Sent through the source {source} at {sent}"),
        severity: Severity::Informational,
        severity_sent: "informational".to_owned(),
        provider: Provider::Other,
        account: None,
        account_name: None,
        region: None,
        class: nightshift_alert::Class::Threat,
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
        times: Times {
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
