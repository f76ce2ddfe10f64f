//! Renders Google's answers as one body and as a stream of partial responses.

use serde_json::{Value, json};

use super::super::model_rules;
use super::super::reply::StopReason;
use super::super::wire::{AnswerContext, RenderedBody, signature, text_chunks};

/// Renders an answer, as a stream if requested.
pub(in super::super) fn render(said: &AnswerContext<'_>) -> RenderedBody {
    if !said.request.streamed {
        return RenderedBody::Json(response(said, Some(parts(said)), true));
    }
    let mut events = Vec::new();
    for part in parts(said) {
        match part.get("text").and_then(Value::as_str) {
            Some(text) if part.get("thought").is_none() => {
                events.extend(text_chunks(text).iter().map(|piece| json!({"text": piece})));
            }
            _ => events.push(part),
        }
    }
    let mut stream: Vec<Value> = events
        .into_iter()
        .map(|part| response(said, Some(vec![part]), false))
        .collect();
    stream.push(response(said, None, true));
    RenderedBody::Events(
        stream
            .iter()
            .map(|response| format!("data: {response}\r\n\r\n"))
            .collect(),
    )
}

fn parts(said: &AnswerContext<'_>) -> Vec<Value> {
    let mut parts = Vec::new();
    if let Some(thought) = &said.answer.thought {
        parts.push(json!({"text": thought, "thought": true}));
    }
    if let Some(text) = said.answer.text.as_ref().filter(|text| !text.is_empty()) {
        parts.push(json!({"text": text}));
    }
    let signs = model_rules::gemini(&said.request.model).signatures;
    for (index, call) in said.calls() {
        let mut part = json!({"functionCall": {
            "id": said.call_id(index, "fc-"), "name": call.name, "args": call.arguments,
        }});
        // Of parallel calls, only the first is signed.
        if signs
            && index == 0
            && let Some(fields) = part.as_object_mut()
        {
            let signed = signature(&format!("{}{}", call.name, call.arguments));
            fields.insert("thoughtSignature".to_owned(), json!(signed));
        }
        parts.push(part);
    }
    parts
}

fn response(said: &AnswerContext<'_>, parts: Option<Vec<Value>>, last: bool) -> Value {
    let usage = said.usage;
    let metadata = json!({
        "promptTokenCount": usage.input,
        "cachedContentTokenCount": usage.cached,
        "candidatesTokenCount": usage.output.saturating_sub(usage.reasoning),
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": usage.input + usage.output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": usage.input}],
    });
    let mut response = json!({
        "usageMetadata": metadata, "modelVersion": said.request.model, "responseId": said.id,
    });
    let Some(fields) = response.as_object_mut() else {
        return response;
    };
    if said.answer.stop == Some(StopReason::Filtered) {
        let feedback = json!({"blockReason": "PROHIBITED_CONTENT"});
        fields.insert("promptFeedback".to_owned(), feedback);
        return response;
    }
    let mut content = json!({"role": "model"});
    if let Some(parts) = parts.filter(|parts| !parts.is_empty())
        && let Some(fields) = content.as_object_mut()
    {
        fields.insert("parts".to_owned(), Value::Array(parts));
    }
    let mut candidate = json!({"content": content, "index": 0});
    if last && let Some(fields) = candidate.as_object_mut() {
        let reason = said.stop("STOP", "STOP", "MAX_TOKENS", "SAFETY", "PROHIBITED_CONTENT");
        fields.insert("finishReason".to_owned(), json!(reason));
        if said.answer.stop == Some(StopReason::Refused) {
            fields.remove("content");
            let ratings = json!([{
                "category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": true,
            }]);
            fields.insert("safetyRatings".to_owned(), ratings);
        }
    }
    fields.insert("candidates".to_owned(), json!([candidate]));
    response
}
