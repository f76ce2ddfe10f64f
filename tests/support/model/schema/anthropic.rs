//! Checks Anthropic's dialect for grammars: closed objects, no bounds, no recursion, few unions. The source is
//! "Structured outputs", JSON Schema limitations, and the function that makes schemas fit in its Python SDK.

use serde_json::Value;

use super::super::check::{JsonNode, ValidationError};
use super::{inner, is_of, properties, required, resolve};

/// Limits for the schemas of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct SchemaLimits {
    pub(in super::super) strict_tools: usize,
    optional: usize,
    unions: usize,
}

impl SchemaLimits {
    pub(in super::super) const CURRENT: Self = Self {
        strict_tools: 20,
        optional: 24,
        unions: 16,
    };
}

/// The part of the limits that a request has used.
#[derive(Debug, Default)]
pub(in super::super) struct UsedLimits {
    optional: usize,
    unions: usize,
}

const KEYWORDS: [&str; 19] = [
    "$schema",
    "$id",
    "$defs",
    "definitions",
    "$ref",
    "type",
    "title",
    "description",
    "enum",
    "const",
    "default",
    "anyOf",
    "allOf",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "format",
    "pattern",
];
const FORMATS: [&str; 10] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "uri",
    "ipv4",
    "ipv6",
    "uuid",
];

/// Checks a schema in strict mode.
pub(in super::super) fn check(
    schema: &JsonNode<'_>,
    limits: SchemaLimits,
    taken: &mut UsedLimits,
) -> Result<(), ValidationError> {
    walk(schema, schema.value, taken)?;
    if recurses(schema.value, schema.value, &mut Vec::new()) {
        return Err(schema.rule_error("Recursive schemas are not supported"));
    }
    if taken.optional > limits.optional {
        return Err(schema.rule_error(format!(
            "Schemas contains too many optional parameters ({}), which would make grammar compilation inefficient. Reduce the number of optional parameters in your tool schemas (limit: {}).",
            taken.optional, limits.optional
        )));
    }
    if taken.unions > limits.unions {
        return Err(schema.rule_error(format!(
            "Schemas contains too many parameters with union types ({} parameters with type arrays or anyOf). This would cause exponential compilation cost. Reduce the number of nullable or union-typed parameters (limit: {} parameters with unions).",
            taken.unions, limits.unions
        )));
    }
    Ok(())
}

/// Checks the schema of a tool without strict mode.
pub(in super::super) fn check_loose(schema: &JsonNode<'_>) -> Result<(), ValidationError> {
    let fields = schema.any_fields()?;
    fields.required("type")?.one_of(&["object"])?;
    if ["anyOf", "oneOf", "allOf"]
        .iter()
        .any(|name| fields.has(name))
    {
        return Err(schema
            .rule_error("input_schema does not support oneOf, allOf, or anyOf at the top level"));
    }
    if let Some(map) = fields.get("properties") {
        map.any_fields()?;
    }
    required(schema).map(drop)
}

fn walk(
    schema: &JsonNode<'_>,
    root: &Value,
    taken: &mut UsedLimits,
) -> Result<(), ValidationError> {
    let fields = schema.any_fields()?;
    let of = schema
        .value
        .get("type")
        .map_or_else(|| "any".to_owned(), |of| of.to_string().replace('"', ""));
    let extra: Vec<&str> = fields
        .each()
        .map(|(name, _)| name)
        .filter(|name| !KEYWORDS.contains(name) && *name != "minItems")
        .collect();
    if !extra.is_empty() {
        return Err(schema.rule_error(format!(
            "For '{of}' type, properties {} are not supported",
            extra.join(", ")
        )));
    }
    if let Some(least) = fields.get("minItems")
        && least.integer(0)? > 1
    {
        return Err(schema.rule_error(
            "For 'array' type, 'minItems' values other than 0 or 1 are not supported",
        ));
    }
    if let Some(reference) = fields.get("$ref") {
        return match resolve(root, reference.text()?) {
            Some(_) => Ok(()),
            None => Err(schema.rule_error(format!("Could not resolve {}", reference.text()?))),
        };
    }
    if let Some(format) = fields.get("format")
        && !FORMATS.contains(&format.text()?)
    {
        return Err(schema.rule_error(format!(
            "String format '{}' is not supported",
            format.text()?
        )));
    }
    if !["type", "enum", "const", "anyOf", "allOf"]
        .iter()
        .any(|name| fields.has(name))
    {
        return Err(schema.rule_error("Schema type is required"));
    }
    if let Some(words) = fields.get("enum") {
        words.non_empty_list()?;
    }
    if fields.has("anyOf") || fields.get("type").is_some_and(|of| of.value.is_array()) {
        taken.unions += 1;
    }
    if is_of(schema, "object") {
        check_object(schema, taken)?;
    }
    inner(schema)?
        .iter()
        .try_for_each(|inner| walk(inner, root, taken))
}

fn check_object(schema: &JsonNode<'_>, taken: &mut UsedLimits) -> Result<(), ValidationError> {
    if schema.value.get("additionalProperties") != Some(&Value::Bool(false)) {
        return Err(schema.rule_error(
            "For 'object' type, 'additionalProperties' must be explicitly set to false",
        ));
    }
    let (known, needed) = (properties(schema)?, required(schema)?);
    if let Some(extra) = needed.iter().find(|name| !known.contains(name)) {
        return Err(schema.rule_error(format!(
            "For 'object' type, property '{extra}' is required but not defined"
        )));
    }
    taken.optional += known.iter().filter(|name| !needed.contains(name)).count();
    Ok(())
}

/// Returns whether a reference is recursive.
fn recurses(schema: &Value, root: &Value, path: &mut Vec<String>) -> bool {
    match schema {
        Value::Object(map) => {
            if let Some(name) = map.get("$ref").and_then(Value::as_str) {
                if path.iter().any(|known| known == name) {
                    return true;
                }
                path.push(name.to_owned());
                let found = resolve(root, name).is_some_and(|inner| recurses(inner, root, path));
                path.pop();
                return found;
            }
            map.iter()
                .filter(|(name, _)| *name != "$defs" && *name != "definitions")
                .any(|(_, inner)| recurses(inner, root, path))
        }
        Value::Array(items) => items.iter().any(|inner| recurses(inner, root, path)),
        _ => false,
    }
}
