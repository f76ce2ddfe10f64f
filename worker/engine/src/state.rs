//! Defines the state of a case: the fold of its journal, and values derived from it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, Indicator};

use crate::conclusion::{Conclusion, ConclusionDraft};
use crate::event::{CaseSetup, CommandId};
use crate::evidence::{Evidence, EvidenceId};
use crate::exoneration::{Exoneration, RecordMismatch};
use crate::finding::FindingDraft;
use crate::limits::{BudgetCap, Cost};
use crate::plan::{Plan, PlanMode, PlanUpdateRecord, Step, StepId, StepStatus};
use crate::tool::{ToolCall, ToolError, Trust};
use crate::verdict_policy::lookup;

/// A command that was started and has not ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InFlightCommand {
    /// Epoch in which the command was started.
    pub epoch: u64,
    /// Cost that is charged for the command.
    pub reserved: Cost,
}

/// State of one call of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum CallState {
    /// The call runs or will run.
    Waiting,
    /// The call was not run; the analyst gets the reason.
    Refused(ToolError),
    /// Evidence answers the call, from this call or from an equal earlier one.
    Answered(EvidenceId),
}

/// One call of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRecord {
    /// Requested call.
    pub call: ToolCall,
    /// State of the call.
    pub state: CallState,
}

/// Calls of one turn; turn 0 holds those of the plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepTurn {
    /// Memo of the analyst, returned to it later.
    pub memo: Option<Arc<serde_json::Value>>,
    /// Calls of the turn.
    pub calls: Vec<CallRecord>,
}

/// Work on one step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepWork {
    /// Turns so far, starting with turn 0.
    pub turns: Vec<StepTurn>,
    /// Number of refused calls.
    pub strikes: u32,
    /// Findings of the step.
    pub findings: Vec<FindingDraft>,
    /// Start of the first command.
    pub started_at: Option<DateTime<Utc>>,
    /// End of the step, with or without a result.
    pub ended_at: Option<DateTime<Utc>>,
}

/// Reason why the work was stopped before the plan was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopCause {
    /// A cap was reached.
    Cap(BudgetCap),
    /// A person cancelled the case.
    Cancelled(String),
}

/// The state of a case.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CaseState {
    /// Setup of the case; `None` before it is opened.
    pub setup: Option<Arc<CaseSetup>>,
    /// Epoch of the worker that holds the case.
    pub epoch: u64,
    /// Number of starts of each command.
    pub attempts: BTreeMap<CommandId, u32>,
    /// Running commands.
    pub in_flight: BTreeMap<CommandId, InFlightCommand>,
    /// Finished commands.
    pub finished: BTreeSet<CommandId>,
    /// Evidence by number.
    pub evidence: BTreeMap<EvidenceId, Arc<Evidence>>,
    /// Evidence number that each call got on its first start.
    pub evidence_ids: BTreeMap<CommandId, EvidenceId>,
    /// Evidence by the identity of its call.
    pub evidence_by_call: BTreeMap<String, EvidenceId>,
    /// Plan of the case.
    pub plan: Option<Plan>,
    /// Reason why there is no plan.
    pub plan_error: Option<String>,
    /// Work on each step.
    pub work: BTreeMap<StepId, StepWork>,
    /// Number of waves so far.
    pub wave: u32,
    /// Number of waves that were reflected on or needed no reflection.
    pub reflected_waves: u32,
    /// Number of reflections that ended.
    pub reflections: u32,
    /// Insights of reflections.
    pub insights: Vec<String>,
    /// Plan updates of reflections, applied and refused.
    pub updates: Vec<PlanUpdateRecord>,
    /// True if a reflection found the objective reached.
    pub achieved: bool,
    /// Number of decisions of an adaptive case so far.
    pub decisions: usize,
    /// True if an adaptive case has nothing more to do.
    pub decided: bool,
    /// Reason for each answer of a fallback analyst.
    pub degraded: Vec<String>,
    /// Models that answered, in the order of their first answers.
    pub models: Vec<String>,
    /// True if the analyst refused to answer a question.
    pub refused: bool,
    /// True if a question had no answer, not even from the fallback analyst. The second rounds of the conclude question
    /// do not count.
    pub no_answer: bool,
    /// Indicators that tool results added to those of the alert.
    pub indicators: Vec<Indicator>,
    /// Facts that clear subjects of this alert.
    pub exonerations: Vec<Exoneration>,
    /// Records that do not clear the alert, with the reasons.
    pub rejected_records: Vec<(Exoneration, RecordMismatch)>,
    /// Questions that must be answered before clearing and are not.
    pub unanswered: Vec<String>,
    /// Conclusion of the analyst.
    pub draft: Option<ConclusionDraft>,
    /// Reason why there is no conclusion of the analyst.
    pub draft_error: Option<String>,
    /// True if the leaning changed once the actor's values were blanked.
    pub counterfactual_differs: bool,
    /// True if the worker of this epoch waited for a model until a question's time was over.
    pub model_wait_timed_out: bool,
    /// Cost so far, including lost attempts.
    pub spent: Cost,
    /// True if the day budget kept a question from the analyst.
    pub day_budget_reached: bool,
    /// True if no other analyst took over then, so that the case ends with what it has.
    pub stopped_by_day_budget: bool,
    /// Reason why the work was stopped.
    pub stop: Option<StopCause>,
    /// Final conclusion.
    pub conclusion: Option<Conclusion>,
    /// Time when the worker of this epoch claimed the case.
    pub claimed_at: Option<DateTime<Utc>>,
    /// Active time in earlier epochs.
    pub active_before: Duration,
    /// Time of the first event.
    pub opened_at: Option<DateTime<Utc>>,
    /// Time of the last event.
    pub last_at: Option<DateTime<Utc>>,
}

impl CaseState {
    /// Returns the alert, or `None` before the case is opened.
    #[must_use]
    pub fn alert(&self) -> Option<&Arc<Alert>> {
        self.setup.as_ref().map(|opened| &opened.alert)
    }

    /// Returns whether the case has ended.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.conclusion.is_some() || matches!(self.stop, Some(StopCause::Cancelled(_)))
    }

    /// Returns the cost that is spent and reserved.
    #[must_use]
    pub fn charged(&self) -> Cost {
        let mut charged = self.spent;
        for running in self.in_flight.values() {
            charged += running.reserved;
        }
        charged
    }

    /// Returns the cap that ended the work, or that the next question would exceed.
    #[must_use]
    pub fn stopped_by(&self) -> Option<BudgetCap> {
        self.cap_at(self.charged())
    }

    /// Returns the cap that ended the work before it was done, or `None` when nothing was left to do. Only the spent
    /// cost counts, because the last questions are asked with any reserve.
    #[must_use]
    pub fn cut_short_by(&self) -> Option<BudgetCap> {
        if self.stop.is_none() && !self.stopped_by_day_budget && !self.has_work_left() {
            return None;
        }
        self.cap_at(self.spent)
    }

    fn cap_at(&self, charged: Cost) -> Option<BudgetCap> {
        match &self.stop {
            Some(StopCause::Cap(cap)) => Some(*cap),
            Some(StopCause::Cancelled(_)) => None,
            None if self.stopped_by_day_budget => Some(BudgetCap::DayUsd),
            None => {
                let opened = self.setup.as_ref()?;
                opened.limits.cap_reached(charged, opened.reserve)
            }
        }
    }

    /// Returns whether a plan, a step, a reflection or a decision is still open or had no answer.
    fn has_work_left(&self) -> bool {
        let Some(plan) = &self.plan else {
            return true;
        };
        self.no_answer
            || self.wave > self.reflected_waves
            || (plan.mode == PlanMode::Adaptive && !self.decided)
            || plan.steps.iter().any(|step| !step.status.is_terminal())
    }

    /// Returns the active time until the last event.
    #[must_use]
    pub fn active_time(&self) -> Duration {
        let current = match (self.claimed_at, self.last_at) {
            (Some(from), Some(until)) => (until - from).to_std().unwrap_or_default(),
            _ => Duration::ZERO,
        };
        self.active_before + current
    }

    /// Returns the steps, in the order of their ids.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        self.plan.as_ref().map_or(&[], |plan| &plan.steps)
    }

    /// Returns the steps with this status.
    pub fn steps_with(&self, status: StepStatus) -> impl Iterator<Item = &Step> {
        self.steps()
            .iter()
            .filter(move |step| step.status == status)
    }

    /// Returns the evidence of this number.
    #[must_use]
    pub fn evidence_of(&self, id: EvidenceId) -> Option<&Arc<Evidence>> {
        self.evidence.get(&id)
    }

    /// Returns whether the part that was cut from an answer may hold something new, and not only repeats.
    pub(crate) fn has_unknown_omissions(&self, evidence: &Evidence) -> bool {
        let repeats = || {
            evidence
                .body
                .value()
                .get("left_out")
                .is_some_and(|left_out| left_out == "repeats")
                && self.trust(evidence, "/left_out") > Trust::External
        };
        evidence.truncated && !repeats()
    }

    /// Returns the trust of the value at this path of an answer.
    pub(crate) fn trust(&self, evidence: &Evidence, path: &str) -> Trust {
        let opened = self.setup.as_ref();
        let mut tools = opened.iter().flat_map(|opened| opened.tools.iter());
        tools
            .find(|spec| spec.name == evidence.tool)
            .map_or(Trust::External, |spec| spec.trust_of(path))
    }

    /// Returns the answers of a tool to calls that name a value, successful or not.
    pub(crate) fn answers_about(&self, tool: &str, value: &str) -> impl Iterator<Item = &Evidence> {
        let all = self.evidence.values().map(AsRef::as_ref);
        all.filter(move |answer: &&Evidence| {
            let mut asked = answer.arguments.values();
            answer.tool == tool && asked.any(|asked| asked.as_str() == Some(value))
        })
    }

    /// Returns the number of answers from registers, errors included.
    pub(crate) fn register_answers(&self) -> usize {
        let all = self.evidence.values();
        all.filter(|answer| lookup::REGISTERS.contains(&answer.kind.as_str()))
            .count()
    }

    /// Returns whether the case knows a value: the alert names it, or a parser found it in a result.
    #[must_use]
    pub fn knows(&self, kind: nightshift_alert::IndicatorKind, value: &str) -> bool {
        self.alert()
            .is_some_and(|alert| alert.has_indicator(kind, value))
            || self
                .indicators
                .iter()
                .any(|indicator| indicator.kind == kind && indicator.value == value)
    }
}
