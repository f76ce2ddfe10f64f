//! What people do with cases, as columns: the same words in both databases.

use chrono::{DateTime, Utc};
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case_workflow::{CaseAction, CaseActionKind, WorkflowStatus};

/// An act as a row of the table `case_actions`.
pub(crate) struct CaseActionRow {
    /// What was done.
    pub(crate) act: &'static str,
    /// Whom it was assigned to, their verdict, or the name of the mute.
    pub(crate) about: Option<String>,
    /// When the mute ends.
    pub(crate) until: Option<DateTime<Utc>>,
    /// Where the case stands then, where that changes.
    pub(crate) desk: Option<WorkflowStatus>,
    /// Who has it then, where that changes.
    pub(crate) owner: Option<String>,
}

impl CaseActionRow {
    /// The row of an act.
    pub(crate) fn from_action(act: &CaseAction) -> Self {
        let (name, about) = match &act.kind {
            CaseActionKind::Acknowledged => ("acknowledged", None),
            CaseActionKind::Assigned { to } => ("assigned", Some(to.clone())),
            CaseActionKind::Agreed => ("agreed", None),
            CaseActionKind::Disagreed { verdict } => {
                ("disagreed", Some(verdict.as_str().to_owned()))
            }
            CaseActionKind::AskedAgain => ("asked_again", None),
            CaseActionKind::Muted { name, .. } => ("muted", Some(name.clone())),
            CaseActionKind::Closed => ("closed", None),
            CaseActionKind::Reopened => ("reopened", None),
        };
        let (desk, owner) = match &act.kind {
            CaseActionKind::Acknowledged => {
                (Some(WorkflowStatus::Acknowledged), Some(act.by.clone()))
            }
            CaseActionKind::Assigned { to } => {
                (Some(WorkflowStatus::Acknowledged), Some(to.clone()))
            }
            CaseActionKind::Closed => (Some(WorkflowStatus::Closed), None),
            CaseActionKind::Reopened => (Some(WorkflowStatus::Open), None),
            _ => (None, None),
        };
        let until = match &act.kind {
            CaseActionKind::Muted { until, .. } => Some(*until),
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
pub(crate) fn parse_action_kind(
    act: &str,
    about: Option<String>,
    until: Option<DateTime<Utc>>,
) -> Option<CaseActionKind> {
    Some(match act {
        "acknowledged" => CaseActionKind::Acknowledged,
        "assigned" => CaseActionKind::Assigned { to: about? },
        "agreed" => CaseActionKind::Agreed,
        "disagreed" => CaseActionKind::Disagreed {
            verdict: verdict(&about?)?,
        },
        "asked_again" => CaseActionKind::AskedAgain,
        "muted" => CaseActionKind::Muted {
            name: about?,
            until: until?,
        },
        "closed" => CaseActionKind::Closed,
        "reopened" => CaseActionKind::Reopened,
        _ => return None,
    })
}

fn verdict(word: &str) -> Option<Verdict> {
    let all = Verdict::ALL.into_iter();
    all.into_iter().find(|one| one.as_str() == word)
}
