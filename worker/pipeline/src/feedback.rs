//! What people decide over cases: agreement, or another verdict. Who may is decided above; what follows from it is not
//! here either: admission asks whether a case is disputed, the tool `past_cases` what a person's verdict clears.

use chrono::{DateTime, Utc};
use nightshift_alert::Severity;
use nightshift_engine::Verdict;
use serde::{Deserialize, Serialize};

/// What a person says of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPersonVerdict {
    /// Their verdict; none where they agree with that of the case.
    pub verdict: Option<Verdict>,
    /// Who.
    pub by: String,
    /// When.
    pub at: DateTime<Utc>,
    /// Why, in their words; may be empty.
    pub note: String,
}

/// What a person said of a case. The newest of a case counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonVerdict {
    /// When.
    pub at: DateTime<Utc>,
    /// Who.
    pub by: String,
    /// Of which triage of the case.
    pub revision: u32,
    /// Their verdict.
    pub verdict: Verdict,
    /// Whether the case had the same one then.
    pub agreed: bool,
    /// Why, in their words.
    pub note: String,
}

/// What a person decided, with the case and what it had said: a line of `nightshift feedback export`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// Its number: the next page is asked for after it.
    pub id: i64,
    /// The case.
    pub case_id: String,
    /// Key of its alert, as text.
    pub key: String,
    /// Feed of its alert.
    pub feed: String,
    /// Finding type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Account or project.
    pub account: Option<String>,
    /// Severity as sent.
    pub severity: Severity,
    /// The verdict of the triage that it is about; none where that failed.
    pub case_verdict: Option<Verdict>,
    /// What the person decided.
    #[serde(flatten)]
    pub person: PersonVerdict,
}
