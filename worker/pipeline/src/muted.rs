//! What a store says of mutes and of places: rows, counts, previews.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use nightshift_alert::Severity;
use serde::{Deserialize, Serialize};

use crate::{CaseRow, Match, Mute};

/// A mute that has no name yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMute {
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

impl NewMute {
    /// The mute under this name.
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
    /// The rule.
    #[serde(flatten)]
    pub mute: Mute,
    /// Whether it stands in the configuration.
    pub configured: bool,
    /// When it was added; none for those of the configuration.
    pub added_at: Option<DateTime<Utc>>,
    /// When it was removed.
    pub removed_at: Option<DateTime<Utc>>,
    /// How many alerts it hid, as [`MOST_COUNTED`](crate::MOST_COUNTED) says.
    pub hits: u64,
    /// When it last hid one.
    pub last_hit: Option<DateTime<Utc>>,
}

/// What a mute would have hidden.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MutePreview {
    /// Cases, by verdict; those without one by status.
    pub cases: BTreeMap<String, u64>,
    /// The true positives among them, the newest first.
    pub true_positives: Vec<CaseRow>,
    /// Members of storms.
    pub members: u64,
    /// Alerts that another mute hid.
    pub muted: u64,
    /// How many alerts were looked at, the newest ones, where there are more; none: all of that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_newest: Option<u64>,
}

/// How many accepted alerts are in one place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PlaceCount {
    /// `case`, `sighting`, `member`, `muted`, `set_aside` or `dead_letter`.
    pub place: String,
    /// By which mute, state or class; empty elsewhere.
    pub why: String,
    /// How many.
    pub alerts: u64,
}
