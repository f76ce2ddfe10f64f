//! Decodes JSON that was encoded twice: a string that holds a document.

use serde_json::Value;

use super::{Envelope, EnvelopeContent};
use crate::decode::decode;

/// Returns whether a string may hold an object, a list, or another such string.
pub(super) fn is_document(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| text.trim_start().starts_with(['{', '[', '"']))
}

/// Returns the document in a string.
pub(super) fn document(value: &Value) -> Option<Value> {
    let text = value.as_str().filter(|_| is_document(value))?;
    decode(text.as_bytes()).ok().map(|decoded| decoded.value)
}

pub(super) fn recognise(value: &Value) -> Option<Envelope<'_>> {
    let text = value.as_str().filter(|_| is_document(value))?;
    Some(Envelope {
        name: "json_text",
        content: EnvelopeContent::Text("", text),
        fields: &[],
    })
}
