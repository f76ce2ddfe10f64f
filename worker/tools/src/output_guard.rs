//! Implements the last step of every answer: secrets and hidden characters are removed, and the size is bounded.
//!
//! Rows are dropped from the end until the answer fits, and the answer says so; no row is cut in the middle. The step
//! runs behind every tool, so no tool can omit it. Each tool bounds by itself what it reads.

use std::cell::LazyCell;
use std::collections::HashSet;

use nightshift_alert::text::{JsonBounds, clean_json_except};
use nightshift_alert::{Alert, ContentFlag};
use nightshift_engine::tool::ToolOutput;
use serde_json::{Map, Value, json};

/// Largest answer, in bytes of JSON: 64 KiB.
pub(crate) const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// Maximum number of rows of one answer.
pub(crate) const MAX_ROWS: usize = 200;

/// Maximum number of indicators taken from one answer.
const MAX_INDICATORS: usize = 256;

/// Longest string of an answer in bytes, with its depth and size. The bounds are below those of an alert, since a
/// case has many answers.
const BOUNDS: JsonBounds = JsonBounds {
    depth: 16,
    text_bytes: 4096,
    nodes: 20_000,
};

/// Cleans and bounds the answer to a call with these arguments. Typed values, resources and the type of the alert stay
/// even when they look random, as domains and wallets of malware do: the case is about them. With `is_typed`, all texts
/// stay that only look random, because the answer holds typed fields of alerts and nothing else.
pub(crate) fn clean_output(
    mut output: ToolOutput,
    arguments: &Map<String, Value>,
    alert: &Alert,
    is_typed: bool,
) -> ToolOutput {
    output.indicators.sort();
    output.indicators.dedup();
    output.indicators.truncate(MAX_INDICATORS);
    // Few answers contain anything to remove.
    let keep = LazyCell::new(|| {
        let typed = alert.indicators.iter().chain(&output.indicators);
        let resources = alert.resources.iter();
        let resources =
            resources.flat_map(|one| std::iter::once(one.id.as_str()).chain(one.name.as_deref()));
        typed
            .map(|indicator| indicator.value.as_str())
            .chain(resources)
            .chain(std::iter::once(alert.kind.as_str()))
            .chain(arguments.values().flat_map(texts))
            .flat_map(|value| std::iter::once(value).chain(value.split(['.', '/', ':', '=', '~'])))
            .collect::<HashSet<&str>>()
    });
    // Cleaning costs time for each byte, so oversized answers are shortened before.
    let early = truncate_rows(&mut output.body, 2 * MAX_OUTPUT_BYTES);
    let flags = clean_json_except(&mut output.body, &BOUNDS, &|text| {
        is_typed || keep.contains(text)
    });
    let pruned = flags
        .iter()
        .any(|flag| matches!(flag, ContentFlag::Truncated { .. }));
    output.flags.extend(flags);
    let late = truncate_rows(&mut output.body, MAX_OUTPUT_BYTES);
    let cut: Vec<String> = early.into_iter().chain(late).collect();
    if (pruned || !cut.is_empty())
        && let Some(left_out) = output.body.get_mut("left_out")
    {
        // The log search classified the rows left out before rows were dropped here.
        *left_out = Value::from("others");
    }
    output.truncated |= pruned || !cut.is_empty();
    let paths = cut.into_iter().map(|path| ContentFlag::Truncated { path });
    output.flags.extend(paths);
    if output.truncated
        && let Some(body) = output.body.as_object_mut()
    {
        body.insert("truncated".to_owned(), Value::Bool(true));
    }
    output.flags.sort();
    output.flags.dedup();
    output
}

/// Returns the text of an argument, or the texts of a list.
fn texts(argument: &Value) -> impl Iterator<Item = &str> {
    let items = argument.as_array().into_iter().flatten();
    items.chain([argument]).filter_map(Value::as_str)
}

/// Drops rows of the longest list until the body has at most `limit` bytes. Returns the path of the shortened list.
fn truncate_rows(body: &mut Value, limit: usize) -> Option<String> {
    // Most answers are so small that an estimate is enough.
    if max_json_bytes(body) <= limit {
        return None;
    }
    let mut at = None;
    let mut size = json_bytes(body);
    while size > limit {
        let list = body.as_object_mut().and_then(|map| {
            map.iter_mut()
                .filter_map(|(key, value)| Some((key.clone(), value.as_array_mut()?)))
                .filter(|(_, rows)| !rows.is_empty())
                .max_by_key(|(_, rows)| rows.iter().map(json_bytes).sum::<usize>())
        });
        let Some((key, rows)) = list else {
            *body = json!({
                "note": format!("the answer has {size} bytes, at most {limit} are kept: ask for less"),
            });
            return Some(String::new());
        };
        while size > limit
            && let Some(row) = rows.pop()
        {
            size = size.saturating_sub(json_bytes(&row) + 1);
        }
        at = Some(format!("/{key}"));
        size = json_bytes(body);
    }
    at
}

/// Returns an upper bound of the JSON size in bytes: six for each byte of text, 24 for a number.
fn max_json_bytes(value: &Value) -> usize {
    let text = |text: &str| 2 + 6 * text.len();
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 24,
        Value::String(string) => text(string),
        Value::Array(items) => {
            items
                .iter()
                .map(|item| max_json_bytes(item) + 1)
                .sum::<usize>()
                + 2
        }
        Value::Object(map) => {
            let entries = map.iter();
            let most = entries.map(|(key, value)| text(key) + max_json_bytes(value) + 2);
            most.sum::<usize>() + 2
        }
    }
}

/// Returns the size as JSON, in bytes.
pub(crate) fn json_bytes(value: &Value) -> usize {
    struct ByteCounter(usize);
    impl std::io::Write for ByteCounter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = ByteCounter(0);
    // Writing to the counter cannot fail, and a JSON value can always be serialized.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing;

    fn finish(output: ToolOutput) -> ToolOutput {
        super::clean_output(output, &Map::new(), &testing::alert(), false)
    }

    #[test]
    fn r1_no_bound_on_tool_output() {
        let rows: Vec<Value> = (0..10_000)
            .map(|n| json!({"n": n, "text": "x".repeat(50)}))
            .collect();
        let output = finish(ToolOutput::from_body(
            json!({"found": 10_000, "rows": rows}),
        ));
        assert!(json_bytes(&output.body) <= MAX_OUTPUT_BYTES + 32);
        assert!(output.truncated);
        assert_eq!(output.body["truncated"], true);
        assert_eq!(output.body["found"], 10_000);
        let kept = output.body["rows"].as_array().unwrap();
        assert!(kept.len() > 100);
        assert_eq!(kept[0]["n"], 0, "rows go from the end");
        assert!(output.flags.contains(&ContentFlag::Truncated {
            path: "/rows".to_owned()
        }));
    }

    #[test]
    fn an_answer_without_rows_is_bounded_too() {
        let map: serde_json::Map<String, Value> = (0..2_000)
            .map(|n| (format!("key{n}"), Value::from("word ".repeat(20))))
            .collect();
        let output = finish(ToolOutput::from_body(Value::Object(map)));
        assert!(json_bytes(&output.body) < 1_000);
        assert!(output.body["note"].as_str().unwrap().contains("at most"));
    }

    proptest! {
        #[test]
        fn no_value_has_more_bytes_than_it_may_have(
            text in "[a-z\\x00-\\x1f\"\\\\é\u{2028}]{0,12}", number: f64, whole: i64, flag: bool,
        ) {
            let value = json!({
                "n": number, "i": whole, "u": whole.unsigned_abs(), "b": flag, "e": [{}, [], null], text.clone(): [text],
            });
            prop_assert!(json_bytes(&value) <= max_json_bytes(&value), "{value}");
        }
    }

    #[test]
    fn r1_results_that_are_not_strings_are_kept() {
        let body = json!({"port": 443, "mfa": false, "none": null, "share": 0.5, "deep": {"list": [1, [2]]}});
        let output = finish(ToolOutput::from_body(body.clone()));
        assert_eq!(output.body, body);
        assert!(!output.truncated);
        assert!(output.flags.is_empty());
    }

    #[test]
    fn typed_values_stay_though_they_look_random_and_others_go() {
        let domain = "x7k2q9v4m1z8b5n3c6j0h2g4.com";
        let arguments = json!({ "indicator": domain });
        let body = json!({"indicator": domain, "note": "key sandbox kJ8sdf9sLq2mVx3Zt7QpW4"});
        let arguments = arguments.as_object().unwrap();
        let output = ToolOutput::from_body(body);
        let output = super::clean_output(output, arguments, &testing::alert(), false);
        assert_eq!(output.body["indicator"], domain);
        assert_eq!(output.body["note"], "key sandbox [redacted:high_entropy]");
        assert_eq!(output.flags, [ContentFlag::Redacted { count: 1 }]);
    }

    #[test]
    fn type_and_resources_of_the_alert_stay_though_they_look_random() {
        let mut alert = testing::alert();
        alert.kind = "SMBv2TLSv1WeakCipherSuiteDHE2048RSA3DES".to_owned();
        alert.resources.push(nightshift_alert::Resource {
            kind: "User".to_owned(),
            id: "users/00u7z8Y9x0W1v2U3t4S5".to_owned(),
            name: None,
            tags: std::collections::BTreeMap::new(),
        });
        let body = json!({"type": alert.kind, "user": "00u7z8Y9x0W1v2U3t4S5"});
        let output = ToolOutput::from_body(body.clone());
        let output = super::clean_output(output, &Map::new(), &alert, false);
        assert_eq!(output.body, body);
    }
}
