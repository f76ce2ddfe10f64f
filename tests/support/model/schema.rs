//! The dialects of JSON schema that providers take, each in a file; and what they share.

pub(super) mod anthropic;
pub(super) mod gemini;
pub(super) mod openai;

use serde_json::Value;

use super::check::{At, Wrong};

/// The schemas below this one, wherever a dialect may hold one.
pub(super) fn inner<'a>(schema: &At<'a>) -> Result<Vec<At<'a>>, Wrong> {
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

/// Whether one of a schema's types is this one.
pub(super) fn is_of(schema: &At<'_>, name: &str) -> bool {
    match schema.value.get("type") {
        Some(Value::String(of)) => of == name,
        Some(Value::Array(of)) => of.iter().any(|of| of == name),
        _ => false,
    }
}

/// The names of an object's fields that the schema demands, each of which it must describe.
pub(super) fn required<'a>(schema: &At<'a>) -> Result<Vec<&'a str>, Wrong> {
    match schema.any_fields()?.get("required") {
        None => Ok(Vec::new()),
        Some(list) => list.list()?.iter().map(At::text).collect(),
    }
}

/// The names of an object's fields.
pub(super) fn properties<'a>(schema: &At<'a>) -> Result<Vec<&'a str>, Wrong> {
    match schema.any_fields()?.get("properties") {
        None => Ok(Vec::new()),
        Some(map) => Ok(map.any_fields()?.each().map(|(name, _)| name).collect()),
    }
}

/// Follows a reference within the same schema.
pub(super) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?)
}
