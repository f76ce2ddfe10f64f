//! Records a case: an analyst that keeps the questions it passes on, and a model that keeps its request.

use std::sync::Arc;

use async_trait::async_trait;
use nightshift_engine::case_budget::CaseBudget;
use nightshift_engine::conclusion::ConclusionDraft;
use nightshift_engine::limits::{Cost, TriageLimits};
use nightshift_engine::port::{Analyst, Answer, NoAnswer};
use nightshift_engine::question::{
    ConcludeQuestion, DecideQuestion, Decision, PlanAnswer, PlanQuestion, QuestionContext,
    ReflectQuestion, Reflection, TurnAnswer, TurnQuestion,
};
use nightshift_llm::chat::{ChatAnswer, ChatError, ChatModel, ChatRequest, ChatTraits};
use parking_lot::Mutex;

/// A question as the engine put it.
#[derive(Clone)]
pub(super) enum EngineQuestion {
    Plan(PlanQuestion),
    Turn(Box<TurnQuestion>),
    Reflect(ReflectQuestion),
    Conclude(ConcludeQuestion),
}

impl EngineQuestion {
    /// Returns the name of the question in figures.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Plan(_) => "plan",
            Self::Turn(_) => "turn",
            Self::Reflect(_) => "reflect",
            Self::Conclude(_) => "conclude",
        }
    }

    const fn setting(&mut self) -> &mut QuestionContext {
        match self {
            Self::Plan(question) => &mut question.context,
            Self::Turn(question) => &mut question.context,
            Self::Reflect(question) => &mut question.context,
            Self::Conclude(question) => &mut question.context,
        }
    }

    /// Puts the question to an analyst and drops the answer.
    pub(super) async fn put(&self, analyst: &dyn Analyst) -> Result<(), NoAnswer> {
        match self {
            Self::Plan(question) => drop(analyst.plan(question).await?),
            Self::Turn(question) => drop(analyst.turn(question).await?),
            Self::Reflect(question) => drop(analyst.reflect(question).await?),
            Self::Conclude(question) => drop(analyst.conclude(question).await?),
        }
        Ok(())
    }
}

/// An analyst that passes questions on and keeps them.
pub(super) struct RecordingAnalyst {
    inner: Arc<dyn Analyst>,
    questions: Mutex<Vec<EngineQuestion>>,
}

impl RecordingAnalyst {
    pub(super) fn new(inner: Arc<dyn Analyst>) -> Self {
        Self {
            inner,
            questions: Mutex::default(),
        }
    }

    /// Returns all questions so far.
    pub(super) fn questions(&self) -> Vec<EngineQuestion> {
        let kept = self.questions.lock();
        kept.clone()
    }

    fn record(&self, mut question: EngineQuestion) {
        // The question is put more often than the limits of a case allow.
        let endless = TriageLimits {
            calls: u64::MAX,
            tokens: u64::MAX,
            usd: f64::MAX,
            ..TriageLimits::default()
        };
        question.setting().budget = CaseBudget::new(endless, Cost::default());
        let mut kept = self.questions.lock();
        kept.push(question);
    }
}

#[async_trait]
impl Analyst for RecordingAnalyst {
    async fn plan(&self, question: &PlanQuestion) -> Result<Answer<PlanAnswer>, NoAnswer> {
        self.record(EngineQuestion::Plan(question.clone()));
        self.inner.plan(question).await
    }

    async fn turn(&self, question: &TurnQuestion) -> Result<Answer<TurnAnswer>, NoAnswer> {
        self.record(EngineQuestion::Turn(Box::new(question.clone())));
        self.inner.turn(question).await
    }

    async fn decide(&self, question: &DecideQuestion) -> Result<Answer<Decision>, NoAnswer> {
        self.inner.decide(question).await
    }

    async fn reflect(&self, question: &ReflectQuestion) -> Result<Answer<Reflection>, NoAnswer> {
        self.record(EngineQuestion::Reflect(question.clone()));
        self.inner.reflect(question).await
    }

    async fn conclude(
        &self,
        question: &ConcludeQuestion,
    ) -> Result<Answer<ConclusionDraft>, NoAnswer> {
        self.record(EngineQuestion::Conclude(question.clone()));
        self.inner.conclude(question).await
    }
}

/// A model that asks another one the first time and then repeats its answer.
pub(super) struct ReplayingModel {
    inner: Arc<dyn ChatModel>,
    recorded: Mutex<Option<(ChatRequest, ChatAnswer)>>,
}

impl ReplayingModel {
    pub(super) fn new(inner: Arc<dyn ChatModel>) -> Self {
        Self {
            inner,
            recorded: Mutex::default(),
        }
    }

    /// Returns the request of the kept answer.
    pub(super) fn request(&self) -> Option<ChatRequest> {
        let said = self.recorded.lock();
        said.as_ref().map(|(request, _)| request.clone())
    }

    fn recorded_answer(&self) -> Option<ChatAnswer> {
        let said = self.recorded.lock();
        said.as_ref().map(|(_, answer)| answer.clone())
    }
}

#[async_trait]
impl ChatModel for ReplayingModel {
    fn traits(&self) -> &ChatTraits {
        self.inner.traits()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        if let Some(answer) = self.recorded_answer() {
            return Ok(answer);
        }
        let answer = self.inner.chat(request).await?;
        let mut said = self.recorded.lock();
        *said = Some((request.clone(), answer.clone()));
        Ok(answer)
    }
}
