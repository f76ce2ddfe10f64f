//! Builds the conversation of a step: the first message, then each turn's calls as the model made them, with their
//! results.
//!
//! It is rebuilt for every turn from the journal. The model's words come from the memo of its answer, including call
//! ids and sealed parts; results come from evidence. Calls without a memo (those of the plan or of another analyst) are
//! described in the first message, because no provider accepts calls that its model did not make.

use std::collections::BTreeMap;

use nightshift_engine::question::{CallView, TurnQuestion};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fence::Fence;
use super::render;
use nightshift_llm::chat::{ChatMessage, ChatPart, ChatRole, ToolCallPart};

/// The part of an answer that the journal keeps for the model's next turn.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TurnMemo {
    /// Version of the format; a memo of another version is ignored.
    version: u32,
    /// Last part of the question, which changes from turn to turn. It is repeated in its place, so that a
    /// conversation only grows. Some providers accept sealed reasoning only after the same preceding text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    news: String,
    parts: Vec<ChatPart>,
}

const MEMO_VERSION: u32 = 1;

impl TurnMemo {
    /// Creates the memo of an answer to a question that ended with `news`, in the journal's form.
    pub(super) fn encode(news: &str, parts: Vec<ChatPart>) -> Option<Value> {
        serde_json::to_value(Self {
            version: MEMO_VERSION,
            news: news.to_owned(),
            parts,
        })
        .ok()
    }

    fn decode(value: &Value) -> Option<Self> {
        Self::deserialize(value)
            .ok()
            .filter(|memo| memo.version == MEMO_VERSION && !memo.parts.is_empty())
    }

    fn calls(&self) -> Vec<&ToolCallPart> {
        self.parts
            .iter()
            .filter_map(|part| match part {
                ChatPart::Call(call) => Some(call),
                _ => None,
            })
            .collect()
    }
}

/// A turn of the model: its answer, and the calls that followed.
pub(super) struct Exchange<'a> {
    pub(super) turn: u32,
    memo: TurnMemo,
    calls: Vec<&'a CallView>,
}

/// Calls of a step, separated by their origin.
pub(super) struct StepTurns<'a> {
    /// Calls that the first message describes.
    pub(super) initial_calls: Vec<&'a CallView>,
    /// Calls that the model made itself.
    pub(super) exchanges: Vec<Exchange<'a>>,
}

impl<'a> StepTurns<'a> {
    /// Separates the calls of this question's step. `native` says whether the model makes tool calls, instead of
    /// writing them as text.
    pub(super) fn from_question(question: &'a TurnQuestion, native: bool) -> Self {
        let mut by_turn: BTreeMap<u32, Vec<&CallView>> = BTreeMap::new();
        for view in &question.step.calls {
            by_turn.entry(view.turn).or_default().push(view);
        }
        let mut turns = Self {
            initial_calls: Vec::new(),
            exchanges: Vec::new(),
        };
        for (turn, calls) in by_turn {
            let memo = question
                .memos
                .get(&turn)
                .and_then(|memo| TurnMemo::decode(memo))
                .filter(|memo| matches_calls(memo, &calls, native));
            match memo {
                Some(memo) => turns.exchanges.push(Exchange { turn, memo, calls }),
                None => turns.initial_calls.extend(calls),
            }
        }
        turns
    }
}

/// Returns whether every call of the memo has its result, in a form that the model takes.
fn matches_calls(memo: &TurnMemo, calls: &[&CallView], native: bool) -> bool {
    let made = memo.calls().len();
    if native && made > 0 {
        made == calls.len()
    } else {
        made == 0
    }
}

impl Exchange<'_> {
    /// Returns the last part of the turn's question, if it was kept.
    pub(super) fn news(&self) -> Option<&str> {
        Some(self.memo.news.as_str()).filter(|news| !news.is_empty())
    }

    /// Returns the number of calls.
    pub(super) const fn call_count(&self) -> usize {
        self.calls.len()
    }

    /// Returns the model's answer and the results of its calls.
    pub(super) fn messages(&self, fence: &Fence, most: u64, native: bool) -> [ChatMessage; 2] {
        let made = self.memo.calls();
        let parts = if native && !made.is_empty() {
            made.iter()
                .zip(&self.calls)
                .map(|(call, view)| {
                    let (text, is_error) = render::render_result(view, fence, most);
                    ChatPart::Result {
                        id: call.id.clone(),
                        name: call.name.clone(),
                        text: text.into(),
                        is_error,
                    }
                })
                .collect()
        } else {
            let results = self.calls.iter().zip(1..).map(|(view, number)| {
                let (text, _) = render::render_result(view, fence, most);
                format!("Call {number}:\n{text}")
            });
            vec![ChatPart::text(results.collect::<String>())]
        };
        [
            ChatMessage {
                role: ChatRole::Assistant,
                parts: self.memo.parts.clone(),
            },
            ChatMessage {
                role: ChatRole::User,
                parts,
            },
        ]
    }
}
