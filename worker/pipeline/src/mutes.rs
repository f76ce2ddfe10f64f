//! Defines the types with which a store describes mutes and the ledger of alerts: rows, counts, previews.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use nightshift_alert::Severity;
use serde::{Deserialize, Serialize};

use crate::admission::Mute;
use crate::case::CaseRow;
use crate::route::Match;

/// A mute without a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMute {
    /// Conditions on the alert.
    pub when: Match,
    /// Highest muted severity.
    pub severity: Severity,
    pub until: DateTime<Utc>,
    /// Reason that the person gave.
    pub why: String,
    /// Person who adds the mute.
    pub by: String,
}

impl NewMute {
    /// Returns the mute with this name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Mute {
        Mute {
            name: name.into(),
            when: self.when,
            severity: self.severity,
            until: self.until,
            why: self.why,
            by: self.by,
        }
    }
}

/// A mute in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MuteRow {
    #[serde(flatten)]
    pub mute: Mute,
    /// True if the mute is part of the configuration.
    pub configured: bool,
    /// Time of addition; `None` for mutes of the configuration.
    pub added_at: Option<DateTime<Utc>>,
    pub removed_at: Option<DateTime<Utc>>,
    /// Number of hidden alerts, counted up to [`MOST_COUNTED`](crate::digest::MOST_COUNTED).
    pub hits: u64,
    /// Time when the mute last hid an alert.
    pub last_hit: Option<DateTime<Utc>>,
}

/// Alerts that a mute would have hidden.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MutePreview {
    /// Cases by verdict; those without a verdict by status.
    pub cases: BTreeMap<String, u64>,
    /// True positives among these cases, newest first.
    pub true_positives: Vec<CaseRow>,
    /// Members of storms.
    pub members: u64,
    /// Alerts that another mute hid.
    pub muted: u64,
    /// Number of newest alerts that were examined, if there were more. `None` means all of the period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_newest: Option<u64>,
}

/// Number of accepted alerts in one place of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LedgerCount {
    /// `case`, `sighting`, `member`, `muted`, `set_aside` or `dead_letter`.
    pub place: String,
    /// The mute, state or class; empty for other places.
    pub why: String,
    pub alerts: u64,
}
