//! Tests servers that have OpenAI's protocol and are not OpenAI.

use crate::chat::OutputSchema;

use super::*;

/// Returns an unknown server at a private address.
fn own() -> ModelConfig {
    ModelConfig::new(ModelProvider::Openai, "qwen3")
}

/// Returns a turn of a step, which may call tools or give its result.
fn turn_to_schema() -> ChatRequest {
    ChatRequest {
        output: question().output,
        ..turn_request("openai/qwen3", json!({}), None)
    }
}

#[tokio::test]
async fn the_result_of_a_turn_is_a_tool_beside_tools() {
    insta::assert_snapshot!(render_request(&sent(&own(), &turn_to_schema()).await), @r#"
    max_tokens 2000
    messages[0] {"content":"You triage alerts.","role":"system"}
    messages[1] {"content":"Do the step.","role":"user"}
    messages[2] {"content":"I look.","role":"assistant","tool_calls":[{"function":{"arguments":"{\"indicator\":\"i-1\"}","name":"asset_lookup"},"id":"call_a","type":"function"},{"function":{"arguments":"{\"unreadable\":\"{indicator\"}","name":"asset_lookup"},"id":"call_b","type":"function"}]}
    messages[3] {"content":"{\"found\":0}","role":"tool","tool_call_id":"call_a"}
    messages[4] {"content":"ERROR: arguments are no object","role":"tool","tool_call_id":"call_b"}
    messages[5] {"content":"Go on.","role":"user"}
    model "qwen3"
    stream true
    stream_options {"include_usage":true}
    tool_choice "required"
    tools[0] {"function":{"description":"Looks an asset up.","name":"asset_lookup","parameters":{"additionalProperties":false,"properties":{"indicator":{"type":"string"}},"required":["indicator"],"type":"object"}},"type":"function"}
    tools[1] {"function":{"description":"Gives the answer, once no other tool needs to be called.","name":"plan","parameters":{"additionalProperties":false,"properties":{"mode":{"enum":["direct","planned"],"type":"string"}},"required":["mode"],"type":"object"}},"type":"function"}
    "#);
}

#[tokio::test]
async fn a_last_turn_asks_for_json_and_sends_no_tools() {
    let mut request = turn_to_schema();
    request.may_call = false;
    insta::assert_snapshot!(render_request(&sent(&own(), &request).await), @r#"
    max_tokens 2000
    messages[0] {"content":"You triage alerts.","role":"system"}
    messages[1] {"content":"Do the step.","role":"user"}
    messages[2] {"content":"I look.\n\nCalled asset_lookup with {\"indicator\":\"i-1\"}\n\nCalled asset_lookup with {indicator","role":"assistant"}
    messages[3] {"content":"Result of asset_lookup:\n{\"found\":0}\n\nResult of asset_lookup:\nERROR: arguments are no object\n\nGo on.","role":"user"}
    model "qwen3"
    response_format {"json_schema":{"name":"plan","schema":{"additionalProperties":false,"properties":{"mode":{"enum":["direct","planned"],"type":"string"}},"required":["mode"],"type":"object"},"strict":true},"type":"json_schema"}
    stream true
    stream_options {"include_usage":true}
    "#);
}

#[tokio::test]
async fn a_single_tool_is_required_where_none_can_be_named() {
    let mut config = own();
    config.schema = Some(crate::SchemaMode::Tool);
    let body = sent(&config, &question_with_tools()).await;
    assert_eq!(body["tool_choice"], "required");
    assert_eq!(body["tools"][0]["function"]["name"], "plan");
    assert_eq!(body["tools"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn servers_that_ignore_the_choice_are_asked_in_words() {
    for server in [ModelServer::Ollama, ModelServer::Transformers] {
        let mut config = own();
        config.server = Some(server);
        let body = sent(&config, &turn_to_schema()).await;
        assert_eq!(body["tool_choice"], "auto", "{server:?}");
        assert_eq!(body["tools"].as_array().unwrap().len(), 1, "{server:?}");
        let last = body["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
        assert!(
            last.contains("Unless you call a tool, answer with one JSON object"),
            "{last}"
        );
        assert!(body.get("response_format").is_none(), "{server:?}");
    }
}

#[tokio::test]
async fn a_schema_of_an_own_server_has_only_what_grammars_hold() {
    let mut request = question();
    let schema = json!({"type": "object", "additionalProperties": false, "required": ["a", "b"],
        "properties": {"a": true, "b": {"type": "number", "minimum": 0}}});
    request.output = Some(OutputSchema {
        name: "plan".to_owned(),
        schema: schema.into(),
    });
    let body = sent(&own(), &request).await;
    let sent = &body["response_format"]["json_schema"];
    assert_eq!(
        sent["schema"]["properties"],
        json!({"a": {}, "b": {"type": "number", "description": "(minimum: 0)"}})
    );
    assert_eq!(sent["strict"], false);
}

#[tokio::test]
async fn a_refused_choice_is_asked_for_in_words_from_then_on() {
    let refuse = json!({"error": {"message": "tool_choice 'required' is not supported"}});
    let stub = StubServer::start(vec![
        StubReply::json(400, &[], &refuse),
        StubReply::json(200, &[], &done()),
    ])
    .await;
    let model = connect(&ModelConfig {
        base_url: Some(stub.url.clone()),
        ..own()
    });
    let answer = model.chat(&turn_to_schema()).await.unwrap();
    assert_eq!(
        (answer.text().as_str(), answer.requests),
        ("{\"mode\":\"direct\"}", 2)
    );
    let asked: Vec<Value> = stub
        .requests()
        .iter()
        .map(|seen| seen.body["tool_choice"].clone())
        .collect();
    assert_eq!(asked, [json!("required"), json!("auto")]);
}

#[tokio::test]
async fn retries_of_a_gateway_are_switched_off_and_counted() {
    let say = StubReply::json(200, &[("x-litellm-attempted-retries", "2")], &done());
    let stub = StubServer::start(vec![say]).await;
    let model = connect(&ModelConfig {
        base_url: Some(stub.url.clone()),
        ..own()
    });
    let answer = model.chat(&question()).await.unwrap();
    assert_eq!(answer.requests, 3);
    assert!(stub.requests()[0].head.contains("x-litellm-num-retries: 0"));
}

#[tokio::test]
async fn no_connection_is_used_again_after_a_stream_of_an_own_server() {
    let words = r#"data: {"choices":[{"delta":{"content":"{\"mode\":\"direct\"}"},"finish_reason":"stop"}]}"#;
    let say = StubReply::kept_alive_events(&format!("{words}\n\ndata: [DONE]\n\n"));
    let stub = StubServer::start(vec![say]).await;
    let model = connect(&ModelConfig {
        base_url: Some(stub.url.clone()),
        ..own()
    });
    for asked in 1..=3 {
        let mut request = question();
        request.deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(5);
        let answer = model.chat(&request).await.unwrap();
        assert_eq!((answer.requests, stub.requests().len()), (1, asked));
    }
}

#[tokio::test]
async fn litellm_says_why_it_does_not_answer_in_its_own_ways() {
    assert_errors(
        &own(),
        r#"
400 |  | {"error":{"message":"No connected db.","type":"no_db_connection","param":null,"code":"400"}} | Auth
503 |  | {"error":{"message":"Service Unavailable","type":"no_db_connection","param":"None","code":"503"}} | Overloaded { after: None }
422 |  | {"error":{"message":"Budget has been exceeded! Current cost: 2, Max budget: 1","type":"budget_exceeded","param":null,"code":"422"}} | Quota
422 |  | {"error":{"message":"over","type":"budget_exceeded","param":null,"code":"422"}} | Quota
429 | llm_provider-retry-after: 7 | {"error":{"message":"litellm.RateLimitError","type":"throttling_error","param":null,"code":"429"}} | RateLimited { after: Some(7s) }
429 | llm_provider-x-ratelimit-remaining-tokens: 0; llm_provider-x-ratelimit-reset-tokens: 6m0s | {"error":{"message":"x","code":"429"}} | RateLimited { after: Some(360s) }
"#,
    )
    .await;
}

#[tokio::test]
async fn output_that_llama_cpp_cannot_read_is_no_outage() {
    let body = json!({"error": {"code": 500, "type": "server_error",
        "message": "The model produced output that does not match the expected peg-native format"}});
    let error = crate::http::testing::error_from(&own(), StubReply::json(500, &[], &body)).await;
    assert_eq!(error.failure, ChatFailure::Malformed);
    assert_eq!(
        error.usage.output_tokens, 1,
        "it is paid for, so it is asked once more at most"
    );
}

#[tokio::test]
async fn a_missing_key_of_litellm_is_told_as_one() {
    let text = || StubReply::text(500, "text/plain", &[], "Internal Server Error");
    let json = || {
        StubReply::json(
            500,
            &[],
            &json!({"error": {"message": "Internal server error", "type": "internal_server_error"}}),
        )
    };
    let other = StubReply::json(500, &[], &json!({"error": {"message": "the engine died"}}));
    let vllm = ModelConfig {
        server: Some(ModelServer::Vllm),
        ..own()
    };
    for (config, say, has_key, failure) in [
        (own(), text(), false, ChatFailure::Auth),
        (own(), json(), false, ChatFailure::Auth),
        (own(), text(), true, ChatFailure::Overloaded { after: None }),
        (own(), other, false, ChatFailure::Overloaded { after: None }),
        (vllm, text(), false, ChatFailure::Overloaded { after: None }),
    ] {
        let stub = StubServer::start(vec![say]).await;
        let config = ModelConfig {
            base_url: Some(stub.url.clone()),
            ..config
        };
        let model = match has_key {
            true => connect(&config),
            false => crate::connect(&config, None).unwrap(),
        };
        let error = model.chat(&question()).await.unwrap_err();
        assert_eq!(error.failure, failure, "{config:?}");
    }
}
