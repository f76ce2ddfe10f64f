//! Renders Converse's answers.

use serde_json::{Value, json};

use super::super::reasoning_binding;
use super::super::wire::AnswerContext;

/// Renders an answer.
pub(in super::super) fn render(said: &AnswerContext<'_>) -> Value {
    let mut content = Vec::new();
    if let Some(thought) = &said.answer.thought {
        let body = &said.request.body;
        let signature = reasoning_binding::sign(
            &said.request.model,
            body,
            reasoning_binding::message_count(body),
            thought,
        );
        content.push(json!({"reasoningContent": {"reasoningText": {
            "text": thought, "signature": signature,
        }}}));
    }
    if let Some(text) = said.answer.text.as_ref().filter(|text| !text.is_empty()) {
        content.push(json!({"text": text}));
    }
    for (index, call) in said.calls() {
        content.push(json!({"toolUse": {
            "toolUseId": said.call_id(index, "tooluse_"), "name": call.name, "input": call.arguments,
        }}));
    }
    let usage = said.usage;
    let fresh = usage.input.saturating_sub(usage.cached + usage.written);
    let stop = said.stop(
        "end_turn",
        "tool_use",
        "max_tokens",
        "content_filtered",
        "guardrail_intervened",
    );
    json!({
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": stop,
        "usage": {
            "inputTokens": fresh,
            "outputTokens": usage.output,
            "totalTokens": usage.input + usage.output,
            "cacheReadInputTokens": usage.cached,
            "cacheWriteInputTokens": usage.written,
        },
        "metrics": {"latencyMs": 1},
    })
}
