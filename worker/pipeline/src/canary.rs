//! Canaries: alerts of our own that go through broker, triage and one destination, so that their age says whether all of
//! it works.
//!
//! A canary is a message of one shape, signed with a key that only workers have. What is not exactly that is read as any
//! other message: nobody without the key makes a canary, and nothing in an alert turns it into one. What is signed and too
//! old may be replayed: it is set aside and proves nothing.

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

/// Gives the keys that canaries are signed with, with spaces between: the first signs, each is believed. Asked whenever one
/// is used, so that a changed file counts at once.
pub type CanaryKeys = Arc<dyn Fn() -> Result<SecretString, String> + Send + Sync>;

/// Who canaries are closed by.
pub const CANARY_CLOSER: &str = "nightshift canary";

/// After so many intervals a canary is too old to prove anything.
const LATE: u32 = 2;

/// How canaries of one source are made and known.
#[derive(Clone)]
pub struct Canary {
    /// The source whose queue they are put into; no other's are believed.
    pub source: String,
    /// How often.
    pub every: Duration,
    /// What they are signed with.
    pub keys: CanaryKeys,
}

impl Canary {
    /// The number of the interval that this time is in, and what is left of it.
    pub(crate) fn interval(&self, now: DateTime<Utc>) -> (i64, Duration) {
        let every = i64::try_from(self.every.as_millis().max(1)).unwrap_or(i64::MAX);
        let now = now.timestamp_millis();
        let left = every - now.rem_euclid(every);
        (
            now.div_euclid(every),
            Duration::from_millis(left.unsigned_abs()),
        )
    }

    /// The message of this interval, sent now.
    ///
    /// # Errors
    ///
    /// When there is no key.
    pub fn message(&self, number: i64, now: DateTime<Utc>) -> Result<Vec<u8>, String> {
        let keys = (self.keys)()?;
        signed::write(&self.source, number, now, &keys)
    }

    /// The alert of a message that is a canary from this source; none where it is anything else.
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

    /// How far the clock of who sent it may be ahead.
    fn ahead(&self) -> TimeDelta {
        TimeDelta::from_std(self.every).unwrap_or(TimeDelta::MAX)
    }
}

/// Whether what was sent then proves nothing any more.
fn is_late(sent: DateTime<Utc>, now: DateTime<Utc>, every: Duration) -> bool {
    TimeDelta::from_std(every * LATE).is_ok_and(|most| now - sent > most)
}

/// The alert of a canary. It is a generated sample besides: rules triage it, and nobody has to act on it.
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
