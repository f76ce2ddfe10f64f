//! Defines findings: claims with quotes from evidence.

use serde::{Deserialize, Serialize};

use crate::evidence::EvidenceId;

/// Direction in which a finding points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingStance {
    /// The finding is evidence of malice.
    #[default]
    For,
    /// The finding is evidence against malice.
    Against,
}

/// Quote as an analyst gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuoteDraft {
    /// Evidence that the quote is taken from.
    pub evidence: EvidenceId,
    /// A whole scalar, or a whole `key: value`, of that evidence.
    pub quote: String,
}

/// Finding as an analyst gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingDraft {
    /// Claim in one sentence.
    pub claim: String,
    /// Quotes that prove the claim.
    #[serde(default)]
    pub quotes: Vec<QuoteDraft>,
    /// Direction in which the finding points.
    #[serde(default)]
    pub stance: FindingStance,
}

/// Quote that was looked up in its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote {
    /// Id of the evidence.
    pub id: EvidenceId,
    /// Text of the quote.
    pub quote: String,
    /// JSON pointer to the quoted value; `None` when the evidence does not hold it.
    pub path: Option<String>,
}

/// Finding that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Claim in one sentence.
    pub claim: String,
    /// True if every quote was found and the evidence holds every value in the claim.
    pub supported: bool,
    /// Reason why an unsupported finding does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Quotes that prove the claim.
    pub evidence: Vec<Quote>,
    /// Direction in which the finding points.
    pub stance: FindingStance,
}
