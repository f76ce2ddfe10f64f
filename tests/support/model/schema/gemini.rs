//! Checks Google's two dialects: its own `Schema` (a part of OpenAPI 3.0), and `…JsonSchema` (a part of JSON Schema).
//! The source is the API reference of `Schema` and `responseJsonSchema`, and the types of its Python SDK.

use super::super::check::{JsonNode, ValidationError};
use super::{inner, properties, required, resolve};

const FIELDS: [&str; 24] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
    "default",
    "items",
    "minimum",
    "maximum",
    "additionalProperties",
    "defs",
];
const KEYWORDS: [&str; 20] = [
    "$schema",
    "$id",
    "$defs",
    "$ref",
    "$anchor",
    "type",
    "format",
    "title",
    "description",
    "enum",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "anyOf",
    "oneOf",
    "properties",
    "additionalProperties",
];
const MORE_KEYWORDS: [&str; 2] = ["required", "propertyOrdering"];
const TYPES: [&str; 7] = [
    "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL",
];

/// Checks a `Schema` of arguments or an answer.
pub(in super::super) fn check(schema: &JsonNode<'_>) -> Result<(), ValidationError> {
    let fields = schema.fields(&FIELDS)?;
    if !fields.has("type") && !fields.has("anyOf") {
        return Err(schema.rule_error("missing field: type"));
    }
    let of = match fields.get("type") {
        Some(of) => of.text()?.to_uppercase(),
        None => String::new(),
    };
    if !of.is_empty() && !TYPES.contains(&of.as_str()) {
        return Err(schema.rule_error(format!(
            "Invalid value at 'type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), \"{of}\""
        )));
    }
    check_words(schema, &of)?;
    if let Some(format) = fields.get("format") {
        let format = format.text()?;
        let known: &[&str] = match of.as_str() {
            "STRING" => &["enum", "date-time"],
            "NUMBER" => &["float", "double"],
            "INTEGER" => &["int32", "int64"],
            _ => &[],
        };
        if !known.contains(&format) {
            return Err(schema.rule_error(format!(
                "only 'enum' and 'date-time' are supported for STRING type, 'float' and 'double' for NUMBER, 'int32' and 'int64' for INTEGER; got '{format}' for {of}"
            )));
        }
    }
    if of == "ARRAY" && !fields.has("items") {
        return Err(schema.rule_error("items: missing field."));
    }
    if of == "OBJECT" && properties(schema)?.is_empty() {
        return Err(schema.rule_error("properties: should be non-empty for OBJECT type"));
    }
    check_required(schema)?;
    inner(schema)?.iter().try_for_each(check)
}

fn check_words(schema: &JsonNode<'_>, of: &str) -> Result<(), ValidationError> {
    let Some(words) = schema.any_fields()?.get("enum") else {
        return Ok(());
    };
    if of != "STRING" {
        return Err(schema.rule_error("enum: only allowed for STRING type"));
    }
    for word in words.non_empty_list()? {
        if word.text()?.is_empty() {
            return Err(word.rule_error("cannot be empty"));
        }
    }
    Ok(())
}

fn check_required(schema: &JsonNode<'_>) -> Result<(), ValidationError> {
    let known = properties(schema)?;
    match required(schema)?.iter().find(|name| !known.contains(name)) {
        Some(name) => Err(schema.rule_error(format!("required: property is not defined: {name}"))),
        None => Ok(()),
    }
}

/// Checks a `responseJsonSchema` or `parametersJsonSchema`. Google says that unlisted keywords are not supported. The
/// real API may ignore them, but then the answer does not fit, so they are refused here.
pub(in super::super) fn check_json(schema: &JsonNode<'_>) -> Result<(), ValidationError> {
    walk_json(schema, schema)
}

fn walk_json(schema: &JsonNode<'_>, root: &JsonNode<'_>) -> Result<(), ValidationError> {
    let fields = schema.any_fields()?;
    let unknown = fields
        .each()
        .find(|(name, _)| !KEYWORDS.contains(name) && !MORE_KEYWORDS.contains(name));
    if let Some((_, at)) = unknown {
        return Err(at.unknown_field());
    }
    if let Some(reference) = fields.get("$ref") {
        if let Some((name, _)) = fields.each().find(|(name, _)| !name.starts_with('$')) {
            return Err(schema.rule_error(format!("'{name}' may not stand beside $ref")));
        }
        if resolve(root.value, reference.text()?).is_none() {
            return Err(schema.rule_error(format!("cannot resolve {}", reference.text()?)));
        }
    }
    check_required(schema)?;
    inner(schema)?
        .iter()
        .try_for_each(|inner| walk_json(inner, root))
}
