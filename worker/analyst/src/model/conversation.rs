//! The conversation of a step: its first message, then each turn's calls as the model made them, each with its result.
//!
//! It is built anew for every turn from what the journal holds. What the model said comes back from the memo that its
//! answer left there, call ids and sealed parts included; results come from evidence. Calls without a memo (those that
//! the plan carried, or that another analyst made) are told in the first message instead, for no provider takes calls
//! that its model did not make.

use std::collections::BTreeMap;

use nightshift_engine::{CallView, TurnQuestion};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fence::Fence;
use super::render;
use nightshift_llm::chat::{CallPart, ChatMessage, Part, Role};

/// What an answer leaves in the journal, to be shown to the model again.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Memo {
    /// Counted up when its form changes; another one is not read.
    version: u32,
    /// What its question ended with, which changes from turn to turn: told again in its place, so that a conversation
    /// only ever grows. Sealed reasoning is taken back by some providers only after what it came after.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    news: String,
    /// What the model said, in order.
    parts: Vec<Part>,
}

const VERSION: u32 = 1;

impl Memo {
    /// The memo of an answer to a question that ended with `news`, as the journal takes it.
    pub(super) fn of(news: &str, parts: Vec<Part>) -> Option<Value> {
        serde_json::to_value(Self {
            version: VERSION,
            news: news.to_owned(),
            parts,
        })
        .ok()
    }

    fn read(value: &Value) -> Option<Self> {
        Self::deserialize(value)
            .ok()
            .filter(|memo| memo.version == VERSION && !memo.parts.is_empty())
    }

    fn calls(&self) -> Vec<&CallPart> {
        self.parts
            .iter()
            .filter_map(|part| match part {
                Part::Call(call) => Some(call),
                _ => None,
            })
            .collect()
    }
}

/// A turn that the model made: what it said, and the calls that came of it.
pub(super) struct Exchange<'a> {
    /// The turn.
    pub(super) turn: u32,
    memo: Memo,
    calls: Vec<&'a CallView>,
}

/// The calls of a step, parted.
pub(super) struct Turns<'a> {
    /// Those that are told in the first message.
    pub(super) told: Vec<&'a CallView>,
    /// Those that the model made itself.
    pub(super) made: Vec<Exchange<'a>>,
}

impl<'a> Turns<'a> {
    /// Parts the calls of this question's step. `native`: whether the model makes calls as such, and not in words.
    pub(super) fn of(question: &'a TurnQuestion, native: bool) -> Self {
        let mut by_turn: BTreeMap<u32, Vec<&CallView>> = BTreeMap::new();
        for view in &question.step.calls {
            by_turn.entry(view.turn).or_default().push(view);
        }
        let mut turns = Self {
            told: Vec::new(),
            made: Vec::new(),
        };
        for (turn, calls) in by_turn {
            let memo = question
                .memos
                .get(&turn)
                .and_then(|memo| Memo::read(memo))
                .filter(|memo| fits(memo, &calls, native));
            match memo {
                Some(memo) => turns.made.push(Exchange { turn, memo, calls }),
                None => turns.told.extend(calls),
            }
        }
        turns
    }
}

/// Whether every call of the memo has its result, in a form that the model takes.
fn fits(memo: &Memo, calls: &[&CallView], native: bool) -> bool {
    let made = memo.calls().len();
    if native && made > 0 {
        made == calls.len()
    } else {
        made == 0
    }
}

impl Exchange<'_> {
    /// What its question ended with; nothing where it was not kept.
    pub(super) fn news(&self) -> Option<&str> {
        Some(self.memo.news.as_str()).filter(|news| !news.is_empty())
    }

    /// How many calls it made.
    pub(super) const fn many(&self) -> usize {
        self.calls.len()
    }

    /// What the model said, and the results of its calls.
    pub(super) fn messages(&self, fence: &Fence, most: u64, native: bool) -> [ChatMessage; 2] {
        let made = self.memo.calls();
        let parts = if native && !made.is_empty() {
            made.iter()
                .zip(&self.calls)
                .map(|(call, view)| {
                    let (text, is_error) = render::result(view, fence, most);
                    Part::Result {
                        id: call.id.clone(),
                        name: call.name.clone(),
                        text: text.into(),
                        is_error,
                    }
                })
                .collect()
        } else {
            let results = self.calls.iter().zip(1..).map(|(view, number)| {
                let (text, _) = render::result(view, fence, most);
                format!("Call {number}:\n{text}")
            });
            vec![Part::text(results.collect::<String>())]
        };
        [
            ChatMessage {
                role: Role::Assistant,
                parts: self.memo.parts.clone(),
            },
            ChatMessage {
                role: Role::User,
                parts,
            },
        ]
    }
}
