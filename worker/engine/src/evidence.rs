//! Defines evidence: the stored JSON of one tool call. `E0` is the alert.

use chrono::{DateTime, Utc};
use nightshift_alert::ContentFlag;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::plan::StepId;
use crate::tool::ToolError;
use nightshift_alert::JsonText;

/// Number of a piece of evidence within its case and revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct EvidenceId(pub u32);

impl EvidenceId {
    /// The alert.
    pub const ALERT: Self = Self(0);
}

impl std::fmt::Display for EvidenceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "E{}", self.0)
    }
}

impl From<EvidenceId> for String {
    fn from(id: EvidenceId) -> Self {
        id.to_string()
    }
}

/// Error for a text that is not an evidence id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no evidence id: E0, E1, …")]
pub struct InvalidEvidenceId(pub String);

impl TryFrom<String> for EvidenceId {
    type Error = InvalidEvidenceId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.strip_prefix('E')
            .and_then(|number| number.parse().ok())
            .map(Self)
            .ok_or(InvalidEvidenceId(text))
    }
}

/// The stored JSON of one tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Number of the evidence.
    pub id: EvidenceId,
    /// Step that asked; `None` for the alert and for the look-up of earlier cases.
    pub step: Option<StepId>,
    /// Name of the tool; `alert` for E0.
    pub tool: String,
    /// Kind of the tool.
    pub kind: String,
    /// Arguments of the call.
    pub arguments: Map<String, Value>,
    /// Time of the answer.
    pub at: DateTime<Utc>,
    /// Answer of the tool; null when there was none.
    pub body: JsonText,
    /// Number of rows, for tools that return rows.
    pub rows: Option<u64>,
    /// True if the answer was cut for its size.
    pub truncated: bool,
    /// Error of a call without an answer.
    pub error: Option<ToolError>,
    /// Marks for what was cut, redacted or suspicious in the answer.
    #[serde(default)]
    pub flags: Vec<ContentFlag>,
}
