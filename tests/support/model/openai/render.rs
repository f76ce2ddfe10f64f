//! Renders OpenAI's answers as one body and as a stream of chunks.

use serde_json::{Map, Value, json};

use super::super::reply::{StopReason, ToolCall};
use super::super::wire::{AnswerContext, RenderedBody, text_chunks};

/// The creation time of every answer, since the fake reads no clock.
const CREATED: u64 = 1_767_225_600;

/// Renders an answer, as a stream if requested.
pub(in super::super) fn render(said: &AnswerContext<'_>) -> RenderedBody {
    if said.request.streamed {
        RenderedBody::Events(stream(said))
    } else {
        RenderedBody::Json(whole(said))
    }
}

fn stop<'a>(said: &AnswerContext<'a>) -> &'a str {
    said.stop("stop", "tool_calls", "length", "stop", "content_filter")
}

fn usage(said: &AnswerContext<'_>) -> Value {
    let usage = said.usage;
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning, "audio_tokens": 0,
            "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
        },
    })
}

/// Returns text and refusal, one of which is null.
fn contents(said: &AnswerContext<'_>) -> (Value, Value) {
    let text = said.answer.text.clone();
    if said.answer.stop == Some(StopReason::Refused) {
        return (Value::Null, json!(text.unwrap_or_default()));
    }
    match text {
        None if said.answer.calls.is_empty() => (json!(""), Value::Null),
        text => (json!(text), Value::Null),
    }
}

/// Returns the reasoning under the field names of each server. OpenAI only counts it, DeepSeek has one name, and vLLM
/// (model names of the hub) has an older and a newer name, also for null.
fn thought(said: &AnswerContext<'_>) -> Map<String, Value> {
    let names: &[&str] = match said.request.model.as_str() {
        model if model.starts_with("deepseek-ai/") => &["reasoning_content", "reasoning"],
        model if model.starts_with("deepseek") && said.answer.thought.is_some() => {
            &["reasoning_content"]
        }
        _ => &[],
    };
    let value = json!(said.answer.thought);
    names
        .iter()
        .map(|name| ((*name).to_owned(), value.clone()))
        .collect()
}

/// Returns the id of a call. Kimi's ids contain the tool and its index, in every turn alike.
fn call_id(said: &AnswerContext<'_>, index: usize, call: &ToolCall) -> String {
    if said.request.model.starts_with("moonshotai/") {
        return format!("functions.{}:{index}", call.name);
    }
    said.call_id(index, "call_")
}

fn whole(said: &AnswerContext<'_>) -> Value {
    let (content, refusal) = contents(said);
    let mut message = json!({
        "role": "assistant", "content": content, "refusal": refusal, "annotations": [],
    });
    let calls: Vec<Value> = said
        .calls()
        .map(|(index, call)| {
            json!({
                "id": call_id(said, index, call), "type": "function",
                "function": {"name": call.name, "arguments": call.arguments_text()},
            })
        })
        .collect();
    if let Some(fields) = message.as_object_mut() {
        if !calls.is_empty() {
            fields.insert("tool_calls".to_owned(), Value::Array(calls));
        }
        fields.extend(thought(said));
    }
    json!({
        "id": format!("chatcmpl-{}", said.id), "object": "chat.completion", "created": CREATED,
        "model": said.request.model,
        "choices": [{
            "index": 0, "message": message, "logprobs": null, "finish_reason": stop(said),
        }],
        "usage": usage(said), "service_tier": "default", "system_fingerprint": "fp_fake",
    })
}

fn stream(said: &AnswerContext<'_>) -> Vec<String> {
    let mut events = Vec::new();
    let chunk = |choices: Value, usage: Value| {
        let mut chunk = json!({
            "id": format!("chatcmpl-{}", said.id), "object": "chat.completion.chunk", "created": CREATED,
            "model": said.request.model, "service_tier": "default", "system_fingerprint": "fp_fake",
            "choices": choices,
        });
        // Chunks have the field only if usage was requested; it is null in all but the last.
        if said.request.streams_usage
            && let Some(fields) = chunk.as_object_mut()
        {
            fields.insert("usage".to_owned(), usage);
        }
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value, finish: Value| {
        let choice =
            json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]);
        chunk(choice, Value::Null)
    };
    let (content, refusal) = contents(said);
    let first = json!({
        "role": "assistant", "content": if content.is_string() { json!("") } else { Value::Null }, "refusal": null,
    });
    events.push(delta(first, Value::Null));
    let thought = thought(said);
    if !thought.is_empty() {
        events.push(delta(Value::Object(thought), Value::Null));
    }
    for (name, text) in [("content", &content), ("refusal", &refusal)] {
        for piece in text_chunks(text.as_str().unwrap_or_default()) {
            events.push(delta(json!({name: piece}), Value::Null));
        }
    }
    for (index, call) in said.calls() {
        events.push(delta(
            json!({"tool_calls": [{
                "index": index, "id": call_id(said, index, call), "type": "function",
                "function": {"name": call.name, "arguments": ""},
            }]}),
            Value::Null,
        ));
        for piece in text_chunks(&call.arguments_text()) {
            let part = json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]});
            events.push(delta(part, Value::Null));
        }
    }
    events.push(delta(json!({}), json!(stop(said))));
    if said.request.streams_usage {
        events.push(chunk(json!([]), usage(said)));
    }
    events.push("data: [DONE]\n\n".to_owned());
    events
}
