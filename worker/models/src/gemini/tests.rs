//! What is sent, what is read, and what errors mean.

use nightshift_analyst::chat::{
    ChatAnswer, ChatError, ChatMessage, ChatRequest, Failure, Role, StopReason,
};
use serde_json::{Value, json};

use crate::http::testing::{
    KEY, Say, Stub, connect, errors_hold, question, question_with_tools, told, turn,
};
use crate::{ModelConfig, Provider, SchemaMode};

const MODEL: &str = "gemini-3.8-flash";

fn config(model: &str) -> ModelConfig {
    let mut config = ModelConfig::new(Provider::Gemini, model);
    config.temperature = Some(0.1);
    config.reasoning_effort = Some("low".to_owned());
    config
}

fn done() -> Value {
    json!({"responseId": "r1", "candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [{"text": "{\"mode\":\"direct\"}"}]}}],
        "usageMetadata": {"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 7, "thoughtsTokenCount": 30, "totalTokenCount": 137}})
}

async fn sent(config: &ModelConfig, request: &ChatRequest) -> Value {
    let stub = Stub::start(vec![Say::json(200, &[], &done())]).await;
    let config = ModelConfig {
        base_url: Some(stub.url.clone()),
        ..config.clone()
    };
    let _ = connect(&config).chat(request).await;
    stub.seen()[0].body.clone()
}

async fn answered(request: &ChatRequest, body: &Value) -> Result<ChatAnswer, ChatError> {
    let stub = Stub::start(vec![Say::json(200, &[], body)]).await;
    let config = ModelConfig {
        base_url: Some(stub.url.clone()),
        ..config(MODEL)
    };
    connect(&config).chat(request).await
}

#[tokio::test]
async fn a_question_to_a_schema() {
    insta::assert_snapshot!(told(&sent(&config(MODEL), &question_with_tools()).await), @r#"
    contents[0] {"parts":[{"text":"The alert."},{"text":"Make a plan."}],"role":"user"}
    generationConfig {"maxOutputTokens":2000,"responseJsonSchema":{"additionalProperties":false,"properties":{"mode":{"enum":["direct","planned"],"type":"string"}},"required":["mode"],"type":"object"},"responseMimeType":"application/json","temperature":0.1,"thinkingConfig":{"thinkingLevel":"LOW"}}
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
    let forced = ModelConfig {
        schema: Some(SchemaMode::Tool),
        ..config(MODEL)
    };
    insta::assert_snapshot!(told(&sent(&forced, &question()).await["toolConfig"]), @r#"functionCallingConfig {"allowedFunctionNames":["plan"],"mode":"ANY"}"#);
}

#[tokio::test]
async fn a_conversation_with_tools() {
    let signed = turn(
        &format!("gemini/{MODEL}"),
        json!({}),
        Some(json!({"thoughtSignature": "c2ln"})),
    );
    insta::assert_snapshot!(told(&sent(&config(MODEL), &signed).await), @r#"
    contents[0] {"parts":[{"text":"Do the step."}],"role":"user"}
    contents[1] {"parts":[{"text":"I look."},{"functionCall":{"args":{"indicator":"i-1"},"id":"call_a","name":"asset_lookup"},"thoughtSignature":"c2ln"},{"functionCall":{"args":{"unreadable":"{indicator"},"id":"call_b","name":"asset_lookup"}}],"role":"model"}
    contents[2] {"parts":[{"functionResponse":{"id":"call_a","name":"asset_lookup","response":{"output":"{\"found\":0}"}}},{"functionResponse":{"id":"call_b","name":"asset_lookup","response":{"error":"arguments are no object"}}},{"text":"Go on."}],"role":"user"}
    generationConfig {"maxOutputTokens":2000,"temperature":0.1,"thinkingConfig":{"thinkingLevel":"LOW"}}
    systemInstruction {"parts":[{"text":"You triage alerts."}]}
    toolConfig {"functionCallingConfig":{"mode":"AUTO"}}
    tools[0] {"functionDeclarations":[{"description":"Looks an asset up.","name":"asset_lookup","parametersJsonSchema":{"additionalProperties":false,"properties":{"indicator":{"type":"string"}},"required":["indicator"],"type":"object"}}]}
    "#);
    let foreign = turn("openai/x", json!({}), None);
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
            "/v1beta/models/m:generateContent",
            format!("x-goog-api-key: {KEY}"),
        ),
        (
            "/v1/projects/p/locations/l/publishers/google",
            "/v1/projects/p/locations/l/publishers/google/models/m:generateContent",
            format!("authorization: Bearer {KEY}"),
        ),
    ] {
        let stub = Stub::start(vec![Say::json(200, &[], &done())]).await;
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
        let seen = stub.seen();
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
    let mut request = turn("x", json!({}), None);
    let answer = answered(&request, &body).await.unwrap();
    let ids: Vec<&str> = answer.calls().map(|call| call.id.as_str()).collect();
    assert_eq!(
        (ids.as_slice(), answer.stop),
        (["nightshift_3", "theirs"].as_slice(), StopReason::Calls)
    );
    assert_eq!(answer.text(), "I look.");
    request.messages.truncate(1);
    request.messages.push(ChatMessage {
        role: Role::Assistant,
        parts: answer.parts,
    });
    let back = sent(&config(MODEL), &request).await;
    insta::assert_snapshot!(told(&back["contents"][1]["parts"]), @r#"
    [0] {"text":"I look.","thoughtSignature":"dGV4dA=="}
    [1] {"functionCall":{"args":{"indicator":"i-1"},"name":"asset_lookup"},"thoughtSignature":"Y2FsbA=="}
    [2] {"functionCall":{"args":{"indicator":"i-2"},"id":"theirs","name":"asset_lookup"}}
    "#);
}

#[tokio::test]
async fn ends_that_are_no_answers() {
    for (reason, failure) in [
        ("MAX_TOKENS", Failure::Truncated),
        ("SAFETY", Failure::Filtered),
        ("RECITATION", Failure::Filtered),
        ("PROHIBITED_CONTENT", Failure::Filtered),
        ("MALFORMED_FUNCTION_CALL", Failure::Malformed),
        ("UNEXPECTED_TOOL_CALL", Failure::Malformed),
        ("MISSING_THOUGHT_SIGNATURE", Failure::BadRequest),
        ("SOMETHING_NEW", Failure::Malformed),
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
        Failure::Filtered
    );
    let empty = json!({"candidates": [{"finishReason": "STOP"}]});
    assert_eq!(
        answered(&question(), &empty).await.unwrap_err().failure,
        Failure::Malformed
    );
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
    errors_hold(&config(MODEL), ERRORS).await;
}
