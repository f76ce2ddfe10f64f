//! Checks Anthropic's tools.

use std::collections::BTreeSet;

use super::super::check::{JsonFields, JsonNode, ValidationError, is_name};
use super::super::model_rules::AnthropicRules;
use super::super::request::{Tool, ToolChoice};
use super::super::schema::anthropic::{self as dialect, UsedLimits};
use super::messages::mark;
use super::validate::flag;

const FIELDS: [&str; 10] = [
    "input_schema",
    "name",
    "allowed_callers",
    "cache_control",
    "defer_loading",
    "description",
    "eager_input_streaming",
    "input_examples",
    "strict",
    "type",
];

/// Parses the tools.
pub(super) fn parse_tools(
    fields: &JsonFields<'_>,
    rules: AnthropicRules,
    taken: &mut UsedLimits,
) -> Result<Vec<Tool>, ValidationError> {
    let Some(list) = fields.get("tools") else {
        return match fields.get("tool_choice") {
            Some(at) => {
                Err(at.rule_error("tool_choice may only be specified while providing tools."))
            }
            None => Ok(Vec::new()),
        };
    };
    let mut tools: Vec<Tool> = Vec::new();
    for at in list.non_empty_list()? {
        tools.push(tool(&at, rules, taken)?);
    }
    let mut names = BTreeSet::new();
    if !tools.iter().all(|tool| names.insert(tool.name.as_str())) {
        return Err(list.rule_error("Tool names must be unique."));
    }
    let strict = tools.iter().filter(|tool| tool.strict).count();
    match rules.structured {
        Some(limits) if strict > limits.strict_tools => Err(list.rule_error(format!(
            "Too many strict tools ({strict}). The maximum is {}.",
            limits.strict_tools
        ))),
        None if strict > 0 => Err(list.rule_error("Strict tools are not supported by this model")),
        _ => Ok(tools),
    }
}

fn tool(
    at: &JsonNode<'_>,
    rules: AnthropicRules,
    taken: &mut UsedLimits,
) -> Result<Tool, ValidationError> {
    let fields = at.fields(&FIELDS)?;
    mark(&fields)?;
    if let Some(kind) = fields.get("type") {
        kind.one_of(&["custom"])?;
    }
    let name = fields.required("name")?;
    if !is_name(name.text()?, 128, "_-") {
        return Err(name.rule_error("String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"));
    }
    let description = match fields.get("description") {
        Some(at) => at.text()?,
        None => "",
    };
    let schema = fields.required("input_schema")?;
    let strict = flag(&fields, "strict")?;
    dialect::check_loose(&schema)?;
    if let (true, Some(limits)) = (strict, rules.structured) {
        dialect::check(&schema, limits, taken)?;
    }
    Ok(Tool {
        name: name.text()?.to_owned(),
        description: description.to_owned(),
        schema: schema.value.clone(),
        strict,
    })
}

/// Parses which tool must be called, which must be among the tools.
pub(super) fn choice(
    fields: &JsonFields<'_>,
    tools: &[Tool],
) -> Result<ToolChoice, ValidationError> {
    let Some(at) = fields.get("tool_choice") else {
        return Ok(ToolChoice::Auto);
    };
    let kind = at.any_fields()?.required("type")?;
    let kind = kind.one_of(&["auto", "any", "tool", "none"])?;
    let known: &[&str] = match kind {
        "tool" => &["type", "name", "disable_parallel_tool_use"],
        "none" => &["type"],
        _ => &["type", "disable_parallel_tool_use"],
    };
    let choice = at.fields(known)?;
    flag(&choice, "disable_parallel_tool_use")?;
    Ok(match kind {
        "any" => ToolChoice::Any,
        "none" => ToolChoice::None,
        "tool" => {
            let name = choice.required("name")?.text()?;
            if !tools.iter().any(|tool| tool.name == name) {
                return Err(at.rule_error(format!("Tool '{name}' not found in provided tools")));
            }
            ToolChoice::Tool(name.to_owned())
        }
        _ => ToolChoice::Auto,
    })
}
