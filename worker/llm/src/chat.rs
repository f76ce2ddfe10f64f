//! Defines the port to language models. The adapters and decorators of this crate implement it, and the model analyst
//! calls it.
//!
//! A conversation consists of parts that every provider has. Data of one provider, such as signatures of its reasoning,
//! is an [`OpaquePart`] value that goes back to the same provider unread. No vendor is named here.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::time::Instant;

mod error;
mod text;

pub use error::{ChatError, ChatFailure};
pub use text::ChatText;

/// A language model, or a chain of them.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// Returns the model's capabilities.
    fn traits(&self) -> &ChatTraits;

    /// Asks for one answer to one conversation and returns at the request's deadline at the latest.
    ///
    /// # Errors
    ///
    /// Returns an error when there is no complete answer. The error holds the usage, and whether a retry may help.
    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError>;
}

/// Capabilities and prices of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatTraits {
    /// `provider/model`, as metrics and reports name it.
    pub name: String,
    /// Maximum number of tokens of prompt and answer together.
    pub window_tokens: u64,
    /// Maximum number of tokens of an answer, including reasoning.
    pub max_output_tokens: u32,
    /// Configured number of tokens for reasoning, in addition to those of the answer.
    pub reasoning_tokens: u32,
    /// True if the model accepts tools. Otherwise tools are described in the prompt, and the model calls them in its
    /// JSON.
    pub tools: bool,
    /// True if all requests carry the tools, even those that may call none. Otherwise prompts explain the tools.
    pub tools_always: bool,
    /// The highest price of a token.
    pub price: TokenPrice,
}

impl ChatTraits {
    /// Returns the maximum number of output tokens for an answer of this size, including reasoning.
    #[must_use]
    pub fn max_answer_tokens(&self, answer: u32) -> u32 {
        answer
            .saturating_add(self.reasoning_tokens)
            .min(self.max_output_tokens)
    }
}

/// Highest prices of tokens, in USD per million; 0 where the price is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TokenPrice {
    /// Price of uncached prompt tokens.
    pub input: f64,
    /// Price of output tokens, including reasoning.
    pub output: f64,
}

/// The analyst's question that a request belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// The question whether a plan is needed, and which.
    Plan,
    /// The next calls of a step, or its result.
    Turn,
    /// The result of the last action, and the next action.
    Decide,
    /// The question whether the plan still fits.
    Reflect,
    /// The conclusion of the case.
    Conclude,
}

impl QuestionKind {
    /// All questions.
    pub const ALL: [Self; 5] = [
        Self::Plan,
        Self::Turn,
        Self::Decide,
        Self::Reflect,
        Self::Conclude,
    ];

    /// Returns the name in metrics and configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Turn => "turn",
            Self::Decide => "decide",
            Self::Reflect => "reflect",
            Self::Conclude => "conclude",
        }
    }
}

/// A conversation and the requirements for its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// The question that the request serves.
    pub question: QuestionKind,
    /// True if the alert is high or critical. A share of the rate is reserved for such requests.
    pub urgent: bool,
    /// Role and task of the model, the same for all requests of a case.
    pub system: ChatText,
    /// The messages, beginning with the user. Roles alternate.
    pub messages: Vec<ChatMessage>,
    /// The tools. All requests of a case have the same array, so that they share a prefix.
    pub tools: Arc<[ChatTool]>,
    /// True if the answer may call tools.
    pub may_call: bool,
    /// The schema of the answer's text, or `None` for free text.
    pub output: Option<OutputSchema>,
    /// Maximum number of tokens of the answer, without the configured reasoning.
    pub max_output_tokens: u32,
    /// Time after which the answer is useless.
    pub deadline: Instant,
}

/// Author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatRole {
    /// Nightshift: questions and tool results.
    User,
    /// The model.
    Assistant,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// The author.
    pub role: ChatRole,
    /// The parts, in order.
    pub parts: Vec<ChatPart>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum ChatPart {
    Text {
        text: ChatText,
        /// True if later requests share everything up to here, so that the provider should cache it.
        #[serde(default)]
        keep: bool,
    },
    /// A call of a tool.
    Call(ToolCallPart),
    /// Result of a call. Every call of a message has one in the next message.
    Result {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
        /// The result as text.
        text: ChatText,
        /// True if the call was refused or failed.
        is_error: bool,
    },
    /// Data of the provider between the other parts, such as its sealed reasoning.
    Opaque(OpaquePart),
}

impl ChatPart {
    /// Creates a text part without a cache mark.
    #[must_use]
    pub fn text(text: impl Into<ChatText>) -> Self {
        Self::Text {
            text: text.into(),
            keep: false,
        }
    }
}

/// A call as a model makes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCallPart {
    /// The provider's id of the call, or an id made by the adapter where there is none.
    pub id: String,
    /// The tool's name, which may be unknown.
    pub name: String,
    /// The call's arguments.
    pub arguments: CallArguments,
    /// Data that the provider requires back with the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<OpaquePart>,
}

/// Arguments of a call. They are never repaired: anything but an object stays unchanged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallArguments {
    /// An object, which may have come as a string.
    Object(Map<String, Value>),
    /// Any other text.
    Unreadable(String),
}

/// A value that only one provider reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpaquePart {
    /// The adapter's name, `provider/model`. Another model of the same provider does not read the value.
    pub provider: String,
    pub value: Value,
    /// Hash of the preceding conversation, where the provider accepts the value only in this place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position_hash: Option<String>,
}

impl OpaquePart {
    /// Creates a value that is accepted in any place.
    #[must_use]
    pub fn new(provider: impl Into<String>, value: Value) -> Self {
        Self {
            provider: provider.into(),
            value,
            position_hash: None,
        }
    }
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatTool {
    /// The name: letters, digits, `_` and `-`, at most 64 of them, which every provider accepts.
    pub name: String,
    /// Description for the model.
    pub description: ChatText,
    /// JSON schema of the arguments: an object that lists all its properties and allows no others. All requests that
    /// offer the tool share it.
    pub schema: Arc<Value>,
}

/// The schema of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSchema {
    /// A short name, in the form of a tool's name.
    pub name: String,
    /// JSON schema without references; every object requires all its properties and allows no others.
    pub schema: Arc<Value>,
}

/// An answer of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatAnswer {
    /// Parts of the answer, in order: text, calls and opaque parts.
    pub parts: Vec<ChatPart>,
    /// The JSON value of the text, where the provider enforced the schema.
    pub structured: Option<Value>,
    /// Reason why the answer ended.
    pub stop: StopReason,
    /// Tokens that were used.
    pub usage: Usage,
    /// Cost in USD; 0 where the price is unknown.
    pub usd: f64,
    /// Number of requests for the answer, including retries and other models of a chain. An adapter sets 1.
    pub requests: u64,
    /// The `provider/model` that answered.
    pub model: String,
    /// The provider's id of the answer, for support requests.
    pub id: Option<String>,
}

impl ChatAnswer {
    /// Returns all text, joined.
    #[must_use]
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| match part {
                ChatPart::Text { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    pub fn calls(&self) -> impl Iterator<Item = &ToolCallPart> {
        self.parts.iter().filter_map(|part| match part {
            ChatPart::Call(call) => Some(call),
            _ => None,
        })
    }
}

/// Reason why an answer ended. A truncated, refused or filtered answer is a [`ChatError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The answer is complete.
    Done,
    /// The model waits for the results of its calls.
    Calls,
}

/// Tokens that a request used, even if it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Prompt tokens, including cached ones.
    pub input_tokens: u64,
    /// Prompt tokens that were read from a cache.
    pub cached_tokens: u64,
    /// Prompt tokens that were written to a cache, where the provider reports and charges them.
    #[serde(default)]
    pub cache_write_tokens: u64,
    /// Output tokens, including reasoning.
    pub output_tokens: u64,
    /// Output tokens that were reasoning.
    pub reasoning_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.cached_tokens += other.cached_tokens;
        self.cache_write_tokens += other.cache_write_tokens;
        self.output_tokens += other.output_tokens;
        self.reasoning_tokens += other.reasoning_tokens;
    }
}

/// Returns the time until a request's deadline.
#[must_use]
pub fn time_left(request: &ChatRequest) -> Duration {
    request.deadline.saturating_duration_since(Instant::now())
}
