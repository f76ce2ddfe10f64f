//! Converts actions of people to columns and back, with the same words in both databases.

use chrono::{DateTime, Utc};
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case_workflow::{CaseAction, CaseActionKind, WorkflowStatus};

/// An action as a row of the table `case_actions`.
pub(crate) struct CaseActionRow {
    /// The kind of the action.
    pub(crate) act: &'static str,
    /// The assignee, the verdict of the person, or the name of the mute.
    pub(crate) about: Option<String>,
    /// The end of the mute.
    pub(crate) until: Option<DateTime<Utc>>,
    /// The workflow status after the action, if the action changes it.
    pub(crate) workflow_status: Option<WorkflowStatus>,
    /// The owner after the action, if the action changes it.
    pub(crate) owner: Option<String>,
}

impl CaseActionRow {
    /// Converts an action into a row.
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
        let (workflow_status, owner) = match &act.kind {
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
            workflow_status,
            owner,
        }
    }
}

/// Parses such a row. Returns `None` if a newer version wrote it.
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
