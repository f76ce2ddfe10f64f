//! Checks Google's tools.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::check::{JsonFields, JsonNode, ValidationError};
use super::super::request::{Tool, ToolChoice};
use super::super::schema::gemini as dialect;

const MAX_TOOLS: usize = 512;

/// Parses the function declarations of all tools.
pub(super) fn parse_tools(fields: &JsonFields<'_>) -> Result<Vec<Tool>, ValidationError> {
    let Some(list) = fields.get("tools") else {
        return Ok(Vec::new());
    };
    let mut tools: Vec<Tool> = Vec::new();
    for at in list.non_empty_list()? {
        let declarations = at.fields(&["functionDeclarations"])?;
        for at in declarations
            .required("functionDeclarations")?
            .non_empty_list()?
        {
            tools.push(tool(&at)?);
        }
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = tools.iter().find(|tool| !names.insert(tool.name.as_str())) {
        return Err(list.rule_error(format!(
            "Duplicate function declaration found: {}",
            twice.name
        )));
    }
    if tools.len() > MAX_TOOLS {
        return Err(list.rule_error(format!(
            "at most {MAX_TOOLS} function declarations are allowed"
        )));
    }
    Ok(tools)
}

fn tool(at: &JsonNode<'_>) -> Result<Tool, ValidationError> {
    let fields = at.fields(&[
        "name",
        "description",
        "parameters",
        "parametersJsonSchema",
        "response",
        "responseJsonSchema",
        "behavior",
    ])?;
    let name_at = fields.required("name")?;
    let name = name_at.text()?;
    if !is_function_name(name) {
        return Err(name_at.rule_error(
            "Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.",
        ));
    }
    let description = fields.required("description")?.non_empty_text()?.to_owned();
    let schema = match (fields.get("parameters"), fields.get("parametersJsonSchema")) {
        (Some(at), Some(_)) => {
            return Err(
                at.rule_error("only one of parameters and parameters_json_schema may be set")
            );
        }
        (Some(at), None) => dialect::check(&at).map(|()| at.value.clone())?,
        (None, Some(at)) => dialect::check_json(&at).map(|()| at.value.clone())?,
        (None, None) => Value::Null,
    };
    Ok(Tool {
        name: name.to_owned(),
        description,
        schema,
        strict: false,
    })
}

fn is_function_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "_.:-".contains(letter))
}

/// Parses whether functions must be called.
pub(super) fn choice(
    fields: &JsonFields<'_>,
    tools: &[Tool],
) -> Result<ToolChoice, ValidationError> {
    let Some(at) = fields.get("toolConfig") else {
        return Ok(ToolChoice::Auto);
    };
    let config = at.fields(&["functionCallingConfig", "retrievalConfig"])?;
    let Some(calling) = config.get("functionCallingConfig") else {
        return Ok(ToolChoice::Auto);
    };
    if tools.is_empty() {
        return Err(at.rule_error("Function calling config is set without function_declarations."));
    }
    let calling = calling.fields(&["mode", "allowedFunctionNames"])?;
    let mode = match calling.get("mode") {
        Some(mode) => mode.one_of(&["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"])?,
        None => "AUTO",
    };
    let Some(names) = calling.get("allowedFunctionNames") else {
        return Ok(match mode {
            "ANY" => ToolChoice::Any,
            "NONE" => ToolChoice::None,
            _ => ToolChoice::Auto,
        });
    };
    if !["ANY", "VALIDATED"].contains(&mode) {
        return Err(names.rule_error(
            "allowed_function_names should only be set when the function calling mode is ANY or VALIDATED.",
        ));
    }
    let names: Vec<&str> = names
        .non_empty_list()?
        .iter()
        .map(JsonNode::text)
        .collect::<Result<_, _>>()?;
    if let Some(unknown) = names
        .iter()
        .find(|name| tools.iter().all(|tool| tool.name != **name))
    {
        return Err(at.rule_error(format!("allowed_function_names: {unknown} is not declared")));
    }
    Ok(match names.as_slice() {
        [name] if mode == "ANY" => ToolChoice::Tool((*name).to_owned()),
        _ if mode == "ANY" => ToolChoice::Any,
        _ => ToolChoice::Auto,
    })
}
