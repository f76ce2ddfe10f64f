//! Mutes: what people do not want to be told about, for a time. What is muted is stored and counted under the name of
//! the rule. Nothing critical is ever muted, and nothing above the severity that the mute was made for.

use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, Severity};
use serde::{Deserialize, Serialize};

use crate::Match;

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mute {
    /// What it is called in lists, and where an alert that it hid is counted.
    pub name: String,
    /// What an alert must be like.
    pub when: Match,
    /// The muted severity: what is above it comes through.
    pub severity: Severity,
    /// When it ends.
    pub until: DateTime<Utc>,
    /// Why.
    pub why: String,
    /// By whom.
    pub by: String,
}

impl Mute {
    /// Whether it hides this alert at this time.
    #[must_use]
    pub fn hides(&self, alert: &Alert, now: DateTime<Utc>) -> bool {
        now < self.until && self.covers(alert)
    }

    /// Whether it hides this alert while it holds.
    #[must_use]
    pub fn covers(&self, alert: &Alert) -> bool {
        alert.severity < Severity::Critical
            && !alert.is_canary()
            && alert.severity <= self.severity
            && self.when.fits(alert)
    }

    /// What is wrong with it, each with what to do.
    #[must_use]
    pub fn faults(&self) -> Vec<&'static str> {
        let least = self.when.severity_at_least.unwrap_or_default();
        let says_least = self.when.severity_at_least.is_some();
        [
            (
                self.when.is_empty(),
                "it would mute everything: say a feed, type, account, region or class",
            ),
            (
                self.when.is_boundless() && !self.when.is_empty(),
                "it would mute all types of a product: write how the types that are meant begin, as Recon:EC2/Port*, or say a feed, account, region or class",
            ),
            (
                self.severity == Severity::Critical,
                "critical alerts are never muted: use high or below",
            ),
            (
                says_least && least > self.severity,
                "it can hide nothing: severity_at_least is above the muted severity",
            ),
            (self.why.trim().is_empty(), "say why"),
            (self.by.trim().is_empty(), "say by whom"),
        ]
        .into_iter()
        .filter_map(|(is_wrong, fault)| is_wrong.then_some(fault))
        .collect()
    }
}

/// The first mute that hides this alert.
pub(super) fn hiding<'a>(alert: &Alert, mutes: &'a [Mute], now: DateTime<Utc>) -> Option<&'a Mute> {
    mutes.iter().find(|mute| mute.hides(alert, now))
}
