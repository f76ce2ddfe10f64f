//! A request as every provider could have sent it: what a script looks at before it answers.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Provider;
use super::cache::Prompt;

/// A request that was accepted.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Whose wire it came on.
    pub provider: Provider,
    /// How many requests were accepted before it.
    pub number: usize,
    /// The model it asks.
    pub model: String,
    /// The system prompt, its blocks joined by a blank line.
    pub system: String,
    /// The conversation.
    pub turns: Vec<Turn>,
    /// The tools on offer.
    pub tools: Vec<Tool>,
    /// Whether a tool may or must be called.
    pub choice: Choice,
    /// The schema that the answer must fit, where one was sent as such.
    pub wants: Option<Value>,
    /// Whether the answer must be JSON, though of no given schema.
    pub wants_json: bool,
    /// Whether it is to be streamed.
    pub streamed: bool,
    /// Whether a stream ends with the usage, where that must be asked for.
    pub streams_usage: bool,
    /// The cap on the answer, where one was sent.
    pub max_tokens: Option<u64>,
    /// The temperature, where one was sent.
    pub temperature: Option<f64>,
    /// The body as it came.
    pub body: Value,
    /// The headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    pub(super) prompt: Prompt,
}

/// What one side said.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// Whether the model said it.
    pub by_model: bool,
    /// What, in order.
    pub parts: Vec<Said>,
}

/// A part of what was said.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// Text.
    Text(String),
    /// A call of a tool.
    Call {
        /// Its id; Gemini may leave it out.
        id: String,
        /// The tool.
        name: String,
        /// Its arguments.
        arguments: Value,
    },
    /// What a call came to.
    Result {
        /// The call's id; the tool's name where Gemini left the id out.
        id: String,
        /// The result as text.
        text: String,
        /// Whether it says that the call failed, where the provider has a field for that.
        failed: bool,
    },
    /// Reasoning that was sent back.
    Thought,
}

/// A tool on offer.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The schema of its arguments.
    pub schema: Value,
    /// Whether the provider guarantees the schema.
    pub strict: bool,
}

/// Whether tools are called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Choice {
    /// As the model likes.
    #[default]
    Auto,
    /// None may be called.
    None,
    /// Some tool must be.
    Any,
    /// This tool must be.
    Tool(String),
}

impl Seen {
    /// Everything the model reads, the system prompt first; results of tools too.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.system.clone();
        for said in self.turns.iter().flat_map(|turn| &turn.parts) {
            match said {
                Said::Text(said) | Said::Result { text: said, .. } => {
                    text.push_str("\n\n");
                    text.push_str(said);
                }
                Said::Call { .. } | Said::Thought => {}
            }
        }
        text
    }

    /// What the user said last, as text; tool results are not among it.
    #[must_use]
    pub fn last_text(&self) -> &str {
        self.turns
            .iter()
            .rev()
            .filter(|turn| !turn.by_model)
            .flat_map(|turn| turn.parts.iter().rev())
            .find_map(|said| match said {
                Said::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .unwrap_or_default()
    }

    /// The word that follows this marker the last time it stands in the prompt: `after("question: ")`.
    #[must_use]
    pub fn after(&self, marker: &str) -> Option<String> {
        let text = self.text();
        let (_, rest) = text.rsplit_once(marker)?;
        let word: String = rest
            .chars()
            .take_while(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-'))
            .collect();
        (!word.is_empty()).then_some(word)
    }

    /// The case's fence: the sixteen hexadecimal letters that stand in the prompt more than once.
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

    /// The calls of tools that the conversation holds.
    #[must_use]
    pub fn calls(&self) -> Vec<&Said> {
        self.turns
            .iter()
            .flat_map(|turn| &turn.parts)
            .filter(|said| matches!(said, Said::Call { .. }))
            .collect()
    }

    /// The results of tools that the conversation holds.
    #[must_use]
    pub fn results(&self) -> Vec<&Said> {
        self.turns
            .iter()
            .flat_map(|turn| &turn.parts)
            .filter(|said| matches!(said, Said::Result { .. }))
            .collect()
    }

    /// A tool on offer by its name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// The tool through which the answer must be given, where the caller forces one.
    #[must_use]
    pub fn forced(&self) -> Option<&Tool> {
        match &self.choice {
            Choice::Tool(name) => self.tool(name),
            Choice::Any if self.tools.len() == 1 => self.tools.first(),
            _ => None,
        }
    }

    /// The tool through which an answer can be given: the one that is forced, or the last one where some tool must be called.
    #[must_use]
    pub fn answering(&self) -> Option<&Tool> {
        let last = || self.tools.last().filter(|_| self.choice == Choice::Any);
        self.forced().or_else(last)
    }

    /// The tool whose arguments such a value is, where the caller wants some tool called.
    #[must_use]
    pub fn tool_of(&self, value: &Value) -> Option<&Tool> {
        let fields = value.as_object().filter(|_| self.choice == Choice::Any)?;
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
