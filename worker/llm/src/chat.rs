//! The port to language models: the adapters and decorators of this crate implement it, the model analyst calls it.
//!
//! A conversation is told in parts that every provider has; what only one of them has (its reasoning's signatures, say)
//! travels as an [`Opaque`] value that goes back to the same provider unread. Nothing here names a vendor.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::time::Instant;

mod error;
mod text;

pub use error::{ChatError, Failure};
pub use text::Text;

/// A language model, or a chain of them.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// What it can do.
    fn traits(&self) -> &ChatTraits;

    /// One answer to one conversation, at the latest at the request's deadline.
    ///
    /// # Errors
    ///
    /// When there is no whole answer; the error says what was used up all the same, and whether to try again.
    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError>;
}

/// What a model can do, and what it takes for it.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatTraits {
    /// `provider/model`, as metrics and reports name it.
    pub name: String,
    /// Tokens that prompt and answer may hold together.
    pub window_tokens: u64,
    /// Tokens that an answer may have at the most, reasoning included.
    pub max_output_tokens: u32,
    /// Tokens that it may reason before an answer, beside those of the answer: as it is configured.
    pub reasoning_tokens: u32,
    /// Whether it takes tools; one that does not is told of them in words and calls them in its JSON.
    pub tools: bool,
    /// Whether all its requests carry the tools, those that may call none too; else prompts say what they are for.
    pub tools_always: bool,
    /// The most that a token of it costs.
    pub price: TokenPrice,
}

impl ChatTraits {
    /// Tokens of such an answer and of all that is reasoned before it.
    #[must_use]
    pub fn most_output(&self, answer: u32) -> u32 {
        answer
            .saturating_add(self.reasoning_tokens)
            .min(self.max_output_tokens)
    }
}

/// The most that tokens cost, in USD per million; 0 where no price is known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TokenPrice {
    /// Of a prompt, nothing of it cached.
    pub input: f64,
    /// Of an answer, reasoning included.
    pub output: f64,
}

/// Which of the analyst's questions a request belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// Is a plan needed, and which.
    Plan,
    /// The next calls of a step, or its result.
    Turn,
    /// What came of the last action, and what next.
    Decide,
    /// Does the plan still fit.
    Reflect,
    /// What was it.
    Conclude,
}

impl Asked {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Plan,
        Self::Turn,
        Self::Decide,
        Self::Reflect,
        Self::Conclude,
    ];

    /// As metrics and configuration name it.
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

/// One request: a conversation, and what is wanted of its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// The question it serves.
    pub asked: Asked,
    /// Whether its alert is high or critical: a share of the rate is kept for such.
    pub urgent: bool,
    /// What the model is and must do; the same for all requests of a case.
    pub system: Text,
    /// What was said, beginning with the user; two messages of one role never follow one another.
    pub messages: Vec<ChatMessage>,
    /// The tools; the same array for all requests of a case, so that their prefix is.
    pub tools: Arc<[ChatTool]>,
    /// Whether it may call them in this answer.
    pub may_call: bool,
    /// The schema that its text must fit; none where text is free.
    pub output: Option<OutputSchema>,
    /// Tokens that the answer may have. What the model is configured to reason comes on top.
    pub max_output_tokens: u32,
    /// When the answer is of no use any more.
    pub deadline: Instant,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// We do: questions and tool results.
    User,
    /// The model does.
    Assistant,
}

/// What one of the two said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// Who.
    pub role: Role,
    /// What, in order.
    pub parts: Vec<Part>,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum Part {
    /// Text.
    Text {
        /// It.
        text: Text,
        /// Whether requests to come share everything up to here, so that it is worth keeping at the provider.
        #[serde(default)]
        keep: bool,
    },
    /// The model called a tool.
    Call(CallPart),
    /// What a call came to. Every call of a message has one in the next message.
    Result {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
        /// The result as text.
        text: Text,
        /// Whether the call was refused or failed.
        is_error: bool,
    },
    /// Something of the provider's own that stands between the other parts, such as its sealed reasoning.
    Opaque(Opaque),
}

impl Part {
    /// Text that nothing is kept after.
    #[must_use]
    pub fn text(text: impl Into<Text>) -> Self {
        Self::Text {
            text: text.into(),
            keep: false,
        }
    }
}

/// A call as a model makes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallPart {
    /// The provider's id of it, or one made by the adapter where the provider gives none.
    pub id: String,
    /// The tool's name, whether there is such a tool or not.
    pub name: String,
    /// Its arguments.
    pub arguments: Arguments,
    /// What the provider wants back with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
}

/// The arguments of a call. They are never repaired: what is no object stays as it came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arguments {
    /// An object. One that came as a string was unwrapped.
    Object(Map<String, Value>),
    /// Something else.
    Unreadable(String),
}

/// A value of one provider that only it reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opaque {
    /// Whose it is, as its adapter names itself: `provider/model`, for another model of the same provider does not read it.
    pub provider: String,
    /// The value.
    pub value: Value,
    /// What stood before it when the provider gave it, as a hash, where it is taken back in that place alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

impl Opaque {
    /// A value that is taken back wherever it stands.
    #[must_use]
    pub fn new(provider: impl Into<String>, value: Value) -> Self {
        Self {
            provider: provider.into(),
            value,
            place: None,
        }
    }
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatTool {
    /// Its name: letters, digits, `_` and `-`, at most 64 of them, which every provider takes.
    pub name: String,
    /// What it does.
    pub description: Text,
    /// JSON schema of its arguments: an object, all properties listed, no other ones. Shared by all requests that offer the
    /// tool.
    pub schema: Arc<Value>,
}

/// The wanted shape of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSchema {
    /// A short name, as of a tool.
    pub name: String,
    /// JSON schema: inlined, every object with all its properties required and no other ones.
    pub schema: Arc<Value>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatAnswer {
    /// What it said, in order: text, calls and opaque parts.
    pub parts: Vec<Part>,
    /// The JSON value of its text where the provider made it to the schema.
    pub structured: Option<Value>,
    /// Why it ended.
    pub stop: StopReason,
    /// What was used.
    pub usage: Usage,
    /// What that cost, in USD; 0 where no price is known.
    pub usd: f64,
    /// Requests that were made for it, those of retries and of other models of a chain included; an adapter says 1.
    pub requests: u64,
    /// `provider/model` that answered.
    pub model: String,
    /// The provider's id of the answer, to ask its support about.
    pub id: Option<String>,
}

impl ChatAnswer {
    /// All its text, joined.
    #[must_use]
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| match part {
                Part::Text { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// The calls it makes.
    pub fn calls(&self) -> impl Iterator<Item = &CallPart> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        })
    }
}

/// Why an answer ended. One that was cut off, refused or filtered is no answer but a [`ChatError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    Done,
    /// It waits for its calls.
    Calls,
}

/// Tokens that a request used, also one that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Prompt tokens, those from a cache included.
    pub input_tokens: u64,
    /// Those of them that came from a cache.
    pub cached_tokens: u64,
    /// Those of them that were written to it, where the provider says so and charges for it.
    #[serde(default)]
    pub cache_write_tokens: u64,
    /// Tokens of the answer, reasoning included.
    pub output_tokens: u64,
    /// Those of them that were reasoning.
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

/// The time that a request has left.
#[must_use]
pub fn time_left(request: &ChatRequest) -> Duration {
    request.deadline.saturating_duration_since(Instant::now())
}
