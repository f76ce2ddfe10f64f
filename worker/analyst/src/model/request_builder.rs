//! Builds the frame of a request: the parts that all requests of a case share, in one order, so that a provider can
//! cache their prefix.
//!
//! System text (role, policies, environment, tools) and tool array are the same for all cases of a profile. The case's
//! key, the alert's typed facts and, for some questions, the raw finding follow. The question's own parts come last.

use std::sync::Arc;
use std::time::Duration;

use nightshift_alert::{Alert, Severity};
use nightshift_engine::case_budget::CaseBudget;
use nightshift_engine::evidence::Evidence;
use nightshift_engine::port::{Answer, NoAnswer};
use nightshift_engine::question::{AskError, QuestionContext, StepView};
use nightshift_engine::tool::ToolSpec;
use tokio::time::Instant;

use super::alert_blocks::AlertBlockCache;
use super::ask::{AnswerParser, ModelQuestion};
use super::fence::Fence;
use super::prompt_cache::CachedPrompt;
use super::prompts::Prompt;
use super::pseudonyms::Pseudonymizer;
use super::schema::AnswerSchema;
use super::{ModelAnalyst, ModelSettings, compaction};
use nightshift_llm::chat::{
    ChatMessage, ChatModel, ChatPart, ChatRequest, ChatRole, ChatText, QuestionKind,
};

/// Maximum number of tokens of one result (also limited to 15 % of the window).
const MAX_RESULT_TOKENS: u64 = 25_000;

/// Minimum size of a prompt in tokens, even if the caps leave less.
const MIN_PROMPT_TOKENS: u64 = 8_000;

/// Subject of a question, besides its own parts.
pub(super) struct PromptContext<'a> {
    pub(super) question: &'a QuestionContext,
    pub(super) alert: &'a Arc<Alert>,
    /// Earlier cases. Only a plan sees them; later questions see only the plan's statements about them.
    pub(super) past_cases: Option<&'a Arc<Evidence>>,
    pub(super) steps: &'a [StepView],
    pub(super) step: Option<&'a StepView>,
    pub(super) tools: &'a Arc<[ToolSpec]>,
}

pub(super) struct RequestBuilder<'a> {
    pub(super) cached: Arc<CachedPrompt>,
    pub(super) fence: Fence,
    /// True if the model takes tools.
    pub(super) takes_tools: bool,
    /// Maximum tokens of one result.
    pub(super) max_result_tokens: u64,
    /// Maximum tokens of a prompt.
    max_prompt_tokens: u64,
    settings: &'a ModelSettings,
    model: &'a dyn ChatModel,
    pseudonymizer: Option<Pseudonymizer>,
    budget: CaseBudget,
    asked: QuestionKind,
    alert: &'a Arc<Alert>,
    block_cache: &'a AlertBlockCache,
    max_output_tokens: u32,
    deadline: Instant,
}

impl<'a> RequestBuilder<'a> {
    pub(super) fn new(
        analyst: &'a ModelAnalyst,
        asked: QuestionKind,
        about: &PromptContext<'a>,
    ) -> Result<Self, NoAnswer> {
        let settings = &analyst.settings;
        let model = analyst.models.get(asked).as_ref();
        let traits = model.traits();
        let output = *settings.max_output_tokens.get(asked);
        let max_output_tokens = output.min(traits.max_output_tokens);
        let window = traits.window_tokens;
        let most = u64::from(traits.max_answer_tokens(max_output_tokens));
        let fits = (window / 4 * 3).min(window.saturating_sub(most));
        let affordable = round_down(about.question.remaining.tokens / 2).max(MIN_PROMPT_TOKENS);
        let mask = settings
            .pseudonyms
            .as_ref()
            .map(|names| Pseudonymizer::new(names, about))
            .transpose()
            .map_err(|why| unavailable(format!("cannot hide names: {why}")))?;
        Ok(Self {
            cached: analyst.cached_prompt(about.tools).map_err(unavailable)?,
            fence: Fence::new(&about.question.delimiter),
            takes_tools: traits.tools,
            max_result_tokens: (window / 100 * 15).min(MAX_RESULT_TOKENS),
            max_prompt_tokens: fits.min(affordable),
            settings,
            model,
            pseudonymizer: mask,
            budget: about.question.budget.clone(),
            asked,
            alert: about.alert,
            block_cache: &analyst.block_cache,
            max_output_tokens,
            deadline: Instant::now() + Duration::from_secs(about.question.question_secs),
        })
    }

    /// Renders a prompt of the profile.
    pub(super) fn prompt(
        &self,
        prompt: Prompt,
        values: minijinja::Value,
    ) -> Result<String, NoAnswer> {
        self.settings
            .prompts
            .render(prompt, values)
            .map_err(unavailable)
    }

    /// Returns the start of every first message: the case's key, the alert's facts and, if wanted, the raw finding.
    pub(super) fn opening_parts(&self, with_raw: bool) -> Vec<ChatPart> {
        let most = self.max_result_tokens;
        let blocks = match self.asked {
            QuestionKind::Conclude => self
                .block_cache
                .take_or_build(self.alert, &self.fence, most),
            _ => self.block_cache.get_or_build(self.alert, &self.fence, most),
        };
        let is_last = !with_raw || self.asked == QuestionKind::Plan;
        let mut parts = vec![text_part(blocks.facts.clone(), is_last)];
        if with_raw {
            parts.push(text_part(
                blocks.raw.clone(),
                self.asked != QuestionKind::Turn,
            ));
        }
        parts
    }

    /// Returns the tokens that are left for results after these parts and the frame itself.
    pub(super) fn remaining_tokens(&self, parts: &[ChatPart]) -> u64 {
        let used = self.fixed_tokens() + compaction::message_tokens(parts);
        self.max_prompt_tokens.saturating_sub(used).max(1_000)
    }

    /// Returns the tokens of the frame itself.
    fn fixed_tokens(&self) -> u64 {
        let tools = if self.takes_tools {
            self.cached.tools_tokens
        } else {
            0
        };
        self.system().1 + tools
    }

    fn system(&self) -> &(ChatText, u64) {
        match self.model.traits().tools_always {
            true => &self.cached.system,
            false => &self.cached.full_system,
        }
    }

    pub(super) fn request(
        &self,
        messages: Vec<ChatMessage>,
        shape: Option<&AnswerSchema>,
        may_call: bool,
    ) -> ChatRequest {
        let tools = if self.takes_tools {
            Arc::clone(&self.cached.tools.chat)
        } else {
            Arc::new([])
        };
        ChatRequest {
            question: self.asked,
            urgent: self.alert.severity >= Severity::High,
            system: self.system().0.clone(),
            messages,
            may_call: may_call && !tools.is_empty(),
            tools,
            output: shape.map(AnswerSchema::output),
            max_output_tokens: self.max_output_tokens,
            deadline: self.deadline,
        }
    }

    /// Asks the question. When the request is too long, old results are shortened first.
    pub(super) async fn ask<T>(
        &self,
        mut request: ChatRequest,
        read: AnswerParser<'_, T>,
    ) -> Result<Answer<T>, NoAnswer> {
        let fixed = self.fixed_tokens();
        compaction::compact(&mut request.messages, fixed, self.max_prompt_tokens);
        let asking = ModelQuestion {
            fixed_tokens: fixed,
            model: self.model,
            prompts: &self.settings.prompts,
            pseudonymizer: self.pseudonymizer.as_ref(),
            budget: &self.budget,
        };
        asking.ask(request, read).await
    }
}

/// Returns a text part that the provider may cache.
pub(super) fn text_part(text: impl Into<ChatText>, keep: bool) -> ChatPart {
    ChatPart::Text {
        text: text.into(),
        keep,
    }
}

pub(super) fn user_message(parts: Vec<ChatPart>) -> ChatMessage {
    ChatMessage {
        role: ChatRole::User,
        parts,
    }
}

/// Rounds down to the two highest bits. Results are then cut alike in most turns of a step, though each turn leaves a
/// little less, and the provider's cache stays valid.
fn round_down(tokens: u64) -> u64 {
    let lower = tokens.checked_ilog2().unwrap_or(0).saturating_sub(1);
    tokens >> lower << lower
}

fn unavailable(what: String) -> NoAnswer {
    NoAnswer::from(AskError::Unavailable { what })
}
