//! Findings: claims with quotes from evidence.

use serde::{Deserialize, Serialize};

use crate::EvidenceId;

/// Which way a finding points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stance {
    /// Towards malice.
    #[default]
    For,
    /// Away from it.
    Against,
}

/// A quote as an analyst gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuoteDraft {
    /// The evidence it is taken from.
    pub evidence: EvidenceId,
    /// A whole scalar, or a whole `key: value`, of that evidence.
    pub quote: String,
}

/// A finding as an analyst gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingDraft {
    /// One sentence.
    pub claim: String,
    /// What proves it.
    #[serde(default)]
    pub quotes: Vec<QuoteDraft>,
    /// Which way it points.
    #[serde(default)]
    pub stance: Stance,
}

/// A quote that was looked for in its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote {
    /// The evidence.
    pub id: EvidenceId,
    /// The text.
    pub quote: String,
    /// JSON pointer of the value it resolved to; none where it is not there.
    pub path: Option<String>,
}

/// A finding that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// One sentence.
    pub claim: String,
    /// Whether every quote resolved and every value in the claim stands in the evidence.
    pub supported: bool,
    /// Why it counts for nothing, where it is not supported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What proves it.
    pub evidence: Vec<Quote>,
    /// Which way it points.
    pub stance: Stance,
}
