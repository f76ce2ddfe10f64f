//! What people decide over cases: agreement, or another verdict. Who may is decided above; what follows from it is not
//! here either: admission asks whether a case is disputed, the tool `past_cases` what a person's verdict clears.

use chrono::{DateTime, Utc};
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
