//! Tests refusals of OpenAI and Azure.

use nightshift_tests::model::Provider;
use serde_json::{Value, json};

use super::{RawRequest, RefusalRow, refused, taken, valid_request};

fn chat() -> RawRequest {
    valid_request(Provider::OpenAi)
}

fn bare() -> RawRequest {
    chat().with("/tools", Value::Null)
}

fn bad(request: RawRequest, words: &'static str) -> RefusalRow {
    (request, 400, words)
}

fn strict(schema: Value) -> RawRequest {
    bare().with(
        "/response_format",
        json!({"type": "json_schema", "json_schema": {"name": "plan", "strict": true, "schema": schema}}),
    )
}

fn object(properties: Value, required: Value) -> Value {
    json!({"type": "object", "additionalProperties": false, "properties": properties, "required": required})
}

#[tokio::test]
async fn keys_and_versions() {
    let azure = || valid_request(Provider::Azure);
    let deployment = "/openai/deployments/d/chat/completions";
    refused(vec![
        (
            chat().header("authorization", None),
            401,
            "You didn't provide an API key",
        ),
        (
            chat().header("authorization", Some("Bearer ")),
            401,
            "You didn't provide an API key",
        ),
        (
            chat().header("authorization", Some("Bearer sk-wrong")),
            401,
            "Incorrect API key",
        ),
        (azure().header("api-key", None), 401, "Access denied"),
        (azure().path(deployment), 404, "Resource not found"),
    ])
    .await;
    taken(vec![
        azure().path(&format!("{deployment}?api-version=2024-10-21")),
        azure()
            .header("api-key", None)
            .header("authorization", Some("Bearer entra")),
    ])
    .await;
}

#[tokio::test]
async fn fields_and_messages() {
    let call = json!({"role": "assistant", "content": "let me look"});
    refused(vec![
        bad(
            chat().with("/top_k", json!(3)),
            "Unrecognized request argument supplied: top_k",
        ),
        bad(
            chat().with("/messages/1/cache_control", json!({})),
            "Unknown parameter: 'messages[1].cache_control'",
        ),
        bad(
            chat().with("/model", Value::Null),
            "Missing required parameter: 'model'",
        ),
        bad(
            chat().with("/messages", json!([])),
            "Invalid 'messages': empty",
        ),
        bad(
            chat().with("/messages/1/role", json!("model")),
            "invalid value: 'model'",
        ),
        bad(
            chat().with("/messages/1/content", Value::Null),
            "Missing required parameter: 'messages[1].content'",
        ),
        bad(
            chat().with("/messages/-", json!({"role": "assistant"})),
            "expected a string, got null",
        ),
        bad(
            chat().with(
                "/messages/-",
                json!({"role": "assistant", "tool_calls": []}),
            ),
            "Invalid 'messages[2].tool_calls': empty",
        ),
        bad(
            chat().with("/stream_options", json!({"include_usage": true})),
            "only allowed when 'stream' is enabled",
        ),
        bad(
            bare().with("/response_format", json!({"type": "json_object"})),
            "must contain the word 'json'",
        ),
        bad(
            chat().with("/temperature", json!(2.5)),
            "number out of range",
        ),
    ])
    .await;
    taken(vec![chat().with("/messages/-", call)]).await;
}

#[tokio::test]
async fn tools() {
    let tool = |name: &str| json!({"type": "function", "function": {"name": name}});
    let at = "/tools/0/function/parameters";
    refused(vec![
        bad(chat().with("/tools", json!([])), "Invalid 'tools': empty"),
        bad(
            chat().with("/tools/0/function/name", json!("log search")),
            "does not match pattern",
        ),
        bad(
            chat().with("/tools/0/function/name", json!("x".repeat(65))),
            "does not match pattern",
        ),
        bad(
            chat().with("/tools/-", tool("lookup")),
            "Duplicate tool name",
        ),
        bad(
            chat().with(at, json!({"type": "string"})),
            "Invalid schema for function 'lookup'",
        ),
        bad(
            chat().with(&format!("{at}/additionalProperties"), Value::Null),
            "'additionalProperties' is required",
        ),
        bad(
            chat().with(&format!("{at}/required"), json!([])),
            "Missing 'indicator'",
        ),
        bad(
            chat().with(
                "/tool_choice",
                json!({"type": "function", "function": {"name": "no"}}),
            ),
            "Tool choice 'no' not found",
        ),
        bad(
            bare().with("/tool_choice", json!("auto")),
            "only allowed when 'tools' are specified",
        ),
        bad(
            bare().with("/parallel_tool_calls", json!(true)),
            "only allowed when 'tools' are specified",
        ),
    ])
    .await;
    taken(vec![
        chat().with("/tools/-", tool("other")),
        chat().with(
            "/tool_choice",
            json!({"type": "function", "function": {"name": "lookup"}}),
        ),
    ])
    .await;
}

#[tokio::test]
async fn strict_schemas() {
    let text = json!({"type": "string"});
    let with = |schema: Value| object(json!({"a": schema}), json!(["a"]));
    let mut deep = object(json!({"a": text}), json!(["a"]));
    for _ in 0..10 {
        deep = with(deep);
    }
    refused(vec![
        bad(
            strict(json!({"anyOf": [with(text.clone())]})),
            "Invalid schema for response_format 'plan'",
        ),
        bad(
            strict(object(json!({"a": text, "b": text}), json!(["a"]))),
            "Missing 'b'",
        ),
        bad(
            strict(object(json!({"a": text}), json!(["a", "b"]))),
            "Extra required key 'b'",
        ),
        bad(
            strict(with(json!({"type": "object", "properties": {}}))),
            "'additionalProperties' is required",
        ),
        bad(
            strict(with(json!({"type": "string", "minLength": 3}))),
            "'minLength' is not permitted",
        ),
        bad(
            strict(with(json!({"type": "string", "default": "x"}))),
            "'default' is not permitted",
        ),
        bad(
            strict(with(json!({"oneOf": [text]}))),
            "'oneOf' is not permitted",
        ),
        bad(
            strict(with(json!({"allOf": [text]}))),
            "'allOf' is not permitted",
        ),
        bad(
            strict(with(json!({"type": "string", "format": "uri"}))),
            "'format' of 'uri'",
        ),
        bad(
            strict(with(json!({"type": "array"}))),
            "array schema missing items",
        ),
        bad(
            strict(with(json!({"description": "anything"}))),
            "must have a 'type' key",
        ),
        bad(
            strict(with(json!({"$ref": "#/$defs/none"}))),
            "reference can only point",
        ),
        bad(strict(deep), "levels of nesting exceeds limit of 10"),
    ])
    .await;
}

#[tokio::test]
async fn strict_schemas_that_are_taken() {
    let with = |schema: Value| object(json!({"a": schema}), json!(["a"]));
    let mut referring = with(json!({"$ref": "#/$defs/b"}));
    referring["$defs"] = json!({"b": with(json!({"anyOf": [{"$ref": "#"}, {"type": "null"}]}))});
    taken(vec![
        strict(with(json!({"type": ["string", "null"], "pattern": "^a"}))),
        strict(with(json!({"type": "integer", "minimum": 1, "maximum": 5}))),
        strict(referring),
        bare().with(
            "/response_format",
            json!({"type": "json_schema", "json_schema": {"name": "p", "schema": {"type": "object"}}}),
        ),
    ])
    .await;
}

#[tokio::test]
async fn models_refuse_what_others_take() {
    refused(vec![
        bad(
            chat().model("o3").with("/max_tokens", json!(9)),
            "Use 'max_completion_tokens' instead",
        ),
        bad(
            chat().model("o3").with("/temperature", json!(0.2)),
            "'temperature' does not support 0.2",
        ),
        bad(
            chat().model("gpt-5").with("/top_p", json!(0.5)),
            "'top_p' does not support 0.5",
        ),
        bad(
            chat()
                .model("o4-mini")
                .with("/parallel_tool_calls", json!(true)),
            "'parallel_tool_calls' is not supported",
        ),
        bad(
            chat().model("o3").with("/stop", json!("x")),
            "'stop' is not supported",
        ),
        bad(
            chat().with("/reasoning_effort", json!("low")),
            "Unrecognized request argument supplied: reasoning_effort",
        ),
        bad(
            chat()
                .model("gpt-5.4")
                .with("/reasoning_effort", json!("low")),
            "Function tools with reasoning_effort are not supported for gpt-5.4",
        ),
        bad(
            chat().model("gpt-5.6-terra"),
            "Function tools with reasoning_effort are not supported for gpt-5.6-terra",
        ),
        bad(
            bare().model("gpt-5.6").with("/temperature", json!(0.2)),
            "'temperature' does not support",
        ),
        bad(
            chat().model("deepseek-reasoner"),
            "does not support Function Calling",
        ),
        bad(
            strict(object(json!({}), json!([]))).model("deepseek-chat"),
            "This response_format type is unavailable now",
        ),
    ])
    .await;
}

#[tokio::test]
async fn models_take_what_others_refuse() {
    taken(vec![
        chat()
            .model("o3")
            .with("/temperature", json!(1))
            .with("/max_completion_tokens", json!(9)),
        chat()
            .model("gpt-5.6-terra")
            .with("/reasoning_effort", json!("none"))
            .with("/temperature", json!(0.2)),
        chat().model("gpt-5.4").with("/temperature", json!(0.2)),
        bare()
            .model("gpt-5.6")
            .with("/reasoning_effort", json!("xhigh")),
        chat().model("llama-3.3-70b").with("/max_tokens", json!(9)),
    ])
    .await;
}
