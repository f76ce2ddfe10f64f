//! Tests requests, answers and error classification.

use std::time::Duration;

use crate::chat::{
    ChatAnswer, ChatError, ChatFailure, ChatMessage, ChatRequest, ChatRole, StopReason,
};
use serde_json::{Value, json};

use crate::http::testing::{
    KEY, StubReply, StubServer, assert_errors, connect, question, question_with_tools,
    render_request, turn_request,
};
use crate::{ModelConfig, ModelProvider, SchemaMode};

const MODEL: &str = "gemini-3.8-flash";

fn config(model: &str) -> ModelConfig {
    let mut config = ModelConfig::new(ModelProvider::Gemini, model);
    config.temperature = Some(0.1);
    config.reasoning_effort = Some("low".to_owned());
    config
}

fn done() -> Value {
    json!({"responseId": "r1", "candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [{"text": "{\"mode\":\"direct\"}"}]}}],
        "usageMetadata": {"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 7, "thoughtsTokenCount": 30, "totalTokenCount": 137}})
}

async fn sent(config: &ModelConfig, request: &ChatRequest) -> Value {
    let stub = StubServer::start(vec![StubReply::json(200, &[], &done())]).await;
    let config = ModelConfig {
        base_url: Some(stub.url.clone()),
        ..config.clone()
    };
    let _ = connect(&config).chat(request).await;
    stub.requests()[0].body.clone()
}

async fn answered(request: &ChatRequest, body: &Value) -> Result<ChatAnswer, ChatError> {
    said(request, StubReply::json(200, &[], body)).await
}

async fn said(request: &ChatRequest, say: StubReply) -> Result<ChatAnswer, ChatError> {
    let stub = StubServer::start(vec![say]).await;
    let config = ModelConfig {
        base_url: Some(stub.url.clone()),
        ..config(MODEL)
    };
    connect(&config).chat(request).await
}

#[tokio::test]
async fn a_question_to_a_schema() {
    insta::assert_snapshot!(render_request(&sent(&config(MODEL), &question_with_tools()).await), @r#"
    contents[0] {"parts":[{"text":"The alert."},{"text":"Make a plan."}],"role":"user"}
    generationConfig {"maxOutputTokens":4048,"responseJsonSchema":{"additionalProperties":false,"properties":{"mode":{"enum":["direct","planned"],"type":"string"}},"required":["mode"],"type":"object"},"responseMimeType":"application/json","temperature":0.1,"thinkingConfig":{"thinkingLevel":"LOW"}}
    systemInstruction {"parts":[{"text":"You triage alerts."}]}
    toolConfig {"functionCallingConfig":{"mode":"NONE"}}
    tools[0] {"functionDeclarations":[{"description":"Looks an asset up.","name":"asset_lookup","parametersJsonSchema":{"additionalProperties":false,"properties":{"indicator":{"type":"string"}},"required":["indicator"],"type":"object"}}]}
    "#);
    let older = sent(&config("gemini-2.5-pro"), &question_with_tools()).await;
    assert!(
        older.get("tools").is_none()
            && older["generationConfig"]["responseMimeType"] == "application/json"
    );
    assert_eq!(
        older["generationConfig"]["thinkingConfig"],
        json!({"thinkingBudget": 2048})
    );
    for (word, level) in [("none", "MINIMAL"), ("max", "XHIGH")] {
        let mut config = config(MODEL);
        config.reasoning_effort = Some(word.to_owned());
        let body = sent(&config, &question()).await;
        let told = &body["generationConfig"]["thinkingConfig"];
        assert_eq!(*told, json!({"thinkingLevel": level}));
    }
    let forced = ModelConfig {
        schema: Some(SchemaMode::Tool),
        ..config(MODEL)
    };
    insta::assert_snapshot!(render_request(&sent(&forced, &question()).await["toolConfig"]), @r#"functionCallingConfig {"allowedFunctionNames":["plan"],"mode":"ANY"}"#);
}

#[tokio::test]
async fn a_conversation_with_tools() {
    let signed = turn_request(
        &format!("gemini/{MODEL}"),
        json!({}),
        Some(json!({"thoughtSignature": "c2ln"})),
    );
    insta::assert_snapshot!(render_request(&sent(&config(MODEL), &signed).await), @r#"
    contents[0] {"parts":[{"text":"Do the step."}],"role":"user"}
    contents[1] {"parts":[{"text":"I look."},{"functionCall":{"args":{"indicator":"i-1"},"id":"call_a","name":"asset_lookup"},"thoughtSignature":"c2ln"},{"functionCall":{"args":{"unreadable":"{indicator"},"id":"call_b","name":"asset_lookup"}}],"role":"model"}
    contents[2] {"parts":[{"functionResponse":{"id":"call_a","name":"asset_lookup","response":{"output":"{\"found\":0}"}}},{"functionResponse":{"id":"call_b","name":"asset_lookup","response":{"error":"arguments are no object"}}},{"text":"Go on."}],"role":"user"}
    generationConfig {"maxOutputTokens":4048,"temperature":0.1,"thinkingConfig":{"thinkingLevel":"LOW"}}
    systemInstruction {"parts":[{"text":"You triage alerts."}]}
    toolConfig {"functionCallingConfig":{"mode":"AUTO"}}
    tools[0] {"functionDeclarations":[{"description":"Looks an asset up.","name":"asset_lookup","parametersJsonSchema":{"additionalProperties":false,"properties":{"indicator":{"type":"string"}},"required":["indicator"],"type":"object"}}]}
    "#);
    let foreign = turn_request("openai/x", json!({}), None);
    let body = sent(&config(MODEL), &foreign).await;
    let signature = |index: usize| {
        body["contents"][1]["parts"][index]
            .get("thoughtSignature")
            .cloned()
    };
    assert_eq!(
        (signature(1), signature(2)),
        (Some(json!("skip_thought_signature_validator")), None)
    );
    let mut both = signed.clone();
    both.output = question().output;
    let older = sent(&config("gemini-2.5-pro"), &both).await;
    assert!(
        older["generationConfig"]
            .get("responseJsonSchema")
            .is_none()
    );
    assert!(
        older["contents"][2]["parts"][3]["text"]
            .as_str()
            .unwrap()
            .starts_with("Unless you call a tool")
    );
}

#[tokio::test]
async fn addresses_and_keys() {
    for (base, path, header) in [
        (
            "",
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            format!("x-goog-api-key: {KEY}"),
        ),
        (
            "/v1/projects/p/locations/l/publishers/google",
            "/v1/projects/p/locations/l/publishers/google/models/m:streamGenerateContent?alt=sse",
            format!("authorization: Bearer {KEY}"),
        ),
    ] {
        let stub = StubServer::start(vec![StubReply::json(200, &[], &done())]).await;
        let config = ModelConfig {
            base_url: Some(format!("{}{base}", stub.url)),
            ..config("m")
        };
        let answer = connect(&config).chat(&question()).await.unwrap();
        assert_eq!(answer.structured, Some(json!({"mode": "direct"})));
        let usage = answer.usage;
        assert_eq!(
            (
                usage.input_tokens,
                usage.cached_tokens,
                usage.output_tokens,
                usage.reasoning_tokens
            ),
            (100, 60, 37, 30)
        );
        let seen = stub.requests();
        assert_eq!(seen[0].path, path);
        assert!(seen[0].head.contains(&header), "{}", seen[0].head);
    }
}

#[tokio::test]
async fn calls_get_ids_and_signatures_go_back() {
    let body = json!({"candidates": [{"finishReason": "STOP", "content": {"parts": [
        {"text": "thinking", "thought": true},
        {"text": "I look.", "thoughtSignature": "dGV4dA=="},
        {"functionCall": {"name": "asset_lookup", "args": {"indicator": "i-1"}}, "thoughtSignature": "Y2FsbA=="},
        {"functionCall": {"id": "theirs", "name": "asset_lookup", "args": {"indicator": "i-2"}}}]}}]});
    let mut request = turn_request("x", json!({}), None);
    let answer = answered(&request, &body).await.unwrap();
    let ids: Vec<&str> = answer.calls().map(|call| call.id.as_str()).collect();
    assert_eq!(
        (ids.as_slice(), answer.stop),
        (["nightshift_3", "theirs"].as_slice(), StopReason::Calls)
    );
    assert_eq!(answer.text(), "I look.");
    request.messages.truncate(1);
    request.messages.push(ChatMessage {
        role: ChatRole::Assistant,
        parts: answer.parts,
    });
    let back = sent(&config(MODEL), &request).await;
    insta::assert_snapshot!(render_request(&back["contents"][1]["parts"]), @r#"
    [0] {"text":"I look.","thoughtSignature":"dGV4dA=="}
    [1] {"functionCall":{"args":{"indicator":"i-1"},"name":"asset_lookup"},"thoughtSignature":"Y2FsbA=="}
    [2] {"functionCall":{"args":{"indicator":"i-2"},"id":"theirs","name":"asset_lookup"}}
    "#);
}

#[tokio::test]
async fn ends_that_are_no_answers() {
    for (reason, failure) in [
        ("MAX_TOKENS", ChatFailure::Truncated),
        ("SAFETY", ChatFailure::Filtered),
        ("RECITATION", ChatFailure::Filtered),
        ("PROHIBITED_CONTENT", ChatFailure::Filtered),
        ("MALFORMED_FUNCTION_CALL", ChatFailure::Malformed),
        ("UNEXPECTED_TOOL_CALL", ChatFailure::Malformed),
        ("MISSING_THOUGHT_SIGNATURE", ChatFailure::BadRequest),
        ("SOMETHING_NEW", ChatFailure::Malformed),
    ] {
        let mut body = done();
        body["candidates"][0]["finishReason"] = json!(reason);
        let error = answered(&question(), &body).await.unwrap_err();
        assert_eq!(
            (error.failure, error.usage.input_tokens),
            (failure, 100),
            "{error}"
        );
    }
    let blocked = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 5}});
    assert_eq!(
        answered(&question(), &blocked).await.unwrap_err().failure,
        ChatFailure::Filtered
    );
    let empty = json!({"candidates": [{"finishReason": "STOP"}]});
    assert_eq!(
        answered(&question(), &empty).await.unwrap_err().failure,
        ChatFailure::Malformed
    );
}

/// Returns a stream in the provider's format.
fn stream(parts: &[Value]) -> String {
    let event = |value: &Value| format!("data: {value}\r\n\r\n");
    let mut events: String = parts
        .iter()
        .map(|part| {
            event(
                &json!({"responseId": "r1", "candidates": [{"content": {"role": "model", "parts": [part]}}],
                "usageMetadata": {"promptTokenCount": 100, "totalTokenCount": 100}}),
            )
        })
        .collect();
    events.push_str(&event(&json!({"responseId": "r1", "candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 7, "thoughtsTokenCount": 30}})));
    events
}

#[tokio::test]
async fn a_streamed_answer_is_put_together() {
    let request = turn_request("x", json!({}), None);
    let text = stream(&[
        json!({"text": "I must ", "thought": true}),
        json!({"text": "look.", "thought": true}),
        json!({"text": "I lo"}),
        json!({"text": "ok."}),
        json!({"text": "", "thoughtSignature": "dGV4dA=="}),
        json!({"functionCall": {"name": "asset_lookup", "args": {"indicator": "i-1"}}, "thoughtSignature": "Y2FsbA=="}),
        json!({"functionCall": {"id": "theirs", "name": "asset_lookup", "args": {"indicator": "i-2"}}}),
    ]);
    let answer = said(&request, StubReply::events(&text)).await.unwrap();
    assert_eq!(answer.text(), "I look.");
    insta::assert_snapshot!(render_request(&json!(answer.parts)), @r#"
    [0] {"keep":false,"part":"text","text":"I look."}
    [1] {"keep":false,"part":"text","text":""}
    [2] {"part":"opaque","provider":"gemini/gemini-3.8-flash","value":{"thoughtSignature":"dGV4dA=="}}
    [3] {"arguments":{"object":{"indicator":"i-1"}},"id":"nightshift_3","name":"asset_lookup","opaque":{"provider":"gemini/gemini-3.8-flash","value":{"thoughtSignature":"Y2FsbA=="}},"part":"call"}
    [4] {"arguments":{"object":{"indicator":"i-2"}},"id":"theirs","name":"asset_lookup","part":"call"}
    "#);
    insta::assert_snapshot!(format!("{:?} {:?} {:?}", answer.stop, answer.usage, answer.id), @r#"Calls Usage { input_tokens: 100, cached_tokens: 60, cache_write_tokens: 0, output_tokens: 37, reasoning_tokens: 30 } Some("r1")"#);
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_no_answer() {
    let whole = stream(&[json!({"text": "I look."})]);
    // With a complete answer the end of the connection does not matter.
    for end in [
        StubReply::events(&whole),
        StubReply::truncated_events(&whole),
    ] {
        assert!(said(&question(), end).await.is_ok());
    }
    let cut = whole.split("data: ").nth(1).unwrap();
    let error = |body: Value| format!("data: {cut}data: {}\r\n\r\n", json!({ "error": body }));
    for (text, failure) in [
        (format!("data: {cut}"), ChatFailure::Unreachable),
        (String::new(), ChatFailure::Unreachable),
        ("data: {oops\r\n\r\n".to_owned(), ChatFailure::Malformed),
        (
            error(json!({"code": 503, "status": "UNAVAILABLE", "message": "x"})),
            ChatFailure::Overloaded { after: None },
        ),
        (
            "data: {\"promptFeedback\": {\"blockReason\": \"SAFETY\"}}\r\n\r\n".to_owned(),
            ChatFailure::Filtered,
        ),
    ] {
        let got = said(&question(), StubReply::events(&text))
            .await
            .unwrap_err();
        assert_eq!(got.failure, failure, "{got}");
    }
}

#[tokio::test]
async fn a_stream_that_stands_still_is_given_up() {
    let stub = StubServer::start(vec![
        StubReply::events(
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"I\"}]}}]}\n\n",
        )
        .then_hang(),
    ])
    .await;
    let model = connect(&ModelConfig {
        base_url: Some(stub.url.clone()),
        ..config(MODEL)
    });
    let mut request = question();
    request.deadline += Duration::from_secs(3600);
    let freeze = async {
        stub.replied.notified().await;
        tokio::time::pause();
    };
    let (answer, ()) = tokio::join!(model.chat(&request), freeze);
    assert_eq!(answer.unwrap_err().failure, ChatFailure::Timeout);
}

const ERRORS: &str = r#"
429 | - | {"error":{"status":"RESOURCE_EXHAUSTED","message":"x","details":[{"violations":[{"quotaId":"GenerateRequestsPerMinute"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"37s"}]}} | RateLimited { after: Some(37s) }
429 | - | [{"error":{"status":"RESOURCE_EXHAUSTED","message":"x","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"}]}}] | RateLimited { after: Some(1.5s) }
429 | - | {"error":{"status":"RESOURCE_EXHAUSTED","message":"x"}} | RateLimited { after: None }
429 | - | {"error":{"status":"RESOURCE_EXHAUSTED","message":"x","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"37s"}]}} | Quota
400 | - | {"error":{"status":"INVALID_ARGUMENT","message":"x","details":[{"reason":"API_KEY_INVALID"}]}} | Auth
400 | - | {"error":{"status":"INVALID_ARGUMENT","message":"The input token count (2000000) exceeds the maximum number of tokens allowed"}} | ContextTooLong
400 | - | {"error":{"status":"INVALID_ARGUMENT","message":"Unknown name"}} | BadRequest
403 | - | {"error":{"status":"PERMISSION_DENIED","message":"x"}} | Auth
403 | - | {"error":{"status":"PERMISSION_DENIED","message":"x","details":[{"reason":"BILLING_DISABLED"}]}} | Quota
404 | - | {"error":{"status":"NOT_FOUND","message":"models/x"}} | BadRequest
503 | - | {"error":{"status":"UNAVAILABLE","message":"x","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"4s"}]}} | Overloaded { after: Some(4s) }
504 | - | {"error":{"status":"DEADLINE_EXCEEDED","message":"x"}} | Timeout
"#;

#[tokio::test]
async fn errors_by_details_words_and_status() {
    assert_errors(&config(MODEL), ERRORS).await;
}
