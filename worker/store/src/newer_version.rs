//! What is stored of an alert that came before, as far as this version can read it.
//!
//! In a rolling upgrade an alert of the next version may hold a word that this one does not know. What admission compares
//! is then all that can be read; in the rest of it nothing counts as new. So the alert that comes again is a sighting or a
//! revision of its case, and neither a dead letter nor what holds up its batch.

use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, ContentHash, Indicator, JsonText, Severity};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// What admission has no use for.
const NOT_COMPARED: &str = "raw";

/// The alert of this case, to be compared with `coming`.
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

/// What the row of a case and its indicators tell of an alert; none of what cannot be read.
pub(crate) struct ReadableFields {
    pub(crate) severity: Option<Severity>,
    pub(crate) content: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) indicators: Vec<Indicator>,
}

/// What an alert of any version says of itself.
pub(crate) fn said(text: &str) -> ReadableFields {
    let mut fields: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
    let mut take = |name| fields.remove(name).unwrap_or_default();
    let indicators = match take("indicators") {
        Value::Array(all) => all,
        _ => Vec::new(),
    };
    ReadableFields {
        severity: read(take("severity")),
        content: read(take("content")),
        title: read(take("title")),
        kind: read(take("type")),
        indicators: indicators.into_iter().filter_map(read).collect(),
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}

/// What is read of a record that clears: whatever else a version writes there, it ends.
#[derive(Deserialize)]
struct Record {
    until: Option<DateTime<Utc>>,
}

/// What is read of a row of a ledger.
#[derive(Deserialize)]
struct Row {
    required: bool,
    covered_by: Option<Record>,
}

/// What is read of the report of a case that was cleared.
#[derive(Deserialize)]
struct Clearing {
    exonerations: Option<Vec<Record>>,
    ledger: Option<Vec<Row>>,
    /// The last event that was judged.
    last_seen: Option<DateTime<Utc>>,
}

/// Until when a case is cleared, by what the statement of a store reads of its report: see
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

/// What can be read, field by field; in the place of the rest stands that of `coming`.
fn readable(text: &str, coming: &Alert) -> Alert {
    let mut known = coming.clone();
    known.raw = JsonText::from(Value::Null);
    let stored: Option<Map<String, Value>> = serde_json::from_str(text).ok();
    let (Some(stored), Ok(Value::Object(mut fields))) = (stored, serde_json::to_value(&known))
    else {
        // Nothing of it is known: whatever comes is another one, and is looked at.
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

/// The elements of a list that can be read.
fn elements(fields: &Map<String, Value>, name: &str, value: Value) -> Value {
    match value {
        Value::Array(mut all) => {
            all.retain(|one| with(fields, name, Value::Array(vec![one.clone()])).is_some());
            Value::Array(all)
        }
        other => other,
    }
}

/// The alert with this value in this field, if it can be read so.
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
