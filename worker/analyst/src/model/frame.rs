//! The frame of a request: the parts that all requests of a case share, in one order, so that a provider can cache
//! their prefix.
//!
//! System text (role, policies, environment, tools) and tool array are the same for all cases of a profile. The
//! case's key, the alert's typed facts and, for some questions, the raw finding follow. The question's own parts come
//! last.

use std::sync::Arc;
use std::time::Duration;

use nightshift_alert::{Alert, Severity};
use nightshift_engine::allowance::Allowance;
use nightshift_engine::evidence::Evidence;
use nightshift_engine::port::{Answer, NoAnswer};
use nightshift_engine::question::{AskError, Setting, StepView};
use nightshift_engine::tool::ToolSpec;
use tokio::time::Instant;

use super::ask::{Asking, Read};
use super::blocks::KeptBlocks;
use super::desk::Desk;
use super::fence::Fence;
use super::prompts::Prompt;
use super::pseudonyms::Mask;
use super::schema::Shape;
use super::{ModelAnalyst, Settings, compaction};
use nightshift_llm::chat::{Asked, ChatMessage, ChatModel, ChatRequest, Part, Role, Text};

/// Maximum number of tokens of one result (also limited to 15 % of the window).
const MOST_RESULT: u64 = 25_000;

/// Minimum size of a prompt in tokens, whatever the caps leave.
const LEAST_PROMPT: u64 = 8_000;

/// Subject of a question, besides its own parts.
pub(super) struct About<'a> {
    pub(super) setting: &'a Setting,
    pub(super) alert: &'a Arc<Alert>,
    /// Earlier cases. Only a plan sees them; later questions see what the plan says about them.
    pub(super) past: Option<&'a Arc<Evidence>>,
    pub(super) steps: &'a [StepView],
    pub(super) step: Option<&'a StepView>,
    pub(super) tools: &'a Arc<[ToolSpec]>,
}

pub(super) struct Frame<'a> {
    pub(super) desk: Arc<Desk>,
    pub(super) fence: Fence,
    /// Whether the model takes tools.
    pub(super) native: bool,
    /// Maximum tokens of one result.
    pub(super) most_result: u64,
    /// Maximum tokens of a prompt.
    most_prompt: u64,
    settings: &'a Settings,
    model: &'a dyn ChatModel,
    mask: Option<Mask>,
    allowance: Allowance,
    asked: Asked,
    alert: &'a Arc<Alert>,
    blocks: &'a KeptBlocks,
    max_output_tokens: u32,
    deadline: Instant,
}

impl<'a> Frame<'a> {
    pub(super) fn new(
        analyst: &'a ModelAnalyst,
        asked: Asked,
        about: &About<'a>,
    ) -> Result<Self, NoAnswer> {
        let settings = &analyst.settings;
        let model = analyst.models.of(asked).as_ref();
        let traits = model.traits();
        let output = *settings.max_output_tokens.of(asked);
        let max_output_tokens = output.min(traits.max_output_tokens);
        let window = traits.window_tokens;
        let most = u64::from(traits.most_output(max_output_tokens));
        let fits = (window / 4 * 3).min(window.saturating_sub(most));
        let affordable = coarse(about.setting.left.tokens / 2).max(LEAST_PROMPT);
        let mask = settings
            .pseudonyms
            .as_ref()
            .map(|names| Mask::new(names, about))
            .transpose()
            .map_err(|why| unavailable(format!("names cannot be hidden: {why}")))?;
        Ok(Self {
            desk: analyst.desk(about.tools).map_err(unavailable)?,
            fence: Fence::new(&about.setting.delimiter),
            native: traits.tools,
            most_result: (window / 100 * 15).min(MOST_RESULT),
            most_prompt: fits.min(affordable),
            settings,
            model,
            mask,
            allowance: about.setting.allowance.clone(),
            asked,
            alert: about.alert,
            blocks: &analyst.blocks,
            max_output_tokens,
            deadline: Instant::now() + Duration::from_secs(about.setting.question_secs),
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
    pub(super) fn opening(&self, with_raw: bool) -> Vec<Part> {
        let most = self.most_result;
        let blocks = match self.asked {
            Asked::Conclude => self.blocks.last_of(self.alert, &self.fence, most),
            _ => self.blocks.of(self.alert, &self.fence, most),
        };
        let is_last = !with_raw || self.asked == Asked::Plan;
        let mut parts = vec![kept(blocks.facts.clone(), is_last)];
        if with_raw {
            parts.push(kept(blocks.raw.clone(), self.asked != Asked::Turn));
        }
        parts
    }

    /// Returns the tokens that are left for results after these parts and the frame itself.
    pub(super) fn room(&self, parts: &[Part]) -> u64 {
        let used = self.fixed() + compaction::message(parts);
        self.most_prompt.saturating_sub(used).max(1_000)
    }

    /// Returns the tokens of the frame itself.
    fn fixed(&self) -> u64 {
        let tools = if self.native {
            self.desk.tools_tokens
        } else {
            0
        };
        self.system().1 + tools
    }

    fn system(&self) -> &(Text, u64) {
        match self.model.traits().tools_always {
            true => &self.desk.system,
            false => &self.desk.whole_system,
        }
    }

    pub(super) fn request(
        &self,
        messages: Vec<ChatMessage>,
        shape: Option<&Shape>,
        may_call: bool,
    ) -> ChatRequest {
        let tools = if self.native {
            Arc::clone(&self.desk.tools.chat)
        } else {
            Arc::new([])
        };
        ChatRequest {
            asked: self.asked,
            urgent: self.alert.severity >= Severity::High,
            system: self.system().0.clone(),
            messages,
            may_call: may_call && !tools.is_empty(),
            tools,
            output: shape.map(Shape::output),
            max_output_tokens: self.max_output_tokens,
            deadline: self.deadline,
        }
    }

    /// Asks the question. When the request is too long, old results are shortened first.
    pub(super) async fn ask<T>(
        &self,
        mut request: ChatRequest,
        read: Read<'_, T>,
    ) -> Result<Answer<T>, NoAnswer> {
        let fixed = self.fixed();
        compaction::compact(&mut request.messages, fixed, self.most_prompt);
        let asking = Asking {
            fixed,
            model: self.model,
            prompts: &self.settings.prompts,
            mask: self.mask.as_ref(),
            allowance: &self.allowance,
        };
        asking.ask(request, read).await
    }
}

/// Returns a text part that the provider may cache.
pub(super) fn kept(text: impl Into<Text>, keep: bool) -> Part {
    Part::Text {
        text: text.into(),
        keep,
    }
}

/// Returns a message of ours.
pub(super) fn user(parts: Vec<Part>) -> ChatMessage {
    ChatMessage {
        role: Role::User,
        parts,
    }
}

/// Rounds down to the two highest bits. Results are then cut alike in most turns of a step, though each turn leaves a
/// little less, and the provider's cache stays valid.
fn coarse(tokens: u64) -> u64 {
    let lower = tokens.checked_ilog2().unwrap_or(0).saturating_sub(1);
    tokens >> lower << lower
}

fn unavailable(what: String) -> NoAnswer {
    NoAnswer::from(AskError::Unavailable { what })
}
