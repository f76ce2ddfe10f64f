//! Evidence: the stored JSON of one tool call. `E0` is the alert.

use chrono::{DateTime, Utc};
use nightshift_alert::Flag;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{JsonText, StepId, ToolError};

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

/// The text is no evidence id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no evidence id: E0, E1, …")]
pub struct NoEvidenceId(pub String);

impl TryFrom<String> for EvidenceId {
    type Error = NoEvidenceId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.strip_prefix('E')
            .and_then(|number| number.parse().ok())
            .map(Self)
            .ok_or(NoEvidenceId(text))
    }
}

/// The stored JSON of one tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Its number.
    pub id: EvidenceId,
    /// The step that asked; none for the alert and for the look at earlier cases.
    pub step: Option<StepId>,
    /// The tool's name; `alert` for E0.
    pub tool: String,
    /// The tool's kind.
    pub kind: String,
    /// What it was asked.
    pub arguments: Map<String, Value>,
    /// When it answered.
    pub at: DateTime<Utc>,
    /// Its answer; null where it gave none.
    pub body: JsonText,
    /// How many rows it found, for tools that find rows.
    pub rows: Option<u64>,
    /// Whether something was left out for its size.
    pub truncated: bool,
    /// Why it gave no answer.
    pub error: Option<ToolError>,
    /// What was cut, redacted or suspicious in the answer.
    #[serde(default)]
    pub flags: Vec<Flag>,
}
