//! What a script answers, in no provider's words.

use std::time::Duration;

use serde_json::Value;

use super::{Seen, Wait};

/// What comes back for a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// An answer.
    Answer(Answer),
    /// A fault.
    Fault(Fault),
}

/// An answer of a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// Reasoning, shown where the provider shows it.
    pub thought: Option<String>,
    /// Text.
    pub text: Option<String>,
    /// A structured value: rendered as text, or as the call of the tool that the request forces.
    pub value: Option<Value>,
    /// Calls of tools.
    pub calls: Vec<Called>,
    /// Why it ends; by itself, or with calls, where none is given.
    pub stop: Option<Stop>,
    /// What it used; counted from the bytes where none is given.
    pub usage: Option<Usage>,
    /// How long the model takes, beside the script's own latency.
    pub after: Duration,
}

/// A call that the model makes.
#[derive(Debug, Clone, PartialEq)]
pub struct Called {
    /// The tool.
    pub name: String,
    /// Its arguments: an object where the model behaves.
    pub arguments: Value,
    /// The arguments as text where they are no JSON; only OpenAI's wire can carry that.
    pub raw: Option<String>,
}

/// Why an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It is done.
    Done,
    /// Its cap is reached.
    Length,
    /// The model refuses.
    Refused,
    /// A filter took it away.
    Filtered,
}

/// Tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Of the prompt, cached ones included.
    pub input: u64,
    /// Of those, read from the provider's cache.
    pub cached: u64,
    /// Of those, written to it.
    pub written: u64,
    /// Of the answer, reasoning included.
    pub output: u64,
    /// Of those, reasoning.
    pub reasoning: u64,
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// 429, with a wait.
    RateLimited(Wait),
    /// The spending limit or the quota is reached.
    SpendLimit,
    /// 529 at Anthropic, 503 elsewhere, with a wait.
    Overloaded(Wait),
    /// 503 without a word of use.
    Unavailable,
    /// 500.
    Internal,
    /// The key is refused.
    Unauthenticated,
    /// There is no such model, or none for this key.
    UnknownModel,
    /// The request is not as this server takes it, with these words.
    BadRequest(String),
    /// The prompt is too long for the model.
    ContextTooLong,
    /// Half of the answer, and the connection is gone.
    Cut(Answer),
    /// Nothing, until the fake is told to release what hangs.
    Hang,
    /// The beginning of the answer, and then nothing until released.
    Stall(Answer),
    /// The answer ends at its cap.
    Truncated(Answer),
    /// An answer without a word.
    Empty,
    /// The model refuses, with these words.
    Refusal(String),
    /// A filter took the answer.
    Filtered,
    /// Text that is no JSON where JSON is wanted.
    Malformed,
    /// JSON that does not fit.
    WrongSchema,
    /// An answer of this many bytes.
    Huge(usize),
    /// A call of a tool that nobody offered.
    UnknownTool,
    /// This many calls at once, of the tools on offer.
    ManyCalls(usize),
    /// A call whose arguments are not what they must be.
    BadArguments(Arguments),
    /// 200, and a page of HTML.
    Html,
}

/// How arguments are bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arguments {
    /// A list.
    NotAnObject,
    /// The object as a string.
    Stringified,
    /// An object of other fields.
    Unfitting,
    /// An object that is nested as deep as `serde_json` reads it.
    Deep,
    /// No JSON; a string where the wire carries JSON only.
    Broken,
}

impl Answer {
    /// Text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }

    /// A structured value.
    #[must_use]
    pub fn value(value: Value) -> Self {
        Self {
            value: Some(value),
            ..Self::default()
        }
    }

    /// One call.
    #[must_use]
    pub fn call(name: impl Into<String>, arguments: Value) -> Self {
        Self::default().and_call(name, arguments)
    }

    /// One call more.
    #[must_use]
    pub fn and_call(mut self, name: impl Into<String>, arguments: Value) -> Self {
        self.calls.push(Called::new(name, arguments));
        self
    }

    /// With reasoning.
    #[must_use]
    pub fn thinking(mut self, thought: impl Into<String>) -> Self {
        self.thought = Some(thought.into());
        self
    }

    /// After a while.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.after = delay;
        self
    }

    /// The structured value put where the request wants it: into the call of the tool that it forces, or into text.
    pub(super) fn settle(mut self, seen: &Seen) -> Self {
        if let Some(value) = self.value.take() {
            let tool = seen.forced().or_else(|| seen.tool_of(&value));
            match tool.filter(|_| seen.wants.is_none()) {
                Some(tool) => self.calls.push(Called::new(tool.name.clone(), value)),
                None => self.text = Some(value.to_string()),
            }
        }
        self
    }

    /// The same, cut in the middle by its cap.
    pub(super) fn truncated(mut self, seen: &Seen) -> Self {
        self = self.settle(seen);
        let text = self.text.unwrap_or_else(|| "The alert says".to_owned());
        let half = text.chars().count() / 2;
        self.text = Some(text.chars().take(half).collect());
        self.calls.clear();
        self.stop = Some(Stop::Length);
        self
    }
}

impl Called {
    /// A call with good arguments.
    #[must_use]
    pub fn new(name: impl Into<String>, arguments: Value) -> Self {
        Self {
            name: name.into(),
            arguments,
            raw: None,
        }
    }

    /// The arguments as OpenAI's wire carries them.
    pub(super) fn as_text(&self) -> String {
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
