//! Normalises field names: Google reads protocol buffers, so both `snake_case` and `camelCase` are valid. Its own SDK
//! sends both: one for fields converted by hand, the other for Python types.

use serde_json::Value;

/// Fields whose contents belong to the caller.
const OPAQUE: [&str; 10] = [
    "args",
    "response",
    "parametersJsonSchema",
    "responseJsonSchema",
    "default",
    "example",
    "enum",
    "required",
    "labels",
    "partMetadata",
];

/// Fields whose keys belong to the caller and whose contents are Google's.
const NAMED: [&str; 2] = ["properties", "defs"];

/// Returns the value with all of Google's fields in `camelCase`.
pub(super) fn to_camel_case(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(name, inner)| {
                let name = camel(name);
                let inner = match inner {
                    inner if OPAQUE.contains(&name.as_str()) => inner.clone(),
                    Value::Object(named) if NAMED.contains(&name.as_str()) => named
                        .iter()
                        .map(|(name, inner)| (name.clone(), to_camel_case(inner)))
                        .collect(),
                    inner => to_camel_case(inner),
                };
                (name, inner)
            })
            .collect(),
        Value::Array(items) => items.iter().map(to_camel_case).collect(),
        other => other.clone(),
    }
}

fn camel(name: &str) -> String {
    let mut spelt = String::with_capacity(name.len());
    let mut up = false;
    for letter in name.chars() {
        if letter == '_' {
            up = true;
        } else if std::mem::take(&mut up) {
            spelt.push(letter.to_ascii_uppercase());
        } else {
            spelt.push(letter);
        }
    }
    spelt
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_names_of_googles_are_spelt_anew() {
        let body = json!({
            "generation_config": {"response_schema": {
                "properties": {"a_b": {"any_of": [{"type": "NULL"}], "required": ["c_d"]}},
            }},
            "contents": [{"parts": [{"function_call": {"name": "x", "args": {"e_f": 1}}}]}],
        });
        let wanted = json!({
            "generationConfig": {"responseSchema": {
                "properties": {"a_b": {"anyOf": [{"type": "NULL"}], "required": ["c_d"]}},
            }},
            "contents": [{"parts": [{"functionCall": {"name": "x", "args": {"e_f": 1}}}]}],
        });
        assert_eq!(to_camel_case(&body), wanted);
    }
}
