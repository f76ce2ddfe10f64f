//! Tests requests, answers and error classification.

use std::time::Duration;

use crate::chat::{
    ChatAnswer, ChatError, ChatFailure, ChatMessage, ChatPart, ChatRequest, ChatRole, StopReason,
};
use serde_json::{Value, json};

use crate::http::testing::{
    KEY, StubReply, StubServer, assert_errors, bind_reasoning, connect, question,
    question_with_tools, render_request, turn_request,
};
use crate::{ModelConfig, ModelProvider};

const MODEL: &str = "claude-opus-5-5";

fn config(model: &str) -> ModelConfig {
    let mut config = ModelConfig::new(ModelProvider::Anthropic, model);
    config.temperature = Some(0.1);
    config.reasoning_effort = Some("medium".to_owned());
    config
}

fn older(model: &str) -> ModelConfig {
    ModelConfig {
        api_version: Some("2023-06-01".to_owned()),
        ..config(model)
    }
}

fn done() -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "{\"mode\":\"direct\"}"}],
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 20, "output_tokens": 5}})
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

async fn answered(request: &ChatRequest, say: StubReply) -> Result<ChatAnswer, ChatError> {
    let stub = StubServer::start(vec![say]).await;
    let config = ModelConfig {
        base_url: Some(stub.url.clone()),
        ..config(MODEL)
    };
    connect(&config).chat(request).await
}

fn thoughts() -> Value {
    json!({"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"})
}

#[tokio::test]
async fn a_question_to_a_schema() {
    insta::assert_snapshot!(render_request(&sent(&config(MODEL), &question()).await), @r#"
    max_tokens 10192
    messages[0] {"content":[{"cache_control":{"type":"ephemeral"},"text":"The alert.","type":"text"},{"text":"Make a plan.","type":"text"}],"role":"user"}
    model "claude-opus-5-5"
    output_config {"effort":"medium","format":{"schema":{"additionalProperties":false,"properties":{"mode":{"enum":["direct","planned"],"type":"string"}},"required":["mode"],"type":"object"},"type":"json_schema"}}
    stream true
    system[0] {"cache_control":{"type":"ephemeral"},"text":"You triage alerts.","type":"text"}
    thinking {"type":"adaptive"}
    "#);
    insta::assert_snapshot!(render_request(&sent(&older("claude-3-haiku-20240307"), &question_with_tools()).await), @r#"
    max_tokens 2000
    messages[0] {"content":[{"cache_control":{"type":"ephemeral"},"text":"The alert.","type":"text"},{"text":"Make a plan.","type":"text"}],"role":"user"}
    model "claude-3-haiku-20240307"
    stream true
    system[0] {"cache_control":{"type":"ephemeral"},"text":"You triage alerts.","type":"text"}
    temperature 0.1
    tool_choice {"name":"plan","type":"tool"}
    tools[0] {"description":"Looks an asset up.","input_schema":{"additionalProperties":false,"properties":{"indicator":{"type":"string"}},"required":["indicator"],"type":"object"},"name":"asset_lookup"}
    tools[1] {"description":"Gives the answer, once no other tool needs to be called.","input_schema":{"additionalProperties":false,"properties":{"mode":{"enum":["direct","planned"],"type":"string"}},"required":["mode"],"type":"object"},"name":"plan"}
    "#);
}

#[tokio::test]
async fn a_conversation_with_tools() {
    let request = turn_request(&format!("anthropic/{MODEL}"), thoughts(), None);
    let request = bind_reasoning(request, &config(MODEL));
    insta::assert_snapshot!(render_request(&sent(&config(MODEL), &request).await), @r#"
    max_tokens 10192
    messages[0] {"content":[{"text":"Do the step.","type":"text"}],"role":"user"}
    messages[1] {"content":[{"signature":"c2ln","thinking":"Let me see.","type":"thinking"},{"text":"I look.","type":"text"},{"id":"call_a","input":{"indicator":"i-1"},"name":"asset_lookup","type":"tool_use"},{"id":"call_b","input":{"unreadable":"{indicator"},"name":"asset_lookup","type":"tool_use"}],"role":"assistant"}
    messages[2] {"content":[{"content":"{\"found\":0}","tool_use_id":"call_a","type":"tool_result"},{"content":"arguments are no object","is_error":true,"tool_use_id":"call_b","type":"tool_result"},{"text":"Go on.","type":"text"}],"role":"user"}
    model "claude-opus-5-5"
    output_config {"effort":"medium"}
    stream true
    system[0] {"cache_control":{"type":"ephemeral"},"text":"You triage alerts.","type":"text"}
    thinking {"type":"adaptive"}
    tool_choice {"type":"auto"}
    tools[0] {"description":"Looks an asset up.","input_schema":{"additionalProperties":false,"properties":{"indicator":{"type":"string"}},"required":["indicator"],"type":"object"},"name":"asset_lookup"}
    "#);
}

#[tokio::test]
async fn each_word_for_reasoning_is_one_that_the_model_knows() {
    let mut lines = Vec::new();
    for model in [
        "claude-opus-5-5",
        "claude-fable-5-2",
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
        "claude-opus-4-7",
    ] {
        for word in ["none", "minimal", "max"] {
            let mut config = config(model);
            config.reasoning_effort = Some(word.to_owned());
            let mut request = question();
            request.output = None;
            let body = sent(&config, &request).await;
            let (thinking, effort) = (&body["thinking"]["type"], &body["output_config"]);
            lines.push(format!("{model} {word}: {thinking} {effort}"));
        }
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    claude-opus-5-5 none: null {"effort":"low"}
    claude-opus-5-5 minimal: "adaptive" {"effort":"low"}
    claude-opus-5-5 max: "adaptive" {"effort":"max"}
    claude-fable-5-2 none: null {"effort":"low"}
    claude-fable-5-2 minimal: "adaptive" {"effort":"low"}
    claude-fable-5-2 max: "adaptive" {"effort":"max"}
    claude-sonnet-5-5 none: "between_tools" null
    claude-sonnet-5-5 minimal: "adaptive" {"effort":"low"}
    claude-sonnet-5-5 max: "adaptive" {"effort":"max"}
    claude-haiku-5-5 none: "disabled" null
    claude-haiku-5-5 minimal: "adaptive" {"effort":"low"}
    claude-haiku-5-5 max: "adaptive" {"effort":"max"}
    claude-opus-4-7 none: "disabled" null
    claude-opus-4-7 minimal: "adaptive" {"effort":"low"}
    claude-opus-4-7 max: "adaptive" {"effort":"max"}
    "#);
}

#[tokio::test]
async fn a_version_is_named_and_the_key_goes_where_it_looks() {
    for (config, headers) in [
        (
            config(MODEL),
            [
                "anthropic-version: 2026-10-21".to_owned(),
                format!("authorization: Bearer {KEY}"),
            ],
        ),
        (
            older(MODEL),
            [
                "anthropic-version: 2023-06-01".to_owned(),
                format!("x-api-key: {KEY}"),
            ],
        ),
    ] {
        let stub = StubServer::start(vec![StubReply::json(200, &[], &done())]).await;
        let config = ModelConfig {
            base_url: Some(stub.url.clone()),
            ..config
        };
        let answer = connect(&config).chat(&question()).await.unwrap();
        assert_eq!(answer.structured, Some(json!({"mode": "direct"})));
        assert_eq!(
            (
                answer.usage.input_tokens,
                answer.usage.cached_tokens,
                answer.usage.cache_write_tokens
            ),
            (100, 70, 20)
        );
        let seen = stub.requests();
        assert_eq!(seen[0].path, "/v1/messages");
        for header in headers {
            assert!(seen[0].head.contains(&header), "{}", seen[0].head);
        }
    }
}

#[tokio::test]
async fn thinking_by_tokens_leaves_room_and_takes_no_temperature() {
    let mut request = question();
    request.max_output_tokens = 8000;
    let body = sent(&older("claude-sonnet-4-5"), &request).await;
    assert_eq!(
        (&body["thinking"]["budget_tokens"], body.get("temperature")),
        (&json!(8192), None)
    );
    assert_eq!(body["max_tokens"], 16_192, "the answer's room is its own");
    let mut config = older("claude-sonnet-4-5");
    config.reasoning_effort = None;
    assert_eq!(sent(&config, &request).await["temperature"], 0.1);
}

#[tokio::test]
async fn at_most_four_marks_are_sent() {
    let mut request = question();
    let keep = |text: &str| ChatPart::Text {
        text: text.into(),
        keep: true,
    };
    request.messages = vec![ChatMessage {
        role: ChatRole::User,
        parts: ["a", "b", "c", "d", "e"].map(keep).to_vec(),
    }];
    let body = sent(&config(MODEL), &request).await;
    let marked = |index: usize| {
        body["messages"][0]["content"][index]
            .get("cache_control")
            .is_some()
    };
    assert_eq!(
        [0, 1, 2, 3, 4].map(marked),
        [true, false, false, true, true]
    );
    assert!(body["system"][0].get("cache_control").is_some());
}

const STREAM: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_read_input_tokens":70,"cache_creation_input_tokens":20,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me see."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"c2VhbGVk"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I look."}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"asset_lookup","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"indicator\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"\"i-1\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_2","name":"no_arguments","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":42,"output_tokens_details":{"thinking_tokens":9}}}

event: message_stop
data: {"type":"message_stop"}

"#;

#[tokio::test]
async fn a_stream_is_put_together_and_goes_back_as_it_came() {
    let mut request = turn_request("x", json!({}), None);
    request.messages.truncate(1);
    let answer = answered(&request, StubReply::events(STREAM)).await.unwrap();
    let ChatPart::Opaque(thought) = &answer.parts[0] else {
        panic!("{answer:?}")
    };
    let parts = render_request(&json!(answer.parts))
        .replace(thought.position_hash.as_ref().unwrap(), "HERE");
    insta::assert_snapshot!(parts, @r#"
    [0] {"part":"opaque","position_hash":"HERE","provider":"anthropic/claude-opus-5-5","value":{"signature":"c2ln","thinking":"Let me see.","type":"thinking"}}
    [1] {"part":"opaque","position_hash":"HERE","provider":"anthropic/claude-opus-5-5","value":{"data":"c2VhbGVk","type":"redacted_thinking"}}
    [2] {"keep":false,"part":"text","text":"I look."}
    [3] {"arguments":{"object":{"indicator":"i-1"}},"id":"toolu_1","name":"asset_lookup","part":"call"}
    [4] {"arguments":{"object":{}},"id":"toolu_2","name":"no_arguments","part":"call"}
    "#);
    insta::assert_snapshot!(format!("{:?} {:?} {:?}", answer.stop, answer.usage, answer.id), @r#"Calls Usage { input_tokens: 100, cached_tokens: 70, cache_write_tokens: 20, output_tokens: 42, reasoning_tokens: 9 } Some("msg_1")"#);
    request.messages.push(ChatMessage {
        role: ChatRole::Assistant,
        parts: answer.parts,
    });
    let body = sent(&config(MODEL), &request).await;
    insta::assert_snapshot!(render_request(&body["messages"][1]["content"]), @r#"
    [0] {"signature":"c2ln","thinking":"Let me see.","type":"thinking"}
    [1] {"data":"c2VhbGVk","type":"redacted_thinking"}
    [2] {"text":"I look.","type":"text"}
    [3] {"id":"toolu_1","input":{"indicator":"i-1"},"name":"asset_lookup","type":"tool_use"}
    [4] {"id":"toolu_2","input":{},"name":"no_arguments","type":"tool_use"}
    "#);
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_no_answer() {
    let request = turn_request("x", json!({}), None);
    let cut = STREAM
        .split("event: message_stop")
        .next()
        .unwrap()
        .to_owned();
    let error = |kind: &str| {
        format!(
            "event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"{kind}\",\"message\":\"x\"}}}}\n\n"
        )
    };
    for (text, failure) in [
        (cut, ChatFailure::Unreachable),
        (String::new(), ChatFailure::Unreachable),
        ("data: {oops\n\n".to_owned(), ChatFailure::Malformed),
        (
            r#"data: {"type":"content_block_start","index":0}"#.to_owned() + "\n\n",
            ChatFailure::Malformed,
        ),
        (
            r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta"}}"#
                .to_owned()
                + "\n\n",
            ChatFailure::Malformed,
        ),
        (
            error("overloaded_error"),
            ChatFailure::Overloaded { after: None },
        ),
        (
            error("rate_limit_error"),
            ChatFailure::RateLimited { after: None },
        ),
        (
            error("what_is_this"),
            ChatFailure::Overloaded { after: None },
        ),
    ] {
        let error = answered(&request, StubReply::events(&text))
            .await
            .unwrap_err();
        assert_eq!(error.failure, failure, "{error}");
    }
}

#[tokio::test]
async fn events_that_nobody_knows_yet_are_passed_over_in_any_shape() {
    let request = turn_request("x", json!({}), None);
    let new = concat!(
        "event: news\ndata: {\"type\":\"news\",\"index\":\"a\",\"delta\":[],\"error\":7}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"news_delta\",\"text\":\"x\"}}\n\n",
        "event: message_delta",
    );
    let text = STREAM.replacen("event: message_delta", new, 1);
    let known = answered(&request, StubReply::events(STREAM)).await.unwrap();
    let answer = answered(&request, StubReply::events(&text)).await.unwrap();
    assert_eq!(answer.parts, known.parts);

    let wrong = text.replace("news\",\"index", "message_delta\",\"index");
    let error = answered(&request, StubReply::events(&wrong))
        .await
        .unwrap_err();
    assert_eq!(error.failure, ChatFailure::Malformed);
}

#[tokio::test]
async fn what_was_used_before_a_break_is_counted() {
    let request = turn_request("x", json!({}), None);
    let start = STREAM.split("event: content_block_start").next().unwrap();
    let error = answered(&request, StubReply::events(start))
        .await
        .unwrap_err();
    assert_eq!(error.usage.input_tokens, 100);
}

#[tokio::test]
async fn a_stream_that_stands_still_is_given_up() {
    let start = STREAM.split("event: ping").next().unwrap();
    let stub = StubServer::start(vec![StubReply::events(start).then_hang()]).await;
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

#[tokio::test]
async fn ends_that_are_no_answers() {
    for (stop, failure) in [
        ("max_tokens", ChatFailure::Truncated),
        ("model_context_window_exceeded", ChatFailure::ContextTooLong),
        ("refusal", ChatFailure::Refused),
        ("pause_turn", ChatFailure::Malformed),
    ] {
        let mut body = done();
        body["stop_reason"] = json!(stop);
        let error = answered(&question(), StubReply::json(200, &[], &body))
            .await
            .unwrap_err();
        assert_eq!(
            (error.failure, error.usage.input_tokens),
            (failure, 100),
            "{error}"
        );
    }
    let mut body = done();
    body["stop_reason"] = json!("refusal");
    body["stop_details"] =
        json!({"type": "refusal", "category": "cyber", "explanation": "Not this."});
    let error = answered(&question(), StubReply::json(200, &[], &body))
        .await
        .unwrap_err();
    assert_eq!(error.message, "Not this.");
    body["stop_reason"] = json!("end_turn");
    body["content"] = json!([]);
    assert_eq!(
        answered(&question(), StubReply::json(200, &[], &body))
            .await
            .unwrap_err()
            .failure,
        ChatFailure::Malformed
    );
    assert_eq!(
        answered(&question(), StubReply::json(200, &[], &done()))
            .await
            .unwrap()
            .stop,
        StopReason::Done
    );
}

const ERRORS: &str = r#"
429 | retry-after: 7 | {"error":{"type":"rate_limit_error","message":"x","details":{"error_code":"ramp_limit_exceeded"}}} | RateLimited { after: Some(7s) }
429 | retry-after: 7 | {"error":{"type":"rate_limit_error","message":"x","details":{"error_code":"enforced_spend_limit_reached"}}} | Quota
402 | - | {"error":{"type":"billing_error","message":"x"}} | Quota
400 | - | {"error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."}} | Quota
400 | - | {"error":{"type":"invalid_request_error","message":"You have reached your specified workspace API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."}} | Quota
529 | retry-after: 7 | {"error":{"type":"overloaded_error","message":"x"}} | Overloaded { after: Some(7s) }
500 | - | {"error":{"type":"api_error","message":"x"}} | Overloaded { after: None }
504 | - | {"error":{"type":"timeout_error","message":"x"}} | Timeout
401 | - | {"error":{"type":"authentication_error","message":"x"}} | Auth
403 | - | {"error":{"type":"permission_error","message":"x"}} | Auth
400 | - | {"error":{"type":"invalid_request_error","message":"x","details":{"error_code":"organization_on_hold"}}} | Auth
400 | - | {"error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}} | ContextTooLong
413 | - | {"error":{"type":"request_too_large","message":"x"}} | ContextTooLong
400 | - | {"error":{"type":"invalid_request_error","message":"temperature: not known"}} | BadRequest
404 | - | {"error":{"type":"not_found_error","message":"model: x"}} | BadRequest
529 | retry-after: 7 | {} | Overloaded { after: Some(7s) }
"#;

#[tokio::test]
async fn errors_by_code_type_and_status() {
    assert_errors(&config(MODEL), ERRORS).await;
}
