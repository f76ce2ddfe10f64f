//! The frame of a request: what all requests of a case share, in one order, so that a provider keeps their prefix.
//!
//! System (role, policies, environment, tools) and the tool array are the same for all cases of a profile; then come the
//! case's key, the alert's typed facts, the raw finding where the question sees it, and last what is the question's own.

use std::sync::Arc;
use std::time::Duration;

use nightshift_alert::{Alert, Severity};
use nightshift_engine::{
    Allowance, Answer, AskError, Evidence, NoAnswer, Setting, StepView, ToolSpec,
};
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

/// Most tokens of one result (with at most 15 % of the window).
const MOST_RESULT: u64 = 25_000;

/// Fewest tokens that a prompt may have, whatever the caps leave.
const LEAST_PROMPT: u64 = 8_000;

/// What a question is about, beside its own parts.
pub(super) struct About<'a> {
    pub(super) setting: &'a Setting,
    pub(super) alert: &'a Arc<Alert>,
    /// Earlier cases. Only a plan sees them, and what it says of them goes on.
    pub(super) past: Option<&'a Arc<Evidence>>,
    pub(super) steps: &'a [StepView],
    /// The step of a turn, with its calls.
    pub(super) step: Option<&'a StepView>,
    pub(super) tools: &'a Arc<[ToolSpec]>,
}

/// The frame of one question.
pub(super) struct Frame<'a> {
    /// What requests share.
    pub(super) desk: Arc<Desk>,
    /// The case's fence.
    pub(super) fence: Fence,
    /// Whether the model takes tools.
    pub(super) native: bool,
    /// Most tokens of one result.
    pub(super) most_result: u64,
    /// Most tokens of a prompt.
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

    /// A prompt of the profile.
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

    /// The begin of every first message: the case's key and the alert's facts; then, where the question sees it, the
    /// finding as it was sent.
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

    /// Tokens that are left for results after what stands in these parts and the frame itself.
    pub(super) fn room(&self, parts: &[Part]) -> u64 {
        let used = self.fixed() + compaction::message(parts);
        self.most_prompt.saturating_sub(used).max(1_000)
    }

    /// Tokens of the frame itself.
    fn fixed(&self) -> u64 {
        let tools = if self.native {
            self.desk.tools_tokens
        } else {
            0
        };
        self.system().1 + tools
    }

    /// The system text, and its tokens.
    fn system(&self) -> &(Text, u64) {
        match self.model.traits().tools_always {
            true => &self.desk.system,
            false => &self.desk.whole_system,
        }
    }

    /// The request with these messages.
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

    /// Asks; what the request has too much is left out of old results first.
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

/// A text that may be worth keeping at the provider.
pub(super) fn kept(text: impl Into<Text>, keep: bool) -> Part {
    Part::Text {
        text: text.into(),
        keep,
    }
}

/// A message of ours.
pub(super) fn user(parts: Vec<Part>) -> ChatMessage {
    ChatMessage {
        role: Role::User,
        parts,
    }
}

/// The number with all but its two highest bits at zero: what is cut by it is cut alike in most turns of a step, though each
/// leaves a little less, and the provider keeps what it knows of them.
fn coarse(tokens: u64) -> u64 {
    let lower = tokens.checked_ilog2().unwrap_or(0).saturating_sub(1);
    tokens >> lower << lower
}

fn unavailable(what: String) -> NoAnswer {
    NoAnswer::from(AskError::Unavailable { what })
}
