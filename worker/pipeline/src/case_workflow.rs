//! Defines the case workflow, which holds the actions of people on a case (acknowledge, assign, agree, disagree, run
//! again, mute, close). The actions are kept as they were made, and the status is their fold. The callers decide who
//! may act.

use chrono::{DateTime, Utc};
use nightshift_engine::conclusion::Verdict;
use serde::{Deserialize, Serialize};

/// Maximum number of characters of a person's name.
pub const ACTION_NAME_CHARS: usize = 100;
/// Maximum number of characters of a note.
pub const ACTION_NOTE_CHARS: usize = 1_000;

/// Action of a person on a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum CaseActionKind {
    /// The person takes the case.
    Acknowledged,
    /// The person assigns the case to a person.
    Assigned {
        to: String,
    },
    /// The person agrees with the verdict.
    Agreed,
    /// The person has another verdict.
    Disagreed {
        verdict: Verdict,
    },
    /// The person had the case triaged again.
    AskedAgain,
    Muted {
        name: String,
        until: DateTime<Utc>,
    },
    /// The person closes the case: nothing is left to do.
    Closed,
    /// The source sent something new after the case was done. No person did this.
    Reopened,
}

/// An action of a person on a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseAction {
    pub at: DateTime<Utc>,
    /// The person, or the source of the alert if it reopened the case.
    pub by: String,
    #[serde(flatten)]
    pub kind: CaseActionKind,
    /// Reason in the person's words; may be empty.
    #[serde(default)]
    pub note: String,
}

/// Status of the case workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowStatus {
    #[default]
    Open,
    Acknowledged,
    Closed,
}

impl WorkflowStatus {
    pub const ALL: [Self; 3] = [Self::Open, Self::Acknowledged, Self::Closed];

    /// Returns the status for this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Returns the word that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Acknowledged => "acknowledged",
            Self::Closed => "closed",
        }
    }
}

/// State of the case workflow.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CaseWorkflow {
    pub status: WorkflowStatus,
    /// Person to whom the case is assigned.
    pub owner: Option<String>,
    /// Verdict of the last person who gave one, if it differs from the verdict of the case.
    pub verdict: Option<Verdict>,
    /// All actions, oldest first.
    pub acts: Vec<CaseAction>,
}

impl CaseWorkflow {
    /// Folds these actions, oldest first, into the state.
    #[must_use]
    pub fn from_actions(acts: Vec<CaseAction>) -> Self {
        let mut desk = Self::default();
        for act in &acts {
            desk.apply(act);
        }
        Self { acts, ..desk }
    }

    fn apply(&mut self, act: &CaseAction) {
        match &act.kind {
            CaseActionKind::Acknowledged => self.assign(&act.by),
            CaseActionKind::Assigned { to } => self.assign(to),
            CaseActionKind::Agreed => self.verdict = None,
            CaseActionKind::Disagreed { verdict } => self.verdict = Some(*verdict),
            CaseActionKind::Closed => self.status = WorkflowStatus::Closed,
            // People's statements were about an earlier alert.
            CaseActionKind::Reopened => *self = Self::default(),
            CaseActionKind::AskedAgain | CaseActionKind::Muted { .. } => {}
        }
    }

    fn assign(&mut self, who: &str) {
        self.status = WorkflowStatus::Acknowledged;
        self.owner = Some(who.to_owned());
    }

    /// Returns how often the case was opened again after it was done, by people or because its source sent something
    /// new.
    #[must_use]
    pub fn reopenings(&self) -> usize {
        let mut desk = Self::default();
        let is_opened = |act: &&CaseAction| {
            let was_settled = desk.is_settled();
            desk.apply(act);
            was_settled && !desk.is_settled()
        };
        self.acts.iter().filter(is_opened).count()
    }

    /// Returns whether the case is closed or called a wrong detection. A page about the case ends then.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.status == WorkflowStatus::Closed || self.verdict == Some(Verdict::FalsePositive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workflow_after(kinds: impl IntoIterator<Item = CaseActionKind>) -> CaseWorkflow {
        let act = |kind| CaseAction {
            at: DateTime::UNIX_EPOCH,
            by: "ana".into(),
            kind,
            note: String::new(),
        };
        CaseWorkflow::from_actions(kinds.into_iter().map(act).collect())
    }

    #[test]
    fn finished_case_workflow_reopens_at_a_new_revision() {
        let verdict = Verdict::FalsePositive;
        for done in [
            CaseActionKind::Closed,
            CaseActionKind::Disagreed { verdict },
        ] {
            let desk = workflow_after([CaseActionKind::Acknowledged, done.clone()]);
            assert!(desk.is_settled(), "{done:?}");
            let desk = workflow_after([
                CaseActionKind::Acknowledged,
                done.clone(),
                CaseActionKind::Reopened,
            ]);
            assert!(!desk.is_settled(), "{done:?}");
            assert_eq!((desk.status, desk.owner), (WorkflowStatus::Open, None));
            assert_eq!((desk.verdict, desk.acts.len()), (None, 3));
            let desk = workflow_after([done.clone(), CaseActionKind::Reopened, done]);
            assert!(desk.is_settled(), "they are done with that too");
        }
    }
}
