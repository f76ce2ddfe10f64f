//! OpenAI's strict mode: every object is closed, every field required, and only some keywords are allowed. Source:
//! "Structured model outputs", supported schemas, and the helper that makes schemas strict in its Python SDK.

use serde_json::Value;

use super::super::check::{At, Wrong};
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
const DEEPEST: usize = 10;
const MOST_PROPERTIES: usize = 5000;
const MOST_WORDS: usize = 1000;

/// Checks a schema in strict mode. `of` is the name of its place in errors: `response_format 'plan'`.
pub(in super::super) fn check(schema: &At<'_>, of: &str) -> Result<(), Wrong> {
    let mut count = Count::default();
    let root = At {
        value: schema.value,
        at: schema.at.clone(),
    };
    if root.value.get("anyOf").is_some() || root.value.get("type") != Some(&Value::from("object")) {
        return Err(bad(
            &root,
            of,
            "schema must be a JSON Schema of 'type: \"object\"', without 'anyOf' at its root",
        ));
    }
    walk(
        &root,
        &Look {
            root: root.value,
            of,
        },
        1,
        &mut count,
    )?;
    if count.properties > MOST_PROPERTIES || count.words > MOST_WORDS {
        return Err(bad(
            &root,
            of,
            &format!(
                "{} properties (at most {MOST_PROPERTIES}) and {} enum values (at most {MOST_WORDS})",
                count.properties, count.words
            ),
        ));
    }
    Ok(())
}

/// Checks a schema without strict mode, which must be that of an object.
pub(in super::super) fn check_loose(schema: &At<'_>, of: &str) -> Result<(), Wrong> {
    schema.any_fields()?;
    if !is_of(schema, "object") {
        return Err(bad(
            schema,
            of,
            "schema must be a JSON Schema of 'type: \"object\"'",
        ));
    }
    Ok(())
}

struct Look<'a> {
    root: &'a Value,
    of: &'a str,
}

#[derive(Default)]
struct Count {
    properties: usize,
    words: usize,
}

fn bad(at: &At<'_>, of: &str, why: &str) -> Wrong {
    at.wrong(format!("Invalid schema for {of}: {why}."))
        .coded("invalid_json_schema")
}

fn context(at: &At<'_>, of: &str, why: &str) -> Wrong {
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
    bad(at, of, &format!("In context=({}), {why}", place.join(", ")))
}

fn walk(schema: &At<'_>, look: &Look<'_>, depth: usize, count: &mut Count) -> Result<(), Wrong> {
    let fields = schema.any_fields()?;
    if let Some((name, _)) = fields.each().find(|(name, _)| !KEYWORDS.contains(name)) {
        return Err(context(
            schema,
            look.of,
            &format!("'{name}' is not permitted"),
        ));
    }
    if let Some(reference) = fields.get("$ref") {
        return check_reference(schema, &reference, look);
    }
    let typed = ["type", "enum", "const", "anyOf"];
    if !typed.iter().any(|name| fields.has(name)) {
        return Err(context(schema, look.of, "schema must have a 'type' key"));
    }
    if let Some(words) = fields.get("enum") {
        count.words += words.filled_list()?.len();
    }
    if let Some(format) = fields.get("format")
        && !FORMATS.contains(&format.text()?)
    {
        let why = format!("'format' of '{}' is not permitted", format.text()?);
        return Err(context(schema, look.of, &why));
    }
    if is_of(schema, "array") && !fields.has("items") {
        return Err(context(schema, look.of, "array schema missing items"));
    }
    let mut deeper = depth;
    if is_of(schema, "object") {
        check_object(schema, look)?;
        count.properties += properties(schema)?.len();
        deeper += 1;
        if depth > DEEPEST {
            let why = format!("{depth} levels of nesting exceeds limit of {DEEPEST}");
            return Err(bad(schema, look.of, &why));
        }
    }
    inner(schema)?
        .iter()
        .try_for_each(|inner| walk(inner, look, deeper, count))
}

fn check_reference(schema: &At<'_>, reference: &At<'_>, look: &Look<'_>) -> Result<(), Wrong> {
    let name = reference.text()?;
    if schema.any_fields()?.each().count() > 1 {
        let why = "$ref cannot have keywords beside it";
        return Err(context(schema, look.of, why));
    }
    if resolve(look.root, name).is_none() {
        let why =
            format!("reference can only point to definitions of this schema, and not to '{name}'");
        return Err(context(schema, look.of, &why));
    }
    Ok(())
}

fn check_object(schema: &At<'_>, look: &Look<'_>) -> Result<(), Wrong> {
    if schema.value.get("additionalProperties") != Some(&Value::Bool(false)) {
        let why = "'additionalProperties' is required to be supplied and to be false";
        return Err(context(schema, look.of, why));
    }
    let (known, needed) = (properties(schema)?, required(schema)?);
    if let Some(missing) = known.iter().find(|name| !needed.contains(name)) {
        let why = format!(
            "'required' is required to be supplied and to be an array including every key in properties. Missing '{missing}'"
        );
        return Err(context(schema, look.of, &why));
    }
    if let Some(extra) = needed.iter().find(|name| !known.contains(name)) {
        let why = format!("Extra required key '{extra}' supplied");
        return Err(context(schema, look.of, &why));
    }
    Ok(())
}
