//! Describes the tools of a case as a model sees them: as text for plans, and as the one array that all its requests
//! share.

use std::collections::BTreeMap;
use std::sync::Arc;

use minijinja::{Value as Ninja, context};
use nightshift_engine::tool::{Argument, ArgumentKind, ToolCall, ToolSpec};
use serde_json::{Map, Value, json};

use super::answer_json::clean_line;
use nightshift_llm::chat::{ChatText, ChatTool};

/// Maximum length of a description, in characters; those of third-party tools can be pages.
const MAX_DESCRIPTION_CHARS: usize = 600;

/// Maximum length of a name that every provider takes.
const MAX_NAME_CHARS: usize = 64;

/// Names of tools for the model and for the engine.
#[derive(Debug, Clone, Default)]
pub(super) struct ToolNames {
    to_engine: BTreeMap<String, String>,
    to_model: BTreeMap<String, String>,
}

impl ToolNames {
    fn from_specs(specs: &[ToolSpec]) -> Self {
        let mut names = Self::default();
        for spec in specs {
            let mut name: String = spec
                .name
                .chars()
                .map(|c| {
                    if c.is_ascii_alphanumeric() || c == '-' {
                        c
                    } else {
                        '_'
                    }
                })
                .take(MAX_NAME_CHARS)
                .collect();
            while name.is_empty() || names.to_engine.contains_key(&name) {
                name = format!("t{}_{name}", names.to_engine.len());
                name.truncate(MAX_NAME_CHARS);
            }
            names.to_engine.insert(name.clone(), spec.name.clone());
            names.to_model.insert(spec.name.clone(), name);
        }
        names
    }

    /// Returns the engine's name. An unknown name is returned unchanged, and the engine refuses it.
    pub(super) fn engine_name(&self, name: &str) -> String {
        self.to_engine
            .get(name)
            .map_or_else(|| name.chars().take(200).collect(), Clone::clone)
    }

    pub(super) fn model_name<'a>(&'a self, name: &'a str) -> &'a str {
        self.to_model.get(name).map_or(name, String::as_str)
    }

    /// Converts a call for the engine. Null arguments are removed, because the model left them out.
    pub(super) fn tool_call(&self, tool: &str, mut arguments: Map<String, Value>) -> ToolCall {
        arguments.retain(|_, value| !value.is_null());
        ToolCall::new(self.engine_name(tool), arguments)
    }
}

#[derive(Debug)]
pub(super) struct PromptTools {
    specs: Arc<[ToolSpec]>,
    /// Tools in the form of requests.
    pub(super) chat: Arc<[ChatTool]>,
    /// Names in both directions.
    pub(super) names: ToolNames,
}

impl PromptTools {
    pub(super) fn from_specs(specs: &Arc<[ToolSpec]>) -> Self {
        let names = ToolNames::from_specs(specs);
        let chat = specs
            .iter()
            .map(|spec| ChatTool {
                name: names.model_name(&spec.name).to_owned(),
                description: ChatText::shared(split_first_sentence(&description_of(spec)).0),
                schema: Arc::new(schema(spec)),
            })
            .collect();
        Self {
            specs: Arc::clone(specs),
            chat,
            names,
        }
    }

    /// Returns whether the tools were made of these specifications.
    pub(super) fn is_built_from(&self, specs: &Arc<[ToolSpec]>) -> bool {
        Arc::ptr_eq(&self.specs, specs) || self.specs == *specs
    }

    /// Returns the list for the prompt: with full descriptions, or with what the tools of a request do not say
    /// themselves.
    pub(super) fn describe(&self, whole: bool) -> Vec<Ninja> {
        self.specs
            .iter()
            .map(|spec| {
                let arguments: Vec<String> = spec.arguments.iter().map(signature).collect();
                let description = description_of(spec);
                context! {
                    name => self.names.model_name(&spec.name),
                    arguments => arguments.join(", "),
                    more => if whole { description.clone() } else { split_first_sentence(&description).1 },
                    description,
                }
            })
            .collect()
    }
}

/// Splits a description into the purpose, which goes with the tool, and the rest, which goes into the prompt.
/// Repeating it would only cost tokens.
fn split_first_sentence(text: &str) -> (String, String) {
    match text.split_once(". ") {
        Some((first, rest)) => (format!("{first}."), rest.to_owned()),
        None => (text.to_owned(), String::new()),
    }
}

fn description_of(spec: &ToolSpec) -> String {
    let mut text = clean_line(&spec.description, MAX_DESCRIPTION_CHARS);
    if let Some(first) = &spec.needs {
        text.push_str(&format!(" Only after {first} was read in this case."));
    }
    text
}

/// Formats an argument: `ip?: ip|domain`.
fn signature(argument: &Argument) -> String {
    let optional = if argument.required { "" } else { "?" };
    let kind = match &argument.kind {
        ArgumentKind::Indicator { types } if types.len() > 10 => "any indicator".to_owned(),
        ArgumentKind::Indicator { types } => {
            let names: Vec<&str> = types.iter().map(|kind| kind.as_str()).collect();
            names.join("|")
        }
        ArgumentKind::Indicators { types, max } => {
            let names: Vec<&str> = types.iter().map(|kind| kind.as_str()).collect();
            format!("[{}] (1-{max})", names.join("|"))
        }
        ArgumentKind::Enum { values } => values.join("|"),
        ArgumentKind::Time => "time".to_owned(),
        ArgumentKind::Number { min, max } => format!("{min}-{max}"),
        ArgumentKind::Text { .. } => "text".to_owned(),
    };
    if argument.name == kind {
        return format!("{}{optional}", argument.name);
    }
    format!("{}{optional}: {kind}", argument.name)
}

/// Returns the schema of the arguments: closed, all of them listed, optional ones nullable.
fn schema(spec: &ToolSpec) -> Value {
    let mut properties = Map::new();
    let mut names = Vec::new();
    for argument in &spec.arguments {
        properties.insert(argument.name.clone(), property(argument));
        names.push(Value::from(argument.name.as_str()));
    }
    json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false})
}

fn property(argument: &Argument) -> Value {
    // The prompt lists the allowed types and the bounds of numbers.
    let kind = match &argument.kind {
        ArgumentKind::Number { .. } => "integer",
        ArgumentKind::Indicators { .. } => "array",
        _ => "string",
    };
    let said = clean_line(&argument.description, MAX_DESCRIPTION_CHARS);
    let description = match &argument.kind {
        ArgumentKind::Time if said.is_empty() => "RFC 3339".to_owned(),
        ArgumentKind::Time => format!("{said} (RFC 3339)"),
        _ => said,
    };
    let kind = if argument.required {
        Value::from(kind)
    } else {
        json!([kind, "null"])
    };
    let mut schema = json!({"type": kind, "description": description});
    if let (ArgumentKind::Indicators { .. }, Some(map)) = (&argument.kind, schema.as_object_mut()) {
        map.insert("items".to_owned(), json!({"type": "string"}));
    }
    if let (ArgumentKind::Enum { values }, Some(map)) = (&argument.kind, schema.as_object_mut()) {
        let mut words: Vec<Value> = values
            .iter()
            .map(|word| Value::from(word.as_str()))
            .collect();
        if !argument.required {
            words.push(Value::Null);
        }
        map.insert("enum".to_owned(), Value::Array(words));
    }
    schema
}

#[cfg(test)]
mod tests {
    use nightshift_engine::evidence_read;
    use nightshift_engine::tool::Reach;

    use super::*;

    fn named(name: &str) -> ToolSpec {
        let mut spec = evidence_read::tool_spec();
        name.clone_into(&mut spec.name);
        spec
    }

    #[test]
    fn names_that_providers_refuse_are_mapped_both_ways() {
        let specs: Arc<[ToolSpec]> = [
            named("logs.trail"),
            named("logs_trail"),
            named(&"x".repeat(90)),
            named("ok"),
        ]
        .into();
        let tools = PromptTools::from_specs(&specs);
        let mut seen = std::collections::BTreeSet::new();
        for (spec, chat) in specs.iter().zip(tools.chat.iter()) {
            assert!(
                chat.name.len() <= 64 && seen.insert(chat.name.clone()),
                "{}",
                chat.name
            );
            assert_eq!(tools.names.engine_name(&chat.name), spec.name);
            assert_eq!(tools.names.model_name(&spec.name), chat.name);
        }
        assert_eq!(
            tools.names.engine_name("made_up"),
            "made_up",
            "the engine refuses it"
        );
    }

    #[test]
    fn a_tool_is_told_as_text_and_as_schema() {
        let mut spec = evidence_read::tool_spec();
        spec.reach = Reach::Internal;
        let tools = PromptTools::from_specs(&[spec].into());
        let listed = &tools.describe(false)[0];
        assert_eq!(
            listed.get_attr("arguments").unwrap().to_string(),
            "id: text, filter?: text, offset?: 0-16777216"
        );
        insta::assert_json_snapshot!(tools.chat[0].schema, @r#"
        {
          "additionalProperties": false,
          "properties": {
            "filter": {
              "description": "show only rows and fields that hold this text, in any case",
              "type": [
                "string",
                "null"
              ]
            },
            "id": {
              "description": "the evidence, such as E3; E0 is the alert",
              "type": "string"
            },
            "offset": {
              "description": "begin at this character of what is shown, as the last look said",
              "type": [
                "integer",
                "null"
              ]
            }
          },
          "required": [
            "id",
            "filter",
            "offset"
          ],
          "type": "object"
        }
        "#);
    }

    #[test]
    fn arguments_left_out_as_null_are_left_out() {
        let call = ToolNames::default()
            .tool_call("t", json!({"a": 1, "b": null}).as_object().unwrap().clone());
        assert_eq!(call.identity(), "t({\"a\":1})");
    }
}
