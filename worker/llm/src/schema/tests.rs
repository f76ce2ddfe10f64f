//! Tests dialects, strictness, and learning of the working mode.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::ModelProvider;

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
    assert!(!is_strict(&json!({"type": "array", "items": {}})));
}

#[test]
fn a_grammar_gets_no_keyword_that_it_may_drop() {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["score", "name", "any"],
        "properties": {
            "score": {"type": "number", "minimum": 0, "maximum": 1, "multipleOf": 0.1},
            "name": {"type": "string", "description": "Its name.", "pattern": "\\d+", "maxLength": 9},
            "address": {"type": "string", "format": "ipv4", "not": {"const": "0.0.0.0"}},
            "any": true,
            "none": false,
            "list": {"type": "array", "items": true, "maxItems": 3},
            "either": {"anyOf": [true, {"type": "null"}]},
        },
    });
    insta::assert_snapshot!(GRAMMAR.fit(&schema), @r#"{"additionalProperties":false,"properties":{"address":{"description":"(format: \"ipv4\", not: {\"const\":\"0.0.0.0\"})","type":"string"},"any":{},"either":{"anyOf":[{},{"type":"null"}]},"list":{"items":{},"maxItems":3,"type":"array"},"name":{"description":"Its name. (maxLength: 9, pattern: \"\\\\d+\")","type":"string"},"none":{"description":"(nothing fits)"},"score":{"description":"(maximum: 1, minimum: 0, multipleOf: 0.1)","type":"number"}},"required":["score","name","any"],"type":"object"}"#);
    assert!(!GRAMMAR.fit(&schema).to_string().contains("true"));
}

#[test]
fn a_boolean_schema_goes_to_no_provider() {
    let schema = json!({"type": "object", "properties": {"a": true, "b": {"items": true}}});
    for dialect in [OPENAI, GRAMMAR, ANTHROPIC, GEMINI] {
        let fitted = dialect.fit(&schema);
        assert_eq!(fitted["properties"], json!({"a": {}, "b": {"items": {}}}));
        assert!(!is_strict(&fitted));
    }
}

#[test]
fn ways_beside_tools_are_learnt_apart() {
    let mut config = ModelConfig::new(ModelProvider::Openai, "m");
    config.base_url = Some("http://127.0.0.1:8080/v1".to_owned());
    let ways = SchemaFallback::new(&config, &Quirks::from_config(&config));
    let modes = || (ways.mode(false), ways.mode(true));
    assert_eq!(modes(), (SchemaMode::Strict, SchemaMode::Tool));
    let refused = ChatError::new(
        "openai/m",
        ChatFailure::BadRequest,
        "tool_choice is not supported",
    );
    assert!(ways.downgrade_on(true, SchemaMode::Tool, &refused));
    assert_eq!(modes(), (SchemaMode::Strict, SchemaMode::Prompt));
}

#[test]
fn a_refused_way_is_not_tried_again() {
    let config = ModelConfig::new(ModelProvider::Openai, "m");
    let ways = SchemaFallback::new(&config, &Quirks::from_config(&config));
    let refused = |what: &str| ChatError::new("openai/m", ChatFailure::BadRequest, what);
    assert!(!ways.downgrade_on(false, SchemaMode::Strict, &refused("unknown model")));
    let effort = "\"thinking.type.disabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.";
    assert!(!ways.downgrade_on(false, SchemaMode::Strict, &refused(effort)));
    assert!(!ways.downgrade_on(
        false,
        SchemaMode::Strict,
        &ChatError::new(
            "openai/m",
            ChatFailure::Overloaded { after: None },
            "response_format"
        )
    ));
    assert_eq!(ways.mode(false), SchemaMode::Strict);
    assert!(ways.downgrade_on(
        false,
        SchemaMode::Strict,
        &refused("'response_format.type' must be text")
    ));
    assert!(
        ways.downgrade_on(
            false,
            SchemaMode::Strict,
            &refused("json_schema is not supported")
        ),
        "asked at the same time"
    );
    assert_eq!(ways.mode(false), SchemaMode::Tool);
    assert!(ways.downgrade_on(
        false,
        SchemaMode::Tool,
        &refused("tool_choice is not supported")
    ));
    assert_eq!(ways.mode(false), SchemaMode::Prompt);
    assert!(!ways.downgrade_on(false, SchemaMode::Prompt, &refused("response_format")));
}

#[test]
fn the_words_hold_the_schema() {
    let output = OutputSchema {
        name: "plan".to_owned(),
        schema: Arc::new(json!({"type": "object"})),
    };
    assert!(
        schema_prompt(&output, true)
            .starts_with("Unless you call a tool, answer with one JSON object")
    );
    assert!(schema_prompt(&output, false).ends_with("{\"type\":\"object\"}"));
}

#[tokio::test]
async fn only_requests_that_were_taken_count() {
    let refused = |what: &str| ChatError::new("openai/m", ChatFailure::BadRequest, what);
    let limited = ChatError::new(
        "openai/m",
        ChatFailure::RateLimited { after: None },
        "slow down",
    );
    for (last, requests) in [(limited, 1), (refused("no such model"), 2)] {
        let config = ModelConfig::new(ModelProvider::Openai, "m");
        let ways = SchemaFallback::new(&config, &Quirks::from_config(&config));
        let ask = |mode| {
            let error = match mode {
                SchemaMode::Strict => refused("response_format"),
                _ => last.clone(),
            };
            async { Err(error) }
        };
        let asked = [ways.run(false, ask).await, ways.run(false, ask).await];
        let counted = asked.map(|one| one.unwrap_err().requests);
        assert_eq!(counted, [requests, requests - 1]);
    }
}
