//! Assembles the chunks of a streamed completion.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::chat::{ChatError, ChatFailure};
use serde::Deserialize;
use serde_json::Value;

use super::response::{Choice, Completion, CompletionMessage, OpenAiUsage, ToolCall, or_default};
use crate::http::{EventStream, is_interrupted};
use crate::rate::{json_bytes, text_bytes};

/// Maximum time between two pieces of a stream. Some servers send a first piece and then reason in silence.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(180);
/// Maximum number of calls in one answer.
const MAX_CALLS: usize = 1000;

#[derive(Deserialize)]
struct Chunk {
    id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    choices: Vec<ChunkChoice>,
    usage: Option<OpenAiUsage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct ChunkChoice {
    #[serde(default, deserialize_with = "or_default")]
    delta: MessageDelta,
    finish_reason: Option<String>,
}

#[derive(Deserialize, Default)]
struct MessageDelta {
    content: Option<String>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    index: Option<usize>,
    #[serde(flatten)]
    call: ToolCall,
}

/// Reads a stream to its end. A stream without its last chunk is a broken connection.
pub(super) async fn read_stream(mut events: EventStream) -> Result<Completion, ChatError> {
    let mut completion = Completion {
        choices: vec![Choice::default()],
        ..Completion::default()
    };
    match collect_events(&mut events, &mut completion).await {
        Ok(()) => Ok(completion),
        Err(error) => {
            let told = completion.usage.map(OpenAiUsage::usage).unwrap_or_default();
            Err(events.charge_partial_answer(error, told))
        }
    }
}

async fn collect_events(
    events: &mut EventStream,
    completion: &mut Completion,
) -> Result<(), ChatError> {
    let mut places = CallPositions::default();
    loop {
        let whole = completion
            .choices
            .first()
            .is_some_and(|choice| choice.finish_reason.is_some());
        let data = match events.next().await {
            // The answer is complete. Only the usage or the end mark is missing.
            Err(error) if whole && is_interrupted(&error) => None,
            next => next?,
        };
        match data {
            Some(data) if data.starts_with("[DONE]") => return Ok(()),
            Some(data) => {
                let chunk: Chunk = serde_json::from_str(&data).map_err(|error| {
                    let words = format!("the stream holds what is no chunk: {error}");
                    events.errors().build(ChatFailure::Malformed, &words)
                })?;
                if let Some(error) = chunk.error.as_ref().filter(|error| !error.is_null()) {
                    return Err(super::failure::from_stream_error(error, events.errors()));
                }
                events.count_bytes(chunk.choices.iter().map(|part| part.delta.bytes()).sum())?;
                apply_chunk(completion, &mut places, chunk);
            }
            None if whole => return Ok(()),
            None => {
                let words = "the stream broke off before its end";
                return Err(events.errors().build(ChatFailure::Unreachable, words));
            }
        }
    }
}

impl MessageDelta {
    /// Returns by how many bytes the answer grows.
    fn bytes(&self) -> u64 {
        let of = |text: &Option<String>| text.as_deref().map_or(0, text_bytes);
        let calls = self.tool_calls.iter().flatten().map(|delta| {
            let function = &delta.call.function;
            let arguments = match &function.arguments {
                Value::Null => 0,
                Value::String(text) => text_bytes(text),
                other => json_bytes(other),
            };
            of(&delta.call.id) + of(&function.name) + arguments
        });
        // Some servers send reasoning in both fields.
        let reasoning = of(&self.reasoning_content).max(of(&self.reasoning));
        of(&self.content) + of(&self.refusal) + reasoning + calls.sum::<u64>()
    }
}

fn apply_chunk(completion: &mut Completion, places: &mut CallPositions, chunk: Chunk) {
    if completion.id.is_none() {
        completion.id = chunk.id;
    }
    if chunk.usage.is_some() {
        completion.usage = chunk.usage;
    }
    let Some(choice) = completion.choices.first_mut() else {
        return;
    };
    for part in chunk.choices {
        // SGLang and Ollama send an empty finish reason in each chunk but the last.
        if is_present(part.finish_reason.as_ref()) {
            choice.finish_reason = part.finish_reason;
        }
        apply_delta(&mut choice.message, places, part.delta);
    }
}

fn apply_delta(message: &mut CompletionMessage, places: &mut CallPositions, delta: MessageDelta) {
    append(&mut message.content, delta.content);
    append(&mut message.refusal, delta.refusal);
    append(&mut message.reasoning_content, delta.reasoning_content);
    append(&mut message.reasoning, delta.reasoning);
    for delta in delta.tool_calls.into_iter().flatten() {
        let known = message.tool_calls.get_or_insert_default();
        let place = places.position(&delta, known);
        if place == known.len() && place < MAX_CALLS {
            known.push(ToolCall::default());
        }
        if let Some(call) = known.get_mut(place) {
            merge_call(call, delta.call);
        }
    }
}

/// Positions of the calls in the answer, by the index in the stream.
#[derive(Default)]
struct CallPositions(BTreeMap<usize, usize>);

impl CallPositions {
    /// Returns the position of a piece: after all others where it begins a call.
    fn position(&mut self, delta: &CallDelta, known: &[ToolCall]) -> usize {
        let names = is_present(delta.call.function.name.as_ref());
        let Some(index) = delta.index else {
            // Without an index (Ollama and others) a name begins a call, and everything else belongs to the last
            // call.
            return match names {
                true => known.len(),
                false => known.len().saturating_sub(1),
            };
        };
        let place = self.0.entry(index).or_insert(known.len());
        let begun = known.get(*place).and_then(|call| call.id.as_ref());
        // Some servers give all parallel calls the same index (Ollama, LiteLLM, Dynamo). Their ids distinguish them.
        let is_another = names
            && is_present(begun)
            && is_present(delta.call.id.as_ref())
            && begun != delta.call.id.as_ref();
        if is_another {
            *place = known.len();
        }
        *place
    }
}

fn is_present(text: Option<&String>) -> bool {
    text.is_some_and(|text| !text.is_empty())
}

fn merge_call(call: &mut ToolCall, delta: ToolCall) {
    if call.id.as_deref().is_none_or(str::is_empty) {
        call.id = delta.id;
    }
    append(&mut call.function.name, delta.function.name);
    match (&mut call.function.arguments, delta.function.arguments) {
        (_, Value::Null) => {}
        (Value::String(text), Value::String(more)) => text.push_str(&more),
        (arguments, other) => *arguments = other,
    }
}

fn append(text: &mut Option<String>, more: Option<String>) {
    if let Some(more) = more {
        text.get_or_insert_default().push_str(&more);
    }
}
