//! Defines the rows of a ledger, as reports show them.

use chrono::{DateTime, Utc};
use nightshift_alert::IndicatorRole;
use serde::{Deserialize, Serialize};

use crate::evidence::EvidenceId;
use crate::exoneration::Exoneration;
use crate::tool::Trust;

/// One row of the ledger, as reports show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerRow {
    /// The type of the subject: `principal`, `ip`, `access_key`, `call`, `unreadable`, `unseen`, …
    pub subject_type: String,
    /// The subject.
    pub subject: String,
    /// The role of the subject.
    pub role: IndicatorRole,
    /// The place of the subject: evidence and JSON pointer, such as `E0:/indicators/2`.
    #[serde(default)]
    pub place: String,
    /// The trust in that place.
    #[serde(default)]
    pub trust: Trust,
    /// True if a benign verdict requires the subject to be covered.
    pub required: bool,
    /// The record that covers it; of several that follow each other the last.
    pub covered_by: Option<CoveredBy>,
    /// The row that would cover the subject, or why it is not covered. `None` if it is covered or not required.
    pub missing: Option<String>,
}

/// The record that covers a subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoveredBy {
    /// The kind of the record.
    pub kind: String,
    /// Its own reference.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The approver of the record.
    pub approved_by: String,
    /// The time until which the record is valid, or `None` if it has no end.
    pub until: Option<DateTime<Utc>>,
    /// The evidence that holds the record.
    pub evidence: Option<EvidenceId>,
}

impl From<&Exoneration> for CoveredBy {
    fn from(record: &Exoneration) -> Self {
        Self {
            kind: record.kind.clone(),
            reference: record.reference.clone(),
            approved_by: record.approved_by.clone(),
            until: record.until,
            evidence: record.evidence,
        }
    }
}
