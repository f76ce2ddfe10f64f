//! Replies of a script, independent of the provider.

use std::time::Duration;

use serde_json::Value;

use super::{RecordedRequest, RetryAfter};

/// The reply to a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Answer(Answer),
    Fault(Fault),
}

/// An answer of a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// Reasoning, which is shown if the provider shows it.
    pub thought: Option<String>,
    pub text: Option<String>,
    /// A structured value, rendered as text or as a call of the forced tool.
    pub value: Option<Value>,
    /// Tool calls.
    pub calls: Vec<ToolCall>,
    /// Stop reason; by default the end of the answer, or the calls.
    pub stop: Option<StopReason>,
    /// Token usage; by default counted from the bytes.
    pub usage: Option<Usage>,
    /// Delay in addition to the script's latency.
    pub delay: Duration,
}

/// A tool call of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    pub name: String,
    /// The arguments, an object if the model behaves.
    pub arguments: Value,
    /// Arguments as text that is no JSON, which only OpenAI's protocol can carry.
    pub raw: Option<String>,
}

/// The stop reason of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The answer is complete.
    Done,
    /// The token limit is reached.
    Length,
    /// The model refused.
    Refused,
    /// A filter removed the answer.
    Filtered,
}

/// Token usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Prompt tokens, including cached ones.
    pub input: u64,
    /// Prompt tokens read from the provider's cache.
    pub cached: u64,
    /// Prompt tokens written to the cache.
    pub written: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// Reasoning tokens.
    pub reasoning: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// 429, with a retry delay.
    RateLimited(RetryAfter),
    /// The spending limit or quota is reached.
    SpendLimit,
    /// 529 at Anthropic, 503 elsewhere, with a retry delay.
    Overloaded(RetryAfter),
    /// 503 without an explanation.
    Unavailable,
    /// 500.
    Internal,
    /// The key is refused.
    Unauthenticated,
    /// The model does not exist or is not available for this key.
    UnknownModel,
    /// 400 with this message.
    BadRequest(String),
    /// The prompt is too long for the model.
    ContextTooLong,
    /// Half of the answer, after which the connection is closed.
    Cut(Answer),
    /// No response until released.
    Hang,
    /// The beginning of the answer, and nothing more until released.
    Stall(Answer),
    /// The answer ends at the token limit.
    Truncated(Answer),
    /// An answer without text.
    Empty,
    /// The model refuses with this text.
    Refusal(String),
    /// A filter removes the answer.
    Filtered,
    /// Text that is no JSON although JSON is requested.
    Malformed,
    /// JSON that does not fit the schema.
    WrongSchema,
    /// An answer of this many bytes.
    Huge(usize),
    /// A call of a tool that was not offered.
    UnknownTool,
    /// This many parallel calls of the offered tools.
    ManyCalls(usize),
    /// A call with bad arguments.
    BadArguments(ArgumentsFault),
    /// 200 with a page of HTML.
    Html,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentsFault {
    /// A list.
    NotAnObject,
    /// The object as a string.
    Stringified,
    /// An object with other fields.
    Unfitting,
    /// An object nested as deep as `serde_json` allows.
    Deep,
    /// Invalid JSON, or a string where the protocol can carry only JSON.
    Broken,
}

impl Answer {
    /// Creates an answer with text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }

    /// Creates an answer with a structured value.
    #[must_use]
    pub fn value(value: Value) -> Self {
        Self {
            value: Some(value),
            ..Self::default()
        }
    }

    /// Creates an answer with one call.
    #[must_use]
    pub fn call(name: impl Into<String>, arguments: Value) -> Self {
        Self::default().with_call(name, arguments)
    }

    /// Adds a call.
    #[must_use]
    pub fn with_call(mut self, name: impl Into<String>, arguments: Value) -> Self {
        self.calls.push(ToolCall::new(name, arguments));
        self
    }

    /// Adds reasoning.
    #[must_use]
    pub fn with_thought(mut self, thought: impl Into<String>) -> Self {
        self.thought = Some(thought.into());
        self
    }

    /// Adds a delay.
    #[must_use]
    pub fn with_delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Puts the structured value where the request wants it: into the call of the forced tool, or into text.
    pub(super) fn resolve_value(mut self, seen: &RecordedRequest) -> Self {
        if let Some(value) = self.value.take() {
            let tool = seen.forced_tool().or_else(|| seen.tool_matching(&value));
            match tool.filter(|_| seen.response_schema.is_none()) {
                Some(tool) => self.calls.push(ToolCall::new(tool.name.clone(), value)),
                None => self.text = Some(value.to_string()),
            }
        }
        self
    }

    /// Cuts the answer in the middle, as a token limit does.
    pub(super) fn truncated(mut self, seen: &RecordedRequest) -> Self {
        self = self.resolve_value(seen);
        let text = self.text.unwrap_or_else(|| "The alert says".to_owned());
        let half = text.chars().count() / 2;
        self.text = Some(text.chars().take(half).collect());
        self.calls.clear();
        self.stop = Some(StopReason::Length);
        self
    }
}

impl ToolCall {
    /// Creates a call with valid arguments.
    #[must_use]
    pub fn new(name: impl Into<String>, arguments: Value) -> Self {
        Self {
            name: name.into(),
            arguments,
            raw: None,
        }
    }

    /// Returns the arguments as OpenAI's protocol carries them.
    pub(super) fn arguments_text(&self) -> String {
        self.raw
            .clone()
            .unwrap_or_else(|| self.arguments.to_string())
    }
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

impl From<Fault> for Reply {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}
