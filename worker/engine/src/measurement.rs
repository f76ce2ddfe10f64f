//! Defines measurements of the lower layers. The set is closed, so that metric names and labels are closed too.

use std::time::Duration;

use crate::conclusion::Verdict;
use crate::event::AnalystKind;
use crate::limits::BudgetCap;
use crate::plan::{StepOutcome, StepStatus};
use nightshift_alert::Severity;

/// One measurement.
#[derive(Debug, Clone, PartialEq)]
pub enum Measurement {
    /// A step ended.
    Step {
        /// Final status of the step.
        status: StepStatus,
        /// Outcome of the step; `None` when it never ran.
        outcome: Option<StepOutcome>,
    },
    /// A reflection ended: `achieved`, `changed`, `unchanged`, `failed`.
    Reflection {
        /// Result of the reflection.
        result: &'static str,
    },
    /// A plan update was applied or refused.
    PlanUpdate {
        /// Kind: `add_step`, `update_step`, `cancel_step`.
        kind: &'static str,
        /// True if the update was refused.
        refused: bool,
    },
    /// A tool call ended.
    ToolCall {
        /// Name of a configured tool.
        tool: String,
        /// Outcome: `ok`, `empty`, `error`, `refused`, `timeout`.
        outcome: &'static str,
        /// Duration of the call.
        took: Duration,
    },
    /// A call was refused before it reached its tool.
    ToolRefused {
        /// Name of a configured tool.
        tool: String,
    },
    /// A claim of the conclusion was checked.
    Claim {
        /// True if its evidence supports the claim.
        supported: bool,
    },
    /// A rule overrode the analyst's verdict or severity.
    Overridden {
        /// Name of the rule.
        rule: String,
    },
    /// Text in the data of a concluded case addresses the analyst.
    Manipulation,
    /// A cap ended the work on a case.
    Exhausted {
        /// Cap that was reached.
        cap: BudgetCap,
    },
    /// The day's budget was read, in US dollars.
    DayBudget {
        /// Cost of the day's cases so far.
        spent: f64,
        /// Part of that cost for alerts below high severity.
        spent_below_high: f64,
        /// Limit of the day.
        cap: f64,
        /// Part of the limit that is kept for high and critical alerts.
        reserved: f64,
    },
    /// A case ended.
    Case {
        /// Feed of the alert.
        feed: String,
        /// Status: `concluded`, `failed`, `cancelled`.
        status: &'static str,
        /// Verdict; `None` for a cancelled case.
        verdict: Option<Verdict>,
        /// Assessed severity.
        severity: Severity,
        /// Kind of analyst.
        analyst: AnalystKind,
        /// Active time of the case.
        took: Duration,
        /// Number of steps in the plan.
        steps: usize,
        /// Number of model calls.
        model_calls: u64,
    },
    /// A person judged a case.
    Feedback {
        /// True if the person agrees with the verdict.
        agreed: bool,
    },
    /// A benign case was re-evaluated: `covered`, `revised`, `not_whole`.
    Recheck {
        /// Result of the re-evaluation.
        result: &'static str,
    },
    /// A case was continued that another worker, or this one before a restart, had begun.
    Resumed,
    /// A write was refused because the lease was lost.
    LeaseLost,
    /// A message was taken from a source (`accepted`, `dead_letter`, `canary`), could not be settled there
    /// (`unsettled`), or was posted and not taken (`refused`, `busy`).
    Message {
        /// Name of a configured source.
        source: String,
        /// Outcome for the message.
        outcome: &'static str,
    },
    /// An alert was admitted: `new`, `sighting`, `revision`, `replaced`, `member`, `muted`, `set_aside`.
    Alert {
        /// Feed of the alert.
        feed: String,
        /// Outcome of admission.
        outcome: &'static str,
    },
    /// A delivery was attempted: `sent` or `failed`. An ambiguous send that could not be looked up counts as
    /// `failed`. Canaries do not count.
    Delivery {
        /// Name of a configured destination.
        destination: String,
        /// Outcome of the delivery.
        outcome: &'static str,
    },
    /// A request to the Slack interactions endpoint was refused, because its signature is missing, old or wrong.
    SlackSignatureRefused,
    /// A request to a model ended; each attempt counts.
    ModelRequest {
        /// Provider of the model.
        provider: &'static str,
        /// Name of a configured model, as its provider names it.
        model: String,
        /// Question: `plan`, `turn`, `decide`, `reflect`, `conclude`.
        question: &'static str,
        /// Outcome: `ok`, `cancelled`, or the kind of failure.
        outcome: &'static str,
        /// Duration of the request.
        took: Duration,
        /// Tokens of the request.
        tokens: ModelTokens,
        /// Cost in US dollars; 0 when no price is known.
        usd: f64,
    },
}

/// Tokens of one request, in kinds that do not overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModelTokens {
    /// Prompt tokens that were neither read from nor written to the provider's cache.
    pub input: u64,
    /// Prompt tokens that were read from the cache.
    pub cached: u64,
    /// Prompt tokens that were written to the cache.
    pub cache_write: u64,
    /// Tokens of the answer without reasoning.
    pub output: u64,
    /// Tokens of reasoning.
    pub reasoning: u64,
}

impl ModelTokens {
    /// Returns the number of each kind, by the word that metrics use.
    #[must_use]
    pub const fn kinds(self) -> [(&'static str, u64); 5] {
        [
            ("input", self.input),
            ("cached", self.cached),
            ("cache_write", self.cache_write),
            ("output", self.output),
            ("reasoning", self.reasoning),
        ]
    }
}
