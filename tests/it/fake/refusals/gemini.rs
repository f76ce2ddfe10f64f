//! Tests refusals of Gemini and Vertex.

use nightshift_tests::model::Provider;
use serde_json::{Value, json};

use super::{RawRequest, RefusalRow, refused, taken, valid_request};

fn ask() -> RawRequest {
    valid_request(Provider::Gemini)
}

fn bad(request: RawRequest, words: &'static str) -> RefusalRow {
    (request, 400, words)
}

fn wanting(field: &str, schema: Value) -> RawRequest {
    ask().with("/tools", Value::Null).with(
        "/generationConfig",
        json!({"responseMimeType": "application/json", field: schema}),
    )
}

fn generation(config: Value) -> RawRequest {
    ask().with("/generationConfig", config)
}

#[tokio::test]
async fn keys() {
    let vertex = || valid_request(Provider::Vertex);
    refused(vec![
        (
            ask().header("x-goog-api-key", None),
            403,
            "unregistered callers",
        ),
        bad(
            ask().header("x-goog-api-key", Some("wrong")),
            "API key not valid",
        ),
        (
            vertex().header("authorization", None),
            401,
            "invalid authentication credentials",
        ),
        bad(
            ask().path("/v1beta/models/gemini-3-pro:streamGenerateContent"),
            "?alt=sse",
        ),
    ])
    .await;
    let path = "/v1beta/models/gemini-3-pro:generateContent?key=AIza";
    taken(vec![ask().header("x-goog-api-key", None).path(path)]).await;
}

#[tokio::test]
async fn fields_and_contents() {
    let part = |part: Value| ask().with("/contents/0/parts/0", part);
    refused(vec![
        bad(
            ask().with("/n", json!(2)),
            "Unknown name \"n\": Cannot find field.",
        ),
        bad(
            part(json!({"text": "a", "type": "text"})),
            "Unknown name \"type\" at 'contents[0].parts[0]': Cannot find field.",
        ),
        bad(
            ask().with("/contents", json!([])),
            "GenerateContentRequest.contents: contents is not specified",
        ),
        bad(
            ask().with("/contents/0/parts", json!([])),
            "parts is not specified",
        ),
        bad(part(json!({})), "must have one initialized field"),
        bad(
            part(json!({"text": "a", "functionResponse": {"name": "x", "response": {}}})),
            "is already set",
        ),
        bad(
            ask().with("/contents/0/role", json!("assistant")),
            "Please use a valid role: user, model.",
        ),
        bad(
            ask().with("/contents/0/role", json!("model")),
            "begin with a user turn",
        ),
        bad(
            generation(json!({"temperature": 2.5})),
            "number out of range",
        ),
        bad(
            generation(json!({"max_tokens": 5})),
            "Unknown name \"maxTokens\" at 'generationConfig'",
        ),
        bad(
            generation(json!({"thinkingConfig": {"thinkingLevel": "LOW", "thinkingBudget": 1}})),
            "only one of thinking budget and thinking level",
        ),
        bad(
            generation(json!({"thinkingConfig": {"thinkingLevel": "LOW"}}))
                .model("gemini-2.5-flash"),
            "Thinking level is not supported",
        ),
        bad(
            ask().with("/labels", json!({"a": "b"})),
            "Unknown name \"labels\"",
        ),
    ])
    .await;
    taken(vec![
        valid_request(Provider::Vertex).with("/labels", json!({"a": "b"})),
        generation(json!({"thinkingConfig": {"thinkingLevel": "low"}, "maxOutputTokens": 9})),
    ])
    .await;
}

#[tokio::test]
async fn tools() {
    let at = "/tools/0/functionDeclarations/0";
    let own = |schema: Value| {
        ask()
            .with(&format!("{at}/parametersJsonSchema"), Value::Null)
            .with(&format!("{at}/parameters"), schema)
    };
    refused(vec![
        bad(ask().with("/tools", json!([])), "tools is not specified"),
        bad(
            ask().with("/tools/0/functionDeclarations", json!([])),
            "functionDeclarations is not specified",
        ),
        bad(
            ask().with(&format!("{at}/name"), json!("1st")),
            "Invalid function name",
        ),
        bad(
            ask().with(&format!("{at}/description"), json!("")),
            "description is not specified",
        ),
        bad(
            ask().with(
                "/tools/0/functionDeclarations/-",
                json!({"name": "lookup", "description": "d"}),
            ),
            "Duplicate function declaration",
        ),
        bad(
            own(json!({"type": "OBJECT", "properties": {}})),
            "should be non-empty for OBJECT type",
        ),
        bad(
            own(json!({"type": "object", "properties": {"a": {"type": "array"}}})),
            "items: missing field",
        ),
        bad(
            own(json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}})),
            "expected string",
        ),
        bad(
            own(json!({"type": "object", "properties": {"a": {"type": "string"}}, "$schema": "x"})),
            "Unknown name \"$schema\"",
        ),
    ])
    .await;
    taken(vec![own(json!({
        "type": "OBJECT", "properties": {"a": {"type": "STRING", "nullable": true}},
    }))])
    .await;
}

#[tokio::test]
async fn which_tool_is_called() {
    let config =
        |config: Value| ask().with("/toolConfig", json!({"functionCallingConfig": config}));
    refused(vec![
        bad(
            config(json!({"mode": "AUTO", "allowedFunctionNames": ["lookup"]})),
            "should only be set when",
        ),
        bad(
            config(json!({"mode": "ANY", "allowedFunctionNames": ["no"]})),
            "no is not declared",
        ),
        bad(
            config(json!({"mode": "ANY"})).with("/tools", Value::Null),
            "without function_declarations",
        ),
    ])
    .await;
    let one = json!({"mode": "ANY", "allowedFunctionNames": ["lookup"]});
    taken(vec![config(one)]).await;
}

#[tokio::test]
async fn wanted_schemas() {
    let own = |schema: Value| wanting("responseSchema", schema);
    let standard = |schema: Value| wanting("responseJsonSchema", schema);
    let mime =
        json!({"responseMimeType": "application/json", "responseSchema": {"type": "STRING"}});
    refused(vec![
        bad(own(json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]})), "property is not defined: b"),
        bad(own(json!({"type": "integer", "enum": ["1"]})), "only allowed for STRING type"),
        bad(own(json!({"type": "string", "enum": [""]})), "cannot be empty"),
        bad(own(json!({"type": "string", "format": "ipv4"})), "got 'ipv4' for STRING"),
        bad(own(json!({"$ref": "#/$defs/a"})), "Unknown name \"$ref\""),
        bad(own(json!({"type": "string", "const": "a"})), "Unknown name \"const\""),
        bad(standard(json!({"type": "object", "patternProperties": {}})), "Unknown name \"patternProperties\""),
        bad(standard(json!({"$ref": "#/$defs/a", "type": "string", "$defs": {"a": {"type": "string"}}})), "may not stand beside $ref"),
        bad(ask().with("/generationConfig", json!({"responseSchema": {"type": "STRING"}})), "only allowed when response_mime_type is application/json"),
        bad(ask().with("/generationConfig", mime.clone()).model("gemini-2.5-pro"), "Function calling with a response mime type: 'application/json' is unsupported"),
    ])
    .await;
    taken(vec![
        own(json!({"type": "OBJECT", "properties": {"a": {"anyOf": [{"type": "STRING"}, {"type": "NULL"}]}}, "required": ["a"]})),
        standard(json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "additionalProperties": false})),
        ask().with("/generationConfig", mime),
    ])
    .await;
}
