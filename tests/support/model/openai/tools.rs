//! Checks OpenAI's tools and response formats.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::check::{JsonFields, JsonNode, ValidationError, is_name};
use super::super::model_rules::OpenAiRules;
use super::super::request::{Tool, ToolChoice};
use super::super::schema;
use super::validate::flag;

/// OpenAI accepts at most 128 tools.
const MAX_TOOLS: usize = 128;
const MAX_DESCRIPTION_CHARS: usize = 1024;

/// Parses the tools.
pub(super) fn parse_tools(
    fields: &JsonFields<'_>,
    rules: OpenAiRules,
) -> Result<Vec<Tool>, ValidationError> {
    let Some(list) = fields.get("tools") else {
        for name in ["tool_choice", "parallel_tool_calls"] {
            if let Some(at) = fields.get(name) {
                return Err(at.rule_error(format!(
                    "Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified."
                )));
            }
        }
        return Ok(Vec::new());
    };
    if !rules.tools {
        return Err(list.rule_error("This model does not support Function Calling"));
    }
    flag(fields, "parallel_tool_calls")?;
    let items = list.non_empty_list()?;
    if items.len() > MAX_TOOLS {
        return Err(list
            .rule_error(format!(
                "Invalid 'tools': array too long. Expected an array with maximum length {MAX_TOOLS}, but got an array with length {} instead.",
                items.len()
            ))
            .with_code("array_above_max_length"));
    }
    let tools: Vec<Tool> = items.iter().map(tool).collect::<Result<_, _>>()?;
    let mut names = BTreeSet::new();
    match tools.iter().find(|tool| !names.insert(tool.name.as_str())) {
        Some(twice) => Err(list.rule_error(format!("Duplicate tool name: '{}'", twice.name))),
        None => Ok(tools),
    }
}

fn tool(at: &JsonNode<'_>) -> Result<Tool, ValidationError> {
    let fields = at.fields(&["type", "function"])?;
    fields.required("type")?.one_of(&["function"])?;
    let function =
        fields
            .required("function")?
            .fields(&["name", "description", "parameters", "strict"])?;
    let name = checked_name(&function)?;
    let description = match function.get("description") {
        Some(at) => at.text()?,
        None => "",
    };
    if description.chars().count() > MAX_DESCRIPTION_CHARS {
        return Err(function
            .rule_error(format!(
                "Invalid '{}.description': string too long. Expected a string with maximum length {MAX_DESCRIPTION_CHARS}.",
                at.at
            ))
            .with_code("string_above_max_length"));
    }
    let strict = flag(&function, "strict")?;
    let of = format!("function '{name}'");
    let schema = match function.get("parameters") {
        Some(schema) if strict => schema::openai::check(&schema, &of).map(|()| schema)?,
        Some(schema) => schema::openai::check_loose(&schema, &of).map(|()| schema)?,
        None if strict => {
            return Err(
                function.rule_error(format!("Invalid schema for {of}: strict needs parameters."))
            );
        }
        None => {
            return Ok(Tool {
                name,
                description: description.to_owned(),
                schema: Value::Null,
                strict,
            });
        }
    };
    Ok(Tool {
        name,
        description: description.to_owned(),
        schema: schema.value.clone(),
        strict,
    })
}

fn checked_name(fields: &JsonFields<'_>) -> Result<String, ValidationError> {
    let at = fields.required("name")?;
    let name = at.text()?;
    if !is_name(name, 64, "_-") {
        return Err(at
            .rule_error("Invalid value: string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$' of 64 characters at the most.")
            .with_code("invalid_value"));
    }
    Ok(name.to_owned())
}

/// Parses which tool must be called, which must be among the tools.
pub(super) fn choice(
    fields: &JsonFields<'_>,
    tools: &[Tool],
) -> Result<ToolChoice, ValidationError> {
    let Some(at) = fields.get("tool_choice") else {
        return Ok(ToolChoice::Auto);
    };
    if at.value.is_string() {
        return Ok(match at.one_of(&["none", "auto", "required"])? {
            "none" => ToolChoice::None,
            "required" => ToolChoice::Any,
            _ => ToolChoice::Auto,
        });
    }
    let choice = at.fields(&["type", "function"])?;
    choice.required("type")?.one_of(&["function"])?;
    let name = choice
        .required("function")?
        .fields(&["name"])?
        .required("name")?;
    let name = name.text()?;
    if !tools.iter().any(|tool| tool.name == name) {
        return Err(at.rule_error(format!(
            "Tool choice '{name}' not found in 'tools' parameter."
        )));
    }
    Ok(ToolChoice::Tool(name.to_owned()))
}

/// The requested form of an answer.
#[derive(Debug, Default)]
pub(super) struct ResponseFormat {
    pub(super) schema: Option<Value>,
    pub(super) json: bool,
}

impl ResponseFormat {
    pub(super) fn parse(
        fields: &JsonFields<'_>,
        rules: OpenAiRules,
        model: &str,
    ) -> Result<Self, ValidationError> {
        let Some(at) = fields.get("response_format") else {
            return Ok(Self::default());
        };
        let kind = at.any_fields()?.required("type")?;
        match kind.one_of(&["text", "json_object", "json_schema"])? {
            "text" => at.fields(&["type"]).map(|_| Self::default()),
            "json_object" => at.fields(&["type"]).map(|_| Self {
                schema: None,
                json: true,
            }),
            _ if !rules.json_schema => Err(at.rule_error(format!(
                "This response_format type is unavailable now for {model}"
            ))),
            _ => {
                let format = at
                    .fields(&["type", "json_schema"])?
                    .required("json_schema")?;
                Self::schema(&format)
            }
        }
    }

    fn schema(format: &JsonNode<'_>) -> Result<Self, ValidationError> {
        let fields = format.fields(&["name", "description", "schema", "strict"])?;
        let of = format!("response_format '{}'", checked_name(&fields)?);
        let schema = fields.required("schema")?;
        if flag(&fields, "strict")? {
            schema::openai::check(&schema, &of)?;
        } else {
            schema::openai::check_loose(&schema, &of)?;
        }
        Ok(Self {
            schema: Some(schema.value.clone()),
            json: false,
        })
    }
}
