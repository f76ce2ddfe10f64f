//! The words for what becomes of an alert, and why.

use std::fmt;

use nightshift_alert::Class;
use serde::{Deserialize, Serialize};

use crate::CaseId;

/// What becomes of an alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// A case of its own.
    New,
    /// One more arrival of an alert that has a case, or is a member of one.
    Sighting(CaseId, Seen),
    /// A case that is triaged again: at once, or when the triage that runs has ended.
    Revision(CaseId, Change),
    /// It takes the place of the alert that its case was to triage.
    Replaced(CaseId, Change),
    /// One of many of a storm, told in the report of the first.
    Member(CaseId),
    /// Hidden by the mute of this name.
    Muted(String),
    /// Stored and counted, not triaged.
    SetAside(SetAside),
    /// A case that is not finished and goes on, because somebody asked for it.
    GoOn(CaseId),
}

impl Admission {
    /// All words of [`Admission::as_str`] that a source can lead to.
    pub const WORDS: [&'static str; 7] = [
        "new",
        "sighting",
        "revision",
        "replaced",
        "member",
        "muted",
        "set_aside",
    ];

    /// The word used in metrics and the database.
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
            Self::GoOn(_) => "resumed",
        }
    }

    /// The case there was before, where it has to do with one.
    #[must_use]
    pub const fn case(&self) -> Option<&CaseId> {
        match self {
            Self::New | Self::Muted(_) | Self::SetAside(_) => None,
            Self::Sighting(id, _)
            | Self::Revision(id, _)
            | Self::Replaced(id, _)
            | Self::Member(id)
            | Self::GoOn(id) => Some(id),
        }
    }

    /// Why, in a word or two of the closed sets below, or the name of the mute.
    #[must_use]
    pub fn why(&self) -> Option<String> {
        match self {
            Self::New | Self::Member(_) | Self::GoOn(_) => None,
            Self::Sighting(_, seen) => Some(seen.to_string()),
            Self::Revision(_, change) | Self::Replaced(_, change) => Some(change.to_string()),
            Self::Muted(name) => Some(name.clone()),
            Self::SetAside(why) => Some(why.to_string()),
        }
    }
}

/// What is new in an alert that came again: the first of these that fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Somebody asked for a triage.
    Asked,
    /// It is more severe.
    Severity,
    /// It is of another type.
    Type,
    /// It is active at its feed again, or no sample any more.
    State,
    /// Somebody else acts.
    Actor,
    /// It is done to something else.
    Target,
    /// There is another far end.
    Remote,
    /// Another resource or principal is named beside it.
    Related,
    /// Something else is done, or it succeeded.
    Action,
    /// It goes on after what cleared it has ended, or began before that.
    NoLongerCleared,
    /// Something changed, and the last triage could not tell.
    Inconclusive,
    /// Something changed, and a person had decided otherwise than the last triage.
    Disputed,
    /// Something changed, and the last triage is too long ago.
    CooledDown,
    /// A record that cleared it has ended or was withdrawn.
    RecordEnded,
    /// The audit log shows new acts of its actors.
    NewActs,
    /// A look-up that kept it from being cleared is whole now.
    LookupWhole,
}

impl Change {
    /// Whether it is about somebody or something that a record which cleared the alert said nothing of.
    pub(super) const fn is_somebody_or_something_new(self) -> bool {
        matches!(
            self,
            Self::Actor | Self::Target | Self::Remote | Self::Related | Self::NoLongerCleared
        )
    }

    /// The word used in the database.
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

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why an alert that came again is but a sighting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// Nothing but counters and times changed.
    Same,
    /// Nothing that matters changed.
    Unchanged,
    /// It tells of an earlier state than the one that is known, and of nothing that was not judged.
    Older,
    /// Somebody or something is new, and the case has no room for more; it says so, and is not cleared.
    Full,
    /// The change would matter, but the case was triaged again too often today.
    TooOften(Change),
    /// It tells of its state at the feed, which is noted on the case.
    AtFeed(SetAside),
}

impl fmt::Display for Seen {
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

/// Why an alert is set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetAside {
    /// A check that passed.
    Passed,
    /// Archived at its feed.
    Archived,
    /// No longer active there.
    Inactive,
    /// Resolved there.
    Resolved,
    /// Muted or suppressed there.
    Suppressed,
    /// Of a class that no route wants.
    Class(Class),
}

impl fmt::Display for SetAside {
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
