//! Tests of shapes that vendors and forwarders send, each with what must be read of it.
//! `tests/fixtures/shapes.json` holds the messages. The tests of the playbooks judge the same alerts.

use serde::Deserialize;
use serde_json::Value;

use super::*;

#[derive(Deserialize)]
struct Shape {
    name: String,
    message: Value,
    /// One entry per alert.
    alerts: Vec<ExpectedAlert>,
}

#[derive(Deserialize)]
struct ExpectedAlert {
    /// Texts at JSON pointers of the alert.
    fields: std::collections::BTreeMap<String, String>,
    /// `kind value role`
    indicators: Vec<String>,
    /// `kind=value`
    details: Vec<String>,
    /// First sentence of a report.
    sentence: String,
}

fn shapes() -> Vec<Shape> {
    let text = include_str!("../../../../../tests/fixtures/shapes.json");
    serde_json::from_str(text).unwrap()
}

fn faults(name: &str, alert: &Alert, expected: &ExpectedAlert) -> Vec<String> {
    let json = alert.to_json_without_raw();
    let mut faults = Vec::new();
    for (pointer, value) in &expected.fields {
        let found = match json.pointer(pointer) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        if found != *value {
            faults.push(format!("{name}: {pointer} is {found:?}, not {value:?}"));
        }
    }
    let indicators = alert.indicators.iter();
    let indicators: Vec<String> = indicators
        .map(|one| format!("{} {} {}", one.kind.as_str(), one.value, one.role.as_str()))
        .collect();
    let details = alert.details.iter();
    let details: Vec<String> = details
        .map(|one| format!("{}={}", one.kind.as_str(), one.value))
        .collect();
    for (found, wanted) in [
        (&indicators, &expected.indicators),
        (&details, &expected.details),
    ] {
        let missing = wanted.iter().filter(|one| !found.contains(one));
        faults.extend(missing.map(|one| format!("{name}: no {one}; found {found:?}")));
    }
    let sentence = alert.what_happened();
    if sentence != expected.sentence {
        faults.push(format!("{name}: {sentence:?}, not {:?}", expected.sentence));
    }
    faults
}

#[test]
fn shape_of_the_field_is_read_as_its_sender_means_it() {
    let mut all = Vec::new();
    for shape in shapes() {
        let bytes = shape.message.to_string();
        let alerts = match read_message(bytes.as_bytes(), &ReadOptions::default()) {
            Ok(batch) => batch.alerts,
            Err(error) => {
                all.push(format!("{}: {error}", shape.name));
                continue;
            }
        };
        if alerts.len() != shape.alerts.len() {
            all.push(format!("{}: {} alerts", shape.name, alerts.len()));
        }
        for (alert, expected) in alerts.iter().zip(&shape.alerts) {
            all.extend(faults(&shape.name, alert, expected));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}
