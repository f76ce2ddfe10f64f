//! Tests requests, answers and error classification.

mod servers;
mod streams;

use crate::chat::{
    CallArguments, ChatAnswer, ChatError, ChatFailure, ChatPart, ChatRequest, QuestionKind,
    StopReason,
};
use serde_json::{Value, json};

use crate::http::testing::{
    KEY, StubReply, StubServer, assert_errors, connect, question, question_with_tools,
    render_request, turn_request,
};
use crate::{ModelConfig, ModelProvider, ModelServer};

fn config(model: &str) -> ModelConfig {
    let mut config = ModelConfig::new(ModelProvider::Openai, model);
    config.temperature = Some(0.1);
    config.reasoning_effort = Some("low".to_owned());
    config.server = Some(ModelServer::Openai);
    config
}

fn done() -> Value {
    json!({"id": "chatcmpl-1", "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "{\"mode\":\"direct\"}"}}]})
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

async fn answered(
    model: &str,
    request: &ChatRequest,
    say: StubReply,
) -> Result<ChatAnswer, ChatError> {
    let stub = StubServer::start(vec![say]).await;
    let config = ModelConfig {
        base_url: Some(stub.url.clone()),
        ..config(model)
    };
    connect(&config).chat(request).await
}

#[tokio::test]
async fn a_question_to_a_schema() {
    insta::assert_snapshot!(render_request(&sent(&config("gpt-4.1"), &question()).await), @r#"
    max_completion_tokens 2000
    messages[0] {"content":"You triage alerts.","role":"system"}
    messages[1] {"content":"The alert.\n\nMake a plan.","role":"user"}
    model "gpt-4.1"
    response_format {"json_schema":{"name":"plan","schema":{"additionalProperties":false,"properties":{"mode":{"enum":["direct","planned"],"type":"string"}},"required":["mode"],"type":"object"},"strict":true},"type":"json_schema"}
    stream true
    stream_options {"include_usage":true}
    temperature 0.1
    "#);
    insta::assert_snapshot!(render_request(&sent(&config("gpt-6-astra"), &question_with_tools()).await), @r#"
    max_completion_tokens 4048
    messages[0] {"content":"You triage alerts.","role":"developer"}
    messages[1] {"content":"The alert.\n\nMake a plan.","role":"user"}
    model "gpt-6-astra"
    reasoning_effort "low"
    response_format {"json_schema":{"name":"plan","schema":{"additionalProperties":false,"properties":{"mode":{"enum":["direct","planned"],"type":"string"}},"required":["mode"],"type":"object"},"strict":true},"type":"json_schema"}
    stream true
    stream_options {"include_usage":true}
    "#);
    insta::assert_snapshot!(render_request(&sent(&config("deepseek-chat"), &question_with_tools()).await), @r#"
    max_tokens 4048
    messages[0] {"content":"You triage alerts.","role":"system"}
    messages[1] {"content":"The alert.\n\nMake a plan.","role":"user"}
    model "deepseek-chat"
    reasoning_effort "low"
    stream true
    stream_options {"include_usage":true}
    temperature 0.1
    tool_choice {"function":{"name":"plan"},"type":"function"}
    tools[0] {"function":{"description":"Looks an asset up.","name":"asset_lookup","parameters":{"additionalProperties":false,"properties":{"indicator":{"type":"string"}},"required":["indicator"],"type":"object"}},"type":"function"}
    tools[1] {"function":{"description":"Gives the answer, once no other tool needs to be called.","name":"plan","parameters":{"additionalProperties":false,"properties":{"mode":{"enum":["direct","planned"],"type":"string"}},"required":["mode"],"type":"object"}},"type":"function"}
    "#);
    insta::assert_snapshot!(render_request(&sent(&config("qwen3:8b"), &question()).await["max_tokens"]), @" 4048");
}

#[tokio::test]
async fn a_conversation_with_tools() {
    let turn = |model: &str| {
        turn_request(
            &format!("openai/{model}"),
            json!({"reasoning_content": "Let me see."}),
            None,
        )
    };
    insta::assert_snapshot!(render_request(&sent(&config("gpt-6-astra"), &turn("gpt-6-astra")).await), @r#"
    max_completion_tokens 2000
    messages[0] {"content":"You triage alerts.","role":"developer"}
    messages[1] {"content":"Do the step.","role":"user"}
    messages[2] {"content":"I look.","role":"assistant","tool_calls":[{"function":{"arguments":"{\"indicator\":\"i-1\"}","name":"asset_lookup"},"id":"call_a","type":"function"},{"function":{"arguments":"{\"unreadable\":\"{indicator\"}","name":"asset_lookup"},"id":"call_b","type":"function"}]}
    messages[3] {"content":"{\"found\":0}","role":"tool","tool_call_id":"call_a"}
    messages[4] {"content":"ERROR: arguments are no object","role":"tool","tool_call_id":"call_b"}
    messages[5] {"content":"Go on.","role":"user"}
    model "gpt-6-astra"
    reasoning_effort "none"
    stream true
    stream_options {"include_usage":true}
    tool_choice "auto"
    tools[0] {"function":{"description":"Looks an asset up.","name":"asset_lookup","parameters":{"additionalProperties":false,"properties":{"indicator":{"type":"string"}},"required":["indicator"],"type":"object"},"strict":true},"type":"function"}
    "#);
    let deepseek = sent(&config("deepseek-chat"), &turn("deepseek-chat")).await;
    assert_eq!(deepseek["messages"][2]["reasoning_content"], "Let me see.");
    insta::assert_snapshot!(render_request(&sent(&config("deepseek-r1:70b"), &turn("deepseek-r1:70b")).await["messages"]), @r#"
    [0] {"content":"You triage alerts.","role":"system"}
    [1] {"content":"Do the step.","role":"user"}
    [2] {"content":"I look.\n\nCalled asset_lookup with {\"indicator\":\"i-1\"}\n\nCalled asset_lookup with {indicator","role":"assistant"}
    [3] {"content":"Result of asset_lookup:\n{\"found\":0}\n\nResult of asset_lookup:\nERROR: arguments are no object\n\nGo on.","role":"user"}
    "#);
}

#[tokio::test]
async fn tools_stay_where_they_are_needed_or_nobody_asked_to_reason() {
    let model = "gpt-5.4";
    let sent = async |effort: Option<&str>, request: &ChatRequest| {
        let mut config = config(model);
        config.reasoning_effort = effort.map(str::to_owned);
        let body = sent(&config, request).await;
        let effort = body["reasoning_effort"].as_str().unwrap().to_owned();
        (effort, body["tools"].is_array())
    };
    let reasons = ("high".to_owned(), false);
    let not = ("none".to_owned(), true);
    assert_eq!(sent(Some("high"), &question_with_tools()).await, reasons);
    assert_eq!(sent(Some("none"), &question_with_tools()).await, not);
    assert_eq!(sent(None, &question_with_tools()).await, not);
    let mut called = turn_request("x", json!({}), None);
    assert_eq!(sent(Some("high"), &called).await, not);
    called.may_call = false;
    assert_eq!(sent(Some("high"), &called).await, not);
}

#[tokio::test]
async fn a_policy_that_ends_a_stream_is_a_filter() {
    for code in [
        "cyber_policy",
        "bio_policy",
        "misalignment_policy_violation",
    ] {
        let text = format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":\"I\"}}}}]}}\n\ndata: {{\"error\":{{\"code\":\"{code}\",\"message\":\"x\"}}}}\n\n"
        );
        let error = answered("gpt-5.4", &question(), StubReply::events(&text)).await;
        assert_eq!(error.unwrap_err().failure, ChatFailure::Filtered, "{code}");
    }
}

#[tokio::test]
async fn addresses_and_keys() {
    for (base, version, path, header) in [
        (
            "/v1",
            None,
            "/v1/chat/completions",
            format!("authorization: Bearer {KEY}"),
        ),
        (
            "/openai/v1/",
            Some("preview"),
            "/openai/v1/chat/completions?api-version=preview",
            format!("api-key: {KEY}"),
        ),
        (
            "/openai",
            Some("2025-04-01"),
            "/openai/deployments/a%20b/chat/completions?api-version=2025-04-01",
            format!("api-key: {KEY}"),
        ),
        (
            "/openai/deployments/x",
            Some("2025-04-01"),
            "/openai/deployments/x/chat/completions?api-version=2025-04-01",
            format!("api-key: {KEY}"),
        ),
    ] {
        let stub = StubServer::start(vec![StubReply::json(200, &[], &done())]).await;
        let mut config = config("a b");
        config.base_url = Some(format!("{}{base}", stub.url));
        config.api_version = version.map(str::to_owned);
        config.server = None;
        connect(&config).chat(&question()).await.unwrap();
        let seen = stub.requests();
        assert_eq!(seen[0].path, path);
        assert!(seen[0].head.contains(&header), "{}", seen[0].head);
    }
}

#[tokio::test]
async fn server_without_schemas_is_asked_in_weaker_modes_for_good() {
    let refuse = |words: &str| StubReply::json(400, &[], &json!({"error": {"message": words}}));
    let stub = StubServer::start(vec![
        refuse("'response_format.type' must be 'text'"),
        refuse("tool_choice is not supported"),
        StubReply::json(200, &[], &done()),
    ])
    .await;
    let model = connect(&ModelConfig {
        base_url: Some(stub.url.clone()),
        ..config("m")
    });
    let answer = model.chat(&question()).await.unwrap();
    assert_eq!(
        (answer.text().as_str(), answer.structured),
        ("{\"mode\":\"direct\"}", None)
    );
    model.chat(&question()).await.unwrap();
    let seen = stub.requests();
    assert_eq!(seen.len(), 4);
    assert_eq!(seen[0].body["response_format"]["type"], "json_schema");
    assert_eq!(seen[1].body["tool_choice"]["function"]["name"], "plan");
    for last in &seen[2..] {
        let said = last.body["messages"][1]["content"].as_str().unwrap();
        assert!(
            said.contains("Answer with one JSON object that fits this JSON schema"),
            "{said}"
        );
        assert!(last.body.get("tools").is_none() && last.body.get("response_format").is_none());
    }
}

#[tokio::test]
async fn an_answer_by_a_forced_tool_is_text_again() {
    let body = json!({"choices": [{"finish_reason": "tool_calls", "message": {"tool_calls": [
        {"id": "c", "function": {"name": "plan", "arguments": "{\"mode\":\"direct\"}"}}]}}]});
    let answer = answered(
        "deepseek-chat",
        &question(),
        StubReply::json(200, &[], &body),
    )
    .await
    .unwrap();
    assert_eq!(answer.structured, Some(json!({"mode": "direct"})));
    assert_eq!(
        (answer.text().as_str(), answer.stop),
        ("{\"mode\":\"direct\"}", StopReason::Done)
    );
}

#[tokio::test]
async fn answers_of_other_servers_are_read() {
    let body = json!({"choices": [{"finish_reason": "stop", "message": {"content": "", "reasoning_content": "Hm.", "tool_calls": [
        {"function": {"name": "asset_lookup", "arguments": {"indicator": "i-1"}}}]}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 3, "prompt_cache_hit_tokens": 4}});
    let mut request = turn_request("x", json!({}), None);
    request.question = QuestionKind::Turn;
    let answer = answered("deepseek-chat", &request, StubReply::json(200, &[], &body))
        .await
        .unwrap();
    assert!(
        matches!(&answer.parts[0], ChatPart::Opaque(opaque) if opaque.provider == "openai/deepseek-chat")
    );
    let call = answer.calls().next().unwrap();
    assert!(matches!(&call.arguments, CallArguments::Object(_)) && !call.id.is_empty());
    assert_eq!(
        (answer.usage.cached_tokens, answer.stop),
        (4, StopReason::Calls)
    );
}

#[tokio::test]
async fn what_was_reasoned_beside_the_answer_is_output_too() {
    let body = json!({"choices": [{"message": {"content": "{}"}}], "usage": {
        "prompt_tokens": 50, "completion_tokens": 100, "total_tokens": 20_150,
        "completion_tokens_details": {"reasoning_tokens": 20_000}}});
    let answer = answered("grok-4", &question(), StubReply::json(200, &[], &body)).await;
    let usage = answer.unwrap().usage;
    assert_eq!(
        (usage.output_tokens, usage.reasoning_tokens),
        (20_100, 20_000)
    );
}

#[tokio::test]
async fn reasoning_is_read_once_by_whichever_names_it_comes() {
    let request = turn_request("x", json!({}), None);
    for said in [
        json!({"reasoning_content": "Hm.", "reasoning": "Hm."}),
        json!({"reasoning_content": null, "reasoning": "Hm."}),
        json!({"reasoning_content": "Hm.", "reasoning": null}),
        json!({"reasoning": "Hm."}),
        json!({"reasoning_content": null, "reasoning": null}),
    ] {
        let mut message = said.clone();
        message["content"] = json!("I look.");
        let whole = json!({"choices": [{"finish_reason": "stop", "message": message}]});
        let delta = json!({"choices": [{"finish_reason": "stop", "delta": message}]});
        for say in [
            StubReply::json(200, &[], &whole),
            StubReply::events(&format!("data: {delta}\n\ndata: [DONE]\n\n")),
        ] {
            let answer = answered("deepseek-ai/DeepSeek-V3", &request, say).await;
            let parts = answer.unwrap().parts;
            let thoughts = parts.iter().filter_map(|part| match part {
                ChatPart::Opaque(own) => own.value["reasoning_content"].as_str(),
                _ => None,
            });
            let wanted: &[&str] =
                if said["reasoning"].is_string() || said["reasoning_content"].is_string() {
                    &["Hm."]
                } else {
                    &[]
                };
            assert_eq!(thoughts.collect::<Vec<_>>(), wanted, "{said}");
        }
    }
}

#[tokio::test]
async fn ends_that_are_no_answers() {
    let usage = json!({"prompt_tokens": 7, "completion_tokens": 1});
    for (choice, failure) in [
        (
            json!({"finish_reason": "length", "message": {"content": "{\"mo"}}),
            ChatFailure::Truncated,
        ),
        (
            json!({"finish_reason": "content_filter", "message": {"content": ""}}),
            ChatFailure::Filtered,
        ),
        (
            json!({"finish_reason": "stop", "message": {"content": null, "refusal": "I cannot help."}}),
            ChatFailure::Refused,
        ),
        (
            json!({"finish_reason": "stop", "message": {"content": " \n"}}),
            ChatFailure::Malformed,
        ),
    ] {
        let body = json!({"choices": [choice], "usage": usage});
        let error = answered("gpt-4.1", &question(), StubReply::json(200, &[], &body))
            .await
            .unwrap_err();
        assert_eq!(
            (error.failure, error.usage.input_tokens),
            (failure, 7),
            "{error}"
        );
        assert!(!error.message.contains("cannot"), "its own words: {error}");
    }
}

#[tokio::test]
async fn answer_that_fits_no_schema_is_left_for_repair() {
    for code in ["tool_use_failed", "json_validate_failed"] {
        let error = |said: Value| json!({"error": {"message": "Failed to call a function.", "type": "invalid_request_error", "code": code, "failed_generation": said}});
        let said = error(json!("<function=x>"));
        let answer = answered("m", &question(), StubReply::json(400, &[], &said)).await;
        assert_eq!(answer.unwrap().text(), "<function=x>");
        for nothing in [json!(null), json!(" ")] {
            let say = StubReply::json(400, &[], &error(nothing));
            let error = answered("m", &question(), say).await.unwrap_err();
            assert_eq!(error.failure, ChatFailure::Malformed);
        }
    }
}

const ERRORS: &str = r#"
429 | retry-after: 7 | {"error":{"message":"slow down","code":"rate_limit_exceeded"}} | RateLimited { after: Some(7s) }
429 | retry-after-ms: 1500; retry-after: 9 | {"error":{"message":"slow down","code":"429"}} | RateLimited { after: Some(1.5s) }
429 | x-ratelimit-remaining-tokens: 0; x-ratelimit-reset-tokens: 1m2.5s | {"error":{"message":"x"}} | RateLimited { after: Some(62.5s) }
429 | x-ratelimit-remaining-tokens: 5; x-ratelimit-reset-tokens: 1m | {"error":{"message":"x"}} | RateLimited { after: None }
429 | retry-after: 7 | {"error":{"message":"x","code":"insufficient_quota"}} | Quota
429 | - | {"error":{"message":"Request too large for gpt","code":"rate_limit_exceeded"}} | ContextTooLong
429 | - | [{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"20s"}]}}] | RateLimited { after: Some(20s) }
400 | - | [{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}] | ContextTooLong
402 | - | {"error":{"message":"Insufficient Balance","code":"invalid_request_error"}} | Quota
400 | - | {"error":{"message":"x","code":"context_length_exceeded"}} | ContextTooLong
400 | - | {"object":"error","message":"This model's maximum context length is 4096 tokens","code":400} | ContextTooLong
400 | - | {"error":{"code":400,"message":"x","type":"exceed_context_size_error"}} | ContextTooLong
400 | - | {"error":{"message":"x","code":"content_filter"}} | Filtered
400 | - | {"error":{"message":"x","innererror":{"code":"ResponsibleAIPolicyViolation"}}} | Filtered
400 | - | {"error":{"message":"flagged for possible cybersecurity risk","type":"invalid_request_error","code":"cyber_policy"}} | Filtered
400 | - | {"error":{"message":"x","type":"invalid_request_error","code":"bio_policy"}} | Filtered
200 | - | {"error":{"message":"x","code":"misalignment_policy_violation"}} | Filtered
400 | - | {"object":"error","message":"The input (9000 tokens) is longer than the model's context length (4096 tokens).","code":400} | ContextTooLong
400 | - | {"error":{"message":"The decoder prompt (length 9000) is longer than the maximum model length of 4096.","code":400}} | ContextTooLong
400 | - | {"error":{"message":"The prompt is too long to fit into the model (context length 4096)","type":"invalid_request_error"}} | ContextTooLong
401 | - | {"error":{"message":"x","code":"invalid_api_key"}} | Auth
403 | - | {"error":{"message":"x","code":null}} | Auth
404 | - | {"detail":"Not Found"} | BadRequest
422 | - | {"error":"unknown field"} | BadRequest
500 | - | {"error":{"message":"oops"}} | Overloaded { after: None }
200 | - | {"error":{"message":"late"}} | Overloaded { after: None }
200 | - | {"error":{"code":400,"message":"x","type":"BadRequestError"}} | BadRequest
200 | - | {"error":{"code":"401","message":"x"}} | Auth
200 | - | {"error":{"status":402,"message":"x"}} | Quota
200 | - | {"error":{"code":403,"message":"Your input was flagged","metadata":{"reasons":["x"],"flagged_input":"y"}}} | Filtered
200 | - | {"error":{"code":429,"message":"x"}} | RateLimited { after: None }
200 | - | {"error":{"code":502,"message":"x"}} | Overloaded { after: None }
200 | - | {"error":{"code":0,"message":"x"}} | Overloaded { after: None }
"#;

#[tokio::test]
async fn errors_by_code_words_and_status() {
    assert_errors(&config("gpt-4.1"), ERRORS).await;
}
