//! OpenAI's tools and response formats.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::check::{At, Fields, Wrong, is_name};
use super::super::models::OpenAi;
use super::super::schema;
use super::super::seen::{Choice, Tool};
use super::validate::flag;

/// OpenAI accepts at most 128 tools.
const MOST_TOOLS: usize = 128;
const LONGEST_DESCRIPTION: usize = 1024;

/// Parses the tools.
pub(super) fn read(fields: &Fields<'_>, rules: OpenAi) -> Result<Vec<Tool>, Wrong> {
    let Some(list) = fields.get("tools") else {
        for name in ["tool_choice", "parallel_tool_calls"] {
            if let Some(at) = fields.get(name) {
                return Err(at.wrong(format!(
                    "Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified."
                )));
            }
        }
        return Ok(Vec::new());
    };
    if !rules.tools {
        return Err(list.wrong("This model does not support Function Calling"));
    }
    flag(fields, "parallel_tool_calls")?;
    let items = list.filled_list()?;
    if items.len() > MOST_TOOLS {
        return Err(list
            .wrong(format!(
                "Invalid 'tools': array too long. Expected an array with maximum length {MOST_TOOLS}, but got an array with length {} instead.",
                items.len()
            ))
            .coded("array_above_max_length"));
    }
    let tools: Vec<Tool> = items.iter().map(tool).collect::<Result<_, _>>()?;
    let mut names = BTreeSet::new();
    match tools.iter().find(|tool| !names.insert(tool.name.as_str())) {
        Some(twice) => Err(list.wrong(format!("Duplicate tool name: '{}'", twice.name))),
        None => Ok(tools),
    }
}

fn tool(at: &At<'_>) -> Result<Tool, Wrong> {
    let fields = at.fields(&["type", "function"])?;
    fields.need("type")?.one_of(&["function"])?;
    let function =
        fields
            .need("function")?
            .fields(&["name", "description", "parameters", "strict"])?;
    let name = checked_name(&function)?;
    let description = match function.get("description") {
        Some(at) => at.text()?,
        None => "",
    };
    if description.chars().count() > LONGEST_DESCRIPTION {
        return Err(function
            .wrong(format!(
                "Invalid '{}.description': string too long. Expected a string with maximum length {LONGEST_DESCRIPTION}.",
                at.at
            ))
            .coded("string_above_max_length"));
    }
    let strict = flag(&function, "strict")?;
    let of = format!("function '{name}'");
    let schema = match function.get("parameters") {
        Some(schema) if strict => schema::openai::check(&schema, &of).map(|()| schema)?,
        Some(schema) => schema::openai::check_loose(&schema, &of).map(|()| schema)?,
        None if strict => {
            return Err(
                function.wrong(format!("Invalid schema for {of}: strict needs parameters."))
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

fn checked_name(fields: &Fields<'_>) -> Result<String, Wrong> {
    let at = fields.need("name")?;
    let name = at.text()?;
    if !is_name(name, 64, "_-") {
        return Err(at
            .wrong("Invalid value: string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$' of 64 characters at the most.")
            .coded("invalid_value"));
    }
    Ok(name.to_owned())
}

/// Parses which tool must be called, which must be among the tools.
pub(super) fn choice(fields: &Fields<'_>, tools: &[Tool]) -> Result<Choice, Wrong> {
    let Some(at) = fields.get("tool_choice") else {
        return Ok(Choice::Auto);
    };
    if at.value.is_string() {
        return Ok(match at.one_of(&["none", "auto", "required"])? {
            "none" => Choice::None,
            "required" => Choice::Any,
            _ => Choice::Auto,
        });
    }
    let choice = at.fields(&["type", "function"])?;
    choice.need("type")?.one_of(&["function"])?;
    let name = choice.need("function")?.fields(&["name"])?.need("name")?;
    let name = name.text()?;
    if !tools.iter().any(|tool| tool.name == name) {
        return Err(at.wrong(format!(
            "Tool choice '{name}' not found in 'tools' parameter."
        )));
    }
    Ok(Choice::Tool(name.to_owned()))
}

/// The requested form of an answer.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub(super) schema: Option<Value>,
    pub(super) json: bool,
}

impl Wanted {
    pub(super) fn read(fields: &Fields<'_>, rules: OpenAi, model: &str) -> Result<Self, Wrong> {
        let Some(at) = fields.get("response_format") else {
            return Ok(Self::default());
        };
        let kind = at.any_fields()?.need("type")?;
        match kind.one_of(&["text", "json_object", "json_schema"])? {
            "text" => at.fields(&["type"]).map(|_| Self::default()),
            "json_object" => at.fields(&["type"]).map(|_| Self {
                schema: None,
                json: true,
            }),
            _ if !rules.json_schema => Err(at.wrong(format!(
                "This response_format type is unavailable now for {model}"
            ))),
            _ => {
                let format = at.fields(&["type", "json_schema"])?.need("json_schema")?;
                Self::schema(&format)
            }
        }
    }

    fn schema(format: &At<'_>) -> Result<Self, Wrong> {
        let fields = format.fields(&["name", "description", "schema", "strict"])?;
        let of = format!("response_format '{}'", checked_name(&fields)?);
        let schema = fields.need("schema")?;
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
