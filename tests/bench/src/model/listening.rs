//! Records a case: an analyst that keeps the questions it passes on, and a model that keeps its request.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use nightshift_engine::allowance::Allowance;
use nightshift_engine::conclusion::ConclusionDraft;
use nightshift_engine::limits::{Cost, Limits};
use nightshift_engine::port::{Analyst, Answer, NoAnswer};
use nightshift_engine::question::{
    ConcludeQuestion, DecideQuestion, Decision, PlanAnswer, PlanQuestion, ReflectQuestion,
    Reflection, Setting, TurnAnswer, TurnQuestion,
};
use nightshift_llm::chat::{ChatAnswer, ChatError, ChatModel, ChatRequest, ChatTraits};

/// A question as the engine put it.
#[derive(Clone)]
pub(super) enum Question {
    Plan(PlanQuestion),
    Turn(Box<TurnQuestion>),
    Reflect(ReflectQuestion),
    Conclude(ConcludeQuestion),
}

impl Question {
    /// Returns the name of the question in figures.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Plan(_) => "plan",
            Self::Turn(_) => "turn",
            Self::Reflect(_) => "reflect",
            Self::Conclude(_) => "conclude",
        }
    }

    const fn setting(&mut self) -> &mut Setting {
        match self {
            Self::Plan(question) => &mut question.setting,
            Self::Turn(question) => &mut question.setting,
            Self::Reflect(question) => &mut question.setting,
            Self::Conclude(question) => &mut question.setting,
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
pub(super) struct Listening {
    inner: Arc<dyn Analyst>,
    kept: Mutex<Vec<Question>>,
}

impl Listening {
    pub(super) fn new(inner: Arc<dyn Analyst>) -> Self {
        Self {
            inner,
            kept: Mutex::default(),
        }
    }

    /// Returns all questions so far.
    pub(super) fn kept(&self) -> Vec<Question> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clone()
    }

    fn keep(&self, mut question: Question) {
        // The question is put more often than the limits of a case allow.
        let endless = Limits {
            calls: u64::MAX,
            tokens: u64::MAX,
            usd: f64::MAX,
            ..Limits::default()
        };
        question.setting().allowance = Allowance::new(endless, Cost::default());
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(question);
    }
}

#[async_trait]
impl Analyst for Listening {
    async fn plan(&self, question: &PlanQuestion) -> Result<Answer<PlanAnswer>, NoAnswer> {
        self.keep(Question::Plan(question.clone()));
        self.inner.plan(question).await
    }

    async fn turn(&self, question: &TurnQuestion) -> Result<Answer<TurnAnswer>, NoAnswer> {
        self.keep(Question::Turn(Box::new(question.clone())));
        self.inner.turn(question).await
    }

    async fn decide(&self, question: &DecideQuestion) -> Result<Answer<Decision>, NoAnswer> {
        self.inner.decide(question).await
    }

    async fn reflect(&self, question: &ReflectQuestion) -> Result<Answer<Reflection>, NoAnswer> {
        self.keep(Question::Reflect(question.clone()));
        self.inner.reflect(question).await
    }

    async fn conclude(
        &self,
        question: &ConcludeQuestion,
    ) -> Result<Answer<ConclusionDraft>, NoAnswer> {
        self.keep(Question::Conclude(question.clone()));
        self.inner.conclude(question).await
    }
}

/// A model that asks another one the first time and then repeats its answer.
pub(super) struct Parrot {
    inner: Arc<dyn ChatModel>,
    said: Mutex<Option<(ChatRequest, ChatAnswer)>>,
}

impl Parrot {
    pub(super) fn new(inner: Arc<dyn ChatModel>) -> Self {
        Self {
            inner,
            said: Mutex::default(),
        }
    }

    /// Returns the request of the kept answer.
    pub(super) fn request(&self) -> Option<ChatRequest> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.as_ref().map(|(request, _)| request.clone())
    }

    fn again(&self) -> Option<ChatAnswer> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.as_ref().map(|(_, answer)| answer.clone())
    }
}

#[async_trait]
impl ChatModel for Parrot {
    fn traits(&self) -> &ChatTraits {
        self.inner.traits()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        if let Some(answer) = self.again() {
            return Ok(answer);
        }
        let answer = self.inner.chat(request).await?;
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        *said = Some((request.clone(), answer.clone()));
        Ok(answer)
    }
}
