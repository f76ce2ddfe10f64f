//! Whether it goes on: what the logs that were read tell of the time after the alert's last event.
//!
//! Who reads "nothing since" at night goes back to bed. It is computed from all rows of all answers of logs, and said
//! only where each log that was asked for all that an actor, target or far end of the alert did at that time holds it and
//! was answered whole; all else is "not known", with why.

mod found;

use chrono::{DateTime, Utc};
use nightshift_engine::EvidenceId;
use serde::{Deserialize, Serialize};

use crate::Language;

pub(super) use found::of;

/// What logs tell of the time after the alert's last event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "logs", rename_all = "snake_case")]
pub enum Since {
    /// They hold events of it.
    Events {
        /// How many were shown.
        count: u64,
        /// Whether there may be more of them, for an answer was cut.
        at_least: bool,
        /// When the last one was.
        last: DateTime<Utc>,
        /// Which answer has that one.
        evidence: EvidenceId,
    },
    /// They hold none, and all of them go on until then.
    Nothing {
        /// The last moment that all of them cover.
        until: DateTime<Utc>,
        /// The answer that goes no further.
        evidence: EvidenceId,
    },
    /// One ends before, and none holds an event of it.
    Ends {
        /// When its last record was.
        at: DateTime<Utc>,
        /// Which answer says so.
        evidence: EvidenceId,
    },
    /// One does not cover it.
    Uncovered {
        /// Which answer says so.
        evidence: EvidenceId,
    },
    /// An answer was cut: what it left out may be of it.
    Cut {
        /// Which one.
        evidence: EvidenceId,
    },
    /// One could not be read.
    Unread {
        /// Which call says so.
        evidence: EvidenceId,
    },
    /// No log was asked about it, or the report is of a version that did not say.
    #[default]
    NotKnown,
}

/// What is said of it: words, and a moment with words after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinceWords {
    /// Our own words, and a number.
    pub before: String,
    /// The moment that they speak of.
    pub at: Option<DateTime<Utc>>,
    /// What closes them.
    pub after: &'static str,
    /// Where that stands.
    pub evidence: Option<EvidenceId>,
}

impl Since {
    /// What is said of it.
    #[must_use]
    pub fn words(self, language: Language) -> SinceWords {
        let not_known = |en, ja| (language.of(en, ja).to_owned(), None, "");
        let (before, at, after) = match self {
            Self::Events {
                count,
                at_least,
                last,
                ..
            } => (events(count, at_least, language), Some(last), ""),
            Self::Nothing { until, .. } => (
                language
                    .of(
                        "nothing since in the logs that were read, which go to ",
                        "以後の活動なし、読めたログは ",
                    )
                    .to_owned(),
                Some(until),
                language.of("", " まで"),
            ),
            Self::Ends { at, .. } => (
                language
                    .of(
                        "since then: not known, for a log ends at ",
                        "以後は不明、ログは ",
                    )
                    .to_owned(),
                Some(at),
                language.of("", " まで"),
            ),
            Self::Uncovered { .. } => not_known(
                "since then: not known, for a log does not cover that time",
                "以後は不明、ログにその時間の記録がありません",
            ),
            Self::Cut { .. } => not_known(
                "since then: not known, for what a log holds was cut",
                "以後は不明、ログの結果が途中までです",
            ),
            Self::Unread { .. } => not_known(
                "since then: not known, for a log could not be read",
                "以後は不明、読めないログがあります",
            ),
            Self::NotKnown => not_known("since then: not known", "以後は不明"),
        };
        SinceWords {
            before,
            at,
            after,
            evidence: self.evidence(),
        }
    }

    /// Where it stands.
    const fn evidence(self) -> Option<EvidenceId> {
        match self {
            Self::Events { evidence, .. }
            | Self::Nothing { evidence, .. }
            | Self::Ends { evidence, .. }
            | Self::Uncovered { evidence }
            | Self::Cut { evidence }
            | Self::Unread { evidence } => Some(evidence),
            Self::NotKnown => None,
        }
    }
}

/// `the logs show 26 events since, the last at `.
fn events(count: u64, at_least: bool, language: Language) -> String {
    let events = if count == 1 { "event" } else { "events" };
    match (language, at_least) {
        (Language::En, false) => format!("the logs show {count} {events} since, the last at "),
        (Language::En, true) => {
            format!("the logs show at least {count} {events} since, the last known at ")
        }
        (Language::Ja, false) => format!("以後のログに {count} 件、最新 "),
        (Language::Ja, true) => {
            format!("以後のログに少なくとも {count} 件、判明分の最新 ")
        }
    }
}
