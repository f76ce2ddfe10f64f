use crate::chat::{ChatPart, ChatRequest};
use serde_json::{Value, json};

use crate::http::testing::{StubReply, StubServer, bind_reasoning, connect, turn_request};
use crate::{ModelConfig, ModelProvider};

const REFUSAL: &str = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".";

/// Returns both adapters for Claude, each with its refusal of a misplaced block and its answer.
fn ways() -> [(ModelConfig, Value, StubReply, StubReply); 2] {
    let anthropic = ModelConfig::new(ModelProvider::Anthropic, "claude-opus-5-5");
    let mut bedrock = ModelConfig::new(ModelProvider::Bedrock, "eu.anthropic.claude-opus-5-5");
    bedrock.region = Some("eu-west-1".to_owned());
    let call = json!({"id": "call_c", "name": "asset_lookup", "input": {"indicator": "i-2"}});
    let mut own = call.clone();
    own["type"] = json!("tool_use");
    let thinking = json!({"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"});
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "tool_use",
        "content": [thinking, own], "usage": {"input_tokens": 10, "output_tokens": 5}});
    let error =
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": REFUSAL}});
    let reasoning = json!({"text": "Let me see.", "signature": "c2ln"});
    let mut used = call;
    used["toolUseId"] = used["id"].take();
    used.as_object_mut().unwrap().remove("id");
    let converse = json!({"output": {"message": {"role": "assistant", "content": [
            {"reasoningContent": {"reasoningText": reasoning}}, {"toolUse": used}]}},
        "stopReason": "tool_use", "metrics": {"latencyMs": 1},
        "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}});
    let exception =
        json!({"message": format!("The model returned the following errors: {REFUSAL}")});
    let code = [("x-amzn-errortype", "ValidationException")];
    [
        (
            anthropic,
            thinking,
            StubReply::json(400, &[], &error),
            StubReply::json(200, &[], &message),
        ),
        (
            bedrock,
            reasoning,
            StubReply::json(400, &code, &exception),
            StubReply::json(200, &[], &converse),
        ),
    ]
}

/// Returns a turn after one with this model's reasoning, in its place.
fn thought(config: &ModelConfig, thought: Value) -> ChatRequest {
    bind_reasoning(turn_request(&config.full_name(), thought, None), config)
}

fn thinks(body: &Value) -> bool {
    body["messages"].to_string().contains("Let me see.")
}

fn at(config: ModelConfig, stub: &StubServer) -> ModelConfig {
    ModelConfig {
        base_url: Some(stub.url.clone()),
        ..config
    }
}

#[tokio::test]
async fn thinking_goes_back_after_what_it_came_after_alone() {
    for (config, own, _, answers) in ways() {
        let stub = StubServer::start(vec![answers]).await;
        let config = at(config, &stub);
        let model = connect(&config);
        let mut request = thought(&config, own);
        let answer = model.chat(&request).await.unwrap();
        let place = |part: &ChatPart| match part {
            ChatPart::Opaque(own) => own.position_hash.clone(),
            _ => None,
        };
        let given = answer.parts.iter().find_map(place);
        assert!(given.is_some(), "{answer:?}");
        assert_ne!(given, request.messages[1].parts.iter().find_map(place));

        let first = &mut request.messages[0].parts;
        if let Some(ChatPart::Text { keep, .. }) = first.first_mut() {
            *keep = true;
        }
        model.chat(&request).await.unwrap();
        request.system = "You triage other alerts.".into();
        model.chat(&request).await.unwrap();
        let seen: Vec<bool> = stub
            .requests()
            .iter()
            .map(|one| thinks(&one.body))
            .collect();
        assert_eq!(seen, [true, true, false], "{config:?}");
    }
}

#[tokio::test]
async fn refused_reasoning_block_costs_one_request_and_no_case() {
    for (config, own, refuses, answers) in ways() {
        let stub = StubServer::start(vec![refuses, answers]).await;
        let config = at(config, &stub);
        let model = connect(&config);
        let request = thought(&config, own);
        let answer = model.chat(&request).await.unwrap();
        assert_eq!(answer.requests, 2);
        assert_eq!(model.chat(&request).await.unwrap().requests, 1);
        let seen: Vec<bool> = stub
            .requests()
            .iter()
            .map(|one| thinks(&one.body))
            .collect();
        assert_eq!(seen, [true, false, false], "{config:?}");
    }
}

#[tokio::test]
async fn older_claude_thinks_only_where_calls_begin_with_thinking() {
    let mut bedrock =
        ModelConfig::new(ModelProvider::Bedrock, "eu.anthropic.claude-haiku-4-5-v1:0");
    bedrock.region = Some("eu-west-1".to_owned());
    let anthropic = ModelConfig::new(ModelProvider::Anthropic, "claude-haiku-4-5");
    let own = json!({"text": "Let me see.", "type": "thinking", "thinking": "Let me see."});
    for (mut config, place) in [
        (anthropic, "/thinking"),
        (bedrock, "/additionalModelRequestFields/thinking"),
    ] {
        config.reasoning_effort = Some("low".to_owned());
        let name = config.full_name();
        for (model, thinks) in [
            (name.as_str(), true),
            ("anthropic/claude-sonnet-4-5", false),
        ] {
            let mut request = turn_request(model, own.clone(), None);
            request.max_output_tokens = 8000;
            let stub = StubServer::start(vec![StubReply::json(400, &[], &json!({}))]).await;
            let config = at(config.clone(), &stub);
            connect(&config).chat(&request).await.unwrap_err();
            let body = &stub.requests()[0].body;
            assert_eq!(
                body.pointer(place).is_some(),
                thinks,
                "{name} after {model}"
            );
            let first = body["messages"][1]["content"][0].to_string();
            assert_eq!(first.contains("Let me see."), thinks, "{first}");
        }
    }
}
