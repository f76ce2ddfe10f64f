//! Checks Converse's tools.

use std::collections::BTreeSet;

use super::super::check::{JsonFields, JsonNode, ValidationError, is_name};
use super::super::request::{Tool, ToolChoice};
use super::super::schema::anthropic as dialect;
use super::messages::{cache_point, union};

/// Parses the tools, among which cache marks may occur.
pub(super) fn parse_tools(fields: &JsonFields<'_>) -> Result<Vec<Tool>, ValidationError> {
    let Some(config) = fields.get("toolConfig") else {
        return Ok(Vec::new());
    };
    let config = config.fields(&["tools", "toolChoice"])?;
    let mut tools: Vec<Tool> = Vec::new();
    let list = config.required("tools")?;
    for at in list.non_empty_list()? {
        let entry = at.fields(&["toolSpec", "cachePoint", "systemTool"])?;
        match (entry.get("toolSpec"), entry.get("cachePoint")) {
            (Some(spec), None) => tools.push(tool(&spec)?),
            (None, Some(point)) => cache_point(&point)?,
            _ => return Err(union(&at)),
        }
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = tools.iter().find(|tool| !names.insert(tool.name.as_str())) {
        return Err(list.rule_error(format!(
            "The tool {} is already defined. Tool names must be unique.",
            twice.name
        )));
    }
    Ok(tools)
}

fn tool(at: &JsonNode<'_>) -> Result<Tool, ValidationError> {
    let spec = at.fields(&["name", "description", "inputSchema", "strict"])?;
    let name = spec.required("name")?;
    if !is_name(name.text()?, 64, "_-") {
        return Err(name.rule_error("1 validation error detected: Value at 'toolConfig.tools.member.toolSpec.name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+"));
    }
    let description = match spec.get("description") {
        Some(at) => at.non_empty_text()?.to_owned(),
        None => String::new(),
    };
    let strict = match spec.get("strict") {
        Some(at) => at.flag()?,
        None => false,
    };
    let schema = spec
        .required("inputSchema")?
        .fields(&["json"])?
        .required("json")?;
    if schema.value.get("type").is_none_or(|of| of != "object") {
        return Err(at.rule_error(format!(
            "The value at {}.inputSchema.json.type must be one of the following: object.",
            at.at.trim_start_matches('/').replace('/', ".")
        )));
    }
    dialect::check_loose(&schema)?;
    Ok(Tool {
        name: name.text()?.to_owned(),
        description,
        schema: schema.value.clone(),
        strict,
    })
}

/// Parses which tool must be used, which must be among the tools.
pub(super) fn choice(
    fields: &JsonFields<'_>,
    tools: &[Tool],
) -> Result<ToolChoice, ValidationError> {
    let Some(at) = fields.get("toolConfig").and_then(|config| {
        let config = config.any_fields().ok()?;
        config.get("toolChoice")
    }) else {
        return Ok(ToolChoice::Auto);
    };
    let choice = at.fields(&["auto", "any", "tool"])?;
    match (choice.get("auto"), choice.get("any"), choice.get("tool")) {
        (Some(auto), None, None) => auto.fields(&[]).map(|_| ToolChoice::Auto),
        (None, Some(any), None) => any.fields(&[]).map(|_| ToolChoice::Any),
        (None, None, Some(tool)) => {
            let name = tool.fields(&["name"])?.required("name")?.text()?;
            if !tools.iter().any(|tool| tool.name == name) {
                return Err(at.rule_error(format!(
                    "The tool {name} of toolChoice is not defined in toolConfig."
                )));
            }
            Ok(ToolChoice::Tool(name.to_owned()))
        }
        _ => Err(union(&at)),
    }
}
