//! Reasoning that a provider takes back in its place alone.
//!
//! A thinking block of a newer Claude is bound to what stood before it: system, tools and every earlier message
//! (Anthropic, "Preserved thinking"; Bedrock, "claude-messages-thinking-block-binding"). What a case asks is built anew for
//! each request, and may come out otherwise: old results are left out to save room, an answer was mended, the way to ask for
//! a schema changed. So each block is kept with a hash of its place, and left out where that is another one now.

use crate::chat::{Arguments, ChatAnswer, ChatMessage, ChatRequest, OutputSchema, Part, Role};
use sha2::{Digest, Sha256};

use crate::quirks::{Quirks, Reasoning};
use crate::{SchemaMode, ids, plain};

/// Hex digits of a place.
const DIGITS: usize = 16;

/// A conversation as one model is told it, and what its reasoning is bound to.
pub(crate) struct Told<'a> {
    /// The messages, without the reasoning that is not taken, and with ids that are.
    pub(crate) messages: std::borrow::Cow<'a, [ChatMessage]>,
    request: &'a ChatRequest,
    wanted: Option<(SchemaMode, &'a OutputSchema)>,
    name: String,
    tools: bool,
    is_bound: bool,
}

impl<'a> Told<'a> {
    /// `back`: whether reasoning goes back at all.
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
            // Those whose depth of thinking is a number of tokens are older.
            is_bound: quirks.reasoning == Reasoning::Effort,
        };
        let has_own = told.messages.iter().any(|one| told.has_own(one));
        if has_own && (told.is_bound || !back) {
            told.messages = told.fitting(back).into();
        }
        told
    }

    /// The messages without reasoning whose place is another one now.
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

    /// Whether each message that calls begins with the model's own reasoning: to older Claudes a request that lets them
    /// think must be so ("Extended thinking", "Preserving thinking blocks"), and what another model called begins with none.
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

    /// Writes the place of an answer's reasoning beside it.
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

    /// The place after all that is told.
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

    /// What stands before all messages.
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

    /// Adds what is sent of a message; where a mark stands does not count.
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

/// Adds a text with its length, so that no two lists of texts are the same.
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
