//! Google's tools.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::check::{At, Fields, Wrong};
use super::super::schema::gemini as dialect;
use super::super::seen::{Choice, Tool};

const MOST: usize = 512;

/// Parses the function declarations of all tools.
pub(super) fn read(fields: &Fields<'_>) -> Result<Vec<Tool>, Wrong> {
    let Some(list) = fields.get("tools") else {
        return Ok(Vec::new());
    };
    let mut tools: Vec<Tool> = Vec::new();
    for at in list.filled_list()? {
        let declarations = at.fields(&["functionDeclarations"])?;
        for at in declarations.need("functionDeclarations")?.filled_list()? {
            tools.push(tool(&at)?);
        }
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = tools.iter().find(|tool| !names.insert(tool.name.as_str())) {
        return Err(list.wrong(format!(
            "Duplicate function declaration found: {}",
            twice.name
        )));
    }
    if tools.len() > MOST {
        return Err(list.wrong(format!("at most {MOST} function declarations are allowed")));
    }
    Ok(tools)
}

fn tool(at: &At<'_>) -> Result<Tool, Wrong> {
    let fields = at.fields(&[
        "name",
        "description",
        "parameters",
        "parametersJsonSchema",
        "response",
        "responseJsonSchema",
        "behavior",
    ])?;
    let name_at = fields.need("name")?;
    let name = name_at.text()?;
    if !is_function_name(name) {
        return Err(name_at.wrong(
            "Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.",
        ));
    }
    let description = fields.need("description")?.filled_text()?.to_owned();
    let schema = match (fields.get("parameters"), fields.get("parametersJsonSchema")) {
        (Some(at), Some(_)) => {
            return Err(at.wrong("only one of parameters and parameters_json_schema may be set"));
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
pub(super) fn choice(fields: &Fields<'_>, tools: &[Tool]) -> Result<Choice, Wrong> {
    let Some(at) = fields.get("toolConfig") else {
        return Ok(Choice::Auto);
    };
    let config = at.fields(&["functionCallingConfig", "retrievalConfig"])?;
    let Some(calling) = config.get("functionCallingConfig") else {
        return Ok(Choice::Auto);
    };
    if tools.is_empty() {
        return Err(at.wrong("Function calling config is set without function_declarations."));
    }
    let calling = calling.fields(&["mode", "allowedFunctionNames"])?;
    let mode = match calling.get("mode") {
        Some(mode) => mode.one_of(&["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"])?,
        None => "AUTO",
    };
    let Some(names) = calling.get("allowedFunctionNames") else {
        return Ok(match mode {
            "ANY" => Choice::Any,
            "NONE" => Choice::None,
            _ => Choice::Auto,
        });
    };
    if !["ANY", "VALIDATED"].contains(&mode) {
        return Err(names.wrong(
            "allowed_function_names should only be set when the function calling mode is ANY or VALIDATED.",
        ));
    }
    let names: Vec<&str> = names
        .filled_list()?
        .iter()
        .map(At::text)
        .collect::<Result<_, _>>()?;
    if let Some(unknown) = names
        .iter()
        .find(|name| tools.iter().all(|tool| tool.name != **name))
    {
        return Err(at.wrong(format!("allowed_function_names: {unknown} is not declared")));
    }
    Ok(match names.as_slice() {
        [name] if mode == "ANY" => Choice::Tool((*name).to_owned()),
        _ if mode == "ANY" => Choice::Any,
        _ => Choice::Auto,
    })
}
