//! The model analyst: the engine's five questions put to a language model.
//!
//! A file per rule: what each question shows and how its answer is read (`plan`, `turn`, `decide`, `reflect`,
//! `conclude`); how prompts are made (`prompts`, `render`, `fence`, `excerpt`, `tools`, `desk`, `frame`, `blocks`); how a step's conversation
//! is kept (`conversation`, `compaction`, `tokens`); how answers are read and mended (`schema`, `wire`, `parse`, `repair`,
//! `ask`); what the model is not told (`pseudonyms`). It proposes; the engine decides. Nothing here names a vendor, does
//! IO beyond the port [`nightshift_llm::chat::ChatModel`], or reads a file after the start.

mod ask;
mod blocks;
mod compaction;
mod conclude;
mod conversation;
mod decide;
mod desk;
mod excerpt;
mod fence;
mod frame;
mod parse;
mod plan;
mod prompts;
mod pseudonyms;
mod reflect;
mod render;
mod repair;
mod schema;
mod settings;
mod tokens;
mod tools;
mod turn;
mod wire;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use nightshift_engine::{
    Analyst, Answer, ConcludeQuestion, ConclusionDraft, DecideQuestion, Decision, NoAnswer,
    PlanAnswer, PlanQuestion, ReflectQuestion, Reflection, ToolSpec, TurnAnswer, TurnQuestion,
};

use crate::playbook::Playbooks;
use blocks::KeptBlocks;
use desk::{Desk, Desks};
use nightshift_llm::chat::ChatModel;
pub use prompts::{PromptError, Prompts};
pub use settings::{PerQuestion, PseudonymSettings, Settings};

/// The analyst that asks language models.
pub struct ModelAnalyst {
    models: PerQuestion<Arc<dyn ChatModel>>,
    settings: Settings,
    playbooks: Option<Arc<Playbooks>>,
    /// What the requests of all cases with the same tools share.
    desks: Mutex<Desks>,
    /// What the requests of a case begin with.
    blocks: KeptBlocks,
}

impl ModelAnalyst {
    /// An analyst with a model per question; `playbooks` are shown to the planner as hints.
    #[must_use]
    pub fn new(
        models: PerQuestion<Arc<dyn ChatModel>>,
        settings: Settings,
        playbooks: Option<Arc<Playbooks>>,
    ) -> Self {
        Self {
            models,
            settings,
            playbooks,
            desks: Mutex::default(),
            blocks: KeptBlocks::default(),
        }
    }

    /// Hash of all words that the settings put into prompts, for the journal.
    #[must_use]
    pub fn prompts_hash(&self) -> String {
        self.settings.hash()
    }

    /// What requests with these tools share.
    fn desk(&self, tools: &Arc<[ToolSpec]>) -> Result<Arc<Desk>, String> {
        let mut desks = self.desks.lock().unwrap_or_else(PoisonError::into_inner);
        desks.of(&self.settings, tools)
    }
}

#[async_trait]
impl Analyst for ModelAnalyst {
    async fn plan(&self, question: &PlanQuestion) -> Result<Answer<PlanAnswer>, NoAnswer> {
        plan::ask(self, question).await
    }

    async fn turn(&self, question: &TurnQuestion) -> Result<Answer<TurnAnswer>, NoAnswer> {
        turn::ask(self, question).await
    }

    async fn decide(&self, question: &DecideQuestion) -> Result<Answer<Decision>, NoAnswer> {
        decide::ask(self, question).await
    }

    async fn reflect(&self, question: &ReflectQuestion) -> Result<Answer<Reflection>, NoAnswer> {
        reflect::ask(self, question).await
    }

    async fn conclude(
        &self,
        question: &ConcludeQuestion,
    ) -> Result<Answer<ConclusionDraft>, NoAnswer> {
        conclude::ask(self, question).await
    }
}

/// The first `digits` hex digits of a digest.
fn hex(bytes: &[u8], digits: usize) -> String {
    let mut text = hex::encode(bytes);
    text.truncate(digits);
    text
}
