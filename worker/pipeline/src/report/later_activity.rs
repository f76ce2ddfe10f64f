//! Determines from the logs whether the activity continues after the alert's last event.
//!
//! A reader who sees "nothing since" at night goes back to bed, so the statement must be safe. It is computed from all
//! rows of all log answers. It is made only if each log that was asked for everything an actor, target or far end of
//! the alert did covers that time and was answered whole. In all other cases the result is "not known" with the reason.

mod log_answers;

use chrono::{DateTime, Utc};
use nightshift_engine::evidence::EvidenceId;
use serde::{Deserialize, Serialize};

use crate::language::Language;

pub(super) use log_answers::later_activity;

/// The activity that logs show for the time after the alert's last event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "logs", rename_all = "snake_case")]
pub enum LaterActivity {
    /// The logs contain events of that time.
    Events {
        /// Number of events that were shown.
        count: u64,
        /// True if there may be more events because an answer was cut.
        at_least: bool,
        /// Time of the last event.
        last: DateTime<Utc>,
        /// Evidence that contains the last event.
        evidence: EvidenceId,
    },
    /// The logs contain no events up to this time.
    Nothing {
        /// Last time that all logs cover.
        until: DateTime<Utc>,
        /// Evidence of the log that ends first.
        evidence: EvidenceId,
    },
    /// A log ends before that time, and none contains an event of it.
    Ends {
        /// Time of the last record.
        at: DateTime<Utc>,
        /// Evidence for that.
        evidence: EvidenceId,
    },
    /// A log does not cover that time.
    Uncovered {
        /// Evidence for that.
        evidence: EvidenceId,
    },
    /// An answer was cut, and the missing part may be of that time.
    Cut {
        /// Evidence that was cut.
        evidence: EvidenceId,
    },
    /// A log could not be read.
    Unread {
        /// Evidence for that.
        evidence: EvidenceId,
    },
    /// No log was asked, or the report is of a version without this field.
    #[default]
    NotKnown,
}

/// A statement with a time in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaterActivityText {
    /// Text before the time.
    pub before: String,
    /// Time that the text names.
    pub at: Option<DateTime<Utc>>,
    /// Text after the time.
    pub after: &'static str,
    /// Evidence for the statement.
    pub evidence: Option<EvidenceId>,
}

impl LaterActivity {
    /// Returns the statement in words.
    #[must_use]
    pub fn text(self, language: Language) -> LaterActivityText {
        let not_known = |en, ja| (language.pick(en, ja).to_owned(), None, "");
        let (before, at, after) = match self {
            Self::Events {
                count,
                at_least,
                last,
                ..
            } => (events(count, at_least, language), Some(last), ""),
            Self::Nothing { until, .. } => (
                language
                    .pick(
                        "nothing since in the logs that were read, which go to ",
                        "以後の活動なし、読めたログは ",
                    )
                    .to_owned(),
                Some(until),
                language.pick("", " まで"),
            ),
            Self::Ends { at, .. } => (
                language
                    .pick(
                        "since then: not known, for a log ends at ",
                        "以後は不明、ログは ",
                    )
                    .to_owned(),
                Some(at),
                language.pick("", " まで"),
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
        LaterActivityText {
            before,
            at,
            after,
            evidence: self.evidence(),
        }
    }

    /// Returns the evidence for the statement.
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

/// Returns text like `the logs show 26 events since, the last at `.
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
