//! A case that is triaged again: what was said of it before, and why that is not the last word.

use nightshift_alert::{Indicator, Severity};
use serde::{Deserialize, Serialize};

use crate::{Leaning, Urgency, Verdict};

/// What the report before said, and why there is another triage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Again {
    /// Which triage that was.
    pub revision: u32,
    /// Whether it failed, so that its verdict is none.
    pub failed: bool,
    /// Its verdict.
    pub verdict: Verdict,
    /// Where it leaned.
    pub leaning: Leaning,
    /// The severity that it assessed.
    pub severity: Severity,
    /// When somebody was to act.
    pub urgency: Urgency,
    /// Why the case is triaged again, in the word of its admission.
    pub why: Option<String>,
    /// The actors, targets and far ends that its alert did not name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new: Vec<Indicator>,
}
