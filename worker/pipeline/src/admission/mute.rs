//! Defines mutes: rules of people that store alerts without triage until a time. Muted alerts are counted under the
//! name of the rule. A mute never covers critical alerts, nor alerts above the severity it was made for.

use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, Severity};
use serde::{Deserialize, Serialize};

use crate::route::Match;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mute {
    /// Name in lists and in the counts of hidden alerts.
    pub name: String,
    /// Conditions on the alert.
    pub when: Match,
    /// Highest muted severity.
    pub severity: Severity,
    pub until: DateTime<Utc>,
    /// Reason that the person gave.
    pub why: String,
    /// Person who added the mute.
    pub by: String,
}

impl Mute {
    /// Returns whether the mute hides this alert at this time.
    #[must_use]
    pub fn hides(&self, alert: &Alert, now: DateTime<Utc>) -> bool {
        now < self.until && self.covers(alert)
    }

    /// Returns whether the mute hides this alert while it is in force.
    #[must_use]
    pub fn covers(&self, alert: &Alert) -> bool {
        let severity = match alert.is_severity_assumed() {
            true => alert.severity.max(Severity::High),
            false => alert.severity,
        };
        severity < Severity::Critical
            && !alert.is_canary()
            && severity <= self.severity
            && self.when.fits(alert)
    }

    /// Returns what is wrong with the mute, each with a remedy.
    #[must_use]
    pub fn faults(&self) -> Vec<&'static str> {
        let least = self.when.severity_at_least.unwrap_or_default();
        let says_least = self.when.severity_at_least.is_some();
        [
            (
                self.when.is_empty(),
                "the mute would match everything: add a feed, type, account, region or class",
            ),
            (
                self.when.is_boundless() && !self.when.is_empty(),
                "the type matches every type of a product: use a prefix such as Recon:EC2/Port*, \
                 or add a feed, account, region or class",
            ),
            (
                self.severity == Severity::Critical,
                "critical alerts are never muted: use high or below",
            ),
            (
                says_least && least > self.severity,
                "the mute matches no alert: severity_at_least is above the muted severity",
            ),
            (self.why.trim().is_empty(), "say why"),
            (self.by.trim().is_empty(), "add the person who mutes (by)"),
        ]
        .into_iter()
        .filter_map(|(is_wrong, fault)| is_wrong.then_some(fault))
        .collect()
    }
}

/// Returns the first mute that hides this alert.
pub(super) fn find_mute<'a>(
    alert: &Alert,
    mutes: &'a [Mute],
    now: DateTime<Utc>,
) -> Option<&'a Mute> {
    mutes.iter().find(|mute| mute.hides(alert, now))
}
