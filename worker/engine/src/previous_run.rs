//! Defines the earlier result of a case that is triaged again. The analyst sees this result, but does not have to
//! follow it.

use nightshift_alert::{Indicator, Severity};
use serde::{Deserialize, Serialize};

use crate::conclusion::{Leaning, Urgency, Verdict};

/// Result of the previous report, and the reason for the new triage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousRun {
    /// Revision of that report.
    pub revision: u32,
    /// True if that run failed, so that its verdict does not count.
    pub failed: bool,
    /// Verdict of that report.
    pub verdict: Verdict,
    /// Leaning of that report.
    pub leaning: Leaning,
    /// Severity that the report assessed.
    pub severity: Severity,
    /// Urgency of that report.
    pub urgency: Urgency,
    /// Reason for the new triage, as admission recorded it.
    pub why: Option<String>,
    /// Actors, targets and far ends that the earlier alert did not name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new: Vec<Indicator>,
}
