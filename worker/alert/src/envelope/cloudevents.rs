//! Unwraps CloudEvents 1.0 in structured mode: the finding is `data`, or base64 in `data_base64`.
//!
//! <https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md>

use serde_json::Value;

use super::{Envelope, EnvelopeContent};
use crate::error::describe;
use crate::{ReadError, TraceContext};

const NAME: &str = "cloudevents";

const FIELDS: [&str; 10] = [
    "specversion",
    "id",
    "source",
    "type",
    "subject",
    "time",
    "datacontenttype",
    "dataschema",
    "data",
    "data_base64",
];

pub(super) fn recognise(value: &Value) -> Result<Option<Envelope<'_>>, ReadError> {
    let is_event = value.get("specversion").is_some_and(Value::is_string)
        && (value.get("type").is_some() || value.get("source").is_some());
    if !is_event {
        return Ok(None);
    }
    let content = match (value.get("data"), value.get("data_base64")) {
        (Some(Value::String(text)), _) => EnvelopeContent::Text("/data", text),
        (Some(Value::Object(_) | Value::Array(_)), _) => EnvelopeContent::Inline("data"),
        (_, Some(Value::String(text))) => EnvelopeContent::Base64("/data_base64", text),
        (other, _) => {
            return Err(ReadError::Envelope {
                envelope: NAME,
                path: "/data".to_owned(),
                expected: "JSON, or base64 in data_base64",
                found: describe(other),
            });
        }
    };
    Ok(Some(Envelope {
        name: NAME,
        content,
        fields: &FIELDS,
    }))
}

/// Returns the trace context of an event (extension "distributed tracing").
pub(super) fn trace(value: &Value, envelope: &str) -> Option<TraceContext> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let parent = text("traceparent").filter(|_| envelope == NAME)?;
    TraceContext::parse(parent, text("tracestate"))
}
