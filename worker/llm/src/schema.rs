//! Requests answers to a schema, by the JSON Schema dialect of a provider, and the modes of requesting such an answer.
//!
//! A constraint that a provider does not support moves into the description, where the model reads it. The analyst
//! validates the answer anyway. The working mode is learnt once per model and process.

mod cache;

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::chat::{ChatAnswer, ChatError, ChatFailure, OutputSchema};
use serde_json::{Map, Value};

pub(crate) use self::cache::{DialectSchema, SchemaCache};
use crate::quirks::Quirks;
use crate::{ModelConfig, SchemaMode};

/// The JSON Schema subset of a provider.
pub(crate) struct SchemaDialect {
    /// Keywords whose values are not schemas.
    keywords: &'static [&'static str],
    /// True if `const` is supported; otherwise it becomes an `enum` with one value.
    has_const: bool,
    /// True if an array may require more than one item.
    has_min_items: bool,
}

/// Structured outputs of OpenAI (guide "Structured Outputs", supported schemas).
pub(crate) const OPENAI: SchemaDialect = SchemaDialect {
    keywords: &[
        "type",
        "enum",
        "const",
        "$ref",
        "pattern",
        "format",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minItems",
        "maxItems",
        "required",
    ],
    has_const: true,
    has_min_items: true,
};

/// Keywords that every server's grammar supports. llama.cpp silently drops the others, some always (bounds of a
/// `number`, `multipleOf`, `not`) and some at times (a `pattern` without anchors, lengths beside a pattern, most
/// formats). vLLM refuses keywords that its grammar does not support.
pub(crate) const GRAMMAR: SchemaDialect = SchemaDialect {
    keywords: &[
        "type", "enum", "const", "$ref", "minItems", "maxItems", "required",
    ],
    has_const: true,
    has_min_items: true,
};

/// Structured outputs of Anthropic, as its SDK transforms schemas.
pub(crate) const ANTHROPIC: SchemaDialect = SchemaDialect {
    keywords: &[
        "type", "enum", "const", "$ref", "format", "minItems", "required",
    ],
    has_const: true,
    has_min_items: false,
};

/// `responseJsonSchema` of Gemini (API reference, `GenerationConfig`).
pub(crate) const GEMINI: SchemaDialect = SchemaDialect {
    keywords: &[
        "type",
        "enum",
        "$ref",
        "format",
        "minimum",
        "maximum",
        "minItems",
        "maxItems",
        "required",
        "propertyOrdering",
    ],
    has_const: false,
    has_min_items: true,
};

/// Description of the tool by which an answer to a schema is given.
pub(crate) const ANSWER_TOOL_DESCRIPTION: &str =
    "Gives the answer, once no other tool needs to be called.";

/// Keywords that do not constrain a value.
const IGNORED_KEYWORDS: [&str; 6] = ["$schema", "$id", "$comment", "title", "default", "examples"];

impl SchemaDialect {
    /// Returns the schema in this dialect. A boolean schema becomes an object, because llama.cpp refuses a whole
    /// request for one `true`.
    fn fit(&self, schema: &Value) -> Value {
        let mut fitted = Map::new();
        let mut rest = Vec::new();
        let schema = match schema {
            Value::Object(schema) => schema,
            Value::Bool(false) => {
                append_description(&mut fitted, &["nothing fits".to_owned()]);
                return Value::Object(fitted);
            }
            _ => return Value::Object(fitted),
        };
        for (key, value) in schema {
            match key.as_str() {
                "properties" | "$defs" => {
                    fitted.insert(key.clone(), self.fit_map(value));
                }
                "additionalProperties" if value.is_boolean() => {
                    fitted.insert(key.clone(), value.clone());
                }
                "items" | "additionalProperties" => {
                    fitted.insert(key.clone(), self.fit(value));
                }
                "anyOf" | "oneOf" => {
                    fitted.insert("anyOf".to_owned(), self.fit_list(value));
                }
                "const" if !self.has_const => {
                    fitted.insert("enum".to_owned(), Value::Array(vec![value.clone()]));
                }
                "minItems"
                    if !self.has_min_items && value.as_u64().is_none_or(|least| least > 1) =>
                {
                    rest.push((key, value));
                }
                "description" => {
                    fitted.insert(key.clone(), value.clone());
                }
                key if self.keywords.contains(&key) => {
                    fitted.insert(key.to_owned(), value.clone());
                }
                key if IGNORED_KEYWORDS.contains(&key) => {}
                _ => rest.push((key, value)),
            }
        }
        let told: Vec<String> = rest
            .iter()
            .map(|(key, value)| format!("{key}: {value}"))
            .collect();
        append_description(&mut fitted, &told);
        Value::Object(fitted)
    }

    fn fit_map(&self, value: &Value) -> Value {
        let Value::Object(map) = value else {
            return value.clone();
        };
        Value::Object(
            map.iter()
                .map(|(name, schema)| (name.clone(), self.fit(schema)))
                .collect(),
        )
    }

    fn fit_list(&self, value: &Value) -> Value {
        let Value::Array(list) = value else {
            return value.clone();
        };
        Value::Array(list.iter().map(|schema| self.fit(schema)).collect())
    }
}

/// Adds unsupported constraints to the description.
fn append_description(schema: &mut Map<String, Value>, told: &[String]) {
    if told.is_empty() {
        return;
    }
    let told = format!("({})", told.join(", "));
    let description = match schema.get("description").and_then(Value::as_str) {
        Some(text) if !text.is_empty() => format!("{text} {told}"),
        _ => told,
    };
    schema.insert("description".to_owned(), Value::String(description));
}

/// Returns whether a schema is strict: every schema has a type, and every object requires all its properties and
/// allows no others.
pub(crate) fn is_strict(schema: &Value) -> bool {
    let Value::Object(schema) = schema else {
        return false;
    };
    let is_typed = ["type", "enum", "const", "anyOf", "$ref"]
        .iter()
        .any(|key| schema.contains_key(*key));
    let is_closed = schema.get("type").and_then(Value::as_str) != Some("object")
        || (schema.get("additionalProperties") == Some(&Value::Bool(false))
            && all_required(schema));
    let maps = ["properties", "$defs"].map(|key| schema.get(key).and_then(Value::as_object));
    let lists = schema.get("anyOf").and_then(Value::as_array);
    is_typed
        && is_closed
        && maps
            .into_iter()
            .flatten()
            .flat_map(Map::values)
            .all(is_strict)
        && lists.into_iter().flatten().all(is_strict)
        && schema.get("items").is_none_or(is_strict)
}

fn all_required(schema: &Map<String, Value>) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return true;
    };
    properties.keys().all(|name| {
        required.is_some_and(|list| list.iter().any(|entry| entry.as_str() == Some(name)))
    })
}

/// Returns the prompt text that asks for a schema.
pub(crate) fn schema_prompt(output: &OutputSchema, may_call: bool) -> String {
    let unless = if may_call {
        "Unless you call a tool, answer"
    } else {
        "Answer"
    };
    format!(
        "{unless} with one JSON object that fits this JSON schema, without any text around it:\n{}",
        output.schema
    )
}

/// The working schema modes of one model, for answers that may call tools and for all others.
pub(crate) struct SchemaFallback {
    without_tools: SchemaModeState,
    with_tools: SchemaModeState,
    refuses_reasoning: AtomicBool,
    name: String,
}

/// A schema mode that begins with the strongest one and weakens when it is refused.
struct SchemaModeState {
    strongest: SchemaMode,
    downgrades: AtomicU8,
}

impl SchemaModeState {
    const fn new(first: SchemaMode) -> Self {
        Self {
            strongest: first,
            downgrades: AtomicU8::new(0),
        }
    }

    /// Returns the strongest mode that was not refused.
    fn mode(&self) -> SchemaMode {
        match self.strongest as u8 + self.downgrades.load(Ordering::Relaxed) {
            0 => SchemaMode::Strict,
            1 => SchemaMode::Tool,
            _ => SchemaMode::Prompt,
        }
    }

    /// Replaces this mode by the next weaker one. Returns whether this request was the first to do so.
    fn downgrade(&self, mode: SchemaMode) -> bool {
        let weaker = (mode as u8 + 1).saturating_sub(self.strongest as u8);
        self.downgrades.fetch_max(weaker, Ordering::Relaxed) < weaker
    }
}

impl SchemaFallback {
    pub(crate) fn new(config: &ModelConfig, quirks: &Quirks) -> Self {
        Self {
            without_tools: SchemaModeState::new(quirks.schema),
            with_tools: SchemaModeState::new(quirks.schema.max(quirks.schema_with_tools)),
            refuses_reasoning: AtomicBool::new(false),
            name: config.full_name(),
        }
    }

    const fn mode_state(&self, may_call: bool) -> &SchemaModeState {
        if may_call {
            &self.with_tools
        } else {
            &self.without_tools
        }
    }

    /// Returns the strongest mode that was not refused, for requests that may or may not call tools.
    pub(crate) fn mode(&self, may_call: bool) -> SchemaMode {
        self.mode_state(may_call).mode()
    }

    /// Returns whether reasoning goes back to the model. It does until the model refuses it.
    pub(crate) fn sends_reasoning(&self) -> bool {
        !self.refuses_reasoning.load(Ordering::Relaxed)
    }

    /// Returns whether the error says that reasoning is not in its place. From then on no reasoning goes back, because
    /// dropping one block of several is not enough, and the cause, for example a proxy, affects the next conversation
    /// too.
    fn stop_sending_reasoning(&self, error: &ChatError) -> bool {
        let words = error.message.to_lowercase();
        let says = words.contains("bound to a different")
            || words.contains("invalid `signature` in `thinking` block");
        if error.failure != ChatFailure::BadRequest || !says {
            return false;
        }
        if !self.refuses_reasoning.swap(true, Ordering::Relaxed) {
            tracing::warn!(model.name = %self.name, why = %error.message, "reasoning does not go back to this model any more: does a gateway change requests?");
        }
        true
    }

    /// Asks in the strongest mode, and in weaker ones as the provider refuses them.
    pub(crate) async fn run<F>(
        &self,
        may_call: bool,
        ask: impl Fn(SchemaMode) -> F + Send,
    ) -> Result<ChatAnswer, ChatError>
    where
        F: Future<Output = Result<ChatAnswer, ChatError>> + Send,
    {
        // Requests with refused modes. The last request counts itself.
        let mut before = 0;
        loop {
            let (mode, back) = (self.mode(may_call), self.sends_reasoning());
            match ask(mode).await {
                Err(error) if self.downgrade_on(may_call, mode, &error) => before += error.requests,
                Err(error) if back && self.stop_sending_reasoning(&error) => {
                    before += error.requests
                }
                mut last => {
                    match &mut last {
                        Ok(answer) => answer.requests += before,
                        Err(error) => error.requests += before,
                    }
                    return last;
                }
            }
        }
    }

    /// Returns whether the error says that `mode` is not supported. Then a weaker one counts from now on.
    pub(crate) fn downgrade_on(&self, may_call: bool, mode: SchemaMode, error: &ChatError) -> bool {
        let named: &[&str] = match mode {
            SchemaMode::Strict => &[
                "response_format",
                "json_schema",
                "structured output",
                "output_config",
                "output_format",
                "responsejsonschema",
                "response_schema",
                "outputconfig",
                "textformat",
                "'strict'",
                "\"strict\"",
            ],
            SchemaMode::Tool => &["tool_choice", "tool choice", "toolchoice", "forced"],
            SchemaMode::Prompt => return false,
        };
        // Effort is in the same object and has nothing to do with the schema mode.
        let words = error.message.to_lowercase();
        let words = words
            .replace("output_config.effort", "")
            .replace("outputconfig.effort", "");
        if error.failure != ChatFailure::BadRequest
            || !named.iter().any(|name| words.contains(name))
        {
            return false;
        }
        let way = self.mode_state(may_call);
        if way.downgrade(mode) {
            tracing::warn!(model.name = %self.name, refused = ?mode, now = ?way.mode(), why = %error.message, "answers to a schema are asked for in a weaker way");
        }
        true
    }
}

#[cfg(test)]
mod tests;
