//! The conclusion of a case: what the analyst proposes, and what code makes of it.

use nightshift_alert::{Severity, Technique};
use serde::{Deserialize, Serialize};

use crate::{Action, ActionChoice, Cap, Exoneration, Finding, FindingDraft, LedgerRow};

/// What the alert was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Real, and not authorised.
    TruePositive,
    /// Real, but authorised.
    BenignTruePositive,
    /// The detection is wrong.
    FalsePositive,
    /// The evidence does not decide.
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

    /// The word used in JSON, metrics and the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TruePositive => "true_positive",
            Self::BenignTruePositive => "benign_true_positive",
            Self::FalsePositive => "false_positive",
            Self::Inconclusive => "inconclusive",
        }
    }

    /// The words people read.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::TruePositive => "True positive",
            Self::BenignTruePositive => "Benign true positive",
            Self::FalsePositive => "False positive",
            Self::Inconclusive => "Inconclusive",
        }
    }

    /// Whether nobody needs to act on it.
    #[must_use]
    pub const fn is_benign(self) -> bool {
        matches!(self, Self::BenignTruePositive | Self::FalsePositive)
    }
}

/// Where an inconclusive verdict leans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leaning {
    /// Probably malicious.
    Malicious,
    /// Probably benign.
    Benign,
    /// Neither way.
    #[default]
    None,
}

impl Leaning {
    /// The word used in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Malicious => "malicious",
            Self::Benign => "benign",
            Self::None => "none",
        }
    }
}

/// Why the verdict is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// What was seen is what attackers do.
    SuspiciousActivity,
    /// A register says that it was allowed.
    AuthorisedActivity,
    /// The detection logic does not fit here.
    WrongDetectionLogic,
    /// The detection saw wrong data.
    WrongData,
    /// Data that would decide is missing.
    MissingData,
    /// A source could not be read.
    ToolFailure,
    /// A cap was reached.
    BudgetExhausted,
    /// The evidence does not bear the claim.
    UnsupportedEvidence,
    /// It looks benign, but no register says so.
    NotExonerated,
    /// The model would not answer.
    ModelRefused,
    /// The data talks to the analyst.
    SuspectedManipulation,
}

impl Reason {
    /// The word used in JSON and the database.
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

    /// The words people read, in half a sentence.
    #[must_use]
    pub const fn words(self) -> &'static str {
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

/// How sure the conclusion is; computed by code.
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
    /// The word used in JSON and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// When somebody should act; computed by code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    /// Nobody needs to.
    None,
    /// Tomorrow.
    NextDay,
    /// Before the shift ends.
    ThisShift,
    /// Now.
    Now,
}

impl Urgency {
    /// The word used in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::NextDay => "next_day",
            Self::ThisShift => "this_shift",
            Self::Now => "now",
        }
    }

    /// The words people read first.
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

/// The conclusion as an analyst proposes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConclusionDraft {
    /// The verdict it would give.
    pub verdict: Verdict,
    /// Where it leans, when inconclusive.
    #[serde(default)]
    pub leaning: Leaning,
    /// Why.
    pub reason: Reason,
    /// The severity it would give.
    pub assessed_severity: Severity,
    /// What it found.
    #[serde(default)]
    pub findings: Vec<FindingDraft>,
    /// What it could not see.
    #[serde(default)]
    pub gaps: Vec<String>,
    /// What it would have asked, had it been configured, beside what the plan names; for coverage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_covered: Vec<String>,
    /// What would decide it, when inconclusive.
    #[serde(default)]
    pub would_decide: Vec<String>,
    /// What to do, from the catalogue.
    #[serde(default)]
    pub actions: Vec<ActionChoice>,
    /// What this type of finding means, in a sentence.
    #[serde(default)]
    pub meaning: String,
    /// ATT&CK techniques that it saw.
    #[serde(default)]
    pub techniques: Vec<Technique>,
}

/// The conclusion of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    /// The verdict.
    pub verdict: Verdict,
    /// Where it leans, when inconclusive.
    pub leaning: Leaning,
    /// Why.
    pub reason: Reason,
    /// How sure it is.
    pub confidence: Confidence,
    /// The severity after triage.
    pub assessed_severity: Severity,
    /// When somebody should act.
    pub urgency: Urgency,
    /// One sentence, rendered by code.
    pub summary: String,
    /// What this type of finding means, in a sentence.
    pub meaning: String,
    /// What was found, checked.
    pub findings: Vec<Finding>,
    /// What was not seen.
    pub gaps: Vec<String>,
    /// What would decide it, when inconclusive.
    pub would_decide: Vec<String>,
    /// What to do, filled in from the catalogue.
    pub actions: Vec<Action>,
    /// The facts that cleared the alert.
    pub exonerations: Vec<Exoneration>,
    /// The subjects of the alert, and by which record each is covered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ledger: Vec<LedgerRow>,
    /// Whether records cover all of it, and only a look-up that is not whole keeps it from being cleared.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub awaits_lookup: bool,
    /// ATT&CK techniques.
    pub techniques: Vec<Technique>,
    /// Rules that overrode the analyst.
    pub overridden: Vec<Override>,
    /// Whether text in the data talks to the analyst.
    pub manipulation: bool,
    /// Whether a lesser analyst had to step in, or the report is plain.
    pub degraded: bool,
    /// The cap that ended the work before its plan was done, if one did.
    pub stopped_by: Option<Cap>,
    /// Why the run failed, if it did; a failed run is never benign, and can be run again.
    pub failed: Option<String>,
    /// Sources that were asked, and sources that answered.
    pub coverage: Coverage,
}

/// A rule that changed what the analyst proposed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    /// The rule's name, as in metrics: `not_exonerated`, `severity_floor`, …
    pub rule: String,
    /// What it did and why, for the report.
    pub text: String,
    /// Why alone, in half a sentence.
    #[serde(default)]
    pub why: String,
}

/// How much of what was asked was answered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Coverage {
    /// Sources that answered.
    pub read: usize,
    /// Sources that were wanted.
    pub wanted: usize,
    /// Those that did not answer, each with why.
    pub missing: Vec<String>,
}
