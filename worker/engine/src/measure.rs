//! What the lower floors count. A closed set, so that the metric names and labels above it are closed too.

use std::time::Duration;

use crate::{AnalystKind, Cap, StepOutcome, StepStatus, Verdict};
use nightshift_alert::Severity;

/// One measurement.
#[derive(Debug, Clone, PartialEq)]
pub enum Measure {
    /// A step ended.
    Step {
        /// How.
        status: StepStatus,
        /// What it came to; none where it never ran.
        outcome: Option<StepOutcome>,
    },
    /// A reflection ended: `achieved`, `changed`, `unchanged`, `failed`.
    Reflection {
        /// How.
        result: &'static str,
    },
    /// A plan update was `done` or `refused`.
    PlanUpdate {
        /// `add_step`, `update_step`, `cancel_step`.
        kind: &'static str,
        /// Whether it was refused.
        refused: bool,
    },
    /// A tool call ended.
    ToolCall {
        /// The tool's name; one of the configured ones.
        tool: String,
        /// `ok`, `empty`, `error`, `refused`, `timeout`.
        outcome: &'static str,
        /// How long it took.
        took: Duration,
    },
    /// A call was refused before it reached its tool.
    ToolRefused {
        /// The tool's name; one of the configured ones.
        tool: String,
    },
    /// A claim of the conclusion was checked.
    Claim {
        /// Whether its evidence bears it.
        supported: bool,
    },
    /// A rule overrode the analyst's verdict or severity.
    Overridden {
        /// The rule's name.
        rule: String,
    },
    /// Text in the data of a concluded case talks to the analyst.
    Manipulation,
    /// A cap ended the work on a case.
    Exhausted {
        /// Which one.
        cap: Cap,
    },
    /// The day's budget was read, in US dollars.
    DayBudget {
        /// What the cases of the day cost so far.
        spent: f64,
        /// What of it is of those below high.
        spent_below_high: f64,
        /// What they may cost.
        cap: f64,
        /// What of it is kept for high and critical alerts.
        reserved: f64,
    },
    /// A case ended.
    Case {
        /// The alert's feed.
        feed: String,
        /// `concluded`, `failed`, `cancelled`.
        status: &'static str,
        /// The verdict; none for a cancelled case.
        verdict: Option<Verdict>,
        /// The assessed severity.
        severity: Severity,
        /// Who thought.
        analyst: AnalystKind,
        /// Active time.
        took: Duration,
        /// Steps of its plan.
        steps: usize,
        /// Model calls it made.
        model_calls: u64,
    },
    /// A person judged a case.
    Feedback {
        /// Whether they agree with it.
        agreed: bool,
    },
    /// A benign case was evaluated again: `covered`, `revised`, `not_whole`.
    Recheck {
        /// What came of it.
        result: &'static str,
    },
    /// A case went on that another worker, or this one before a restart, had begun.
    Resumed,
    /// A write was refused because the lease was lost.
    LeaseLost,
    /// A message was taken from a source: `accepted`, `dead_letter`, `canary`; and beside that, could not be settled there:
    /// `unsettled`; or was posted and not taken: `refused`, `busy`.
    Message {
        /// The source's name; one of the configured ones.
        source: String,
        /// What became of it.
        outcome: &'static str,
    },
    /// An alert was admitted: `new`, `sighting`, `revision`, `replaced`, `member`, `muted`, `set_aside`.
    Alert {
        /// The alert's feed.
        feed: String,
        /// What became of it.
        outcome: &'static str,
    },
    /// A delivery was tried: `sent`, `failed`, also where it was not known whether it is shown and that could not be
    /// looked up. Canaries are none.
    Delivery {
        /// The destination's name; one of the configured ones.
        destination: String,
        /// What became of it.
        outcome: &'static str,
    },
    /// A request to a model ended; each try counts.
    ModelRequest {
        /// The model's provider.
        provider: &'static str,
        /// The model, as its provider names it; one of the configured ones.
        model: String,
        /// `plan`, `turn`, `decide`, `reflect`, `conclude`.
        question: &'static str,
        /// `ok`, `cancelled`, or the kind of its failure.
        outcome: &'static str,
        /// How long it took.
        took: Duration,
        /// What it used.
        tokens: ModelTokens,
        /// What that cost, in US dollars; 0 where no price is known.
        usd: f64,
    },
}

/// Tokens of one request, in kinds that do not overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModelTokens {
    /// Prompt tokens that the provider's cache has nothing to do with.
    pub input: u64,
    /// Prompt tokens that came from the cache.
    pub cached: u64,
    /// Prompt tokens that were written to it.
    pub cache_write: u64,
    /// Tokens of the answer but for reasoning.
    pub output: u64,
    /// Tokens of reasoning.
    pub reasoning: u64,
}

impl ModelTokens {
    /// Each kind, by the word that metrics use, with its number.
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
