//! Defines questions to the analyst: the content of each, and its answer.
//!
//! A question holds only what the design document assigns to it. The content is shared and not copied.

use std::collections::BTreeMap;
use std::sync::Arc;

use nightshift_alert::Alert;
use serde::{Deserialize, Serialize};

use crate::case_budget::CaseBudget;
use crate::catalogue::ActionTemplate;
use crate::evidence::Evidence;
use crate::exoneration::Exoneration;
use crate::finding::FindingDraft;
use crate::limits::{BudgetCap, TriageLimits};
use crate::plan::{PlanMode, PlanUpdate, PlanUpdateRecord, Step, StepDraft, StepOutcome};
use crate::strategy::Strategy;
use crate::tool::{ToolCall, ToolError, ToolSpec};

/// One call of a step with its result.
#[derive(Debug, Clone, PartialEq)]
pub struct CallView {
    /// Turn that made the call. Turn 0 holds a step's first calls.
    pub turn: u32,
    /// Requested call.
    pub call: ToolCall,
    /// Evidence that answers the call, also where the tool gave no answer (see its `error`).
    pub evidence: Option<Arc<Evidence>>,
    /// Reason why the call was not run.
    pub refused: Option<ToolError>,
}

/// A step with its calls.
#[derive(Debug, Clone, PartialEq)]
pub struct StepView {
    /// The step.
    pub step: Step,
    /// Calls of the step so far, in order.
    pub calls: Vec<CallView>,
}

/// The facts about a case that every question carries.
#[derive(Debug, Clone)]
pub struct QuestionContext {
    /// Id of the case.
    pub case_id: Arc<str>,
    /// Delimiter of data in the case's prompts; random per case.
    pub delimiter: Arc<str>,
    /// Key of the case's pseudonyms; random per case and not part of any prompt.
    pub pseudonym_key: Arc<str>,
    /// Strategy of the profile.
    pub strategy: Strategy,
    /// The rest of the limits, by the journal.
    pub remaining: RemainingBudget,
    /// Budget to ask before each request, because questions run concurrently.
    pub budget: CaseBudget,
    /// Maximum seconds of an answer, retries included.
    pub question_secs: u64,
}

/// The rest of a case's limits, for further questions.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RemainingBudget {
    /// Model calls that remain.
    pub calls: u64,
    /// Tokens that remain.
    pub tokens: u64,
    /// US dollars that remain.
    pub usd: f64,
    /// Steps that may still be added.
    pub steps: usize,
}

/// Question whether a plan is needed, and for the plan.
#[derive(Debug, Clone)]
pub struct PlanQuestion {
    /// Facts about the case.
    pub context: QuestionContext,
    /// The alert.
    pub alert: Arc<Alert>,
    /// Earlier cases, which are evidence E1.
    pub past: Option<Arc<Evidence>>,
    /// Tools that the plan may use.
    pub tools: Arc<[ToolSpec]>,
    /// Limits of the case.
    pub limits: TriageLimits,
}

/// Question for the next calls of a step, or its result.
#[derive(Debug, Clone)]
pub struct TurnQuestion {
    /// Facts about the case.
    pub context: QuestionContext,
    /// The alert.
    pub alert: Arc<Alert>,
    /// Earlier cases, which are evidence E1.
    pub past: Option<Arc<Evidence>>,
    /// Objective of the case.
    pub objective: Arc<str>,
    /// Source of the plan.
    pub source: Arc<str>,
    /// All steps with their statuses and summaries.
    pub steps: Vec<StepView>,
    /// The step of this turn with its calls so far.
    pub step: StepView,
    /// Number of the turn, counted from 1.
    pub turn: u32,
    /// Memos that the analyst gave with its calls, by turn.
    pub memos: BTreeMap<u32, Arc<serde_json::Value>>,
    /// Limits of the case.
    pub limits: TriageLimits,
    /// Tools that may be called.
    pub tools: Arc<[ToolSpec]>,
}

/// Question of an adaptive case for a judgement of the last action and for the next.
#[derive(Debug, Clone)]
pub struct DecideQuestion {
    /// Facts about the case.
    pub context: QuestionContext,
    /// The alert.
    pub alert: Arc<Alert>,
    /// Earlier cases, which are evidence E1.
    pub past: Option<Arc<Evidence>>,
    /// Objective of the case; empty before the first decision.
    pub objective: Arc<str>,
    /// All actions so far with their results.
    pub steps: Vec<StepView>,
    /// Further facts, such as why an action was refused.
    pub insights: Vec<String>,
    /// Number of actions that may still follow.
    pub steps_left: usize,
    /// Tools that may be called.
    pub tools: Arc<[ToolSpec]>,
}

/// Question whether the plan still fits.
#[derive(Debug, Clone)]
pub struct ReflectQuestion {
    /// Facts about the case.
    pub context: QuestionContext,
    /// The alert.
    pub alert: Arc<Alert>,
    /// Earlier cases, which are evidence E1.
    pub past: Option<Arc<Evidence>>,
    /// Objective of the case.
    pub objective: Arc<str>,
    /// Source of the plan.
    pub source: Arc<str>,
    /// All steps; those of the last wave with their results.
    pub steps: Vec<StepView>,
    /// Number of the wave that just ended, counted from 1.
    pub wave: u32,
    /// Earlier insights.
    pub insights: Vec<String>,
    /// Earlier updates, applied and refused.
    pub updates: Vec<PlanUpdateRecord>,
    /// Number of steps that may still be added.
    pub steps_left: usize,
    /// Tools that the plan may use.
    pub tools: Arc<[ToolSpec]>,
}

/// Question for the conclusion.
#[derive(Debug, Clone)]
pub struct ConcludeQuestion {
    /// Facts about the case.
    pub context: QuestionContext,
    /// The alert.
    pub alert: Arc<Alert>,
    /// Earlier cases, which are evidence E1.
    pub past: Option<Arc<Evidence>>,
    /// Objective of the case.
    pub objective: Arc<str>,
    /// Source of the plan.
    pub source: Arc<str>,
    /// All steps with their results, or the reason why a step was not run.
    pub steps: Vec<StepView>,
    /// Insights of reflections.
    pub insights: Vec<String>,
    /// Facts that clear subjects of this alert.
    pub exonerations: Vec<Exoneration>,
    /// True if these facts clear the alert, and its key or identity was used nowhere else.
    pub cleared: bool,
    /// Reason why an alert that these facts clear is held up, in half a sentence: other use of its key or identity,
    /// or questions that must be answered before clearing.
    pub hold_reason: Option<String>,
    /// Actions that may be advised.
    pub actions: Arc<[Arc<ActionTemplate>]>,
    /// Tools of the case. None may be called here, but all prompts of a case describe the same tools.
    pub tools: Arc<[ToolSpec]>,
    /// Cap that ended the work.
    pub stopped_by: Option<BudgetCap>,
    /// Problems of the first answer's claims. When there are any, the question is asked once more.
    pub problems: Vec<String>,
}

impl ConcludeQuestion {
    /// Returns whether records clear the alert and nothing holds it up.
    #[must_use]
    pub const fn may_be_benign(&self) -> bool {
        self.cleared && self.hold_reason.is_none()
    }
}

/// Answer to the plan question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanAnswer {
    /// Way of working on the case.
    pub mode: PlanMode,
    /// Objective of the case.
    pub objective: String,
    /// Steps of the plan.
    pub steps: Vec<StepDraft>,
    /// Source of the plan, such as `playbook crypto-mining 1`.
    #[serde(default)]
    pub source: String,
    /// Sources that would have been asked if they were configured.
    #[serde(default)]
    pub not_covered: Vec<String>,
    /// True if steps are kept back until results are in.
    #[serde(default)]
    pub conditional: bool,
}

/// Answer to a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum TurnAnswer {
    /// Calls to make before the next turn.
    Calls {
        /// The calls.
        calls: Vec<ToolCall>,
        /// Memo that the analyst gets back with its next turn of this step. The engine does not read it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memo: Option<Arc<serde_json::Value>>,
    },
    /// Result of the step.
    Result {
        /// Outcome of the step.
        outcome: StepOutcome,
        /// Summary in one or two sentences.
        summary: String,
        /// Findings of the step.
        #[serde(default)]
        findings: Vec<FindingDraft>,
    },
}

impl TurnAnswer {
    /// Creates an answer of calls without a memo.
    #[must_use]
    pub const fn calls(calls: Vec<ToolCall>) -> Self {
        Self::Calls { calls, memo: None }
    }
}

/// Answer to a decision of an adaptive case.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Decision {
    /// Objective of the case; used in the first decision only.
    #[serde(default)]
    pub objective: String,
    /// Source of the decisions, such as `playbook crypto-mining 1`; used in the first decision only.
    #[serde(default)]
    pub source: String,
    /// Reason for this decision, for the log.
    #[serde(default)]
    pub reasoning: String,
    /// Judgement of the last action; `None` in the first decision.
    #[serde(default)]
    pub judgement: Option<Judgement>,
    /// Next action with its calls; `None` when nothing is left to do.
    #[serde(default)]
    pub next: Option<StepDraft>,
}

/// Judgement of an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// Outcome of the action.
    pub outcome: StepOutcome,
    /// Summary in one or two sentences.
    pub summary: String,
    /// Findings of the action.
    #[serde(default)]
    pub findings: Vec<FindingDraft>,
}

/// Answer to a reflection.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Reflection {
    /// True if the objective is reached and the remaining steps need not run.
    pub achieved: bool,
    /// Insights of the reflection.
    #[serde(default)]
    pub insights: Vec<String>,
    /// Changes to the plan.
    #[serde(default)]
    pub plan_updates: Vec<PlanUpdate>,
}

/// Reason why a question got no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "error", rename_all = "snake_case")]
pub enum AskError {
    /// The analyst refused to answer, or a filter withheld the answer.
    #[error("the analyst would not answer: {what}")]
    Refused {
        /// Text of the refusal.
        what: String,
    },
    /// The answer could not be parsed, also after a request to repair it.
    #[error("the answer could not be read: {what}")]
    Malformed {
        /// Problem of the answer.
        what: String,
    },
    /// The answer was cut off, so it does not count.
    #[error("the answer was cut off: {what}")]
    Truncated {
        /// Place of the cut.
        what: String,
    },
    /// No answer came in time.
    #[error("no answer came in time: {what}")]
    Timeout {
        /// Limit that was exceeded.
        what: String,
    },
    /// The analyst gave no answer.
    #[error("no answer: {what}")]
    Unavailable {
        /// Description of the problem.
        what: String,
    },
    /// The day budget has no room for this case, which continues without a model.
    #[error("{what}")]
    Budget {
        /// The budget, and what is reserved for other alerts.
        what: String,
    },
    /// No model can answer now. The case waits, and the question does not count.
    #[error("the models are down: {what}")]
    Down {
        /// Description of the problem.
        what: String,
    },
    /// Other requests went first, and the model had no free slot in time. The case waits; no journal holds this
    /// error.
    #[error("no free slot in time: {what}")]
    NoTurn {
        /// Description of the wait.
        what: String,
    },
}

impl AskError {
    /// Returns the word used in metrics and reports.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "refused",
            Self::Malformed { .. } => "malformed",
            Self::Truncated { .. } => "truncated",
            Self::Timeout { .. } => "timeout",
            Self::Unavailable { .. } => "unavailable",
            Self::Budget { .. } => "budget",
            Self::Down { .. } => "down",
            Self::NoTurn { .. } => "no_turn",
        }
    }
}
