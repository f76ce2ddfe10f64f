//! Defines JSON schemas of the answers, one per question, compiled once.
//!
//! They use only what the strict modes of all providers accept: everything inlined, every object closed with all
//! properties required, absence as null or an empty list, no lengths or patterns. The content of strings (an evidence
//! id, a step's id) is checked where they are parsed.

use std::sync::{Arc, LazyLock};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use nightshift_llm::chat::OutputSchema;

/// Maximum number of validator messages that a model is shown.
const MAX_PROBLEMS: usize = 8;

/// Schema and validator of an answer.
pub(super) struct AnswerSchema {
    name: &'static str,
    schema: Arc<Value>,
    validator: Option<Validator>,
}

impl AnswerSchema {
    fn new(name: &'static str, schema: Value) -> Self {
        Self {
            name,
            // All drafts have the features in use, and draft 7 has by far the smallest meta-schema to check against.
            validator: jsonschema::draft7::new(&schema).ok(),
            schema: Arc::new(schema),
        }
    }

    /// Returns the schema in the form of a request.
    pub(super) fn output(&self) -> OutputSchema {
        OutputSchema {
            name: self.name.to_owned(),
            schema: Arc::clone(&self.schema),
        }
    }

    pub(super) fn schema(&self) -> &Value {
        &self.schema
    }

    /// Returns the problems of an answer, each with its place.
    pub(super) fn problems(&self, value: &Value) -> Vec<String> {
        let Some(validator) = &self.validator else {
            return Vec::new();
        };
        validator
            .iter_errors(value)
            .take(MAX_PROBLEMS)
            .map(|error| {
                let at = error.instance_path().as_str().to_owned();
                let said = nightshift_alert::text::truncate(&error.to_string(), 200).into_owned();
                let at = if at.is_empty() { "the answer" } else { &at };
                format!("{at}: {said}")
            })
            .collect()
    }
}

fn object(properties: &[(&str, Value)]) -> Value {
    let all: Map<String, Value> = properties
        .iter()
        .map(|(name, schema)| ((*name).to_owned(), schema.clone()))
        .collect();
    let names: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    json!({"type": "object", "properties": all, "required": names, "additionalProperties": false})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn enum_of(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

fn or_null(schema: Value) -> Value {
    json!({"anyOf": [schema, {"type": "null"}]})
}

fn call() -> Value {
    let argument = object(&[
        ("name", text()),
        ("value", json!({"type": ["string", "integer"]})),
    ]);
    object(&[("tool", text()), ("arguments", list(argument))])
}

fn step() -> Value {
    object(&[
        ("id", text()),
        ("description", text()),
        ("expected", text()),
        ("tools", list(text())),
        ("calls", list(call())),
        ("depends_on", list(text())),
        ("key", json!({"type": "boolean"})),
    ])
}

fn finding() -> Value {
    let quote = object(&[("evidence", text()), ("quote", text())]);
    object(&[
        ("claim", text()),
        ("stance", enum_of(&["for", "against"])),
        ("quotes", list(quote)),
    ])
}

fn outcome() -> Value {
    enum_of(&["met", "unmet", "failed"])
}

pub(super) static PLAN: LazyLock<AnswerSchema> = LazyLock::new(|| {
    let schema = object(&[
        ("reasoning", text()),
        ("mode", enum_of(&["direct", "planned", "adaptive"])),
        ("objective", text()),
        ("steps", list(step())),
    ]);
    AnswerSchema::new("plan", schema)
});

pub(super) static RESULT: LazyLock<AnswerSchema> = LazyLock::new(|| {
    let schema = object(&[
        ("outcome", outcome()),
        ("summary", text()),
        ("findings", list(finding())),
    ]);
    AnswerSchema::new("finish_step", schema)
});

/// Turn of a model that takes no tools: calls, or the step's result.
pub(super) static TURN: LazyLock<AnswerSchema> = LazyLock::new(|| {
    let schema = object(&[
        ("calls", list(call())),
        ("outcome", or_null(outcome())),
        ("summary", text()),
        ("findings", list(finding())),
    ]);
    AnswerSchema::new("turn", schema)
});

pub(super) static DECIDE: LazyLock<AnswerSchema> = LazyLock::new(|| {
    let judgement = object(&[
        ("outcome", outcome()),
        ("summary", text()),
        ("findings", list(finding())),
    ]);
    let schema = object(&[
        ("judgement", or_null(judgement)),
        ("reasoning", text()),
        ("next", or_null(step())),
    ]);
    AnswerSchema::new("decision", schema)
});

pub(super) static REFLECT: LazyLock<AnswerSchema> = LazyLock::new(|| {
    let update = object(&[
        ("type", enum_of(&["add_step", "update_step", "cancel_step"])),
        ("reason", text()),
        ("id", json!({"type": ["string", "null"]})),
        ("step", or_null(step())),
    ]);
    let schema = object(&[
        ("achieved", json!({"type": "boolean"})),
        ("insights", list(text())),
        ("plan_updates", list(update)),
    ]);
    AnswerSchema::new("reflection", schema)
});

pub(super) static CONCLUDE: LazyLock<AnswerSchema> = LazyLock::new(|| {
    let action = object(&[("id", text()), ("values", list(text()))]);
    let schema = object(&[
        ("findings", list(finding())),
        ("reasoning", text()),
        (
            "verdict",
            enum_of(&[
                "true_positive",
                "benign_true_positive",
                "false_positive",
                "inconclusive",
            ]),
        ),
        ("leaning", enum_of(&["malicious", "benign", "none"])),
        (
            "reason",
            enum_of(&[
                "suspicious_activity",
                "authorised_activity",
                "wrong_detection_logic",
                "wrong_data",
                "missing_data",
                "tool_failure",
                "budget_exhausted",
                "not_exonerated",
                "suspected_manipulation",
            ]),
        ),
        (
            "severity",
            enum_of(&["informational", "low", "medium", "high", "critical"]),
        ),
        ("gaps", list(text())),
        ("would_decide", list(text())),
        ("actions", list(action)),
        ("techniques", list(text())),
        ("meaning", text()),
    ]);
    AnswerSchema::new("conclusion", schema)
});

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> [&'static AnswerSchema; 6] {
        [&PLAN, &RESULT, &TURN, &DECIDE, &REFLECT, &CONCLUDE]
    }

    /// Checks that every object, at any depth, meets the rules of the strict modes.
    fn strict(schema: &Value, at: &str) {
        match schema {
            Value::Object(map) => {
                assert!(!map.contains_key("$ref"), "{at}: nothing is referred to");
                if let Some(Value::Object(properties)) = map.get("properties") {
                    assert_eq!(map["additionalProperties"], false, "{at}");
                    let mut required: Vec<_> = map["required"].as_array().unwrap().iter().collect();
                    required.sort_by_key(|name| name.as_str());
                    let mut names: Vec<_> = properties.keys().map(String::as_str).collect();
                    names.sort_unstable();
                    assert_eq!(required, names, "{at}");
                }
                for (key, inner) in map {
                    strict(inner, &format!("{at}/{key}"));
                }
            }
            Value::Array(list) => list.iter().for_each(|inner| strict(inner, at)),
            _ => {}
        }
    }

    #[test]
    fn every_schema_compiles_and_is_strict() {
        for shape in all() {
            assert!(shape.validator.is_some(), "{}", shape.name);
            strict(shape.schema(), shape.name);
        }
    }

    #[test]
    fn problems_name_their_place() {
        let problems = RESULT.problems(&json!({"outcome": "found", "summary": 1, "findings": []}));
        insta::assert_snapshot!(problems.join("\n"), @r#"
        /outcome: "found" is not one of "met", "unmet" or "failed"
        /summary: 1 is not of type "string"
        "#);
    }
}
