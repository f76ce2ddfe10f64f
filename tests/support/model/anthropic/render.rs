//! Renders Anthropic's answers as one body and as a stream of events.

use serde_json::{Value, json};

use super::super::reasoning_binding;
use super::super::reply::StopReason;
use super::super::wire::{AnswerContext, RenderedBody, text_chunks};

/// Renders an answer, as a stream if requested.
pub(in super::super) fn render(said: &AnswerContext<'_>) -> RenderedBody {
    if said.request.streamed {
        RenderedBody::Events(stream(said))
    } else {
        RenderedBody::Json(message(said, blocks(said), json!(stop(said)), usage(said)))
    }
}

fn stop<'a>(said: &AnswerContext<'a>) -> &'a str {
    said.stop("end_turn", "tool_use", "max_tokens", "refusal", "refusal")
}

fn stop_details(said: &AnswerContext<'_>) -> Value {
    match said.answer.stop {
        Some(StopReason::Refused | StopReason::Filtered) => json!({
            "type": "refusal", "category": "cyber", "explanation": "This was found to be about attacks.",
        }),
        _ => Value::Null,
    }
}

/// Renders the usage. Tokens read from or written to the cache do not count as input tokens.
fn usage(said: &AnswerContext<'_>) -> Value {
    let usage = said.usage;
    let fresh = usage.input.saturating_sub(usage.cached + usage.written);
    json!({
        "input_tokens": fresh,
        "cache_creation_input_tokens": usage.written,
        "cache_read_input_tokens": usage.cached,
        "cache_creation": {"ephemeral_5m_input_tokens": usage.written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": usage.output,
        "output_tokens_details": {"thinking_tokens": usage.reasoning},
        "service_tier": "standard",
    })
}

fn blocks(said: &AnswerContext<'_>) -> Vec<Value> {
    let mut blocks = Vec::new();
    if let Some(thought) = &said.answer.thought {
        let body = &said.request.body;
        let signature = reasoning_binding::sign(
            &said.request.model,
            body,
            reasoning_binding::message_count(body),
            thought,
        );
        blocks.push(json!({"type": "thinking", "thinking": thought, "signature": signature}));
    }
    if let Some(text) = said.answer.text.as_ref().filter(|text| !text.is_empty()) {
        blocks.push(json!({"type": "text", "text": text}));
    }
    for (index, call) in said.calls() {
        let id = said.call_id(index, "toolu_");
        blocks.push(json!({
            "type": "tool_use", "id": id, "name": call.name, "input": call.arguments,
        }));
    }
    blocks
}

fn message(said: &AnswerContext<'_>, content: Vec<Value>, stop: Value, usage: Value) -> Value {
    let details = if stop.is_null() {
        Value::Null
    } else {
        stop_details(said)
    };
    json!({
        "id": format!("msg_{}", said.id), "type": "message", "role": "assistant",
        "model": said.request.model, "content": content, "stop_reason": stop,
        "stop_sequence": null, "stop_details": details, "usage": usage,
    })
}

fn event(name: &str, mut data: Value) -> String {
    if let Some(fields) = data.as_object_mut() {
        fields.insert("type".to_owned(), json!(name));
    }
    format!("event: {name}\ndata: {data}\n\n")
}

fn stream(said: &AnswerContext<'_>) -> Vec<String> {
    let mut begun = usage(said);
    if let Some(fields) = begun.as_object_mut() {
        fields.insert("output_tokens".to_owned(), json!(1));
    }
    let start = message(said, Vec::new(), Value::Null, begun);
    let mut events = vec![
        event("message_start", json!({"message": start})),
        event("ping", json!({})),
    ];
    for (index, block) in blocks(said).into_iter().enumerate() {
        stream_block(index, &block, &mut events);
    }
    events.push(event(
        "message_delta",
        json!({
            "delta": {"stop_reason": stop(said), "stop_sequence": null, "stop_details": stop_details(said)},
            "usage": usage(said),
        }),
    ));
    events.push(event("message_stop", json!({})));
    events
}

fn stream_block(index: usize, block: &Value, events: &mut Vec<String>) {
    let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
    let (empty, deltas): (Value, Vec<Value>) = match text("type") {
        "text" => (
            json!({"type": "text", "text": ""}),
            text_chunks(text("text"))
                .iter()
                .map(|piece| json!({"type": "text_delta", "text": piece}))
                .collect(),
        ),
        "thinking" => (
            json!({"type": "thinking", "thinking": "", "signature": ""}),
            text_chunks(text("thinking"))
                .iter()
                .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
                .chain([json!({"type": "signature_delta", "signature": text("signature")})])
                .collect(),
        ),
        _ => (
            json!({"type": "tool_use", "id": text("id"), "name": text("name"), "input": {}}),
            text_chunks(&block.get("input").map(Value::to_string).unwrap_or_default())
                .iter()
                .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
                .collect(),
        ),
    };
    events.push(event(
        "content_block_start",
        json!({"index": index, "content_block": empty}),
    ));
    for delta in deltas {
        events.push(event(
            "content_block_delta",
            json!({"index": index, "delta": delta}),
        ));
    }
    events.push(event("content_block_stop", json!({"index": index})));
}
