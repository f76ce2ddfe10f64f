//! Defines a request in a form that is independent of the provider, for scripts.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Provider;
use super::cache::Prompt;

/// An accepted request.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    pub provider: Provider,
    /// Number of requests accepted before.
    pub number: usize,
    pub model: String,
    /// The system prompt, with blank lines between its blocks.
    pub system: String,
    pub turns: Vec<Turn>,
    /// The offered tools.
    pub tools: Vec<Tool>,
    /// The rule whether a tool may or must be called.
    pub choice: ToolChoice,
    /// The response schema, if the request has one.
    pub response_schema: Option<Value>,
    /// True if the answer must be JSON without a given schema.
    pub requires_json: bool,
    /// True if a stream is requested.
    pub streamed: bool,
    /// True if a stream ends with the usage, if that must be requested.
    pub streams_usage: bool,
    /// The token limit, if sent.
    pub max_tokens: Option<u64>,
    pub temperature: Option<f64>,
    /// The original body.
    pub body: Value,
    /// The headers with names in lower case.
    pub headers: BTreeMap<String, String>,
    pub(super) prompt: Prompt,
}

/// A turn of one side.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// True if the turn is the model's.
    pub by_model: bool,
    /// The parts in order.
    pub parts: Vec<MessagePart>,
}

/// A part of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum MessagePart {
    Text(String),
    /// A tool call.
    Call {
        /// The call's id, which Gemini may omit.
        id: String,
        name: String,
        arguments: Value,
    },
    /// The result of a tool call.
    Result {
        /// The call's id, or the tool's name if Gemini omitted the id.
        id: String,
        text: String,
        /// True if the result is marked as failed, if the provider has such a field.
        failed: bool,
    },
    /// Reasoning that was sent back.
    Thought,
}

/// An offered tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub name: String,
    pub description: String,
    /// The schema of the arguments.
    pub schema: Value,
    /// True if strict mode is requested.
    pub strict: bool,
}

/// The rule whether tools are called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No tool may be called.
    None,
    /// Some tool must be called.
    Any,
    /// This tool must be called.
    Tool(String),
}

impl RecordedRequest {
    /// Returns all text that the model reads, the system prompt first, including results of tools.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.system.clone();
        for said in self.turns.iter().flat_map(|turn| &turn.parts) {
            match said {
                MessagePart::Text(said) | MessagePart::Result { text: said, .. } => {
                    text.push_str("\n\n");
                    text.push_str(said);
                }
                MessagePart::Call { .. } | MessagePart::Thought => {}
            }
        }
        text
    }

    /// Returns the last text of the user, without tool results.
    #[must_use]
    pub fn last_text(&self) -> &str {
        self.turns
            .iter()
            .rev()
            .filter(|turn| !turn.by_model)
            .flat_map(|turn| turn.parts.iter().rev())
            .find_map(|said| match said {
                MessagePart::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .unwrap_or_default()
    }

    /// Returns the word after the last occurrence of a marker in the prompt: `after("question: ")`.
    #[must_use]
    pub fn word_after(&self, marker: &str) -> Option<String> {
        let text = self.text();
        let (_, rest) = text.rsplit_once(marker)?;
        let word: String = rest
            .chars()
            .take_while(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-'))
            .collect();
        (!word.is_empty()).then_some(word)
    }

    /// Returns the case's fence: sixteen hexadecimal digits that occur more than once in the prompt.
    #[must_use]
    pub fn fence(&self) -> Option<String> {
        let text = self.text();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
        for word in words.filter(|word| is_fence(word)) {
            *counts.entry(word).or_default() += 1;
        }
        counts
            .into_iter()
            .filter(|(_, count)| *count > 1)
            .max_by_key(|(_, count)| *count)
            .map(|(word, _)| word.to_owned())
    }

    /// Returns the tool calls of the conversation.
    #[must_use]
    pub fn calls(&self) -> Vec<&MessagePart> {
        self.turns
            .iter()
            .flat_map(|turn| &turn.parts)
            .filter(|said| matches!(said, MessagePart::Call { .. }))
            .collect()
    }

    /// Returns the tool results of the conversation.
    #[must_use]
    pub fn results(&self) -> Vec<&MessagePart> {
        self.turns
            .iter()
            .flat_map(|turn| &turn.parts)
            .filter(|said| matches!(said, MessagePart::Result { .. }))
            .collect()
    }

    /// Returns an offered tool by name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Returns the tool that the caller forces.
    #[must_use]
    pub fn forced_tool(&self) -> Option<&Tool> {
        match &self.choice {
            ToolChoice::Tool(name) => self.tool(name),
            ToolChoice::Any if self.tools.len() == 1 => self.tools.first(),
            _ => None,
        }
    }

    /// Returns the tool for the answer: the forced one, or the last one if some tool must be called.
    #[must_use]
    pub fn answer_tool(&self) -> Option<&Tool> {
        let last = || self.tools.last().filter(|_| self.choice == ToolChoice::Any);
        self.forced_tool().or_else(last)
    }

    /// Returns the tool whose arguments have exactly the fields of this value, if some tool must be called.
    #[must_use]
    pub fn tool_matching(&self, value: &Value) -> Option<&Tool> {
        let fields = value
            .as_object()
            .filter(|_| self.choice == ToolChoice::Any)?;
        self.tools.iter().find(|tool| {
            let properties = tool.schema.get("properties").and_then(Value::as_object);
            properties.is_some_and(|properties| {
                properties.len() == fields.len()
                    && fields.keys().all(|name| properties.contains_key(name))
            })
        })
    }
}

fn is_fence(word: &str) -> bool {
    word.len() == 16
        && word
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
