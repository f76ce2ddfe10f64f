//! Defines the types of the conclusion: the analyst's proposal, and the result that code makes from it.

use nightshift_alert::{Severity, Technique};
use serde::{Deserialize, Serialize};

use crate::catalogue::{Action, ActionChoice};
use crate::exoneration::Exoneration;
use crate::finding::{Finding, FindingDraft};
use crate::ledger_row::LedgerRow;
use crate::limits::BudgetCap;

/// Verdict on the alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The activity is real and not authorised.
    TruePositive,
    /// The activity is real but authorised.
    BenignTruePositive,
    /// The detection is wrong.
    FalsePositive,
    /// The evidence is not enough to decide.
    Inconclusive,
}

impl Verdict {
    /// All verdicts.
    pub const ALL: [Self; 4] = [
        Self::TruePositive,
        Self::BenignTruePositive,
        Self::FalsePositive,
        Self::Inconclusive,
    ];

    /// Returns the word used in JSON, metrics and the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TruePositive => "true_positive",
            Self::BenignTruePositive => "benign_true_positive",
            Self::FalsePositive => "false_positive",
            Self::Inconclusive => "inconclusive",
        }
    }

    /// Returns the words shown to people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::TruePositive => "True positive",
            Self::BenignTruePositive => "Benign true positive",
            Self::FalsePositive => "False positive",
            Self::Inconclusive => "Inconclusive",
        }
    }

    /// Returns whether nobody needs to act on the verdict.
    #[must_use]
    pub const fn is_benign(self) -> bool {
        matches!(self, Self::BenignTruePositive | Self::FalsePositive)
    }
}

/// Leaning of an inconclusive verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leaning {
    /// Probably malicious.
    Malicious,
    /// Probably benign.
    Benign,
    /// The case leans neither way.
    #[default]
    None,
}

impl Leaning {
    /// Returns the word used in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Malicious => "malicious",
            Self::Benign => "benign",
            Self::None => "none",
        }
    }
}

/// Reason for the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictReason {
    /// The observed activity is what attackers do.
    SuspiciousActivity,
    /// A register says that the activity was allowed.
    AuthorisedActivity,
    /// The detection logic does not fit here.
    WrongDetectionLogic,
    /// The detection saw wrong data.
    WrongData,
    /// Deciding data is missing.
    MissingData,
    /// A source could not be read.
    ToolFailure,
    /// A cap was reached.
    BudgetExhausted,
    /// The evidence does not support the claim.
    UnsupportedEvidence,
    /// The activity looks benign, but no register covers it.
    NotExonerated,
    /// The model refused to answer.
    ModelRefused,
    /// Text in the data addresses the analyst.
    SuspectedManipulation,
}

impl VerdictReason {
    /// Returns the word used in JSON and the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SuspiciousActivity => "suspicious_activity",
            Self::AuthorisedActivity => "authorised_activity",
            Self::WrongDetectionLogic => "wrong_detection_logic",
            Self::WrongData => "wrong_data",
            Self::MissingData => "missing_data",
            Self::ToolFailure => "tool_failure",
            Self::BudgetExhausted => "budget_exhausted",
            Self::UnsupportedEvidence => "unsupported_evidence",
            Self::NotExonerated => "not_exonerated",
            Self::ModelRefused => "model_refused",
            Self::SuspectedManipulation => "suspected_manipulation",
        }
    }

    /// Returns the words shown to people, in half a sentence.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::SuspiciousActivity => "what was seen is what attackers do",
            Self::AuthorisedActivity => "a register says that it was allowed",
            Self::WrongDetectionLogic => "the detection logic does not fit here",
            Self::WrongData => "the detection saw wrong data",
            Self::MissingData => "data that would decide is missing",
            Self::ToolFailure => "a source could not be read",
            Self::BudgetExhausted => "the work was cut short",
            Self::UnsupportedEvidence => "the evidence does not bear the claim",
            Self::NotExonerated => "it looks benign, but no record says so",
            Self::ModelRefused => "the model would not answer",
            Self::SuspectedManipulation => "text in the data talks to the analyst",
        }
    }
}

/// Confidence in the conclusion; computed by code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// One source, or claims without support.
    Low,
    /// More than one source, with gaps.
    Medium,
    /// Independent sources agree.
    High,
}

impl Confidence {
    /// Returns the word used in JSON and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Urgency of a response; computed by code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    /// Nobody needs to act.
    None,
    /// A person should act tomorrow.
    NextDay,
    /// A person should act before the shift ends.
    ThisShift,
    /// A person should act now.
    Now,
}

impl Urgency {
    /// Returns the word used in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::NextDay => "next_day",
            Self::ThisShift => "this_shift",
            Self::Now => "now",
        }
    }

    /// Returns the words that people read first.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::None => "No action",
            Self::NextDay => "Next day",
            Self::ThisShift => "This shift",
            Self::Now => "Act now",
        }
    }
}

/// Conclusion as an analyst proposes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConclusionDraft {
    /// Proposed verdict.
    pub verdict: Verdict,
    /// Leaning of an inconclusive verdict.
    #[serde(default)]
    pub leaning: Leaning,
    /// Reason for the verdict.
    pub reason: VerdictReason,
    /// Proposed severity.
    pub assessed_severity: Severity,
    /// Findings of the analyst.
    #[serde(default)]
    pub findings: Vec<FindingDraft>,
    /// Gaps that the analyst names.
    #[serde(default)]
    pub gaps: Vec<String>,
    /// Sources that the analyst would ask if they were configured, besides those in the plan; for coverage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_covered: Vec<String>,
    /// The facts that would decide an inconclusive case.
    #[serde(default)]
    pub would_decide: Vec<String>,
    /// Actions chosen from the catalogue.
    #[serde(default)]
    pub actions: Vec<ActionChoice>,
    /// Meaning of this type of finding, in a sentence.
    #[serde(default)]
    pub meaning: String,
    /// ATT&CK techniques that the analyst saw.
    #[serde(default)]
    pub techniques: Vec<Technique>,
}

/// Conclusion of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    /// Final verdict.
    pub verdict: Verdict,
    /// Leaning of an inconclusive verdict.
    pub leaning: Leaning,
    /// Reason for the verdict.
    pub reason: VerdictReason,
    /// Confidence in the verdict.
    pub confidence: Confidence,
    /// The severity after triage.
    pub assessed_severity: Severity,
    /// Urgency of a response.
    pub urgency: Urgency,
    /// Summary written by code.
    pub summary: String,
    /// Meaning of this type of finding, in a sentence.
    pub meaning: String,
    /// Checked findings.
    pub findings: Vec<Finding>,
    /// The gaps in what was looked up.
    pub gaps: Vec<String>,
    /// The facts that would decide an inconclusive case.
    pub would_decide: Vec<String>,
    /// Advised actions, filled in from the catalogue.
    pub actions: Vec<Action>,
    /// Records that cleared the alert.
    pub exonerations: Vec<Exoneration>,
    /// Subjects of the alert, each with the record that covers it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ledger: Vec<LedgerRow>,
    /// True if records cover all subjects, and only a look-up that is not whole keeps the alert from being cleared.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub awaits_lookup: bool,
    /// ATT&CK techniques.
    pub techniques: Vec<Technique>,
    /// Rules that overrode the analyst.
    pub overridden: Vec<VerdictOverride>,
    /// True if text in the data addresses the analyst.
    pub manipulation: bool,
    /// True if a fallback analyst had to step in, or the report is the fallback one.
    pub degraded: bool,
    /// Cap that ended the work before the plan was done.
    pub stopped_by: Option<BudgetCap>,
    /// Reason why the run failed. A failed run is never benign and can be run again.
    pub failed: Option<String>,
    /// Numbers of sources that were asked and that answered.
    pub coverage: SourceCoverage,
}

/// A rule that changed what the analyst proposed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictOverride {
    /// Name of the rule, as in metrics: `not_exonerated`, `severity_floor`, …
    pub rule: String,
    /// The effect of the rule and the reason, for the report.
    pub text: String,
    /// The reason alone, in half a sentence.
    #[serde(default)]
    pub why: String,
}

/// Share of the requested sources that answered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SourceCoverage {
    /// Number of sources that answered.
    pub read: usize,
    /// Number of sources that were wanted.
    pub wanted: usize,
    /// Sources that did not answer, each with the reason.
    pub missing: Vec<String>,
}
