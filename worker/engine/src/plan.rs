//! Defines the plan of a case: an objective that never changes, and steps that may.

use serde::{Deserialize, Serialize};

use crate::tool::ToolCall;

/// Id of a step within its case: `s1`, `s2`, … The engine assigns it and ignores the analyst's own ids.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StepId(pub String);

impl StepId {
    /// Returns the id of the `number`th step, counted from 1.
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

/// Way of working on a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanMode {
    /// No plan is needed: one implicit step.
    Direct,
    /// An objective and steps, reflected on after each wave.
    #[default]
    Planned,
    /// One step after the other, each chosen from the results so far.
    Adaptive,
}

/// Status of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// The step waits for its turn or for a step that it depends on.
    Pending,
    /// The step runs.
    Running,
    /// The step has a result.
    Done,
    /// The step ended without a result.
    Failed,
    /// A reflection cancelled the step. It stays listed, so that it is not added again.
    Cancelled,
    /// The step was left when the case ended.
    NotRun,
}

impl StepStatus {
    /// Returns whether the status is final.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }

    /// Returns the word used in JSON and reports.
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

/// Outcome of a finished step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// The expected result was found.
    Met,
    /// The expected result was looked for and not found.
    Unmet,
    /// The expected result could not be looked for.
    Failed,
}

impl StepOutcome {
    /// Returns the word used in JSON and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Unmet => "unmet",
            Self::Failed => "failed",
        }
    }
}

/// Step as an analyst proposes it. Ids are the analyst's own and are valid only within one answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepDraft {
    /// The analyst's name of the step; `depends_on` of other steps refers to it.
    pub id: String,
    /// One concrete investigation.
    pub description: String,
    /// Tools that the step will probably need: a hint.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Description of an expected result.
    #[serde(default)]
    pub expected: String,
    /// Steps that must have ended first.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// First calls of the step, with real arguments; they are checked and run at once.
    #[serde(default)]
    pub calls: Vec<ToolCall>,
    /// True if the step must not fail if the verdict is benign.
    #[serde(default)]
    pub key: bool,
}

/// A step of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The engine's id.
    pub id: StepId,
    /// The analyst's name of the step.
    pub name: String,
    /// One concrete investigation.
    pub description: String,
    /// Tools that the step will probably need: a hint.
    pub tools: Vec<String>,
    /// Description of an expected result.
    pub expected: String,
    /// Steps that must have ended first, with any outcome.
    pub depends_on: Vec<StepId>,
    /// First calls of the step.
    pub calls: Vec<ToolCall>,
    /// True if the step must not fail if the verdict is benign.
    pub key: bool,
    /// Status of the step.
    pub status: StepStatus,
    /// Outcome of the step, once it is done or failed.
    pub outcome: Option<StepOutcome>,
    /// Result in one or two sentences, or the reason why there is none.
    pub summary: String,
    /// Wave that the step ran in, counted from 1.
    pub wave: Option<u32>,
    /// Reason why a reflection added, changed or cancelled the step.
    pub reason: Option<String>,
}

/// Objective and steps of a case.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Plan {
    /// Way of working on the case.
    pub mode: PlanMode,
    /// Question to be answered. It never changes.
    pub objective: String,
    /// Steps in the order of their ids; cancelled ones stay.
    pub steps: Vec<Step>,
    /// Source of the plan, such as `playbook crypto-mining 1`.
    pub source: String,
    /// Sources that would have been asked if they were configured.
    pub not_covered: Vec<String>,
    /// True if the analyst keeps steps back until it has seen results.
    pub conditional: bool,
}

impl Plan {
    /// Returns the step of this id.
    #[must_use]
    pub fn step(&self, id: &StepId) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == *id)
    }

    /// Returns the step of this id, mutably.
    pub(crate) fn step_mut(&mut self, id: &StepId) -> Option<&mut Step> {
        self.steps.iter_mut().find(|step| step.id == *id)
    }

    /// Returns whether all dependencies of this step have ended.
    #[must_use]
    pub fn is_ready(&self, step: &Step) -> bool {
        step.status == StepStatus::Pending
            && step
                .depends_on
                .iter()
                .all(|id| self.step(id).is_none_or(|other| other.status.is_terminal()))
    }
}

/// A change that a reflection requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PlanUpdate {
    /// Adds a step.
    AddStep {
        /// New step.
        step: StepDraft,
        /// Reason for the change.
        reason: String,
    },
    /// Changes the description of a step that has not started.
    UpdateStep {
        /// Id of the step.
        id: StepId,
        /// New description.
        description: String,
        /// Description of the result that is now expected.
        expected: Option<String>,
        /// Reason for the change.
        reason: String,
    },
    /// Cancels a step that is no longer needed.
    CancelStep {
        /// Id of the step.
        id: StepId,
        /// Reason for the change.
        reason: String,
    },
}

impl PlanUpdate {
    /// Returns the word used in metrics and reports.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::AddStep { .. } => "add_step",
            Self::UpdateStep { .. } => "update_step",
            Self::CancelStep { .. } => "cancel_step",
        }
    }

    /// Returns the reason for the change.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::AddStep { reason, .. }
            | Self::UpdateStep { reason, .. }
            | Self::CancelStep { reason, .. } => reason,
        }
    }
}

/// Record of a plan update, which the analyst sees too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanUpdateRecord {
    /// Number of the reflection, counted from 1.
    pub reflection: u32,
    /// Requested update.
    pub update: PlanUpdate,
    /// Reason for refusing the update; `None` when it was applied.
    pub refused: Option<String>,
}
