//! The plan of a case: an objective that never changes, and steps that do.

use serde::{Deserialize, Serialize};

use crate::ToolCall;

/// Number of a step within its case: `s1`, `s2`, … The engine gives it, whatever the analyst wrote.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StepId(pub String);

impl StepId {
    /// The id of the `number`th step, counted from 1.
    #[must_use]
    pub fn numbered(number: usize) -> Self {
        Self(format!("s{number}"))
    }
}

impl std::fmt::Display for StepId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a case is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// No plan is needed: one implicit step.
    Direct,
    /// An objective and steps, reflected on after each wave.
    #[default]
    Planned,
    /// One step after the other, each decided on from the results so far.
    Adaptive,
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Waits for its turn or for a step it depends on.
    Pending,
    /// Is worked on.
    Running,
    /// Came to a result.
    Done,
    /// Came to none.
    Failed,
    /// Was taken out by a reflection; stays listed, so that it is not added again.
    Cancelled,
    /// Was left when the case ended.
    NotRun,
}

impl StepStatus {
    /// Whether nothing can change it any more.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }

    /// The word used in JSON and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::NotRun => "not_run",
        }
    }
}

/// What a finished step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// What was expected was found.
    Met,
    /// It was looked for and not found.
    Unmet,
    /// It could not be looked for.
    Failed,
}

impl StepOutcome {
    /// The word used in JSON and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Unmet => "unmet",
            Self::Failed => "failed",
        }
    }
}

/// A step as an analyst proposes it. Ids are the analyst's own and count only within one answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepDraft {
    /// The analyst's name for it; `depends_on` of its neighbours refers to it.
    pub id: String,
    /// One concrete investigation.
    pub description: String,
    /// Which tools it will probably need: a hint.
    #[serde(default)]
    pub tools: Vec<String>,
    /// What a result would look like.
    #[serde(default)]
    pub expected: String,
    /// Steps that must have ended first.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// Its first calls, with real arguments; checked and run at once.
    #[serde(default)]
    pub calls: Vec<ToolCall>,
    /// Whether a benign verdict needs this step not to fail.
    #[serde(default)]
    pub key: bool,
}

/// A step of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The engine's id.
    pub id: StepId,
    /// The analyst's name for it.
    pub name: String,
    /// One concrete investigation.
    pub description: String,
    /// Which tools it will probably need: a hint.
    pub tools: Vec<String>,
    /// What a result would look like.
    pub expected: String,
    /// Steps that must have ended first, however they ended.
    pub depends_on: Vec<StepId>,
    /// Its first calls.
    pub calls: Vec<ToolCall>,
    /// Whether a benign verdict needs this step not to fail.
    pub key: bool,
    /// Where it stands.
    pub status: StepStatus,
    /// What it came to, once it is done or failed.
    pub outcome: Option<StepOutcome>,
    /// Its result in a sentence or two, or why there is none.
    pub summary: String,
    /// The wave it ran in, counted from 1.
    pub wave: Option<u32>,
    /// Why a reflection added, changed or cancelled it.
    pub reason: Option<String>,
}

/// Objective and steps of a case.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Plan {
    /// How the case is worked on.
    pub mode: Mode,
    /// What is to be found out. Never changes.
    pub objective: String,
    /// The steps, in the order of their ids; cancelled ones stay.
    pub steps: Vec<Step>,
    /// What the plan comes from, e.g. `playbook crypto-mining 1`.
    pub source: String,
    /// Sources that would have been asked, had they been configured.
    pub not_covered: Vec<String>,
    /// Whether the analyst holds steps back until it has seen results.
    pub conditional: bool,
}

impl Plan {
    /// The step of this id.
    #[must_use]
    pub fn step(&self, id: &StepId) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == *id)
    }

    /// The step of this id, to change it.
    pub(crate) fn step_mut(&mut self, id: &StepId) -> Option<&mut Step> {
        self.steps.iter_mut().find(|step| step.id == *id)
    }

    /// Whether every step that this one waits for has ended.
    #[must_use]
    pub fn is_ready(&self, step: &Step) -> bool {
        step.status == StepStatus::Pending
            && step
                .depends_on
                .iter()
                .all(|id| self.step(id).is_none_or(|other| other.status.is_terminal()))
    }
}

/// A change that a reflection asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PlanUpdate {
    /// One more step.
    AddStep {
        /// The step.
        step: StepDraft,
        /// Why.
        reason: String,
    },
    /// Another description for a step that has not started.
    UpdateStep {
        /// Which one.
        id: StepId,
        /// Its new description.
        description: String,
        /// What a result would look like now.
        expected: Option<String>,
        /// Why.
        reason: String,
    },
    /// A step that is no longer needed.
    CancelStep {
        /// Which one.
        id: StepId,
        /// Why.
        reason: String,
    },
}

impl PlanUpdate {
    /// The word used in metrics and reports.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::AddStep { .. } => "add_step",
            Self::UpdateStep { .. } => "update_step",
            Self::CancelStep { .. } => "cancel_step",
        }
    }

    /// Why it is asked for.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::AddStep { reason, .. }
            | Self::UpdateStep { reason, .. }
            | Self::CancelStep { reason, .. } => reason,
        }
    }
}

/// What became of a plan update: recorded, and told to the analyst.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateRecord {
    /// After which reflection, counted from 1.
    pub reflection: u32,
    /// What was asked for.
    pub update: PlanUpdate,
    /// Why it was refused; none where it was done.
    pub refused: Option<String>,
}
