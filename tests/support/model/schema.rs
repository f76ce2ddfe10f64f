//! Checks the JSON Schema dialects of the providers, and their common parts.

pub(super) mod anthropic;
pub(super) mod gemini;
pub(super) mod openai;

use serde_json::Value;

use super::check::{JsonNode, ValidationError};

/// Returns the direct subschemas, wherever a dialect allows one.
pub(super) fn inner<'a>(schema: &JsonNode<'a>) -> Result<Vec<JsonNode<'a>>, ValidationError> {
    let fields = schema.any_fields()?;
    let mut found = Vec::new();
    for name in ["properties", "$defs", "definitions", "defs"] {
        if let Some(map) = fields.get(name) {
            found.extend(map.any_fields()?.each().map(|(_, inner)| inner));
        }
    }
    for name in ["anyOf", "allOf", "oneOf", "prefixItems"] {
        if let Some(list) = fields.get(name) {
            found.extend(list.list()?);
        }
    }
    found.extend(fields.get("items").filter(|items| items.value.is_object()));
    Ok(found)
}

/// Returns whether a schema has this type.
pub(super) fn is_of(schema: &JsonNode<'_>, name: &str) -> bool {
    match schema.value.get("type") {
        Some(Value::String(of)) => of == name,
        Some(Value::Array(of)) => of.iter().any(|of| of == name),
        _ => false,
    }
}

/// Returns the required field names of an object, each of which must be described.
pub(super) fn required<'a>(schema: &JsonNode<'a>) -> Result<Vec<&'a str>, ValidationError> {
    match schema.any_fields()?.get("required") {
        None => Ok(Vec::new()),
        Some(list) => list.list()?.iter().map(JsonNode::text).collect(),
    }
}

/// Returns the field names of an object.
pub(super) fn properties<'a>(schema: &JsonNode<'a>) -> Result<Vec<&'a str>, ValidationError> {
    match schema.any_fields()?.get("properties") {
        None => Ok(Vec::new()),
        Some(map) => Ok(map.any_fields()?.each().map(|(name, _)| name).collect()),
    }
}

/// Resolves a reference within the same schema.
pub(super) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?)
}
