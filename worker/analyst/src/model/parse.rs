//! Parses a model's text to a value of the wanted shape.
//!
//! The parser accepts the whole text, a fenced block, or an object inside prose. It forgives trailing commas, objects
//! written as strings, missing lists and surplus fields. Then the schema decides. Nothing is invented: an answer that
//! does not fit goes back to the model with the validator's message.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::fence;
use super::schema::AnswerSchema;
use nightshift_llm::chat::ChatAnswer;

/// Maximum size of an answer in bytes; no question needs a longer one.
const MAX_BYTES: usize = 1 << 20;

/// Maximum number of objects inside prose that are tried.
const MAX_CANDIDATES: usize = 8;

/// Parses an answer of this shape.
///
/// # Errors
///
/// Returns the problems, each with its place, for the model to repair.
pub(super) fn parse_answer<T: DeserializeOwned>(
    answer: &ChatAnswer,
    shape: &AnswerSchema,
) -> Result<T, Vec<String>> {
    if let Some(value) = &answer.structured {
        return validate(value.clone(), shape);
    }
    let text = answer.text();
    if text.trim().is_empty() {
        return Err(vec!["the answer is empty".to_owned()]);
    }
    if text.len() > MAX_BYTES {
        return Err(vec![format!(
            "the answer has {} bytes; at most {MAX_BYTES} are read",
            text.len()
        )]);
    }
    let mut problems = None;
    for value in candidates(&text) {
        match validate(value, shape) {
            Ok(read) => return Ok(read),
            Err(found) => problems = problems.or(Some(found)),
        }
    }
    Err(problems.unwrap_or_else(|| vec!["it holds no JSON object".to_owned()]))
}

fn validate<T: DeserializeOwned>(mut value: Value, shape: &AnswerSchema) -> Result<T, Vec<String>> {
    fence::unbreak_value(&mut value);
    coerce(&mut value, shape.schema());
    let problems = shape.problems(&value);
    if !problems.is_empty() {
        return Err(problems);
    }
    serde_json::from_value(value).map_err(|error| vec![format!("the answer: {error}")])
}

/// Returns the objects that the text may mean, the likeliest first.
fn candidates(text: &str) -> Vec<Value> {
    let text = without_thoughts(text).trim();
    if let Some(whole) = object(text) {
        return vec![whole];
    }
    let mut found: Vec<Value> = fenced(text).filter_map(object).collect();
    // The last object comes first.
    found.reverse();
    let mut inside: Vec<&str> = embedded(text);
    inside.sort_by_key(|part| std::cmp::Reverse(part.len()));
    found.extend(inside.into_iter().filter_map(object));
    found.truncate(MAX_CANDIDATES);
    found
}

/// Returns the text after the thoughts that some models begin with.
fn without_thoughts(text: &str) -> &str {
    let trimmed = text.trim_start();
    if !trimmed.starts_with("<think") {
        return text;
    }
    trimmed
        .split_once("</think>")
        .or_else(|| trimmed.split_once("</thinking>"))
        .map_or(text, |(_, rest)| rest)
}

fn object(text: &str) -> Option<Value> {
    let text = text.trim();
    let value = serde_json::from_str::<Value>(text)
        .or_else(|_| serde_json::from_str(&without_trailing_commas(text)))
        .ok()?;
    match value {
        Value::Object(_) => Some(value),
        Value::String(inner) => serde_json::from_str::<Value>(&inner)
            .ok()
            .filter(Value::is_object),
        Value::Array(mut list) if list.len() == 1 => list.pop().filter(Value::is_object),
        _ => None,
    }
}

/// Returns the contents of Markdown's fenced blocks.
fn fenced(text: &str) -> impl Iterator<Item = &str> {
    text.split("```")
        .skip(1)
        .step_by(2)
        .take(MAX_CANDIDATES)
        .map(|block| match block.split_once('\n') {
            Some((language, rest)) if !language.contains('{') => rest,
            _ => block,
        })
}

/// Returns the outermost objects of a text, ignoring braces inside strings.
fn embedded(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut depth, mut start) = (0usize, 0usize);
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' if depth > 0 => in_string = true,
            b'{' => {
                if depth == 0 {
                    start = at;
                }
                depth += 1;
            }
            b'}' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    found.extend(text.get(start..=at));
                }
            }
            _ => {}
        }
        if found.len() >= MAX_CANDIDATES {
            break;
        }
    }
    found
}

/// Removes commas before a closing bracket, except inside strings.
fn without_trailing_commas(text: &str) -> Cow<'_, str> {
    if !text.contains(',') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    let mut comma = None;
    for c in text.chars() {
        if in_string {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = false,
                _ => {}
            }
        } else {
            match c {
                ',' => comma = Some(out.len()),
                ']' | '}' => {
                    if let Some(at) = comma.take() {
                        out.remove(at);
                    }
                }
                '"' => {
                    in_string = true;
                    comma = None;
                }
                c if c.is_whitespace() => {}
                _ => comma = None,
            }
        }
        out.push(c);
    }
    Cow::Owned(out)
}

/// Fixes the form of a value by its schema: strings that hold JSON, words in another case, missing fields that may be
/// empty, surplus fields, and arguments written as an object.
fn coerce(value: &mut Value, schema: &Value) {
    if let Some(inner) = non_null_branch(schema) {
        if !value.is_null() {
            coerce(value, inner);
        }
        return;
    }
    unwrap_string(value, schema);
    match value {
        Value::Object(map) => coerce_object(map, schema),
        Value::Array(list) => {
            if let Some(items) = schema.get("items") {
                list.iter_mut().for_each(|item| coerce(item, items));
            }
        }
        Value::String(text) => coerce_word(text, schema),
        Value::Null if is_type(schema, "array") => *value = Value::Array(Vec::new()),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    if let Value::Object(map) = value
        && is_type(schema, "array")
        && schema.pointer("/items/properties/value").is_some()
    {
        *value = name_value_pairs(std::mem::take(map));
    }
}

/// Returns the other branch of a schema that also takes null.
fn non_null_branch(schema: &Value) -> Option<&Value> {
    let branches = schema.get("anyOf")?.as_array()?;
    branches.iter().find(|branch| !is_type(branch, "null"))
}

fn is_type(schema: &Value, wanted: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(name)) => name == wanted,
        Some(Value::Array(names)) => names.iter().any(|name| name == wanted),
        _ => false,
    }
}

fn unwrap_string(value: &mut Value, schema: &Value) {
    let Value::String(text) = &*value else {
        return;
    };
    let wanted = |inner: &Value| {
        (inner.is_object() || inner.is_array())
            && (is_type(schema, "object") || is_type(schema, "array"))
    };
    if is_type(schema, "string") || !text.trim_start().starts_with(['{', '[']) {
        return;
    }
    if let Some(inner) = serde_json::from_str::<Value>(text).ok().filter(wanted) {
        *value = inner;
    }
}

fn coerce_object(map: &mut Map<String, Value>, schema: &Value) {
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return;
    };
    map.retain(|key, _| properties.contains_key(key));
    for (key, inner) in properties {
        match map.get_mut(key) {
            Some(value) => coerce(value, inner),
            None if is_type(inner, "array") => {
                map.insert(key.clone(), Value::Array(Vec::new()));
            }
            None if is_type(inner, "null") || non_null_branch(inner).is_some() => {
                map.insert(key.clone(), Value::Null);
            }
            None => {}
        }
    }
}

/// Turns `True Positive` into `true_positive`.
fn coerce_word(text: &mut String, schema: &Value) {
    let Some(Value::Array(words)) = schema.get("enum") else {
        return;
    };
    if words.iter().any(|word| word == text.as_str()) {
        return;
    }
    let plain = text.trim().to_lowercase().replace([' ', '-'], "_");
    if words.iter().any(|word| *word == plain.as_str()) {
        *text = plain;
    }
}

/// Converts `{"ip": "x"}` to `[{"name": "ip", "value": "x"}]`; null values are omitted.
fn name_value_pairs(map: Map<String, Value>) -> Value {
    map.into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| serde_json::json!({"name": name, "value": value}))
        .collect()
}

#[cfg(test)]
mod tests;
