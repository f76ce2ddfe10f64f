//! Questions, built from the state: each sees what the table of the design gives it.

use std::sync::Arc;

use crate::{
    CallState, CallView, ConcludeQuestion, Evidence, EvidenceId, Opened, Plan, PlanQuestion,
    ReflectQuestion, State, Step, StepId, StepView, TurnQuestion, clears,
};

/// Number of the evidence that the look at earlier cases gets.
pub(crate) const PAST_CASES: EvidenceId = EvidenceId(1);

impl State {
    /// The plan question; none before the case is opened.
    #[must_use]
    pub fn plan_question(&self) -> Option<PlanQuestion> {
        let opened = self.opened.as_ref()?;
        Some(PlanQuestion {
            alert: Arc::clone(&opened.alert),
            past: self.past(),
            tools: Arc::clone(&opened.tools),
            limits: opened.limits,
        })
    }

    /// The question for a turn of this step; none where there is no such step.
    #[must_use]
    pub fn turn_question(&self, step: &StepId, turn: u32) -> Option<TurnQuestion> {
        let (opened, plan) = self.parts()?;
        Some(TurnQuestion {
            alert: Arc::clone(&opened.alert),
            past: self.past(),
            objective: plan.objective.as_str().into(),
            source: plan.source.as_str().into(),
            steps: self.step_views(),
            step: self.step_view(plan.step(step)?),
            turn,
            limits: opened.limits,
            tools: Arc::clone(&opened.tools),
        })
    }

    /// The question after a wave; none before there is a plan.
    #[must_use]
    pub fn reflect_question(&self) -> Option<ReflectQuestion> {
        let (opened, plan) = self.parts()?;
        Some(ReflectQuestion {
            alert: Arc::clone(&opened.alert),
            past: self.past(),
            objective: plan.objective.as_str().into(),
            source: plan.source.as_str().into(),
            steps: self.step_views(),
            wave: self.wave,
            insights: self.insights.clone(),
            updates: self.updates.clone(),
            steps_left: opened.limits.steps.saturating_sub(plan.steps.len()),
            tools: Arc::clone(&opened.tools),
        })
    }

    /// The last question; none before the case is opened.
    #[must_use]
    pub fn conclude_question(&self) -> Option<ConcludeQuestion> {
        let opened = self.opened.as_ref()?;
        let plan = self.plan.as_ref();
        Some(ConcludeQuestion {
            alert: Arc::clone(&opened.alert),
            past: self.past(),
            objective: plan.map_or("", |plan| plan.objective.as_str()).into(),
            source: plan.map_or("", |plan| plan.source.as_str()).into(),
            steps: self.step_views(),
            insights: self.insights.clone(),
            exonerations: self.exonerations.clone(),
            cleared: clears(&self.exonerations, &opened.alert),
            actions: Arc::clone(&opened.actions),
            stopped_by: self.stopped_by(),
        })
    }

    /// All steps with their calls, as reports show them.
    #[must_use]
    pub fn step_views(&self) -> Vec<StepView> {
        self.steps()
            .iter()
            .map(|step| self.step_view(step))
            .collect()
    }

    fn parts(&self) -> Option<(&Arc<Opened>, &Plan)> {
        Some((self.opened.as_ref()?, self.plan.as_ref()?))
    }

    fn past(&self) -> Option<Arc<Evidence>> {
        self.evidence_of(PAST_CASES).cloned()
    }

    fn step_view(&self, step: &Step) -> StepView {
        let turns = self.work.get(&step.id).map_or(&[][..], |work| &work.turns);
        let calls = turns
            .iter()
            .flat_map(|turn| &turn.calls)
            .map(|record| CallView {
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
}
