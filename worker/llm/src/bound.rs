//! Reasoning that a provider accepts only in its original place.
//!
//! A thinking block of a newer Claude is bound to everything before it: system, tools and every earlier message
//! (Anthropic, "Preserved thinking"; Bedrock, "claude-messages-thinking-block-binding"). Each request of a case is
//! built anew and may differ: old results are dropped to save room, an answer was repaired, or the schema mode
//! changed. So each block is kept with a hash of its place, and is left out when the place has changed.

use crate::chat::{Arguments, ChatAnswer, ChatMessage, ChatRequest, OutputSchema, Part, Role};
use sha2::{Digest, Sha256};

use crate::quirks::{Quirks, Reasoning};
use crate::{SchemaMode, ids, plain};

/// Number of hex digits of a place.
const DIGITS: usize = 16;

/// A conversation as one model receives it, and the data to which its reasoning is bound.
pub(crate) struct Told<'a> {
    /// The messages, without refused reasoning and with accepted ids.
    pub(crate) messages: std::borrow::Cow<'a, [ChatMessage]>,
    request: &'a ChatRequest,
    wanted: Option<(SchemaMode, &'a OutputSchema)>,
    name: String,
    tools: bool,
    is_bound: bool,
}

impl<'a> Told<'a> {
    /// Prepares a conversation; `back` says whether reasoning goes back at all.
    pub(crate) fn new(
        request: &'a ChatRequest,
        quirks: &Quirks,
        name: String,
        wanted: Option<(SchemaMode, &'a OutputSchema)>,
        back: bool,
    ) -> Self {
        let mut told = Self {
            messages: ids::fitting(plain::messages(request, quirks.tools)),
            request,
            wanted,
            name,
            tools: quirks.tools,
            // Models whose thinking depth is a number of tokens are older and not bound.
            is_bound: quirks.reasoning == Reasoning::Effort,
        };
        let has_own = told.messages.iter().any(|one| told.has_own(one));
        if has_own && (told.is_bound || !back) {
            told.messages = told.fitting(back).into();
        }
        told
    }

    /// Returns the messages without reasoning whose place has changed.
    fn fitting(&self, back: bool) -> Vec<ChatMessage> {
        let mut begin = self.begin();
        let mut fitting = Vec::with_capacity(self.messages.len());
        for message in self.messages.iter() {
            let mut message = message.clone();
            if self.has_own(&message) {
                let place = place(&begin);
                message.parts.retain(|part| match part {
                    Part::Opaque(own) if own.provider == self.name => {
                        back && own.place.as_ref() == Some(&place)
                    }
                    _ => true,
                });
            }
            self.add(&mut begin, &message);
            fitting.push(message);
        }
        fitting
    }

    /// Returns whether each message with calls begins with the model's own reasoning. Older Claudes require this of a
    /// request with thinking ("Extended thinking", "Preserving thinking blocks"), and messages of other models do not
    /// have it.
    pub(crate) fn calls_after_own(&self) -> bool {
        let calls = |message: &&ChatMessage| {
            let mut parts = message.parts.iter();
            message.role == Role::Assistant && parts.any(|part| matches!(part, Part::Call(_)))
        };
        let mut calling = self.messages.iter().filter(calls);
        calling.all(|message| {
            matches!(message.parts.first(), Some(Part::Opaque(own)) if own.provider == self.name)
        })
    }

    /// Records the place of an answer's reasoning.
    pub(crate) fn bind(&self, mut answer: ChatAnswer) -> ChatAnswer {
        if !self.is_bound {
            return answer;
        }
        let mut here = None;
        for part in &mut answer.parts {
            if let Part::Opaque(own) = part {
                let here = here.get_or_insert_with(|| self.here());
                own.place = Some(here.clone());
            }
        }
        answer
    }

    fn has_own(&self, message: &ChatMessage) -> bool {
        message
            .parts
            .iter()
            .any(|part| matches!(part, Part::Opaque(own) if own.provider == self.name))
    }

    /// Returns the place after all messages.
    pub(crate) fn here(&self) -> String {
        let mut here = self.begin();
        for message in self.messages.iter() {
            self.add(&mut here, message);
        }
        if let Some((SchemaMode::Prompt, output)) = self.wanted {
            add(&mut here, &output.schema.to_string());
        }
        place(&here)
    }

    /// Returns the hash of the parts before all messages.
    fn begin(&self) -> Sha256 {
        let mut begin = Sha256::new();
        add(&mut begin, &self.request.system);
        let tools = self.tools.then_some(&self.request.tools);
        for tool in tools.into_iter().flat_map(|tools| tools.iter()) {
            add(&mut begin, &tool.name);
            add(&mut begin, &tool.description);
            add(&mut begin, &tool.schema.to_string());
        }
        if let Some((SchemaMode::Tool, output)) = self.wanted {
            add(&mut begin, &output.schema.to_string());
        }
        begin
    }

    /// Adds a message as it is sent. Cache marks do not count.
    fn add(&self, to: &mut Sha256, message: &ChatMessage) {
        add(to, "message");
        for part in &message.parts {
            match part {
                Part::Text { text, .. } => add(to, text),
                Part::Call(call) => {
                    add(to, &call.id);
                    add(to, &call.name);
                    match &call.arguments {
                        Arguments::Object(map) => {
                            add(to, &serde_json::to_string(map).unwrap_or_default());
                        }
                        Arguments::Unreadable(text) => add(to, text),
                    }
                }
                Part::Result {
                    id, text, is_error, ..
                } => {
                    add(to, id);
                    add(to, text);
                    add(to, if *is_error { "failed" } else { "" });
                }
                Part::Opaque(own) if own.provider == self.name => add(to, &own.value.to_string()),
                Part::Opaque(_) => {}
            }
        }
    }
}

/// Adds a text with its length, so that no two lists of texts give the same hash.
fn add(to: &mut Sha256, text: &str) {
    to.update(text.len().to_le_bytes());
    to.update(text);
}

fn place(after: &Sha256) -> String {
    let mut place = hex::encode(after.clone().finalize());
    place.truncate(DIGITS);
    place
}

#[cfg(test)]
mod tests;
