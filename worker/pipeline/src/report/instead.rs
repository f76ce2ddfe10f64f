//! A report that stands where it does because other destinations do not show it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Destinations that do not show a report, by their names in the configuration. Nothing of what they said is in it: that
/// stands in the deliveries of the case and in the log.
pub type InsteadOf = BTreeMap<String, Missed>;

/// That a destination does not show a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// Why.
    pub why: NotShown,
    /// The triage whose report that was.
    pub revision: u32,
}

/// Why a destination does not show a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotShown {
    /// It refuses it for good.
    Refused,
    /// The answer of a try was lost, and nobody may look there: it may be shown, and nobody knows.
    NotKnown,
    /// No destination has this name any more.
    Removed,
}

/// As a store holds them, those that are about the report of this triage. What a newer version wrote, and this one cannot
/// read, is not told.
#[must_use]
pub fn read_instead_of(written: Option<&str>, revision: u32) -> InsteadOf {
    let all: BTreeMap<String, Value> = written
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    all.into_iter()
        .filter_map(|(name, one)| Some((name, serde_json::from_value::<Missed>(one).ok()?)))
        .filter(|(_, one)| one.revision == revision)
        .collect()
}
