//! Defines the outcomes of admission and their reasons, with the words stored for them.

use std::fmt;

use nightshift_alert::FindingClass;
use serde::{Deserialize, Serialize};

use crate::case::CaseId;

/// Outcome of admission for one alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// A new case.
    New,
    /// A further arrival of an alert that has a case or is a member of one.
    Sighting(CaseId, SightingReason),
    /// A new triage of a case: at once, or when the running triage ends.
    Revision(CaseId, RevisionReason),
    /// The alert replaces the one that its case was to triage.
    Replaced(CaseId, RevisionReason),
    /// A further alert of a storm, shown in the report of the first.
    Member(CaseId),
    /// Hidden by the mute of this name.
    Muted(String),
    /// Stored and counted, but not triaged.
    SetAside(SetAsideReason),
    /// An unfinished case that continues because a person asked for it.
    Resumed(CaseId),
}

impl Admission {
    /// All values of [`Admission::as_str`] that a source can cause.
    pub const WORDS: [&'static str; 7] = [
        "new",
        "sighting",
        "revision",
        "replaced",
        "member",
        "muted",
        "set_aside",
    ];

    /// Returns the word used in metrics and the database.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Sighting(..) => "sighting",
            Self::Revision(..) => "revision",
            Self::Replaced(..) => "replaced",
            Self::Member(_) => "member",
            Self::Muted(_) => "muted",
            Self::SetAside(_) => "set_aside",
            Self::Resumed(_) => "resumed",
        }
    }

    /// Returns the existing case that the alert belongs to, if any.
    #[must_use]
    pub const fn case(&self) -> Option<&CaseId> {
        match self {
            Self::New | Self::Muted(_) | Self::SetAside(_) => None,
            Self::Sighting(id, _)
            | Self::Revision(id, _)
            | Self::Replaced(id, _)
            | Self::Member(id)
            | Self::Resumed(id) => Some(id),
        }
    }

    /// Returns the reason as a word of the closed sets below, or the name of the mute.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::New | Self::Member(_) | Self::Resumed(_) => None,
            Self::Sighting(_, seen) => Some(seen.to_string()),
            Self::Revision(_, change) | Self::Replaced(_, change) => Some(change.to_string()),
            Self::Muted(name) => Some(name.clone()),
            Self::SetAside(why) => Some(why.to_string()),
        }
    }
}

/// Reason for a new triage. The first that applies is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RevisionReason {
    /// A person asked for a triage.
    Asked,
    /// The severity rose.
    Severity,
    /// The type changed.
    Type,
    /// The alert is active at its feed again, or is no longer a sample.
    State,
    /// There is a new actor.
    Actor,
    /// There is a new target.
    Target,
    /// There is a new far end.
    Remote,
    /// There is a new related resource or principal.
    Related,
    /// There is a new action, or an action succeeded.
    Action,
    /// Events lie outside the time for which the alert was cleared.
    NoLongerCleared,
    /// The content changed, and the last triage was inconclusive.
    Inconclusive,
    /// The content changed, and a person had disputed the last verdict.
    Disputed,
    /// The content changed, and the last triage is older than the cooldown.
    CooledDown,
    /// A record that cleared the alert has ended or was withdrawn.
    RecordEnded,
    /// The audit log shows new actions of the alert's actors.
    NewActs,
    /// A look-up that blocked clearing is whole now.
    LookupWhole,
}

impl RevisionReason {
    /// Returns whether the change is a new subject, which the record that cleared the alert did not cover.
    pub(super) const fn is_new_subject(self) -> bool {
        matches!(
            self,
            Self::Actor | Self::Target | Self::Remote | Self::Related | Self::NoLongerCleared
        )
    }

    /// Returns the word used in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Severity => "severity",
            Self::Type => "type",
            Self::State => "state",
            Self::Actor => "actor",
            Self::Target => "target",
            Self::Remote => "remote",
            Self::Related => "related",
            Self::Action => "action",
            Self::NoLongerCleared => "no_longer_cleared",
            Self::Inconclusive => "inconclusive",
            Self::Disputed => "disputed",
            Self::CooledDown => "cooled_down",
            Self::RecordEnded => "record_ended",
            Self::NewActs => "new_acts",
            Self::LookupWhole => "lookup_whole",
        }
    }
}

impl fmt::Display for RevisionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Reason why a repeated alert is only a sighting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SightingReason {
    /// Only counters and times changed.
    Same,
    /// Nothing material changed.
    Unchanged,
    /// The alert reports an earlier state than the known one, and no content that was not judged.
    Older,
    /// A subject is new, but the case has no room for it. The case is marked as full and is not cleared.
    Full,
    /// The change is material, but the case has reached its revisions of the day.
    TooOften(RevisionReason),
    /// The alert reports its state at the feed, which is noted on the case.
    AtFeed(SetAsideReason),
}

impl fmt::Display for SightingReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same => f.write_str("same"),
            Self::Unchanged => f.write_str("unchanged"),
            Self::Older => f.write_str("older"),
            Self::Full => f.write_str("full"),
            Self::TooOften(change) => write!(f, "too_often:{change}"),
            Self::AtFeed(why) => write!(f, "at_feed:{why}"),
        }
    }
}

/// Reason why an alert is set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetAsideReason {
    /// The check passed.
    Passed,
    /// Archived at its feed.
    Archived,
    /// No longer active at its feed.
    Inactive,
    /// Resolved at its feed.
    Resolved,
    /// Muted or suppressed at its feed.
    Suppressed,
    /// The class is one that no route names.
    Class(FindingClass),
}

impl fmt::Display for SetAsideReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => f.write_str("passed"),
            Self::Archived => f.write_str("archived"),
            Self::Inactive => f.write_str("inactive"),
            Self::Resolved => f.write_str("resolved"),
            Self::Suppressed => f.write_str("suppressed"),
            Self::Class(class) => write!(f, "class:{class}"),
        }
    }
}
