//! Tests requests, answers and error classification.

use crate::chat::{
    ChatAnswer, ChatError, ChatFailure, ChatMessage, ChatRequest, ChatRole, StopReason,
};
use serde_json::{Value, json};

use super::*;
use crate::http::testing::{
    KEY, StubReply, StubServer, assert_errors, bind_reasoning, connect, question,
    question_with_tools, render_request, turn_request,
};
use crate::{ModelConfig, ModelProvider};

const CLAUDE: &str = "eu.anthropic.claude-opus-5-5";
const R1: &str = "us.deepseek.r1-v1:0";

fn config(model: &str) -> ModelConfig {
    let mut config = ModelConfig::new(ModelProvider::Bedrock, model);
    config.temperature = Some(0.5);
    config.reasoning_effort = Some("low".to_owned());
    config.region = Some("eu-west-1".to_owned());
    config
}

fn message(content: &Value, stop: &str) -> Value {
    json!({"output": {"message": {"role": "assistant", "content": content}}, "stopReason": stop, "metrics": {"latencyMs": 1},
        "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 105, "cacheReadInputTokens": 70, "cacheWriteInputTokens": 20}})
}

fn done() -> Value {
    message(&json!([{"text": "{\"mode\":\"direct\"}"}]), "end_turn")
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
    let stub = StubServer::start(vec![StubReply::json(
        200,
        &[("x-amzn-requestid", "r-1")],
        body,
    )])
    .await;
    let config = ModelConfig {
        base_url: Some(stub.url.clone()),
        ..config(CLAUDE)
    };
    connect(&config).chat(request).await
}

#[tokio::test]
async fn a_question_to_a_schema() {
    insta::assert_snapshot!(render_request(&sent(&config(CLAUDE), &question_with_tools()).await), @r#"
    inferenceConfig {"maxTokens":4048}
    messages[0] {"content":[{"text":"The alert."},{"cachePoint":{"type":"default"}},{"text":"Make a plan."}],"role":"user"}
    outputConfig {"effort":"low","textFormat":{"structure":{"jsonSchema":{"name":"plan","schema":"{\"additionalProperties\":false,\"properties\":{\"mode\":{\"enum\":[\"direct\",\"planned\"],\"type\":\"string\"}},\"required\":[\"mode\"],\"type\":\"object\"}"}},"type":"json_schema"}}
    system[0] {"text":"You triage alerts."}
    system[1] {"cachePoint":{"type":"default"}}
    "#);
    insta::assert_snapshot!(render_request(&sent(&config(R1), &question_with_tools()).await), @r#"
    inferenceConfig {"maxTokens":2000,"temperature":0.5}
    messages[0] {"content":[{"text":"The alert."},{"text":"Make a plan."},{"text":"Answer with one JSON object that fits this JSON schema, without any text around it:\n{\"additionalProperties\":false,\"properties\":{\"mode\":{\"enum\":[\"direct\",\"planned\"],\"type\":\"string\"}},\"required\":[\"mode\"],\"type\":\"object\"}"}],"role":"user"}
    system[0] {"text":"You triage alerts."}
    "#);
    insta::assert_snapshot!(render_request(&sent(&config("amazon.nova-pro-v1:0"), &question()).await["toolConfig"]), @r#"
    toolChoice {"tool":{"name":"plan"}}
    tools[0] {"toolSpec":{"description":"Gives the answer, once no other tool needs to be called.","inputSchema":{"json":{"additionalProperties":false,"properties":{"mode":{"enum":["direct","planned"],"type":"string"}},"required":["mode"],"type":"object"}},"name":"plan"}}
    "#);
}

#[tokio::test]
async fn a_conversation_with_tools() {
    let request = turn_request(
        &format!("bedrock/{CLAUDE}"),
        json!({"text": "Let me see.", "signature": "c2ln"}),
        None,
    );
    let request = bind_reasoning(request, &config(CLAUDE));
    insta::assert_snapshot!(render_request(&sent(&config(CLAUDE), &request).await), @r#"
    inferenceConfig {"maxTokens":4048}
    messages[0] {"content":[{"text":"Do the step."}],"role":"user"}
    messages[1] {"content":[{"reasoningContent":{"reasoningText":{"signature":"c2ln","text":"Let me see."}}},{"text":"I look."},{"toolUse":{"input":{"indicator":"i-1"},"name":"asset_lookup","toolUseId":"call_a"}},{"toolUse":{"input":{"unreadable":"{indicator"},"name":"asset_lookup","toolUseId":"call_b"}}],"role":"assistant"}
    messages[2] {"content":[{"toolResult":{"content":[{"text":"{\"found\":0}"}],"status":"success","toolUseId":"call_a"}},{"toolResult":{"content":[{"text":"arguments are no object"}],"status":"error","toolUseId":"call_b"}},{"text":"Go on."}],"role":"user"}
    outputConfig {"effort":"low"}
    system[0] {"text":"You triage alerts."}
    system[1] {"cachePoint":{"type":"default"}}
    toolConfig {"toolChoice":{"auto":{}},"tools":[{"toolSpec":{"description":"Looks an asset up.","inputSchema":{"json":{"additionalProperties":false,"properties":{"indicator":{"type":"string"}},"required":["indicator"],"type":"object"}},"name":"asset_lookup"}}]}
    "#);
    let plain = sent(
        &config(R1),
        &turn_request(&format!("bedrock/{R1}"), json!({"text": "Hm."}), None),
    )
    .await;
    assert!(plain.get("toolConfig").is_none());
    insta::assert_snapshot!(render_request(&plain["messages"]), @r#"
    [0] {"content":[{"text":"Do the step."}],"role":"user"}
    [1] {"content":[{"text":"I look."},{"text":"Called asset_lookup with {\"indicator\":\"i-1\"}"},{"text":"Called asset_lookup with {indicator"}],"role":"assistant"}
    [2] {"content":[{"text":"Result of asset_lookup:\n{\"found\":0}"},{"text":"Result of asset_lookup:\nERROR: arguments are no object"},{"text":"Go on."}],"role":"user"}
    "#);
}

#[tokio::test]
async fn each_word_for_reasoning_is_one_that_the_model_knows() {
    for (word, effort) in [("none", "low"), ("minimal", "low"), ("max", "max")] {
        let mut config = config(CLAUDE);
        config.reasoning_effort = Some(word.to_owned());
        let body = sent(&config, &question()).await;
        assert_eq!(body["outputConfig"]["effort"], effort, "{word}");
    }
}

#[tokio::test]
async fn a_key_is_a_bearer_token_and_the_model_stands_in_the_path() {
    let stub = StubServer::start(vec![StubReply::json(
        200,
        &[("x-amzn-requestid", "r-1")],
        &done(),
    )])
    .await;
    let config = ModelConfig {
        base_url: Some(stub.url.clone()),
        ..config(R1)
    };
    let answer = connect(&config).chat(&question()).await.unwrap();
    assert_eq!(answer.id.as_deref(), Some("r-1"));
    assert_eq!(
        (
            answer.usage.input_tokens,
            answer.usage.cached_tokens,
            answer.usage.cache_write_tokens
        ),
        (100, 70, 20)
    );
    let seen = stub.requests();
    assert_eq!(seen[0].path, "/model/us.deepseek.r1-v1%3A0/converse");
    assert!(
        seen[0]
            .head
            .to_lowercase()
            .contains(&format!("authorization: bearer {KEY}")),
        "{}",
        seen[0].head
    );
}

#[tokio::test]
async fn requests_are_written_in_one_order() {
    let request = question_with_tools();
    let first = sent(&config(CLAUDE), &request).await.to_string();
    for _ in 0..5 {
        assert_eq!(sent(&config(CLAUDE), &request).await.to_string(), first);
    }
}

#[tokio::test(start_paused = true)]
async fn f33_a_refused_client_is_made_again_at_most_once_a_minute() {
    let model = Bedrock::new(&config(CLAUDE), None).unwrap();
    let began = Instant::now();
    tokio::time::advance(Duration::from_secs(1)).await;
    model.client().await;
    assert!(
        model.discard_client(began).await,
        "another one was made since: it is not forgotten"
    );
    assert!(model.client.lock().await.is_some());
    assert!(!model.discard_client(Instant::now()).await, "it is new");
    tokio::time::advance(MIN_CLIENT_AGE).await;
    let (first, second) = (Instant::now(), Instant::now());
    assert!(model.discard_client(first).await);
    assert!(model.discard_client(second).await, "side by side");
    assert!(model.client.lock().await.is_none());
    let keyed = Bedrock::new(&config(CLAUDE), crate::http::testing::key_source()).unwrap();
    assert!(
        !keyed.discard_client(began).await,
        "a key is read at each request anyway"
    );
}

#[test]
fn a_key_wants_a_region() {
    let config = ModelConfig::new(ModelProvider::Bedrock, CLAUDE);
    let error = crate::connect(&config, crate::http::testing::key_source())
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("`region`"), "{error}");
}

#[tokio::test]
async fn answers_are_read_and_reasoning_goes_back() {
    let body = message(
        &json!([
            {"reasoningContent": {"reasoningText": {"text": "Let me see.", "signature": "c2ln"}}},
            {"reasoningContent": {"redactedContent": "c2VhbGVk"}},
            {"text": "I look."},
            {"toolUse": {"toolUseId": "tooluse_1", "name": "asset_lookup", "input": {"indicator": "i-1", "n": 1.5}}},
        ]),
        "tool_use",
    );
    let mut request = turn_request("x", json!({}), None);
    request.messages.truncate(1);
    let answer = answered(&request, &body).await.unwrap();
    assert_eq!(
        (answer.text().as_str(), answer.stop),
        ("I look.", StopReason::Calls)
    );
    request.messages.push(ChatMessage {
        role: ChatRole::Assistant,
        parts: answer.parts,
    });
    let back = sent(&config(CLAUDE), &request).await;
    insta::assert_snapshot!(render_request(&back["messages"][1]["content"]), @r#"
    [0] {"reasoningContent":{"reasoningText":{"signature":"c2ln","text":"Let me see."}}}
    [1] {"reasoningContent":{"redactedContent":"c2VhbGVk"}}
    [2] {"text":"I look."}
    [3] {"toolUse":{"input":{"indicator":"i-1","n":1.5},"name":"asset_lookup","toolUseId":"tooluse_1"}}
    "#);
    let answer = answered(&question(), &done()).await.unwrap();
    assert_eq!(answer.structured, Some(json!({"mode": "direct"})));
}

#[tokio::test]
async fn ends_that_are_no_answers() {
    for (stop, failure) in [
        ("max_tokens", ChatFailure::Truncated),
        ("guardrail_intervened", ChatFailure::Filtered),
        ("content_filtered", ChatFailure::Filtered),
        ("malformed_tool_use", ChatFailure::Malformed),
        ("model_context_window_exceeded", ChatFailure::ContextTooLong),
    ] {
        let error = answered(&question(), &message(&json!([{"text": "x"}]), stop))
            .await
            .unwrap_err();
        assert_eq!(
            (error.failure, error.usage.input_tokens),
            (failure, 100),
            "{error}"
        );
    }
    let empty = answered(&question(), &message(&json!([]), "end_turn"))
        .await
        .unwrap_err();
    assert_eq!(empty.failure, ChatFailure::Malformed);
}

const ERRORS: &str = r#"
429 | x-amzn-errortype: ThrottlingException; retry-after: 7 | {"message":"Too many requests"} | RateLimited { after: Some(7s) }
429 | x-amzn-errortype: ThrottlingException; retry-after: 7 | {"message":"Too many tokens per day"} | Quota
400 | x-amzn-errortype: ServiceQuotaExceededException; retry-after: 7 | {"message":"x"} | Quota
429 | x-amzn-errortype: ModelNotReadyException; retry-after: 7 | {"message":"x"} | Overloaded { after: Some(7s) }
424 | x-amzn-errortype: ModelErrorException; retry-after: 7 | {"message":"x"} | Overloaded { after: Some(7s) }
408 | x-amzn-errortype: ModelTimeoutException; retry-after: 7 | {"message":"x"} | Timeout
500 | x-amzn-errortype: InternalServerException; retry-after: 7 | {"message":"x"} | Overloaded { after: Some(7s) }
503 | x-amzn-errortype: ServiceUnavailableException; retry-after: 7 | {"message":"x"} | Overloaded { after: Some(7s) }
403 | x-amzn-errortype: AccessDeniedException; retry-after: 7 | {"message":"x"} | Auth
403 | x-amzn-errortype: ExpiredTokenException; retry-after: 7 | {"message":"x"} | Auth
404 | x-amzn-errortype: ResourceNotFoundException; retry-after: 7 | {"message":"x"} | BadRequest
400 | x-amzn-errortype: ValidationException; retry-after: 7 | {"message":"Input is too long for requested model."} | ContextTooLong
400 | x-amzn-errortype: ValidationException; retry-after: 7 | {"message":"The model does not support x"} | BadRequest
"#;

#[tokio::test]
async fn errors_by_code_and_status() {
    assert_errors(&config(CLAUDE), ERRORS).await;
}
