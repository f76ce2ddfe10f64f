//! Implements the engine's ports with a set of playbooks.

use std::sync::Arc;

use async_trait::async_trait;
use nightshift_alert::Alert;
use nightshift_engine::conclusion::ConclusionDraft;
use nightshift_engine::port::{Analyst, Answer, ExonerationResult, Exonerator, NoAnswer};
use nightshift_engine::question::{
    AskError, ConcludeQuestion, DecideQuestion, Decision, PlanAnswer, PlanQuestion,
    ReflectQuestion, Reflection, TurnAnswer, TurnQuestion,
};
use nightshift_expression::error::EvaluationError;

use super::{
    Playbook, PlaybookSet, conclude, decide, exonerate, findings, key_steps, plan, reflect, turn,
};

/// The analyst that follows playbooks. It needs no model, costs nothing, and gives the same answer to the same
/// question.
#[derive(Debug, Clone)]
pub struct PlaybookAnalyst {
    playbooks: Arc<PlaybookSet>,
}

impl PlaybookAnalyst {
    /// Returns an analyst with these playbooks.
    #[must_use]
    pub const fn new(playbooks: Arc<PlaybookSet>) -> Self {
        Self { playbooks }
    }

    /// Returns the playbook that made the plan, or the one for the alert when another analyst made it.
    fn playbook(&self, source: &str, alert: &Alert) -> &Arc<Playbook> {
        self.playbooks
            .iter()
            .find(|playbook| playbook.source() == source)
            .unwrap_or_else(|| self.playbooks.find(alert))
    }
}

fn analyst_answer<T>(
    playbook: &Playbook,
    place: &str,
    result: Result<T, EvaluationError>,
) -> Result<Answer<T>, NoAnswer> {
    result.map(Answer::free).map_err(|error| {
        NoAnswer::from(AskError::Malformed {
            what: format!("playbook {}, {place}: {error}", playbook.name),
        })
    })
}

#[async_trait]
impl Analyst for PlaybookAnalyst {
    async fn plan(&self, question: &PlanQuestion) -> Result<Answer<PlanAnswer>, NoAnswer> {
        let playbook = self.playbooks.find(&question.alert);
        analyst_answer(playbook, "plan", plan::make_plan(playbook, question))
    }

    async fn turn(&self, question: &TurnQuestion) -> Result<Answer<TurnAnswer>, NoAnswer> {
        let playbook = self.playbook(&question.source, &question.alert);
        let place = format!("step {}", question.step.step.name);
        analyst_answer(playbook, &place, turn::next_turn(playbook, question))
    }

    async fn decide(&self, question: &DecideQuestion) -> Result<Answer<Decision>, NoAnswer> {
        let playbook = self.playbooks.find(&question.alert);
        analyst_answer(playbook, "decision", decide::decide(playbook, question))
    }

    async fn reflect(&self, question: &ReflectQuestion) -> Result<Answer<Reflection>, NoAnswer> {
        let playbook = self.playbook(&question.source, &question.alert);
        analyst_answer(playbook, "reflection", reflect::reflect(playbook, question))
    }

    async fn conclude(
        &self,
        question: &ConcludeQuestion,
    ) -> Result<Answer<ConclusionDraft>, NoAnswer> {
        let playbook = self.playbook(&question.source, &question.alert);
        analyst_answer(
            playbook,
            "conclusion",
            conclude::conclude(playbook, question),
        )
    }
}

impl Exonerator for PlaybookAnalyst {
    fn exonerate(&self, question: &ConcludeQuestion) -> ExonerationResult {
        let playbook = self.playbook(&question.source, &question.alert);
        let is_own = *question.source == *playbook.source();
        if is_own && exonerate::applicable_rules(playbook, &question.alert).is_empty() {
            return ExonerationResult::default();
        }
        let (facts, mut scope) = conclude::ended_case(playbook, question);
        findings::set_lazy(playbook, &facts, &mut scope);
        let (facts, mut unanswered) = exonerate::exonerate(playbook, &question.alert, &scope);
        match key_steps::unanswered_key_steps(playbook, question, &scope) {
            Ok(more) => unanswered.extend(more),
            Err(error) => unanswered.push(format!(
                "The key steps of playbook {} could not be evaluated: {error}",
                playbook.name
            )),
        }
        ExonerationResult { facts, unanswered }
    }
}
