//! Assembles the events of a streamed message.

use std::borrow::Cow;
use std::time::Duration;

use crate::chat::{ChatError, ChatFailure};
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::{Map, Value};

use super::response::{AnthropicResponse, AnthropicUsage, StopDetails};
use crate::http::EventStream;
use crate::rate::{json_bytes, text_bytes};

/// Maximum time between two pieces of a stream. The server pings more often.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of blocks in one answer.
const MAX_BLOCKS: usize = 1000;
/// Key under which the text of a call's arguments is collected until its block ends. No block of the provider has
/// this key.
const PARTIAL_ARGUMENTS: &str = "\u{0}arguments";

/// An event. The struct is flat so that it is parsed in one pass: an internally tagged enum would buffer all fields
/// first.
#[derive(Deserialize)]
struct StreamEvent<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    message: Option<AnthropicResponse>,
    index: Option<usize>,
    content_block: Option<Map<String, Value>>,
    #[serde(borrow)]
    delta: Option<BlockDelta<'a>>,
    usage: Option<AnthropicUsage>,
    error: Option<Value>,
}

/// An increment of a block or of the message.
#[derive(Deserialize)]
struct BlockDelta<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    text: Option<String>,
    partial_json: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    stop_reason: Option<String>,
    stop_details: Option<StopDetails>,
}

impl StreamEvent<'_> {
    /// Returns whether the event has the fields that its kind requires.
    fn is_complete(&self) -> bool {
        let delta = self.delta.as_ref();
        match &*self.kind {
            "message_start" => self.message.is_some(),
            "content_block_start" => self.index.is_some() && self.content_block.is_some(),
            "content_block_delta" => {
                self.index.is_some() && delta.is_some_and(BlockDelta::is_complete)
            }
            "content_block_stop" => self.index.is_some(),
            "message_delta" => delta.is_some(),
            "error" => self.error.is_some(),
            _ => true,
        }
    }
}

impl StreamEvent<'_> {
    /// Returns by how many bytes the answer grows.
    fn bytes(&self) -> u64 {
        match &*self.kind {
            "content_block_start" => self.content_block.as_ref().map_or(0, json_bytes),
            "content_block_delta" => self.delta.as_ref().map_or(0, BlockDelta::bytes),
            _ => 0,
        }
    }
}

impl BlockDelta<'_> {
    fn bytes(&self) -> u64 {
        let texts = [
            &self.text,
            &self.partial_json,
            &self.thinking,
            &self.signature,
        ];
        texts
            .into_iter()
            .flatten()
            .map(|text| text_bytes(text))
            .sum()
    }

    fn is_complete(&self) -> bool {
        match &*self.kind {
            "text_delta" => self.text.is_some(),
            "input_json_delta" => self.partial_json.is_some(),
            "thinking_delta" => self.thinking.is_some(),
            "signature_delta" => self.signature.is_some(),
            _ => true,
        }
    }
}

/// Kinds of events that are read. Others may be added later, in any shape.
const EVENT_KINDS: [&str; 7] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "error",
];

/// Parses an event, or returns `None` for a kind that is not read.
fn parse_event(data: &str) -> Result<Option<StreamEvent<'_>>, serde_json::Error> {
    #[derive(Deserialize)]
    struct EventKind<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
    }
    let is_read = |kind: &str| EVENT_KINDS.contains(&kind);
    match serde_json::from_str::<StreamEvent<'_>>(data) {
        Ok(told) if !told.is_complete() => {
            let words = format!("a {} without what it must have", told.kind);
            Err(serde_json::Error::custom(words))
        }
        Ok(told) => Ok(Some(told).filter(|told| is_read(&told.kind))),
        Err(error) => match serde_json::from_str::<EventKind<'_>>(data) {
            Ok(other) if !is_read(&other.kind) => Ok(None),
            _ => Err(error),
        },
    }
}

/// Reads a stream to its end. A stream without `message_stop` is a broken connection.
pub(super) async fn read_stream(mut events: EventStream) -> Result<AnthropicResponse, ChatError> {
    let mut message = AnthropicResponse::default();
    match collect_events(&mut events, &mut message).await {
        Ok(()) => Ok(message),
        Err(error) => Err(events.charge_partial_answer(error, message.usage.usage())),
    }
}

async fn collect_events(
    events: &mut EventStream,
    message: &mut AnthropicResponse,
) -> Result<(), ChatError> {
    loop {
        let Some(data) = events.next().await? else {
            let words = "the stream broke off before its end";
            return Err(events.errors().build(ChatFailure::Unreachable, words));
        };
        let told = parse_event(&data).map_err(|error| {
            let words = format!("the stream holds what is no event: {error}");
            events.errors().build(ChatFailure::Malformed, &words)
        })?;
        let Some(told) = told else { continue };
        match &*told.kind {
            "message_stop" => return Ok(()),
            "error" => {
                let error = told.error.unwrap_or_default();
                return Err(super::failure::from_stream_error(&error, events.errors()));
            }
            _ => {
                events.count_bytes(told.bytes())?;
                apply_event(message, told);
            }
        }
    }
}

fn apply_event(message: &mut AnthropicResponse, told: StreamEvent<'_>) {
    let at = told.index.unwrap_or(MAX_BLOCKS);
    match &*told.kind {
        "message_start" => *message = told.message.unwrap_or_default(),
        "content_block_start" if at < MAX_BLOCKS => {
            if message.content.len() <= at {
                message.content.resize_with(at + 1, Map::new);
            }
            if let (Some(block), Some(start)) = (message.content.get_mut(at), told.content_block) {
                *block = start;
            }
        }
        "content_block_delta" => {
            if let (Some(block), Some(delta)) = (message.content.get_mut(at), told.delta) {
                apply_delta(block, delta);
            }
        }
        "content_block_stop" => {
            if let Some(block) = message.content.get_mut(at)
                && let Some(arguments) = block.remove(PARTIAL_ARGUMENTS)
            {
                block.insert("input".to_owned(), arguments);
            }
        }
        "message_delta" => {
            if let Some(delta) = told.delta {
                message.stop_reason = delta.stop_reason.or(message.stop_reason.take());
                message.stop_details = delta.stop_details.or(message.stop_details.take());
            }
            message.usage.update(told.usage.unwrap_or_default());
        }
        _ => {}
    }
}

fn apply_delta(block: &mut Map<String, Value>, delta: BlockDelta<'_>) {
    let (key, more) = match &*delta.kind {
        "text_delta" => ("text", delta.text),
        "input_json_delta" => (PARTIAL_ARGUMENTS, delta.partial_json),
        "thinking_delta" => ("thinking", delta.thinking),
        "signature_delta" => ("signature", delta.signature),
        _ => return,
    };
    let more = more.unwrap_or_default();
    match block.get_mut(key) {
        Some(Value::String(text)) => text.push_str(&more),
        _ => {
            block.insert(key.to_owned(), Value::String(more));
        }
    }
}
