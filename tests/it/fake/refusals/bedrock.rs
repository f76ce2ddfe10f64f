//! Tests refusals of Bedrock.

use nightshift_tests::model::Provider;
use serde_json::{Value, json};

use super::{RawRequest, RefusalRow, refused, taken, valid_request};

const R1: &str = "us.deepseek.r1-v1:0";
const NEWEST: &str = "eu.anthropic.claude-opus-4-7";

fn ask() -> RawRequest {
    valid_request(Provider::Bedrock)
}

fn bad(request: RawRequest, words: &'static str) -> RefusalRow {
    (request, 400, words)
}

fn wanting(schema: &Value) -> RawRequest {
    let structure = json!({"jsonSchema": {"schema": schema.to_string()}});
    let format = json!({"textFormat": {"type": "json_schema", "structure": structure}});
    ask().with("/outputConfig", format)
}

#[tokio::test]
async fn signatures() {
    let unsigned = || ask().header("authorization", None);
    let scope = "AKID/20260101/eu-west-1/bedrock/aws4_request";
    let header =
        format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host;x-amz-date, Signature=00");
    refused(vec![
        (unsigned(), 403, "Missing Authentication Token"),
        (
            ask().header("authorization", Some("Bearer wrong")),
            403,
            "security token",
        ),
        (
            unsigned().header("authorization", Some("AWS4-HMAC-SHA256 x")),
            403,
            "does not match the signature",
        ),
        (
            unsigned().header("authorization", Some(&header)),
            403,
            "does not match the signature",
        ),
    ])
    .await;
    let signed = unsigned()
        .header("authorization", Some(&header))
        .header("x-amz-date", Some("20260101T000000Z"));
    taken(vec![signed]).await;
}

#[tokio::test]
async fn fields_and_blocks() {
    let block = |block: Value| ask().with("/messages/0/content/0", block);
    refused(vec![
        bad(
            ask().with("/max_tokens", json!(2)),
            "extraneous key [max_tokens] is not permitted",
        ),
        bad(
            block(json!({"text": " "})),
            "text field in the ContentBlock object at messages.0.content.0 is blank",
        ),
        bad(
            block(json!({"text": "a", "cachePoint": {"type": "default"}})),
            "must have exactly one of its members set",
        ),
        bad(
            ask().with("/messages/0/content", json!([])),
            "content field in the Message object at messages.0 is empty",
        ),
        bad(
            ask().with("/messages/0/content", json!("text")),
            "expected array",
        ),
        bad(
            ask().with("/messages/0/role", json!("assistant")),
            "must start with a user message",
        ),
        bad(
            ask().with(
                "/messages/-",
                json!({"role": "user", "content": [{"text": "a"}]}),
            ),
            "must alternate between user and assistant",
        ),
        bad(
            ask().with("/inferenceConfig", json!({"temperature": 1.5})),
            "number out of range",
        ),
        bad(
            ask().with("/inferenceConfig", json!({"maxTokens": 0})),
            "below minimum",
        ),
    ])
    .await;
    taken(vec![
        ask().with(
            "/messages/0/content/-",
            json!({"cachePoint": {"type": "default"}}),
        ),
        ask().with(
            "/inferenceConfig",
            json!({"temperature": 0.1, "maxTokens": 9}),
        ),
    ])
    .await;
}

#[tokio::test]
async fn claude_is_as_strict_as_at_anthropic() {
    let called = |id: &str| {
        let call = json!({"toolUse": {"toolUseId": id, "name": "lookup", "input": {}}});
        let result = json!({"toolResult": {"toolUseId": id, "content": [{"text": "{}"}]}});
        ask()
            .with(
                "/messages/-",
                json!({"role": "assistant", "content": [call]}),
            )
            .with("/messages/-", json!({"role": "user", "content": [result]}))
    };
    let thinking = json!({"thinking": {"type": "enabled", "budget_tokens": 1024}});
    refused(vec![
        bad(
            called("functions.lookup:0"),
            "should match pattern '^[a-zA-Z0-9_-]+$'",
        ),
        bad(
            called("tooluse_1").with("/additionalModelRequestFields", thinking.clone()),
            "Expected `thinking` or `redacted_thinking`, but found `tool_use`",
        ),
    ])
    .await;
    taken(vec![
        called("tooluse_1"),
        ask().with("/additionalModelRequestFields", thinking),
        called("functions.lookup:0").model("moonshotai.kimi-k2"),
    ])
    .await;
}

#[tokio::test]
async fn tools_and_schemas() {
    let spec = "/toolConfig/tools/0/toolSpec";
    let closed = json!({"type": "object", "properties": {}, "additionalProperties": false});
    refused(vec![
        bad(
            ask().with("/toolConfig/tools", json!([])),
            "greater than or equal to 1",
        ),
        bad(
            ask().with(&format!("{spec}/name"), json!("log.search")),
            "regular expression pattern",
        ),
        bad(
            ask().with(&format!("{spec}/description"), json!("")),
            "greater than or equal to 1",
        ),
        bad(
            ask().with(
                &format!("{spec}/inputSchema/json"),
                json!({"type": "string"}),
            ),
            "must be one of the following: object",
        ),
        bad(
            ask().with("/toolConfig/toolChoice", json!({"tool": {"name": "no"}})),
            "is not defined in toolConfig",
        ),
        bad(
            ask().with("/toolConfig/toolChoice", json!({"auto": {}, "any": {}})),
            "exactly one of its members",
        ),
        bad(ask().model(R1), "doesn't support tool use"),
        bad(
            wanting(&closed).with("/toolConfig", Value::Null).model(R1),
            "doesn't support structured output",
        ),
        bad(
            wanting(&json!({"type": "object"})),
            "'additionalProperties' must be explicitly set to false",
        ),
        bad(
            ask()
                .model(NEWEST)
                .with("/inferenceConfig", json!({"temperature": 0.1})),
            "`temperature` is deprecated for this model",
        ),
    ])
    .await;
    taken(vec![
        wanting(&closed),
        ask().with("/toolConfig", Value::Null).model(R1),
        ask().with("/toolConfig/toolChoice", json!({"any": {}})),
    ])
    .await;
}
