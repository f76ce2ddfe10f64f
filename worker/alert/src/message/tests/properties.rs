//! Tests that any input gives an alert or an error, never a panic.

use proptest::prelude::*;

use super::*;

/// Returns values that readers must survive in any position.
fn odd() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        Just(json!({})),
        Just(json!([])),
        Just(json!("")),
        Just(json!(-1)),
        Just(json!(1e300)),
        Just(json!([[{"a": [null]}]])),
        Just(json!({"value": {"value": {}}})),
        Just(json!("https://[::1/%zz")),
        Just(json!("日本\u{202e}\u{0}[.]🦀")),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,40}".prop_map(Value::from),
    ]
}

fn pointers(value: &Value, path: &str, out: &mut Vec<String>) {
    out.push(path.to_owned());
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let key = key.replace('~', "~0").replace('/', "~1");
                pointers(inner, &format!("{path}/{key}"), out);
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                pointers(inner, &format!("{path}/{index}"), out);
            }
        }
        _ => {}
    }
}

fn holds(alert: &Alert) -> Result<(), TestCaseError> {
    prop_assert!(!alert.kind.is_empty() && !alert.title.is_empty());
    prop_assert!(alert.title.len() <= 512 && !alert.title.contains('\n'));
    prop_assert!(alert.indicators.len() <= 256 && alert.indicators.is_sorted());
    prop_assert_eq!(alert.content.0.len(), 64);
    prop_assert!(alert.count >= 1);
    // A stored alert reads back unchanged.
    let stored = serde_json::to_string(alert).unwrap();
    prop_assert_eq!(&serde_json::from_str::<Alert>(&stored).unwrap(), alert);
    prop_assert_eq!(alert.to_json_text(), crate::JsonText::from(alert.to_json()));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_change_of_a_sample_gives_an_alert_or_an_error(
        index in 0..SAMPLES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), odd()), 1..4),
    ) {
        let mut value: Value = serde_json::from_str(SAMPLES[index].1).unwrap();
        for (place, new) in changes {
            let mut all = Vec::new();
            pointers(&value, "", &mut all);
            *value.pointer_mut(place.get::<String>(&all)).unwrap() = new;
        }
        match read_message(value.to_string().as_bytes(), &ReadOptions::default()) {
            Ok(batch) => for alert in &batch.alerts { holds(alert)?; },
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn a25_any_change_of_bytes_never_panics(
        index in 0..SAMPLES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = SAMPLES[index].1.as_bytes().to_vec();
        for (place, byte) in changes {
            let at = place.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(batch) = read_message(&bytes, &ReadOptions::default()) {
            for alert in &batch.alerts { holds(alert)?; }
        }
    }

    #[test]
    fn a25_any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_message(&bytes, &ReadOptions::default());
    }
}
