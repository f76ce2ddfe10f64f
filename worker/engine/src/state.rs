//! The state of a case: the fold of its journal, and what can be read off it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, Indicator};

use crate::{
    Cap, CommandId, Conclusion, ConclusionDraft, Cost, Evidence, EvidenceId, Exoneration,
    FindingDraft, Mode, NotCleared, Opened, Plan, Step, StepId, StepStatus, ToolCall, ToolError,
    Trust, UpdateRecord,
};

/// A command that was started and has not ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InFlight {
    /// In which epoch.
    pub epoch: u64,
    /// What is charged for it.
    pub reserved: Cost,
}

/// What became of one call of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum CallState {
    /// It runs, or will.
    Waiting,
    /// It was not run; the analyst is told why.
    Refused(ToolError),
    /// This evidence answers it, got by this call or by the same one before.
    Answered(EvidenceId),
}

/// One call of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRecord {
    /// What was asked for.
    pub call: ToolCall,
    /// What became of it.
    pub state: CallState,
}

/// The calls that came of one turn; turn 0 holds those that the plan carried.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Turn {
    /// What the analyst gave along with the calls; it gets it back.
    pub memo: Option<Arc<serde_json::Value>>,
    /// The calls.
    pub calls: Vec<CallRecord>,
}

/// The work on one step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Work {
    /// Turns so far; the first is turn 0.
    pub turns: Vec<Turn>,
    /// Calls that were refused.
    pub strikes: u32,
    /// What the step found.
    pub findings: Vec<FindingDraft>,
    /// When the first of its commands was started.
    pub begun_at: Option<DateTime<Utc>>,
    /// When it came to its result, or to none.
    pub ended_at: Option<DateTime<Utc>>,
}

/// Why the work on a case was stopped before its plan was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// A cap.
    Cap(Cap),
    /// Somebody called it off.
    Cancelled(String),
}

/// The state of a case.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct State {
    /// What the case is run with; none before it is opened.
    pub opened: Option<Arc<Opened>>,
    /// The epoch of the worker that has it.
    pub epoch: u64,
    /// How often each command was started.
    pub attempts: BTreeMap<CommandId, u32>,
    /// Commands that run.
    pub in_flight: BTreeMap<CommandId, InFlight>,
    /// Commands that ended.
    pub finished: BTreeSet<CommandId>,
    /// The evidence by its number.
    pub evidence: BTreeMap<EvidenceId, Arc<Evidence>>,
    /// The evidence that a call was given when it was started.
    pub numbers: BTreeMap<CommandId, EvidenceId>,
    /// Evidence by the identity of the call that got it.
    pub answers: BTreeMap<String, EvidenceId>,
    /// The plan.
    pub plan: Option<Plan>,
    /// Why there is no plan.
    pub plan_error: Option<String>,
    /// The work on each step.
    pub work: BTreeMap<StepId, Work>,
    /// Waves so far.
    pub wave: u32,
    /// Waves that were reflected on, or needed no reflection.
    pub reflected: u32,
    /// Reflections that were asked for and ended.
    pub reflections: u32,
    /// What reflections learned.
    pub insights: Vec<String>,
    /// What reflections changed, and what was refused.
    pub updates: Vec<UpdateRecord>,
    /// Whether a reflection found the objective reached.
    pub achieved: bool,
    /// Decisions of an adaptive case so far.
    pub decisions: usize,
    /// Whether an adaptive case has nothing more to do.
    pub decided: bool,
    /// Why a lesser analyst answered a question, for each time one did.
    pub degraded: Vec<String>,
    /// The models that answered, in the order of their first answers.
    pub models: Vec<String>,
    /// Whether the analyst would not answer a question.
    pub refused: bool,
    /// Whether a question had no answer at all, not even a lesser one; the second rounds of the last one do not count.
    pub no_answer: bool,
    /// Indicators that tool results added to those of the alert.
    pub indicators: Vec<Indicator>,
    /// The facts that clear subjects of this alert.
    pub exonerations: Vec<Exoneration>,
    /// Records that do not clear it, and why.
    pub not_cleared: Vec<(Exoneration, NotCleared)>,
    /// What must have an answer before anything is cleared, and has none.
    pub unanswered: Vec<String>,
    /// The analyst's conclusion.
    pub draft: Option<ConclusionDraft>,
    /// Why there is none.
    pub draft_error: Option<String>,
    /// Whether the leaning turned once the actor's fields were blanked.
    pub turned: bool,
    /// Whether the worker of this epoch stood in line for a model until a question's time was over.
    pub had_no_turn: bool,
    /// What was spent, lost attempts included.
    pub spent: Cost,
    /// Whether the day's budget kept a question from the analyst.
    pub day_spent: bool,
    /// Whether nobody took over then, so that the case ends with what it has.
    pub day_stopped: bool,
    /// Why the work was stopped.
    pub stop: Option<Stop>,
    /// The conclusion.
    pub conclusion: Option<Conclusion>,
    /// When the worker of this epoch took the case.
    pub claimed_at: Option<DateTime<Utc>>,
    /// Active time in earlier epochs.
    pub active_before: Duration,
    /// Time of the first event.
    pub opened_at: Option<DateTime<Utc>>,
    /// Time of the last event.
    pub last_at: Option<DateTime<Utc>>,
}

impl State {
    /// The alert; none before the case is opened.
    #[must_use]
    pub fn alert(&self) -> Option<&Arc<Alert>> {
        self.opened.as_ref().map(|opened| &opened.alert)
    }

    /// Whether the case has come to its end.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.conclusion.is_some() || matches!(self.stop, Some(Stop::Cancelled(_)))
    }

    /// What is spent and reserved.
    #[must_use]
    pub fn charged(&self) -> Cost {
        let mut charged = self.spent;
        for running in self.in_flight.values() {
            charged += running.reserved;
        }
        charged
    }

    /// The cap that ended the work, or that the next question would break.
    #[must_use]
    pub fn stopped_by(&self) -> Option<Cap> {
        self.stopped_at(self.charged())
    }

    /// The cap that ended the work before all of it was done; none where nothing was left to do. Only what is spent counts:
    /// the last questions are asked whatever they reserve.
    #[must_use]
    pub fn cut_by(&self) -> Option<Cap> {
        if self.stop.is_none() && !self.day_stopped && !self.has_work_left() {
            return None;
        }
        self.stopped_at(self.spent)
    }

    fn stopped_at(&self, charged: Cost) -> Option<Cap> {
        match &self.stop {
            Some(Stop::Cap(cap)) => Some(*cap),
            Some(Stop::Cancelled(_)) => None,
            None if self.day_stopped => Some(Cap::DayUsd),
            None => {
                let opened = self.opened.as_ref()?;
                opened.limits.reached(charged, opened.reserve)
            }
        }
    }

    /// Whether something is left that would be done before the end, or had no answer: a plan, a step, a reflection, a
    /// decision.
    fn has_work_left(&self) -> bool {
        let Some(plan) = &self.plan else {
            return true;
        };
        self.no_answer
            || self.wave > self.reflected
            || (plan.mode == Mode::Adaptive && !self.decided)
            || plan.steps.iter().any(|step| !step.status.is_terminal())
    }

    /// Active time until the last event.
    #[must_use]
    pub fn active(&self) -> Duration {
        let current = match (self.claimed_at, self.last_at) {
            (Some(from), Some(until)) => (until - from).to_std().unwrap_or_default(),
            _ => Duration::ZERO,
        };
        self.active_before + current
    }

    /// The steps, in the order of their ids.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        self.plan.as_ref().map_or(&[], |plan| &plan.steps)
    }

    /// The steps that stand there.
    pub fn steps_with(&self, status: StepStatus) -> impl Iterator<Item = &Step> {
        self.steps()
            .iter()
            .filter(move |step| step.status == status)
    }

    /// The evidence of this number.
    #[must_use]
    pub fn evidence_of(&self, id: EvidenceId) -> Option<&Arc<Evidence>> {
        self.evidence.get(&id)
    }

    /// Whether what was left out of an answer may be anything, and does not just repeat what it shows.
    pub(crate) fn may_hide(&self, evidence: &Evidence) -> bool {
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

    /// Who wrote what stands there in an answer.
    pub(crate) fn trust(&self, evidence: &Evidence, path: &str) -> Trust {
        let opened = self.opened.as_ref();
        let mut tools = opened.iter().flat_map(|opened| opened.tools.iter());
        tools
            .find(|spec| spec.name == evidence.tool)
            .map_or(Trust::External, |spec| spec.trust_of(path))
    }

    /// The answers of a tool to calls that name a value, whatever came of them.
    pub(crate) fn answers_about(&self, tool: &str, value: &str) -> impl Iterator<Item = &Evidence> {
        let all = self.evidence.values().map(AsRef::as_ref);
        all.filter(move |answer: &&Evidence| {
            let mut asked = answer.arguments.values();
            answer.tool == tool && asked.any(|asked| asked.as_str() == Some(value))
        })
    }

    /// Whether a value is known to the case: named by the alert or found by a parser in a result.
    #[must_use]
    pub fn knows(&self, kind: nightshift_alert::IndicatorKind, value: &str) -> bool {
        self.alert().is_some_and(|alert| alert.knows(kind, value))
            || self
                .indicators
                .iter()
                .any(|indicator| indicator.kind == kind && indicator.value == value)
    }
}
