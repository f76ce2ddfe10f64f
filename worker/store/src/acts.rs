//! What people do with cases, as columns: the same words in both databases.

use chrono::{DateTime, Utc};
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::desk::{Act, ActKind, DeskStatus};

/// An act as a row of the table `case_actions`.
pub(crate) struct ActRow {
    /// What was done.
    pub(crate) act: &'static str,
    /// Whom it was assigned to, their verdict, or the name of the mute.
    pub(crate) about: Option<String>,
    /// When the mute ends.
    pub(crate) until: Option<DateTime<Utc>>,
    /// Where the case stands then, where that changes.
    pub(crate) desk: Option<DeskStatus>,
    /// Who has it then, where that changes.
    pub(crate) owner: Option<String>,
}

impl ActRow {
    /// The row of an act.
    pub(crate) fn of(act: &Act) -> Self {
        let (name, about) = match &act.kind {
            ActKind::Acknowledged => ("acknowledged", None),
            ActKind::Assigned { to } => ("assigned", Some(to.clone())),
            ActKind::Agreed => ("agreed", None),
            ActKind::Disagreed { verdict } => ("disagreed", Some(verdict.as_str().to_owned())),
            ActKind::AskedAgain => ("asked_again", None),
            ActKind::Muted { name, .. } => ("muted", Some(name.clone())),
            ActKind::Closed => ("closed", None),
            ActKind::Reopened => ("reopened", None),
        };
        let (desk, owner) = match &act.kind {
            ActKind::Acknowledged => (Some(DeskStatus::Acknowledged), Some(act.by.clone())),
            ActKind::Assigned { to } => (Some(DeskStatus::Acknowledged), Some(to.clone())),
            ActKind::Closed => (Some(DeskStatus::Closed), None),
            ActKind::Reopened => (Some(DeskStatus::Open), None),
            _ => (None, None),
        };
        let until = match &act.kind {
            ActKind::Muted { until, .. } => Some(*until),
            _ => None,
        };
        Self {
            act: name,
            about,
            until,
            desk,
            owner,
        }
    }
}

/// What such a row says; none where a newer version wrote it.
pub(crate) fn kind(
    act: &str,
    about: Option<String>,
    until: Option<DateTime<Utc>>,
) -> Option<ActKind> {
    Some(match act {
        "acknowledged" => ActKind::Acknowledged,
        "assigned" => ActKind::Assigned { to: about? },
        "agreed" => ActKind::Agreed,
        "disagreed" => ActKind::Disagreed {
            verdict: verdict(&about?)?,
        },
        "asked_again" => ActKind::AskedAgain,
        "muted" => ActKind::Muted {
            name: about?,
            until: until?,
        },
        "closed" => ActKind::Closed,
        "reopened" => ActKind::Reopened,
        _ => return None,
    })
}

fn verdict(word: &str) -> Option<Verdict> {
    let all = Verdict::ALL.into_iter();
    all.into_iter().find(|one| one.as_str() == word)
}
