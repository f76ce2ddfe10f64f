//! Keeps reasoning that a provider accepts only in its original place.
//!
//! A thinking block of a newer Claude is bound to everything before it: system, tools and every earlier message
//! (Anthropic, "Preserved thinking"; Bedrock, "claude-messages-thinking-block-binding"). Each request of a case is
//! built anew and may differ: old results are dropped to save room, an answer was repaired, or the schema mode changed.
//! So each block is kept with a hash of its place, and is left out when the place has changed.

use crate::chat::{
    CallArguments, ChatAnswer, ChatMessage, ChatPart, ChatRequest, ChatRole, OutputSchema,
};
use sha2::{Digest, Sha256};

use crate::quirks::{Quirks, ReasoningControl};
use crate::{SchemaMode, call_ids, without_tools};

/// Number of hex digits of a place.
const HASH_DIGITS: usize = 16;

/// A conversation as one model receives it, and the data to which its reasoning is bound.
pub(crate) struct PreparedConversation<'a> {
    /// The messages, without refused reasoning and with accepted ids.
    pub(crate) messages: std::borrow::Cow<'a, [ChatMessage]>,
    request: &'a ChatRequest,
    wanted: Option<(SchemaMode, &'a OutputSchema)>,
    name: String,
    takes_tools: bool,
    is_bound: bool,
}

impl<'a> PreparedConversation<'a> {
    /// Prepares a conversation; `back` says whether reasoning goes back at all.
    pub(crate) fn new(
        request: &'a ChatRequest,
        quirks: &Quirks,
        name: String,
        wanted: Option<(SchemaMode, &'a OutputSchema)>,
        back: bool,
    ) -> Self {
        let mut told = Self {
            messages: call_ids::normalize_call_ids(without_tools::messages(request, quirks.tools)),
            request,
            wanted,
            name,
            takes_tools: quirks.tools,
            // Models whose thinking depth is a number of tokens are older and not bound.
            is_bound: quirks.reasoning == ReasoningControl::Effort,
        };
        let has_own = told.messages.iter().any(|one| told.has_own_reasoning(one));
        if has_own && (told.is_bound || !back) {
            told.messages = told.without_moved_reasoning(back).into();
        }
        told
    }

    /// Returns the messages without reasoning whose place has changed.
    fn without_moved_reasoning(&self, back: bool) -> Vec<ChatMessage> {
        let mut begin = self.prefix_hasher();
        let mut fitting = Vec::with_capacity(self.messages.len());
        for message in self.messages.iter() {
            let mut message = message.clone();
            if self.has_own_reasoning(&message) {
                let place = finish_hash(&begin);
                message.parts.retain(|part| match part {
                    ChatPart::Opaque(own) if own.provider == self.name => {
                        back && own.position_hash.as_ref() == Some(&place)
                    }
                    _ => true,
                });
            }
            self.hash_message(&mut begin, &message);
            fitting.push(message);
        }
        fitting
    }

    /// Returns whether each message with calls begins with the model's own reasoning. Older Claudes require this of a
    /// request with thinking ("Extended thinking", "Preserving thinking blocks"), and messages of other models do not
    /// have it.
    pub(crate) fn calls_follow_reasoning(&self) -> bool {
        let calls = |message: &&ChatMessage| {
            let mut parts = message.parts.iter();
            message.role == ChatRole::Assistant
                && parts.any(|part| matches!(part, ChatPart::Call(_)))
        };
        let mut calling = self.messages.iter().filter(calls);
        calling.all(|message| {
            matches!(message.parts.first(), Some(ChatPart::Opaque(own)) if own.provider == self.name)
        })
    }

    /// Records the place of an answer's reasoning.
    pub(crate) fn bind_reasoning(&self, mut answer: ChatAnswer) -> ChatAnswer {
        if !self.is_bound {
            return answer;
        }
        let mut here = None;
        for part in &mut answer.parts {
            if let ChatPart::Opaque(own) = part {
                let here = here.get_or_insert_with(|| self.position_hash());
                own.position_hash = Some(here.clone());
            }
        }
        answer
    }

    fn has_own_reasoning(&self, message: &ChatMessage) -> bool {
        message
            .parts
            .iter()
            .any(|part| matches!(part, ChatPart::Opaque(own) if own.provider == self.name))
    }

    /// Returns the place after all messages.
    pub(crate) fn position_hash(&self) -> String {
        let mut here = self.prefix_hasher();
        for message in self.messages.iter() {
            self.hash_message(&mut here, message);
        }
        if let Some((SchemaMode::Prompt, output)) = self.wanted {
            hash_text(&mut here, &output.schema.to_string());
        }
        finish_hash(&here)
    }

    /// Returns the hash of the parts before all messages.
    fn prefix_hasher(&self) -> Sha256 {
        let mut begin = Sha256::new();
        hash_text(&mut begin, &self.request.system);
        let tools = self.takes_tools.then_some(&self.request.tools);
        for tool in tools.into_iter().flat_map(|tools| tools.iter()) {
            hash_text(&mut begin, &tool.name);
            hash_text(&mut begin, &tool.description);
            hash_text(&mut begin, &tool.schema.to_string());
        }
        if let Some((SchemaMode::Tool, output)) = self.wanted {
            hash_text(&mut begin, &output.schema.to_string());
        }
        begin
    }

    /// Adds a message in the form in which it is sent. Cache marks do not count.
    fn hash_message(&self, to: &mut Sha256, message: &ChatMessage) {
        hash_text(to, "message");
        for part in &message.parts {
            match part {
                ChatPart::Text { text, .. } => hash_text(to, text),
                ChatPart::Call(call) => {
                    hash_text(to, &call.id);
                    hash_text(to, &call.name);
                    match &call.arguments {
                        CallArguments::Object(map) => {
                            hash_text(to, &serde_json::to_string(map).unwrap_or_default());
                        }
                        CallArguments::Unreadable(text) => hash_text(to, text),
                    }
                }
                ChatPart::Result {
                    id, text, is_error, ..
                } => {
                    hash_text(to, id);
                    hash_text(to, text);
                    hash_text(to, if *is_error { "failed" } else { "" });
                }
                ChatPart::Opaque(own) if own.provider == self.name => {
                    hash_text(to, &own.value.to_string())
                }
                ChatPart::Opaque(_) => {}
            }
        }
    }
}

/// Adds a text with its length, so that no two lists of texts give the same hash.
fn hash_text(to: &mut Sha256, text: &str) {
    to.update(text.len().to_le_bytes());
    to.update(text);
}

fn finish_hash(after: &Sha256) -> String {
    let mut place = hex::encode(after.clone().finalize());
    place.truncate(HASH_DIGITS);
    place
}

#[cfg(test)]
mod tests;
