//! Tests refusals of Anthropic.

use nightshift_tests::model::Provider;
use serde_json::{Value, json};

use super::{RawRequest, RefusalRow, refused, taken, valid_request};

fn ask() -> RawRequest {
    valid_request(Provider::Anthropic)
}

fn bad(request: RawRequest, words: &'static str) -> RefusalRow {
    (request, 400, words)
}

fn wanting(schema: Value) -> RawRequest {
    let format = json!({"format": {"type": "json_schema", "schema": schema}});
    ask().with("/output_config", format)
}

fn object(properties: Value, required: Value) -> Value {
    json!({"type": "object", "additionalProperties": false, "properties": properties, "required": required})
}

#[tokio::test]
async fn keys_and_versions() {
    let old = |key| ask().header("authorization", None).header("x-api-key", key);
    refused(vec![
        (old(None), 401, "x-api-key header is required"),
        (old(Some(" ")), 401, "x-api-key header is required"),
        (old(Some("sk-wrong")), 401, "invalid x-api-key"),
        (
            ask().header("x-api-key", Some("wrong")),
            401,
            "invalid x-api-key",
        ),
        bad(
            ask().header("anthropic-version", None),
            "anthropic-version: header is required",
        ),
        bad(
            ask().header("anthropic-version", Some("2099-01-01")),
            "is not a valid version",
        ),
    ])
    .await;
    taken(vec![
        old(Some("sk-ant")).header("anthropic-version", Some("2023-06-01")),
    ])
    .await;
}

#[tokio::test]
async fn fields_and_blocks() {
    let content = |blocks: Value| ask().with("/messages/0/content", blocks);
    let mark = json!({"type": "ephemeral"});
    let marked = json!({"type": "text", "text": "a", "cache_control": mark});
    refused(vec![
        bad(
            ask().with("/n", json!(2)),
            "n: Extra inputs are not permitted",
        ),
        bad(
            ask().with("/messages/0/name", json!("x")),
            "messages.0.name: Extra inputs are not permitted",
        ),
        bad(
            ask().with("/max_tokens", Value::Null),
            "max_tokens: Field required",
        ),
        bad(ask().with("/max_tokens", json!(0)), "max_tokens"),
        bad(
            content(json!("")),
            "all messages must have non-empty content",
        ),
        bad(
            content(json!([])),
            "all messages must have non-empty content",
        ),
        bad(
            content(json!([{"type": "text", "text": ""}])),
            "text content blocks must be non-empty",
        ),
        bad(
            content(json!([{"type": "text", "text": " \n"}])),
            "must contain non-whitespace text",
        ),
        bad(
            content(json!([{"type": "input_text", "text": "a"}])),
            "Input tag 'input_text'",
        ),
        bad(
            ask().with("/system", json!([{"type": "text", "text": ""}])),
            "must be non-empty",
        ),
        bad(
            content(json!([marked, marked, marked, marked, marked])),
            "A maximum of 4 blocks with cache_control",
        ),
        bad(
            content(json!([{"type": "text", "text": "a", "cache_control": {"type": "forever"}}])),
            "invalid value: 'forever'",
        ),
        bad(
            ask().with("/metadata", json!({"user": "a"})),
            "metadata.user: Extra inputs",
        ),
    ])
    .await;
    taken(vec![content(json!([marked, marked, marked, marked]))]).await;
}

#[tokio::test]
async fn tools() {
    let at = "/tools/0/input_schema";
    refused(vec![
        bad(ask().with("/tools", json!([])), "at least 1"),
        bad(
            ask().with("/tools/0/name", json!("log.search")),
            "'^[a-zA-Z0-9_-]{1,128}$'",
        ),
        bad(
            ask().with(
                "/tools/-",
                json!({"name": "lookup", "input_schema": {"type": "object"}}),
            ),
            "Tool names must be unique",
        ),
        bad(
            ask().with(at, Value::Null),
            "tools.0.input_schema: Field required",
        ),
        bad(
            ask().with(&format!("{at}/type"), json!("array")),
            "tools.0.input_schema.type",
        ),
        bad(
            ask().with(&format!("{at}/anyOf"), json!([])),
            "does not support oneOf, allOf, or anyOf at the top level",
        ),
        bad(
            ask().with("/tools/0/parameters", json!({})),
            "tools.0.parameters: Extra inputs",
        ),
        bad(
            ask().with("/tool_choice", json!({"type": "tool", "name": "no"})),
            "Tool 'no' not found",
        ),
        bad(
            ask()
                .with("/tools", Value::Null)
                .with("/tool_choice", json!({"type": "any"})),
            "only be specified while providing tools",
        ),
    ])
    .await;
    taken(vec![
        ask().with("/tools/0/strict", json!(true)),
        ask().with(
            "/tool_choice",
            json!({"type": "any", "disable_parallel_tool_use": true}),
        ),
    ])
    .await;
}

#[tokio::test]
async fn structured_outputs() {
    let text = json!({"type": "string"});
    let with = |schema: Value| object(json!({"a": schema}), json!(["a"]));
    refused(vec![
        bad(
            wanting(with(json!({"type": "integer", "minimum": 1}))),
            "For 'integer' type, properties minimum are not supported",
        ),
        bad(
            wanting(with(json!({"type": "string", "maxLength": 9}))),
            "properties maxLength are not supported",
        ),
        bad(
            wanting(with(json!({"type": "object", "properties": {}}))),
            "'additionalProperties' must be explicitly set to false",
        ),
        bad(
            wanting(with(json!({"type": "array", "items": text, "minItems": 2}))),
            "'minItems' values other than 0 or 1",
        ),
        bad(
            wanting(with(json!({"oneOf": [text]}))),
            "properties oneOf are not supported",
        ),
        bad(
            wanting(with(json!({"$ref": "#"}))),
            "Recursive schemas are not supported",
        ),
        bad(
            wanting(with(text.clone())).model("claude-3-5-haiku-20241022"),
            "not supported by this model",
        ),
        bad(
            ask().with("/output_format", json!({})),
            "output_format: Extra inputs are not permitted",
        ),
    ])
    .await;
    taken(vec![
        wanting(with(
            json!({"type": "array", "items": {"enum": ["x"]}, "minItems": 1}),
        )),
        wanting(with(text)).model("claude-haiku-4-5"),
    ])
    .await;
}

#[tokio::test]
async fn grammars_have_their_limits() {
    let many = |count: usize, schema: Value| -> Value {
        (0..count)
            .map(|index| (format!("f{index}"), schema.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let text = || json!({"type": "string"});
    let nullable = json!({"type": ["string", "null"]});
    let names = |count: usize| -> Value { (0..count).map(|index| format!("f{index}")).collect() };
    refused(vec![
        bad(
            wanting(object(many(25, text()), json!([]))),
            "too many optional parameters (25)",
        ),
        bad(
            wanting(object(many(17, nullable.clone()), names(17))),
            "too many parameters with union types (17",
        ),
    ])
    .await;
    taken(vec![
        wanting(object(many(24, text()), json!([]))),
        wanting(object(many(16, nullable), names(16))),
    ])
    .await;
}

fn before() -> RawRequest {
    ask().header("anthropic-version", Some("2023-06-01"))
}

fn old() -> RawRequest {
    before().model("claude-sonnet-4-5")
}

#[tokio::test]
async fn sampling_is_a_matter_of_version_and_model() {
    refused(vec![
        bad(
            ask().with("/temperature", json!(1.0)),
            "temperature: Extra inputs are not permitted",
        ),
        bad(
            ask().model("claude-sonnet-4-5").with("/top_p", json!(0.2)),
            "top_p: Extra inputs are not permitted",
        ),
        bad(
            before().with("/temperature", json!(0.2)),
            "`temperature` is deprecated for this model.",
        ),
        bad(
            before().model("claude-opus-4-7").with("/top_p", json!(0.2)),
            "`top_p` is deprecated for this model.",
        ),
        bad(
            before().with("/top_k", json!(2)),
            "`top_k` is deprecated for this model.",
        ),
        bad(
            old()
                .with("/temperature", json!(0.2))
                .with("/top_p", json!(0.2)),
            "cannot both be specified",
        ),
        bad(
            old().with("/temperature", json!(1.5)),
            "number out of range",
        ),
    ])
    .await;
    taken(vec![old().with("/temperature", json!(0.2))]).await;
}

#[tokio::test]
async fn models_think_and_go_on_in_their_own_ways() {
    let prefill = json!({"role": "assistant", "content": "The answer is"});
    let budget = json!({"type": "enabled", "budget_tokens": 1024});
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "lookup", "input": {}});
    let result = json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "{}"}]);
    let called = |blocks: Value, thinking: &Value| {
        old()
            .with("/max_tokens", json!(4000))
            .with("/thinking", thinking.clone())
            .with(
                "/messages/-",
                json!({"role": "assistant", "content": blocks}),
            )
            .with("/messages/-", json!({"role": "user", "content": result}))
    };
    refused(vec![
        bad(
            ask().with("/messages/-", prefill.clone()),
            "does not support assistant message prefill",
        ),
        bad(
            ask().with("/thinking", budget.clone()),
            "\"thinking.type.enabled\" is not supported for this model",
        ),
        bad(
            old().with("/thinking", budget.clone()),
            "`max_tokens` must be greater than",
        ),
        bad(
            ask()
                .with("/thinking", json!({"type": "adaptive"}))
                .with("/tool_choice", json!({"type": "any"})),
            "Thinking may not be enabled when tool_choice forces tool use",
        ),
        bad(
            called(json!([call]), &budget),
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`",
        ),
        bad(
            called(json!([{"type": "text", "text": "I look."}, call]), &budget),
            "but found `text`",
        ),
    ])
    .await;
    taken(vec![
        called(
            json!([{"type": "redacted_thinking", "data": "c2VhbGVk"}, call]),
            &budget,
        ),
        called(json!([call]), &json!({"type": "disabled"})),
        old().with("/messages/-", prefill),
        old()
            .with("/max_tokens", json!(4000))
            .with("/thinking", budget),
        ask()
            .with("/thinking", json!({"type": "adaptive"}))
            .with("/output_config", json!({"effort": "high"})),
    ])
    .await;
}
