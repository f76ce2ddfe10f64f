//! Unwraps Amazon EventBridge: the finding is `detail`, the event type `detail-type`.
//!
//! <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-events-structure.html>

use serde_json::Value;

use super::{Envelope, EnvelopeContent};
use crate::feed::is_guardduty_event;

const FIELDS: [&str; 9] = [
    "version",
    "id",
    "detail-type",
    "source",
    "account",
    "time",
    "region",
    "resources",
    "detail",
];

/// Recognises an EventBridge envelope. A GuardDuty event without a finding is not an envelope: the event itself is
/// read, with its account, region and time.
pub(super) fn recognise(value: &Value) -> Option<Envelope<'_>> {
    value.get("detail-type")?.as_str()?;
    if is_guardduty_event(value) {
        return None;
    }
    let content = match value.get("detail")? {
        Value::String(text) => EnvelopeContent::Text("/detail", text),
        _ => EnvelopeContent::Inline("detail"),
    };
    Some(Envelope {
        name: "eventbridge",
        content,
        fields: &FIELDS,
    })
}
