//! Marks a report that a destination shows because others do not show it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Destinations that do not show a report, by name. Their error texts are not included: the deliveries of the case
/// and the log have those.
pub type FailoverSources = BTreeMap<String, FailoverSource>;

/// A report that a destination does not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailoverSource {
    pub why: FailoverReason,
    /// Triage of that report.
    pub revision: u32,
}

/// Reason why a destination does not show a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailoverReason {
    /// The destination refuses the report permanently.
    Refused,
    /// The answer of an attempt was lost and a look-up is not permitted, so the result is unknown.
    NotKnown,
    /// No destination has this name any longer.
    Removed,
}

/// Parses the stored form and keeps the entries about the report of this triage. Entries of a newer version that this
/// one cannot read are left out.
#[must_use]
pub fn parse_failover_sources(written: Option<&str>, revision: u32) -> FailoverSources {
    let all: BTreeMap<String, Value> = written
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    all.into_iter()
        .filter_map(|(name, one)| Some((name, serde_json::from_value::<FailoverSource>(one).ok()?)))
        .filter(|(_, one)| one.revision == revision)
        .collect()
}
