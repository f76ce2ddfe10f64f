//! Builds the questions from the state. Each holds what the design document assigns to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::case_budget::CaseBudget;
use crate::conclude::clearance;
use crate::event::{AnalystKind, CaseSetup};
use crate::evidence::{Evidence, EvidenceId};
use crate::plan::{Plan, Step, StepId};
use crate::question::{
    CallView, ConcludeQuestion, DecideQuestion, PlanQuestion, QuestionContext, ReflectQuestion,
    RemainingBudget, StepView, TurnQuestion,
};
use crate::state::{CallState, CaseState};
use crate::strategy::History;
use crate::verdict_policy::Ledger;

/// Number of the evidence of the look-up of earlier cases.
pub(crate) const PAST_CASES_EVIDENCE: EvidenceId = EvidenceId(1);

impl CaseState {
    /// Returns the plan question, or `None` before the case is opened.
    #[must_use]
    pub fn plan_question(&self) -> Option<PlanQuestion> {
        let opened = self.setup.as_ref()?;
        Some(PlanQuestion {
            context: self.question_context(opened),
            alert: Arc::clone(&opened.alert),
            past: self.past_cases(),
            tools: Arc::clone(&opened.tools),
            limits: opened.limits,
        })
    }

    /// Returns the question for a turn of this step, or `None` when there is no such step. `history` sets how much of
    /// the other steps it holds.
    #[must_use]
    pub fn turn_question(
        &self,
        step: &StepId,
        turn: u32,
        history: History,
    ) -> Option<TurnQuestion> {
        let (opened, plan) = self.setup_and_plan()?;
        Some(TurnQuestion {
            context: self.question_context(opened),
            alert: Arc::clone(&opened.alert),
            past: self.past_cases(),
            objective: plan.objective.as_str().into(),
            source: plan.source.as_str().into(),
            steps: self
                .steps()
                .iter()
                .map(|step| self.abridged_step(step, history))
                .collect(),
            step: self.step_view(plan.step(step)?),
            turn,
            memos: self.memos(step),
            limits: opened.limits,
            tools: Arc::clone(&opened.tools),
        })
    }

    /// Returns the question about the last action of an adaptive case, or `None` before there is a plan.
    #[must_use]
    pub fn decide_question(&self) -> Option<DecideQuestion> {
        let (opened, plan) = self.setup_and_plan()?;
        Some(DecideQuestion {
            context: self.question_context(opened),
            alert: Arc::clone(&opened.alert),
            past: self.past_cases(),
            objective: plan.objective.as_str().into(),
            steps: self.step_views(),
            insights: self.insights.clone(),
            steps_left: opened.limits.steps.saturating_sub(plan.steps.len()),
            tools: Arc::clone(&opened.tools),
        })
    }

    /// Returns the question after a wave, or `None` before there is a plan. It holds the results of earlier waves
    /// when `history` is full.
    #[must_use]
    pub fn reflect_question(&self, history: History) -> Option<ReflectQuestion> {
        let (opened, plan) = self.setup_and_plan()?;
        Some(ReflectQuestion {
            context: self.question_context(opened),
            alert: Arc::clone(&opened.alert),
            past: self.past_cases(),
            objective: plan.objective.as_str().into(),
            source: plan.source.as_str().into(),
            steps: self
                .steps()
                .iter()
                .map(|step| {
                    let is_new = step.wave == Some(self.wave);
                    let history = if is_new { History::Full } else { history };
                    self.abridged_step(step, history)
                })
                .collect(),
            wave: self.wave,
            insights: self.insights.clone(),
            updates: self.updates.clone(),
            steps_left: opened.limits.steps.saturating_sub(plan.steps.len()),
            tools: Arc::clone(&opened.tools),
        })
    }

    /// Returns the conclude question, or `None` before the case is opened.
    #[must_use]
    pub fn conclude_question(&self) -> Option<ConcludeQuestion> {
        let opened = self.setup.as_ref()?;
        let plan = self.plan.as_ref();
        let ledger = Ledger::from_state(self)?;
        let (cleared, held_up) = clearance(self, &ledger);
        Some(ConcludeQuestion {
            context: self.question_context(opened),
            alert: Arc::clone(&opened.alert),
            past: self.past_cases(),
            objective: plan.map_or("", |plan| plan.objective.as_str()).into(),
            source: plan.map_or("", |plan| plan.source.as_str()).into(),
            steps: self.step_views(),
            insights: self.insights.clone(),
            exonerations: ledger.records(self),
            cleared,
            hold_reason: held_up,
            actions: Arc::clone(&opened.actions),
            tools: Arc::clone(&opened.tools),
            stopped_by: self.cut_short_by(),
            problems: Vec::new(),
        })
    }

    /// Returns the conclude question again, with the problems of the first answer's claims.
    #[must_use]
    pub fn repair_question(&self) -> Option<ConcludeQuestion> {
        let mut question = self.conclude_question()?;
        question.problems = crate::conclude::claim_problems(self);
        Some(question)
    }

    /// Returns the conclude question with everything blanked that the actor could write.
    #[must_use]
    pub fn counterfactual_question(&self) -> Option<ConcludeQuestion> {
        let mut question = self.conclude_question()?;
        let actor = crate::counterfactual::ActorValues::from_alert(&question.alert);
        question.alert = Arc::new(actor.blank_alert(&question.alert));
        for call in question.steps.iter_mut().flat_map(|view| &mut view.calls) {
            if let Some(evidence) = &call.evidence {
                call.evidence = Some(Arc::new(actor.blank_evidence(evidence)));
            }
        }
        Some(question)
    }

    /// Returns all steps with their calls, as reports show them.
    #[must_use]
    pub fn step_views(&self) -> Vec<StepView> {
        self.steps()
            .iter()
            .map(|step| self.step_view(step))
            .collect()
    }

    /// Returns how much of other steps the analyst sees. Rules see everything, and a model sees the part that its
    /// profile sets.
    #[must_use]
    pub fn history(&self) -> History {
        match &self.setup {
            Some(opened) if opened.analyst == AnalystKind::Model => opened.options.history,
            _ => History::Full,
        }
    }

    fn setup_and_plan(&self) -> Option<(&Arc<CaseSetup>, &Plan)> {
        Some((self.setup.as_ref()?, self.plan.as_ref()?))
    }

    fn question_context(&self, opened: &CaseSetup) -> QuestionContext {
        let charged = self.charged();
        let limits = opened.limits;
        let tokens = charged.input_tokens + charged.output_tokens;
        let planned = self.steps().len();
        let most = if self.plan.is_some() {
            limits.steps
        } else {
            limits.first_plan_steps
        };
        QuestionContext {
            case_id: opened.case_id.as_str().into(),
            delimiter: opened.delimiter.as_str().into(),
            pseudonym_key: opened.pseudonym_key.as_str().into(),
            strategy: opened.options.strategy,
            remaining: RemainingBudget {
                calls: limits.calls.saturating_sub(charged.model_calls),
                tokens: limits.tokens.saturating_sub(tokens),
                usd: (limits.usd - charged.usd).max(0.0),
                steps: most.saturating_sub(planned),
            },
            budget: CaseBudget::new(limits, self.spent),
            question_secs: limits.question_secs,
        }
    }

    fn memos(&self, step: &StepId) -> BTreeMap<u32, Arc<serde_json::Value>> {
        let turns = self.work.get(step).map_or(&[][..], |work| &work.turns);
        let numbered = (0u32..).zip(turns);
        numbered
            .filter_map(|(number, turn)| Some((number, Arc::clone(turn.memo.as_ref()?))))
            .collect()
    }

    fn past_cases(&self) -> Option<Arc<Evidence>> {
        self.evidence_of(PAST_CASES_EVIDENCE).cloned()
    }

    fn step_view(&self, step: &Step) -> StepView {
        let turns = self.work.get(&step.id).map_or(&[][..], |work| &work.turns);
        let calls = turns
            .iter()
            .zip(0u32..)
            .flat_map(|(turn, number)| turn.calls.iter().map(move |record| (number, record)))
            .map(|(turn, record)| CallView {
                turn,
                call: record.call.clone(),
                evidence: match &record.state {
                    CallState::Answered(id) => self.evidence_of(*id).cloned(),
                    CallState::Waiting | CallState::Refused(_) => None,
                },
                refused: match &record.state {
                    CallState::Refused(error) => Some(error.clone()),
                    CallState::Waiting | CallState::Answered(_) => None,
                },
            })
            .collect();
        StepView {
            step: step.clone(),
            calls,
        }
    }

    /// Returns another step as a question shows it.
    fn abridged_step(&self, step: &Step, history: History) -> StepView {
        let without_calls = |step| StepView {
            step,
            calls: Vec::new(),
        };
        match history {
            History::Full => self.step_view(step),
            History::Summaries => without_calls(step.clone()),
            History::None => without_calls(Step {
                summary: String::new(),
                ..step.clone()
            }),
        }
    }
}
