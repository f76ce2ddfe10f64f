//! Checks OpenAI's strict mode: every object is closed, every field required, and only some keywords are allowed. The
//! source is "Structured model outputs", supported schemas, and the helper that makes schemas strict in its Python SDK.

use serde_json::Value;

use super::super::check::{JsonNode, ValidationError};
use super::{inner, is_of, properties, required, resolve};

const KEYWORDS: [&str; 26] = [
    "$schema",
    "$defs",
    "$ref",
    "definitions",
    "type",
    "title",
    "description",
    "enum",
    "const",
    "anyOf",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "pattern",
    "format",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
    "$id",
    "$comment",
    "deprecated",
];
const FORMATS: [&str; 9] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
];
const MAX_DEPTH: usize = 10;
const MAX_PROPERTIES: usize = 5000;
const MAX_ENUM_WORDS: usize = 1000;

/// Checks a schema in strict mode. `of` is the name of its place in errors: `response_format 'plan'`.
pub(in super::super) fn check(schema: &JsonNode<'_>, of: &str) -> Result<(), ValidationError> {
    let mut count = SchemaSize::default();
    let root = JsonNode {
        value: schema.value,
        at: schema.at.clone(),
    };
    if root.value.get("anyOf").is_some() || root.value.get("type") != Some(&Value::from("object")) {
        return Err(schema_error(
            &root,
            of,
            "schema must be a JSON Schema of 'type: \"object\"', without 'anyOf' at its root",
        ));
    }
    walk(
        &root,
        &SchemaContext {
            root: root.value,
            name: of,
        },
        1,
        &mut count,
    )?;
    if count.properties > MAX_PROPERTIES || count.words > MAX_ENUM_WORDS {
        return Err(schema_error(
            &root,
            of,
            &format!(
                "{} properties (at most {MAX_PROPERTIES}) and {} enum values (at most {MAX_ENUM_WORDS})",
                count.properties, count.words
            ),
        ));
    }
    Ok(())
}

/// Checks a schema without strict mode, which must be that of an object.
pub(in super::super) fn check_loose(
    schema: &JsonNode<'_>,
    of: &str,
) -> Result<(), ValidationError> {
    schema.any_fields()?;
    if !is_of(schema, "object") {
        return Err(schema_error(
            schema,
            of,
            "schema must be a JSON Schema of 'type: \"object\"'",
        ));
    }
    Ok(())
}

struct SchemaContext<'a> {
    root: &'a Value,
    name: &'a str,
}

#[derive(Default)]
struct SchemaSize {
    properties: usize,
    words: usize,
}

fn schema_error(at: &JsonNode<'_>, of: &str, why: &str) -> ValidationError {
    at.rule_error(format!("Invalid schema for {of}: {why}."))
        .with_code("invalid_json_schema")
}

fn context(at: &JsonNode<'_>, of: &str, why: &str) -> ValidationError {
    let place: Vec<String> = at
        .at
        .split("/schema/")
        .nth(1)
        .or_else(|| at.at.split("/parameters/").nth(1))
        .unwrap_or_default()
        .split('/')
        .filter(|part| !part.is_empty())
        .map(|part| format!("'{part}'"))
        .collect();
    schema_error(at, of, &format!("In context=({}), {why}", place.join(", ")))
}

fn walk(
    schema: &JsonNode<'_>,
    look: &SchemaContext<'_>,
    depth: usize,
    count: &mut SchemaSize,
) -> Result<(), ValidationError> {
    let fields = schema.any_fields()?;
    if let Some((name, _)) = fields.each().find(|(name, _)| !KEYWORDS.contains(name)) {
        return Err(context(
            schema,
            look.name,
            &format!("'{name}' is not permitted"),
        ));
    }
    if let Some(reference) = fields.get("$ref") {
        return check_reference(schema, &reference, look);
    }
    let typed = ["type", "enum", "const", "anyOf"];
    if !typed.iter().any(|name| fields.has(name)) {
        return Err(context(schema, look.name, "schema must have a 'type' key"));
    }
    if let Some(words) = fields.get("enum") {
        count.words += words.non_empty_list()?.len();
    }
    if let Some(format) = fields.get("format")
        && !FORMATS.contains(&format.text()?)
    {
        let why = format!("'format' of '{}' is not permitted", format.text()?);
        return Err(context(schema, look.name, &why));
    }
    if is_of(schema, "array") && !fields.has("items") {
        return Err(context(schema, look.name, "array schema missing items"));
    }
    let mut deeper = depth;
    if is_of(schema, "object") {
        check_object(schema, look)?;
        count.properties += properties(schema)?.len();
        deeper += 1;
        if depth > MAX_DEPTH {
            let why = format!("{depth} levels of nesting exceeds limit of {MAX_DEPTH}");
            return Err(schema_error(schema, look.name, &why));
        }
    }
    inner(schema)?
        .iter()
        .try_for_each(|inner| walk(inner, look, deeper, count))
}

fn check_reference(
    schema: &JsonNode<'_>,
    reference: &JsonNode<'_>,
    look: &SchemaContext<'_>,
) -> Result<(), ValidationError> {
    let name = reference.text()?;
    if schema.any_fields()?.each().count() > 1 {
        let why = "$ref cannot have keywords beside it";
        return Err(context(schema, look.name, why));
    }
    if resolve(look.root, name).is_none() {
        let why =
            format!("reference can only point to definitions of this schema, and not to '{name}'");
        return Err(context(schema, look.name, &why));
    }
    Ok(())
}

fn check_object(schema: &JsonNode<'_>, look: &SchemaContext<'_>) -> Result<(), ValidationError> {
    if schema.value.get("additionalProperties") != Some(&Value::Bool(false)) {
        let why = "'additionalProperties' is required to be supplied and to be false";
        return Err(context(schema, look.name, why));
    }
    let (known, needed) = (properties(schema)?, required(schema)?);
    if let Some(missing) = known.iter().find(|name| !needed.contains(name)) {
        let why = format!(
            "'required' is required to be supplied and to be an array including every key in properties. Missing '{missing}'"
        );
        return Err(context(schema, look.name, &why));
    }
    if let Some(extra) = needed.iter().find(|name| !known.contains(name)) {
        let why = format!("Extra required key '{extra}' supplied");
        return Err(context(schema, look.name, &why));
    }
    Ok(())
}
