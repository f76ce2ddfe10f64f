//! Events of a streamed message, put together to the message that they tell.

use std::time::Duration;

use nightshift_analyst::chat::{ChatError, Failure};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::response::{Message, StopDetails, Tokens};
use crate::answer::failed;
use crate::http::Events;

/// Between two pieces of a stream; the server pings more often.
pub(super) const IDLE: Duration = Duration::from_secs(60);
/// Blocks of one answer that are put together; more of them is no answer any more.
const MAX_BLOCKS: usize = 1000;
/// Where the text of a call's arguments gathers until its block ends; no block of the provider's has such a key.
const GATHERED: &str = "\u{0}arguments";

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Told {
    MessageStart {
        message: Message,
    },
    ContentBlockStart {
        index: usize,
        content_block: Map<String, Value>,
    },
    ContentBlockDelta {
        index: usize,
        delta: BlockDelta,
    },
    ContentBlockStop {
        index: usize,
    },
    MessageDelta {
        delta: MessageDelta,
        #[serde(default)]
        usage: Tokens,
    },
    MessageStop,
    Error {
        error: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockDelta {
    TextDelta {
        text: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct MessageDelta {
    stop_reason: Option<String>,
    stop_details: Option<StopDetails>,
}

/// Reads a stream to its end. One that ends without `message_stop` is a broken connection.
pub(super) async fn read(events: &mut Events) -> Result<Message, ChatError> {
    let mut message = Message::default();
    loop {
        let event = match events.next().await {
            Ok(event) => event,
            Err(error) => {
                return Err(ChatError {
                    usage: message.usage.usage(),
                    ..error
                });
            }
        };
        let Some(event) = event else {
            let words = "the stream broke off before its end";
            return Err(failed(
                events.errors(),
                Failure::Unreachable,
                words,
                message.usage.usage(),
            ));
        };
        let told: Told = serde_json::from_str(&event.data).map_err(|error| {
            let words = format!("the stream holds what is no event: {error}");
            failed(
                events.errors(),
                Failure::Malformed,
                &words,
                message.usage.usage(),
            )
        })?;
        match told {
            Told::MessageStop => return Ok(message),
            Told::Error { error } => {
                return Err(ChatError {
                    usage: message.usage.usage(),
                    ..super::failure::of_error(&error, events.errors())
                });
            }
            told => add(&mut message, told),
        }
    }
}

fn add(message: &mut Message, told: Told) {
    match told {
        Told::MessageStart { message: start } => *message = start,
        Told::ContentBlockStart {
            index,
            content_block,
        } if index < MAX_BLOCKS => {
            if message.content.len() <= index {
                message.content.resize_with(index + 1, Map::new);
            }
            if let Some(block) = message.content.get_mut(index) {
                *block = content_block;
            }
        }
        Told::ContentBlockDelta { index, delta } => {
            if let Some(block) = message.content.get_mut(index) {
                add_delta(block, delta);
            }
        }
        Told::ContentBlockStop { index } => {
            if let Some(block) = message.content.get_mut(index)
                && let Some(arguments) = block.remove(GATHERED)
            {
                block.insert("input".to_owned(), arguments);
            }
        }
        Told::MessageDelta { delta, usage } => {
            message.stop_reason = delta.stop_reason.or(message.stop_reason.take());
            message.stop_details = delta.stop_details.or(message.stop_details.take());
            message.usage.update(usage);
        }
        _ => {}
    }
}

fn add_delta(block: &mut Map<String, Value>, delta: BlockDelta) {
    let (key, more) = match delta {
        BlockDelta::TextDelta { text } => ("text", text),
        BlockDelta::InputJsonDelta { partial_json } => (GATHERED, partial_json),
        BlockDelta::ThinkingDelta { thinking } => ("thinking", thinking),
        BlockDelta::SignatureDelta { signature } => ("signature", signature),
        BlockDelta::Other => return,
    };
    match block.get_mut(key) {
        Some(Value::String(text)) => text.push_str(&more),
        _ => {
            block.insert(key.to_owned(), Value::String(more));
        }
    }
}
