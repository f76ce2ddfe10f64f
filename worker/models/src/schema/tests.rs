//! Dialects, strictness, and learning which way works.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::Provider;

#[test]
fn what_a_dialect_does_not_know_is_told_in_words() {
    let schema = json!({
        "$schema": "x", "title": "T", "type": "object", "additionalProperties": false, "required": ["a", "b"],
        "properties": {
            "a": {"type": "string", "description": "The a.", "minLength": 3},
            "b": {"type": "array", "minItems": 2, "items": {"oneOf": [{"const": "x"}, {"type": "integer", "minimum": 1}]}},
        },
    });
    insta::assert_snapshot!(OPENAI.fit(&schema), @r#"{"additionalProperties":false,"properties":{"a":{"description":"The a. (minLength: 3)","type":"string"},"b":{"items":{"anyOf":[{"const":"x"},{"minimum":1,"type":"integer"}]},"minItems":2,"type":"array"}},"required":["a","b"],"type":"object"}"#);
    insta::assert_snapshot!(ANTHROPIC.fit(&schema)["properties"]["b"], @r#"{"description":"(minItems: 2)","items":{"anyOf":[{"const":"x"},{"description":"(minimum: 1)","type":"integer"}]},"type":"array"}"#);
    insta::assert_snapshot!(GEMINI.fit(&schema)["properties"]["b"], @r#"{"items":{"anyOf":[{"enum":["x"]},{"minimum":1,"type":"integer"}]},"minItems":2,"type":"array"}"#);
}

#[test]
fn a_property_may_be_called_as_a_keyword_is() {
    let schema = json!({"type": "object", "properties": {"title": {"type": "string"}, "pattern": {"type": "string"}}});
    assert_eq!(ANTHROPIC.fit(&schema), schema);
}

#[test]
fn strict_means_closed_and_all_required() {
    let closed = json!({"type": "object", "additionalProperties": false, "properties": {"a": {"type": "string"}}, "required": ["a"]});
    assert!(is_strict(&closed));
    assert!(is_strict(
        &json!({"type": "object", "additionalProperties": false, "properties": {}})
    ));
    assert!(!is_strict(&json!({"type": "object", "properties": {}})));
    assert!(!is_strict(
        &json!({"type": "object", "additionalProperties": false, "properties": {"a": {}}})
    ));
    assert!(!is_strict(
        &json!({"type": "array", "items": {"type": "object"}})
    ));
}

#[test]
fn a_refused_way_is_not_tried_again() {
    let ways = Ways::new(&ModelConfig::new(Provider::Openai, "m"), SchemaMode::Strict);
    let refused = |what: &str| ChatError::new("openai/m", Failure::BadRequest, what);
    assert!(!ways.weaken(SchemaMode::Strict, &refused("unknown model")));
    let effort = "\"thinking.type.disabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.";
    assert!(!ways.weaken(SchemaMode::Strict, &refused(effort)));
    assert!(!ways.weaken(
        SchemaMode::Strict,
        &ChatError::new(
            "openai/m",
            Failure::Overloaded { after: None },
            "response_format"
        )
    ));
    assert_eq!(ways.mode(), SchemaMode::Strict);
    assert!(ways.weaken(
        SchemaMode::Strict,
        &refused("'response_format.type' must be text")
    ));
    assert!(
        ways.weaken(SchemaMode::Strict, &refused("json_schema is not supported")),
        "asked at the same time"
    );
    assert_eq!(ways.mode(), SchemaMode::Tool);
    assert!(ways.weaken(SchemaMode::Tool, &refused("tool_choice is not supported")));
    assert_eq!(ways.mode(), SchemaMode::Prompt);
    assert!(!ways.weaken(SchemaMode::Prompt, &refused("response_format")));
}

#[test]
fn the_words_hold_the_schema() {
    let output = OutputSchema {
        name: "plan".to_owned(),
        schema: Arc::new(json!({"type": "object"})),
    };
    assert!(
        words(&output, true).starts_with("Unless you call a tool, answer with one JSON object")
    );
    assert!(words(&output, false).ends_with("{\"type\":\"object\"}"));
}

#[tokio::test]
async fn only_requests_that_were_taken_count() {
    let refused = |what: &str| ChatError::new("openai/m", Failure::BadRequest, what);
    let limited = ChatError::new(
        "openai/m",
        Failure::RateLimited { after: None },
        "slow down",
    );
    for (last, requests) in [(limited, 1), (refused("no such model"), 2)] {
        let ways = Ways::new(&ModelConfig::new(Provider::Openai, "m"), SchemaMode::Strict);
        let ask = |mode| {
            let error = match mode {
                SchemaMode::Strict => refused("response_format"),
                _ => last.clone(),
            };
            async { Err(error) }
        };
        let asked = [ways.walk(ask).await, ways.walk(ask).await];
        let counted = asked.map(|one| one.unwrap_err().requests);
        assert_eq!(counted, [requests, requests - 1]);
    }
}
