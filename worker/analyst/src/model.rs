//! The model analyst asks a language model the engine's five questions.
//!
//! Each question has a file for its content and its answer (`plan`, `turn`, `decide`, `reflect`, `conclude`). Prompts
//! are made in `prompts`, `render`, `fence`, `excerpt`, `tools`, `prompt_cache`, `request_builder` and `alert_blocks`;
//! a step's conversation is made in `conversation`, `compaction` and `tokens`. Answers are parsed and repaired in
//! `schema`, `answer_json`, `parse`, `repair` and `ask`, and `pseudonyms` hides values from the model. The analyst
//! proposes and the engine decides. Nothing here names a vendor, does IO beyond the port
//! [`nightshift_llm::chat::ChatModel`], or reads a file after the start.

mod alert_blocks;
mod answer_json;
mod ask;
mod compaction;
mod conclude;
mod conversation;
mod decide;
mod excerpt;
mod fence;
mod parse;
mod plan;
mod prompt_cache;
mod prompts;
mod pseudonyms;
mod reflect;
mod render;
mod repair;
mod request_builder;
mod schema;
mod settings;
mod tokens;
mod tools;
mod turn;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use nightshift_engine::conclusion::ConclusionDraft;
use nightshift_engine::port::{Analyst, Answer, NoAnswer};
use nightshift_engine::question::{
    ConcludeQuestion, DecideQuestion, Decision, PlanAnswer, PlanQuestion, ReflectQuestion,
    Reflection, TurnAnswer, TurnQuestion,
};
use nightshift_engine::tool::ToolSpec;
use parking_lot::Mutex;

use crate::playbook::PlaybookSet;
use alert_blocks::AlertBlockCache;
use nightshift_llm::chat::ChatModel;
use prompt_cache::{CachedPrompt, PromptCache};
pub use prompts::{PromptError, Prompts};
pub use settings::{ModelSettings, PerQuestion, PseudonymSettings};

/// Analyst that asks language models.
pub struct ModelAnalyst {
    models: PerQuestion<Arc<dyn ChatModel>>,
    settings: ModelSettings,
    playbooks: Option<Arc<PlaybookSet>>,
    /// Parts that requests of all cases with the same tools share.
    prompt_cache: Mutex<PromptCache>,
    /// Parts that all requests of a case begin with.
    block_cache: AlertBlockCache,
}

impl ModelAnalyst {
    /// Creates an analyst with a model per question; the planner sees `playbooks` as hints.
    #[must_use]
    pub fn new(
        models: PerQuestion<Arc<dyn ChatModel>>,
        settings: ModelSettings,
        playbooks: Option<Arc<PlaybookSet>>,
    ) -> Self {
        Self {
            models,
            settings,
            playbooks,
            prompt_cache: Mutex::default(),
            block_cache: AlertBlockCache::default(),
        }
    }

    /// Returns the hash of all text that the settings put into prompts, for the journal.
    #[must_use]
    pub fn prompts_hash(&self) -> String {
        self.settings.hash()
    }

    /// Returns the parts that requests with these tools share.
    fn cached_prompt(&self, tools: &Arc<[ToolSpec]>) -> Result<Arc<CachedPrompt>, String> {
        let mut desks = self.prompt_cache.lock();
        desks.get_or_build(&self.settings, tools)
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

/// Returns the first `digits` hex digits of a digest.
fn hex(bytes: &[u8], digits: usize) -> String {
    let mut text = hex::encode(bytes);
    text.truncate(digits);
    text
}
