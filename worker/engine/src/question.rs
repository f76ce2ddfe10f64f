//! What the analyst is asked, what each question sees, and what it answers.
//!
//! A question holds what the table of the design gives it and nothing else; all of it is shared, none is copied.

use std::collections::BTreeMap;
use std::sync::Arc;

use nightshift_alert::Alert;
use serde::{Deserialize, Serialize};

use crate::{
    ActionTemplate, Allowance, Cap, Evidence, Exoneration, FindingDraft, Limits, Mode, PlanUpdate,
    Step, StepDraft, StepOutcome, Strategy, ToolCall, ToolError, ToolSpec, UpdateRecord,
};

/// One call of a step and what came back.
#[derive(Debug, Clone, PartialEq)]
pub struct CallView {
    /// The turn of its step that made it, from 0; a step's first calls are its turn 0.
    pub turn: u32,
    /// What was asked for.
    pub call: ToolCall,
    /// The evidence that answers it, also where the tool gave no answer (see its `error`).
    pub evidence: Option<Arc<Evidence>>,
    /// Why it was not run.
    pub refused: Option<ToolError>,
}

/// A step with its calls.
#[derive(Debug, Clone, PartialEq)]
pub struct StepView {
    /// The step.
    pub step: Step,
    /// Its calls so far, in order.
    pub calls: Vec<CallView>,
}

/// What every question tells of its case.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The case.
    pub case_id: Arc<str>,
    /// What fences data in its prompts; drawn per case.
    pub delimiter: Arc<str>,
    /// What its pseudonyms are made with; drawn per case, and in none of its prompts.
    pub pseudonym_key: Arc<str>,
    /// How the profile wants it worked on.
    pub strategy: Strategy,
    /// What its caps leave, by the journal.
    pub left: Left,
    /// Whom to ask before each request, since questions run side by side.
    pub allowance: Allowance,
    /// Seconds that an answer may take, retries included.
    pub question_secs: u64,
}

/// What the caps of a case leave for questions to come.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Left {
    /// Model calls.
    pub calls: u64,
    /// Tokens.
    pub tokens: u64,
    /// USD.
    pub usd: f64,
    /// Steps that may still be added.
    pub steps: usize,
}

/// Plan: is a plan needed, and which.
#[derive(Debug, Clone)]
pub struct PlanQuestion {
    /// The case.
    pub setting: Setting,
    /// The alert.
    pub alert: Arc<Alert>,
    /// Earlier cases: E1.
    pub past: Option<Arc<Evidence>>,
    /// The tools that may be planned with.
    pub tools: Arc<[ToolSpec]>,
    /// The caps.
    pub limits: Limits,
}

/// Turn: the next calls of a step, or its result.
#[derive(Debug, Clone)]
pub struct TurnQuestion {
    /// The case.
    pub setting: Setting,
    /// The alert.
    pub alert: Arc<Alert>,
    /// Earlier cases: E1.
    pub past: Option<Arc<Evidence>>,
    /// What is to be found out.
    pub objective: Arc<str>,
    /// What the plan comes from.
    pub source: Arc<str>,
    /// All steps with statuses and summaries.
    pub steps: Vec<StepView>,
    /// This step, with its calls so far.
    pub step: StepView,
    /// Which turn of the step this is, counted from 1.
    pub turn: u32,
    /// What the analyst gave along with its calls, by turn.
    pub memos: BTreeMap<u32, Arc<serde_json::Value>>,
    /// The caps.
    pub limits: Limits,
    /// The tools that may be called.
    pub tools: Arc<[ToolSpec]>,
}

/// Decide (adaptive): what came of the last action, and what next.
#[derive(Debug, Clone)]
pub struct DecideQuestion {
    /// The case.
    pub setting: Setting,
    /// The alert.
    pub alert: Arc<Alert>,
    /// Earlier cases: E1.
    pub past: Option<Arc<Evidence>>,
    /// What is to be found out; empty before the first decision.
    pub objective: Arc<str>,
    /// All actions so far with their results.
    pub steps: Vec<StepView>,
    /// What is known besides, e.g. why an action was not taken up.
    pub insights: Vec<String>,
    /// How many more actions there may be.
    pub steps_left: usize,
    /// The tools that may be called.
    pub tools: Arc<[ToolSpec]>,
}

/// Reflect: does the plan still fit.
#[derive(Debug, Clone)]
pub struct ReflectQuestion {
    /// The case.
    pub setting: Setting,
    /// The alert.
    pub alert: Arc<Alert>,
    /// Earlier cases: E1.
    pub past: Option<Arc<Evidence>>,
    /// What is to be found out.
    pub objective: Arc<str>,
    /// What the plan comes from.
    pub source: Arc<str>,
    /// All steps; those of the last wave with their results.
    pub steps: Vec<StepView>,
    /// The wave that just ended, counted from 1.
    pub wave: u32,
    /// Earlier insights.
    pub insights: Vec<String>,
    /// Earlier updates, done and refused.
    pub updates: Vec<UpdateRecord>,
    /// How many steps may still be added.
    pub steps_left: usize,
    /// The tools that may be planned with.
    pub tools: Arc<[ToolSpec]>,
}

/// Conclude: what was it.
#[derive(Debug, Clone)]
pub struct ConcludeQuestion {
    /// The case.
    pub setting: Setting,
    /// The alert.
    pub alert: Arc<Alert>,
    /// Earlier cases: E1.
    pub past: Option<Arc<Evidence>>,
    /// What was to be found out.
    pub objective: Arc<str>,
    /// What the plan comes from.
    pub source: Arc<str>,
    /// All steps with their results, and why any was not run.
    pub steps: Vec<StepView>,
    /// What reflections learned.
    pub insights: Vec<String>,
    /// The facts that clear subjects of this alert.
    pub exonerations: Vec<Exoneration>,
    /// Whether these facts clear the alert, and its key or identity was used nowhere else.
    pub cleared: bool,
    /// Why an alert that these facts clear is not, in half a sentence: what its key or identity was used for elsewhere, or
    /// what rules want answered before anything is cleared.
    pub held_up: Option<String>,
    /// The actions that may be advised.
    pub actions: Arc<[Arc<ActionTemplate>]>,
    /// The tools of the case; none may be called any more, but prompts of one case tell of the same ones.
    pub tools: Arc<[ToolSpec]>,
    /// The cap that ended the work, if one did.
    pub stopped_by: Option<Cap>,
    /// What is wrong with the claims of the first answer; asked once more where there is something.
    pub problems: Vec<String>,
}

impl ConcludeQuestion {
    /// Whether records clear the alert, and nothing holds it up.
    #[must_use]
    pub const fn may_be_benign(&self) -> bool {
        self.cleared && self.held_up.is_none()
    }
}

/// Answer to the plan question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanAnswer {
    /// How to work on the case.
    pub mode: Mode,
    /// What is to be found out.
    pub objective: String,
    /// The steps.
    pub steps: Vec<StepDraft>,
    /// What the plan comes from, e.g. `playbook crypto-mining 1`.
    #[serde(default)]
    pub source: String,
    /// Sources that would have been asked, had they been configured.
    #[serde(default)]
    pub not_covered: Vec<String>,
    /// Whether steps are held back until results are in.
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
        /// What the analyst wants back with its next turn of this step, as it gave it; the engine does not read it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memo: Option<Arc<serde_json::Value>>,
    },
    /// The step's result.
    Result {
        /// What it came to.
        outcome: StepOutcome,
        /// In a sentence or two.
        summary: String,
        /// What it found.
        #[serde(default)]
        findings: Vec<FindingDraft>,
    },
}

impl TurnAnswer {
    /// Calls, with nothing to remember.
    #[must_use]
    pub const fn calls(calls: Vec<ToolCall>) -> Self {
        Self::Calls { calls, memo: None }
    }
}

/// Answer to a decision of an adaptive case.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Decision {
    /// What is to be found out; counts in the first decision only.
    #[serde(default)]
    pub objective: String,
    /// What decides, e.g. `playbook crypto-mining 1`; counts in the first decision only.
    #[serde(default)]
    pub source: String,
    /// Why this decision; logged.
    #[serde(default)]
    pub reasoning: String,
    /// What came of the last action; none in the first decision.
    #[serde(default)]
    pub judgement: Option<Judgement>,
    /// The next action, with its calls; none when there is nothing more to do.
    #[serde(default)]
    pub next: Option<StepDraft>,
}

/// What came of an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// Whether it found what it looked for.
    pub outcome: StepOutcome,
    /// In a sentence or two.
    pub summary: String,
    /// What it found.
    #[serde(default)]
    pub findings: Vec<FindingDraft>,
}

/// Answer to a reflection.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Reflection {
    /// Whether the objective is reached and the rest need not run.
    pub achieved: bool,
    /// What was learned.
    #[serde(default)]
    pub insights: Vec<String>,
    /// Changes to the plan.
    #[serde(default)]
    pub plan_updates: Vec<PlanUpdate>,
}

/// Why a question got no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "error", rename_all = "snake_case")]
pub enum AskError {
    /// The analyst would not answer, or a filter kept its answer back.
    #[error("the analyst would not answer: {what}")]
    Refused {
        /// What it said.
        what: String,
    },
    /// The answer could not be read, also after it was asked to mend it.
    #[error("the answer could not be read: {what}")]
    Malformed {
        /// What is wrong with it.
        what: String,
    },
    /// The answer was cut off, and a cut answer is none.
    #[error("the answer was cut off: {what}")]
    Truncated {
        /// Where.
        what: String,
    },
    /// No answer came in time.
    #[error("no answer came in time: {what}")]
    Timeout {
        /// The limit.
        what: String,
    },
    /// No answer came.
    #[error("no answer: {what}")]
    Unavailable {
        /// What is wrong.
        what: String,
    },
    /// The day's budget has no room for this case: it goes on without a model.
    #[error("{what}")]
    Budget {
        /// Which budget, and what is kept for whom.
        what: String,
    },
    /// Nobody can answer now: the case waits, and the question counts for nothing.
    #[error("the models are down: {what}")]
    Down {
        /// What is wrong.
        what: String,
    },
    /// Others were asked first, and no turn came in time: the case waits on. No journal holds it.
    #[error("no turn came: {what}")]
    NoTurn {
        /// What it waited for.
        what: String,
    },
}

impl AskError {
    /// The word used in metrics and reports.
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
