//! Reads stored alerts as far as this version can.
//!
//! In a rolling upgrade, an alert of the next version may contain a word that this version does not know. Admission
//! then compares only the readable part, and the rest never counts as new. A repeated alert is therefore a sighting or
//! a revision of its case; it neither becomes a dead letter nor blocks its batch.

use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, ContentHash, JsonText};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The field that admission does not use.
const NOT_COMPARED: &str = "raw";

/// Returns the alert of this case, for comparison with `coming`.
pub(crate) fn alert(case_id: &str, text: &str, coming: &Alert) -> Alert {
    serde_json::from_str(text).unwrap_or_else(|error| {
        tracing::warn!(
            case.id = case_id,
            %error,
            "the alert of a case cannot be read by this version; what can be is compared with the one that came"
        );
        readable(text, coming)
    })
}

/// The field that is read of an exonerating record. All versions write its end.
#[derive(Deserialize)]
struct Record {
    until: Option<DateTime<Utc>>,
}

/// The fields that are read of a row of the ledger.
#[derive(Deserialize)]
struct SubjectRow {
    required: bool,
    covered_by: Option<Record>,
}

/// The fields that are read of the report of a cleared case.
#[derive(Deserialize)]
struct Clearing {
    exonerations: Option<Vec<Record>>,
    ledger: Option<Vec<SubjectRow>>,
    /// The time of the last judged event.
    last_seen: Option<DateTime<Utc>>,
}

/// Returns the time until which a case is cleared, from the parts of its report that a store selects. See
/// [`nightshift_pipeline::report::Report::cleared_until`].
pub(crate) fn cleared_until(clearing: Option<&str>) -> Option<DateTime<Utc>> {
    let clearing: Clearing = serde_json::from_str(clearing?).ok()?;
    let records: Vec<Record> = match clearing.ledger.filter(|rows| !rows.is_empty()) {
        Some(rows) => {
            let required = rows.into_iter().filter(|row| row.required);
            required.filter_map(|row| row.covered_by).collect()
        }
        None => clearing.exonerations?,
    };
    let end = records.into_iter().filter_map(|one| one.until).min()?;
    Some(clearing.last_seen.map_or(end, |last| end.max(last)))
}

/// Reads an alert field by field. Unreadable fields take the value of `coming`.
fn readable(text: &str, coming: &Alert) -> Alert {
    let mut known = coming.clone();
    known.raw = JsonText::from(Value::Null);
    let stored: Option<Map<String, Value>> = serde_json::from_str(text).ok();
    let (Some(stored), Ok(Value::Object(mut fields))) = (stored, serde_json::to_value(&known))
    else {
        // Nothing is readable, so any alert counts as another one and is triaged.
        known.kind.clear();
        known.content = ContentHash(String::new());
        return known;
    };
    for (name, value) in stored {
        if name == NOT_COMPARED {
            continue;
        }
        let whole = with(&fields, &name, value.clone());
        if let Some((now, alert)) =
            whole.or_else(|| with(&fields, &name, elements(&fields, &name, value)))
        {
            (fields, known) = (now, alert);
        }
    }
    known
}

/// Returns the list with only its readable elements.
fn elements(fields: &Map<String, Value>, name: &str, value: Value) -> Value {
    match value {
        Value::Array(mut all) => {
            all.retain(|one| with(fields, name, Value::Array(vec![one.clone()])).is_some());
            Value::Array(all)
        }
        other => other,
    }
}

/// Returns the alert with this value in this field, or `None` if the value is not readable.
fn with(
    fields: &Map<String, Value>,
    name: &str,
    value: Value,
) -> Option<(Map<String, Value>, Alert)> {
    let mut fields = fields.clone();
    fields.insert(name.to_owned(), value);
    let alert = serde_json::from_value(Value::Object(fields.clone())).ok()?;
    Some((fields, alert))
}
